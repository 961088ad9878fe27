//! Memory of the fullest accelerator.

use serde::Serialize;

use super::candidate::{Layout, Recipe, Recompute, Schedule, Sharding};
use super::evaluate::Question;
use super::hold::Held;
use super::layer::LayerCost;
use crate::quantity::Bytes;
use crate::stages::Stage;

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

/// Micro-batches whose activations stage `index` holds at once.
pub(super) fn in_flight(layout: &Layout, recipe: &Recipe, index: u32) -> f64 {
    let micro_batches = f64::from(layout.micro_batches(recipe));
    let behind = f64::from(layout.pp - 1 - index);
    let most = match layout.schedule {
        Schedule::GPipe => micro_batches,
        // Chunks that Megatron warms up with, and the one at work (arXiv 2104.04473, section 2.2).
        Schedule::Interleaved if layout.vpp > 1 => {
            let chunks = f64::from(layout.vpp);
            (2.0 * behind + (chunks - 1.0) * f64::from(layout.pp) + 1.0) / chunks
        }
        Schedule::OneForwardOneBackward | Schedule::Interleaved => behind + 1.0,
    };
    most.min(micro_batches)
}

/// What one micro-batch keeps of a layer that recomputes so, in the mean over `layers` of a stage.
pub(super) fn kept(cost: &LayerCost, recompute: Recompute, layers: f64) -> Bytes {
    match recompute {
        Recompute::None => cost.kept,
        Recompute::Selective => cost.kept - cost.core_kept,
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

/// What is there once, while a layer is done again: all that it keeps beyond its input.
fn working_set(cost: &LayerCost, recompute: Recompute, layers: f64) -> Bytes {
    match recompute {
        Recompute::None => Bytes::ZERO,
        Recompute::Selective => cost.core_kept,
        Recompute::Full | Recompute::Layers(_) => cost.kept - cost.input,
        Recompute::Block(run) => cost.kept * f64::from(run).min(layers) - cost.input,
    }
}

/// Ranks that share a kind of what is held.
fn sharers(layout: &Layout, from: Sharding, ranks: u32) -> f64 {
    if layout.sharding >= from {
        f64::from(ranks)
    } else {
        1.0
    }
}

impl Question<'_> {
    /// Memory of a stage with so many layers in all.
    pub(super) fn memory(&self, stage: &Stage) -> TrainingMemory {
        let layout = self.layout;
        let mut memory = TrainingMemory {
            overhead: self.training.overhead,
            in_flight: in_flight(layout, self.recipe, stage.index),
            ..TrainingMemory::default()
        };
        let layers: f64 = stage.layers.iter().sum();
        let mut working = Bytes::ZERO;
        let mut gathered = Bytes::ZERO;
        let mut held = [Held::default(); 2];
        let mut kept_by_layers = Bytes::ZERO;
        for (cost, &count) in self.priced.blocks.iter().zip(&stage.layers) {
            if count > 0.0 {
                let own = kept(cost, layout.recompute, layers);
                kept_by_layers += own * count;
                memory.per_layer = memory.per_layer.max(own);
                working = working.max(working_set(cost, layout.recompute, layers));
                let one = cost.dense + cost.experts;
                gathered = gathered.max(one.weights * GATHERED_LAYERS + one.gradients);
                held[0] = held[0] + cost.dense * count;
                held[1] = held[1] + cost.experts * count;
            }
        }
        let mut kept_by_ends = Bytes::ZERO;
        if stage.first {
            held[0] = held[0] + self.priced.embedding.dense;
            kept_by_ends += self.priced.embedding.kept * memory.in_flight;
        }
        if stage.last {
            held[0] = held[0] + self.priced.head.dense;
            if !stage.first {
                held[0] = held[0] + self.priced.tied;
            }
            kept_by_ends +=
                self.priced.head.kept * self.logits_in_flight() + self.priced.head.transient;
        }
        let through = kept_by_layers * memory.in_flight;
        let resident = if layout.offload_activations {
            memory.host += through;
            through.min(memory.per_layer * RESIDENT_LAYERS)
        } else {
            through
        };
        memory.activations = resident + working + kept_by_ends;
        for (held, group) in held
            .iter()
            .zip([self.groups.shard, self.groups.expert_shard])
        {
            let ranks = group.ranks;
            memory.weights += held.weights / sharers(layout, Sharding::Zero3, ranks);
            memory.gradients += held.gradients / sharers(layout, Sharding::Zero2, ranks);
            let state = held.state / sharers(layout, Sharding::Zero1, ranks);
            if layout.offload_optimizer {
                memory.host += state;
            } else {
                memory.optimizer += state;
            }
        }
        if layout.sharding == Sharding::Zero3 && self.groups.shard.ranks > 1 {
            memory.weights += gathered;
        }
        memory
    }

    /// Micro-batches whose logits are there at once: the last stage turns at once, but in `GPipe`.
    fn logits_in_flight(&self) -> f64 {
        match self.layout.schedule {
            Schedule::GPipe => f64::from(self.layout.micro_batches(self.recipe)),
            Schedule::OneForwardOneBackward | Schedule::Interleaved => 1.0,
        }
    }
}
