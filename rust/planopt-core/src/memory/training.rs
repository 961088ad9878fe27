//! Memory of the fullest accelerator.

use crate::compute::training::{Candidate, LayerCost, Resident};
use crate::parallel::{Layout, Recompute, Schedule, Stage, Zero};
use crate::quantity::Bytes;
use serde::Serialize;

/// Layers whose weights are there at once where ranks share them: one at work, one on its way.
const GATHERED_LAYERS: f64 = 2.0;

/// Layers whose activations are there at once where the host holds them.
const RESIDENT_LAYERS: f64 = 2.0;

/// Memory of one accelerator.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct TrainingMemory {
    /// Weights as products read them.
    pub weights: Bytes,
    /// Gradients as they are summed.
    pub gradients: Bytes,
    /// State of the optimizer with the master weights.
    pub optimizer: Bytes,
    /// What forward keeps, and the working set of what is recomputed.
    pub activations: Bytes,
    /// Contexts, kernels, buffers.
    pub overhead: Bytes,
    /// What one micro-batch keeps of one layer, of the largest kind.
    pub per_layer: Bytes,
    /// Micro-batches that the stage holds at once.
    pub in_flight: f64,
    /// Memory of the host.
    pub host: Bytes,
}

impl TrainingMemory {
    /// All of it.
    pub fn total(&self) -> Bytes {
        self.weights + self.gradients + self.optimizer + self.activations + self.overhead
    }

    /// The largest part.
    pub fn largest(&self) -> &'static str {
        let parts = [
            ("weights", self.weights),
            ("gradients", self.gradients),
            ("optimizer", self.optimizer),
            ("activations", self.activations),
        ];
        parts
            .into_iter()
            .fold(("overhead", self.overhead), |most, part| {
                if part.1 > most.1 { part } else { most }
            })
            .0
    }
}

/// Micro-batches whose activations stage `index` holds at once, where there are enough of them.
fn most_in_flight(layout: &Layout, index: u32) -> f64 {
    let behind = f64::from(layout.pp - 1 - index);
    match layout.schedule {
        Schedule::GPipe => f64::INFINITY,
        // Chunks that Megatron warms up with, and the one at work (arXiv 2104.04473, section 2.2).
        Schedule::Interleaved if layout.vpp > 1 => {
            let chunks = f64::from(layout.vpp);
            (2.0 * behind + (chunks - 1.0) * f64::from(layout.pp) + 1.0) / chunks
        }
        Schedule::OneForwardOneBackward | Schedule::Interleaved | Schedule::ZeroBubbleH1 => {
            behind + 1.0
        }
        Schedule::ZeroBubbleH2 => 2.0 * behind + 1.0,
        Schedule::ZeroBubbleV => f64::from(layout.pp),
        // Of both stages of a rank together (arXiv 2412.19437, table 2).
        Schedule::DualPipe => f64::midpoint(f64::from(layout.pp), 1.0),
    }
}

/// What one micro-batch keeps of a layer that recomputes so, in the mean over `layers` of a stage.
pub(crate) fn kept(cost: &LayerCost, recompute: Recompute, layers: f64) -> Bytes {
    match recompute {
        Recompute::None => cost.kept,
        Recompute::Modules(_) => cost.kept - cost.recomputed(recompute, layers).0.kept,
        Recompute::Full => cost.input,
        Recompute::Block(run) => {
            let runs = (layers / f64::from(run)).ceil();
            cost.input * (runs / layers)
        }
        Recompute::Layers(some) => {
            let share = (f64::from(some) / layers).min(1.0);
            cost.input * share + cost.kept * (1.0 - share)
        }
    }
}

/// What is there once, while a layer is recomputed: all that it keeps beyond its input.
fn working_set(cost: &LayerCost, recompute: Recompute, layers: f64) -> Bytes {
    match recompute {
        Recompute::None => Bytes::ZERO,
        Recompute::Modules(_) => cost.recomputed(recompute, layers).0.kept,
        Recompute::Full | Recompute::Layers(_) => cost.kept - cost.input,
        Recompute::Block(run) => cost.kept * f64::from(run).min(layers) - cost.input,
    }
}

/// Ranks that share a kind of what is held.
fn sharers(layout: &Layout, from: Zero, ranks: u32) -> f64 {
    if layout.zero >= from {
        f64::from(ranks)
    } else {
        1.0
    }
}

/// Memory of a stage, whatever the number of micro-batches of a step.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StageMemory {
    /// Weights, gradients, optimizer, overhead.
    pub(crate) resident: TrainingMemory,
    /// Micro-batches in flight, where there are enough of them.
    pub(crate) most_in_flight: f64,
    /// Micro-batches whose logits are there at once, where there are enough of them.
    pub(crate) most_logits: f64,
    /// Kept by the layers for each micro-batch in flight.
    pub(crate) kept_by_layers: Bytes,
    /// Of it, what stays in the accelerator at most.
    pub(crate) most_resident: Bytes,
    /// Kept by the embedding for each micro-batch in flight.
    pub(crate) kept_by_embedding: Bytes,
    /// Kept by the head for each micro-batch whose logits are there.
    pub(crate) kept_by_head: Bytes,
    /// There once: the working set of recomputation.
    pub(crate) working: Bytes,
    /// There once: gradients of logits.
    pub(crate) transient: Bytes,
    /// What is held over what is in use, as far as there is room: a caching allocator gives its
    /// blocks back before it fails.
    pub(crate) reserve: f64,
    /// What there is.
    pub(crate) capacity: Bytes,
}

impl StageMemory {
    /// With another stage on the same rank: what a process takes for itself is there once.
    fn joined(self, other: Self) -> Self {
        Self {
            resident: TrainingMemory {
                weights: self.resident.weights + other.resident.weights,
                gradients: self.resident.gradients + other.resident.gradients,
                optimizer: self.resident.optimizer + other.resident.optimizer,
                host: self.resident.host + other.resident.host,
                per_layer: self.resident.per_layer.max(other.resident.per_layer),
                ..self.resident
            },
            kept_by_layers: self.kept_by_layers + other.kept_by_layers,
            most_resident: self.most_resident.max(other.most_resident),
            kept_by_embedding: self.kept_by_embedding + other.kept_by_embedding,
            kept_by_head: self.kept_by_head + other.kept_by_head,
            working: self.working.max(other.working),
            transient: self.transient.max(other.transient),
            ..self
        }
    }

    /// With so many micro-batches in a step.
    pub(crate) fn with(&self, micro_batches: f64) -> TrainingMemory {
        let in_flight = self.most_in_flight.min(micro_batches);
        let logits = self.most_logits.min(micro_batches);
        let through = self.kept_by_layers * in_flight;
        let resident = through.min(self.most_resident);
        let kept_by_ends =
            self.kept_by_embedding * in_flight + (self.kept_by_head * logits + self.transient);
        let offloaded = self.most_resident.0.is_finite();
        let activations = resident + self.working + kept_by_ends;
        let used =
            self.resident.weights + self.resident.gradients + self.resident.optimizer + activations;
        let room = (self.capacity - used - self.resident.overhead).max(Bytes::ZERO);
        TrainingMemory {
            activations,
            overhead: self.resident.overhead + (used * (self.reserve - 1.0)).min(room),
            in_flight,
            host: self.resident.host + if offloaded { through } else { Bytes::ZERO },
            ..self.resident
        }
    }
}

/// Memory of a rank: of its stage, and with `DualPipe` of the one that it meets at the other end.
pub(crate) fn stage_memory(candidate: &Candidate, stage: &Stage) -> StageMemory {
    let own = one_stage(candidate, stage);
    if candidate.layout.schedule == Schedule::DualPipe {
        own.joined(one_stage(candidate, opposite(candidate, stage)))
    } else {
        own
    }
}

/// The stage that starts from the other end; inner ones meet their like.
fn opposite<'c>(candidate: &'c Candidate, stage: &'c Stage) -> &'c Stage {
    let ends = candidate.stages.iter();
    let met = if stage.first {
        ends.rev().find(|other| other.last)
    } else if stage.last {
        ends.clone().find(|other| other.first)
    } else {
        None
    };
    met.unwrap_or(stage)
}

fn one_stage(candidate: &Candidate, stage: &Stage) -> StageMemory {
    let layout = candidate.layout;
    let mut resident = TrainingMemory {
        overhead: candidate.training.overhead
            + candidate.training.overhead_group * candidate.groups.in_use(),
        ..TrainingMemory::default()
    };
    let mut memory = StageMemory {
        most_in_flight: most_in_flight(layout, stage.index),
        // The last stage turns at once, but in `GPipe`.
        most_logits: match layout.schedule {
            Schedule::GPipe => f64::INFINITY,
            _ => 1.0,
        },
        reserve: candidate.training.framework.memory_reserve,
        capacity: candidate.capacity,
        ..StageMemory::default()
    };
    let layers: f64 = stage.layers.iter().sum();
    let mut gathered = Bytes::ZERO;
    for (cost, &count) in candidate.priced.blocks.iter().zip(&stage.layers) {
        if count > 0.0 {
            let own = kept(cost, layout.recompute, layers);
            memory.kept_by_layers += own * count;
            resident.per_layer = resident.per_layer.max(own);
            let working = working_set(cost, layout.recompute, layers);
            memory.working = memory.working.max(working);
            let one = cost.dense + cost.experts;
            gathered = gathered.max(one.weights * GATHERED_LAYERS + one.gradients);
        }
    }
    if stage.first {
        memory.kept_by_embedding = candidate.priced.embedding.kept;
    }
    if stage.last {
        memory.kept_by_head = candidate.priced.head.kept;
        memory.transient = candidate.priced.head.transient;
    }
    memory.transient += table_gradient(candidate, stage);
    memory.most_resident = if layout.offload_activations {
        resident.per_layer * RESIDENT_LAYERS
    } else {
        Bytes(f64::INFINITY)
    };
    let (dense, experts) = resident_on(candidate, stage);
    for (kind, group) in [
        (dense, candidate.groups.shard),
        (experts, candidate.groups.expert_shard),
    ] {
        let ranks = group.ranks;
        resident.weights += kind.weights / sharers(layout, Zero::Zero3, ranks);
        let mut share = 1.0 / sharers(layout, Zero::Zero2, ranks);
        if layout.zero == Zero::Zero2 && layout.pp > 1 {
            // Those of the chunk at work are whole until they are scattered.
            share = (share + 1.0 / f64::from(layout.vpp)).min(1.0);
        }
        resident.gradients += kind.gradients * share;
        let copies = kind.trained
            * (candidate.training.framework.gradient_copy
                / candidate.recipe.precision.activation_bytes());
        let state = (kind.state + copies) / sharers(layout, Zero::Zero1, ranks);
        if layout.offload_optimizer {
            resident.host += state;
        } else {
            resident.optimizer += state;
        }
    }
    if layout.zero == Zero::Zero3 && candidate.groups.shard.ranks > 1 {
        resident.weights += gathered;
    }
    StageMemory { resident, ..memory }
}

/// The gradient of the token table or of the head as products make it, where gradients are
/// summed in another format: it is there until it is added to the sum. Those of layers are
/// added as they are made (Megatron-LM, `gradient_accumulation_fusion`).
fn table_gradient(candidate: &Candidate, stage: &Stage) -> Bytes {
    let recipe = candidate.recipe;
    let made = recipe.precision.activation_bytes();
    let summed = recipe.gradients.bytes_per_element();
    if recipe.adapters.is_some() || summed <= made {
        return Bytes::ZERO;
    }
    let of = |here: bool, cost: &LayerCost| {
        if here {
            cost.dense.trained
        } else {
            Bytes::ZERO
        }
    };
    of(stage.first, &candidate.priced.embedding).max(of(stage.last, &candidate.priced.head))
}

/// What a rank of the stage holds, dense and of experts, before data-parallel ranks share it.
pub(crate) fn resident_on(candidate: &Candidate, stage: &Stage) -> (Resident, Resident) {
    let mut dense = Resident::default();
    let mut experts = Resident::default();
    for (cost, &count) in candidate.priced.blocks.iter().zip(&stage.layers) {
        dense = dense + cost.dense * count;
        experts = experts + cost.experts * count;
    }
    if stage.first {
        dense = dense + candidate.priced.embedding.dense;
    }
    if stage.last {
        dense = dense + candidate.priced.head.dense;
        if !stage.first {
            dense = dense + candidate.priced.tied;
        }
    }
    (dense, experts)
}
