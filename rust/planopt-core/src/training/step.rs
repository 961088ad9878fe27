//! Time of a step: micro-batches through the stages, then gradients and the optimizer.

use crate::catalog::{HopPayload, TrainingAssumptions};
use crate::compute::training::{Candidate, LayerCost, Recomputed};
use crate::memory::{kept, resident_on};
use crate::parallel::{Layout, Stage, Zero};
use crate::quantity::{Bytes, EQUALLY_LONG, Seconds};

/// One micro-batch on one stage.
#[derive(Clone, Copy, Debug, Default)]
pub struct StageParts {
    /// Forward.
    pub forward: Seconds,
    /// Backward, without recomputation.
    pub backward: Seconds,
    /// Forward recomputed.
    pub recompute: Seconds,
    /// Tensor-parallel collectives that products wait for.
    pub tensor: Seconds,
    /// Exposed time of the collectives that overlap the weight-gradient products.
    pub overlapped: Seconds,
    /// Context-parallel messages.
    pub context: Seconds,
    /// Expert all-to-all.
    pub expert: Seconds,
    /// Messages to and from neighbouring stages.
    pub pipeline: Seconds,
    /// Transfers of activations to and from the host.
    pub offload: Seconds,
    /// What hidden messages slow arithmetic down by.
    pub contention: Seconds,
    /// Waiting for the host: for launches that take longer than the kernels, and once a step.
    pub host: Seconds,
    /// Filling and draining, over one micro-batch of every other stage.
    pub waits: f64,
}

impl StageParts {
    /// All of it.
    pub fn total(&self) -> Seconds {
        self.forward
            + self.backward
            + self.recompute
            + self.tensor
            + self.overlapped
            + self.context
            + self.expert
            + self.pipeline
            + self.offload
            + self.contention
            + self.host
    }

    /// Whether it takes longer than another stage, rounding apart: stages that wait for the host take
    /// the same on any accelerator.
    pub(crate) fn slower_than(&self, other: &Self) -> bool {
        self.total() > other.total() * EQUALLY_LONG
    }

    fn add(&mut self, cost: &LayerCost, (recomputed, share): (Recomputed, f64), count: f64) {
        self.forward += cost.forward * count;
        self.backward += cost.backward * count;
        self.recompute += recomputed.forward * count;
        self.tensor += (cost.tensor_forward + cost.tensor_backward + recomputed.tensor) * count;
        self.overlapped += cost.tensor_overlapped * count;
        self.context += (cost.context_forward * (1.0 + share) + cost.context_backward) * count;
        self.expert += (cost.expert_forward + cost.expert_backward + recomputed.expert) * count;
    }
}

/// A step: its parts sum to its length.
#[derive(Clone, Copy, Debug, Default)]
pub struct StepTime {
    /// All micro-batches on the slowest stage.
    pub parts: StageParts,
    /// Waiting for other stages.
    pub bubble: Seconds,
    /// Collectives of data-parallel ranks that nothing hides.
    pub data: Seconds,
    /// The optimizer's pass.
    pub optimizer: Seconds,
    /// Waiting for the slowest host.
    pub straggler: Seconds,
}

impl StepTime {
    /// The step.
    pub fn total(&self) -> Seconds {
        self.parts.total() + self.bubble + self.data + self.optimizer + self.straggler
    }

    /// Arithmetic and memory traffic.
    pub fn compute(&self) -> Seconds {
        self.parts.forward + self.parts.backward + self.parts.recompute + self.optimizer
    }

    /// Waiting.
    pub fn waiting(&self) -> Seconds {
        self.bubble + self.straggler
    }

    /// Messages that nothing hides, and what the hidden ones slow down.
    pub fn exposed_communication(&self) -> Seconds {
        let parts = &self.parts;
        parts.tensor
            + parts.overlapped
            + parts.context
            + parts.expert
            + parts.pipeline
            + parts.offload
            + parts.contention
            + self.data
    }

    /// The same step at another pace.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Self {
        let parts = self.parts;
        Self {
            parts: parts.times(factor),
            bubble: self.bubble * factor,
            data: self.data * factor,
            optimizer: self.optimizer * factor,
            straggler: self.straggler * factor,
        }
    }
}

impl StageParts {
    /// So many micro-batches.
    #[must_use]
    pub fn times(self, count: f64) -> Self {
        Self {
            forward: self.forward * count,
            backward: self.backward * count,
            recompute: self.recompute * count,
            tensor: self.tensor * count,
            overlapped: self.overlapped * count,
            context: self.context * count,
            expert: self.expert * count,
            pipeline: self.pipeline * count,
            offload: self.offload * count,
            contention: self.contention * count,
            host: self.host * count,
            waits: self.waits,
        }
    }
}

/// What follows the micro-batches on a stage.
#[derive(Clone, Copy, Default)]
struct Closing {
    data: Seconds,
    hidden: Seconds,
    offload: Seconds,
    optimizer: Seconds,
}

impl Closing {
    fn total(&self) -> Seconds {
        self.data + self.offload + self.optimizer
    }
}

/// What follows the micro-batches on a stage, whatever their number: behind forward and behind
/// backward, what data-parallel ranks exchange, and the optimizer.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Following {
    /// Exchanged with each micro-batch.
    pub(crate) each: [Seconds; 2],
    /// Exchanged once a step.
    pub(crate) once: [Seconds; 2],
    /// What the arithmetic of one micro-batch can hide.
    pub(crate) window: [Seconds; 2],
    /// How much of it overlaps what is exchanged.
    pub(crate) overlapping: Overlapping,
    /// Gradients of the matrix that first and last stage share, sent once.
    pub(crate) tied: Seconds,
    /// Transfers to and from the host, once a step.
    pub(crate) offload: Seconds,
    /// The optimizer's pass.
    pub(crate) optimizer: Seconds,
}

/// Computation that overlaps what data-parallel ranks exchange.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Overlapping {
    /// Micro-batches of a stage.
    pub(crate) micro_batches: f64,
    /// Share of what is exchanged once a step that nothing can hide.
    pub(crate) bare: f64,
}

impl Default for Overlapping {
    fn default() -> Self {
        Self {
            micro_batches: 1.0,
            bare: 0.0,
        }
    }
}

/// Pieces of a stage at least, of which half of the last one's exchange is bare.
const LEAST_PIECES: f64 = 4.0;

impl Overlapping {
    /// Of a layout. With several chunks of a stage a chunk is complete after `pp` micro-batches of
    /// it: the other chunks' work hides its exchange, and that of the last is waited for
    /// (Megatron-LM, `--overlap-grad-reduce` and `--overlap-param-gather`). Weights that each
    /// micro-batch gathers have its own arithmetic alone.
    fn of(layout: &Layout) -> Self {
        if layout.vpp == 1 || layout.zero == Zero::Zero3 {
            return Self::default();
        }
        let chunks = f64::from(layout.vpp);
        Self {
            micro_batches: (f64::from(layout.pp) * (chunks - 1.0) + 1.0) / chunks,
            bare: 1.0 / (2.0 * chunks.max(LEAST_PIECES)),
        }
    }

    /// What is exposed of an exchange: with every micro-batch but the last, and with the last.
    pub(crate) fn exposed(self, each: f64, once: f64, window: f64) -> (f64, f64) {
        let window = window * self.micro_batches;
        let last = (each + once - window).max(once * self.bare);
        ((each - window).max(0.0), last.max(0.0))
    }
}

impl Following {
    fn closing(&self, micro_batches: f64) -> Closing {
        let mut closing = Closing {
            offload: self.offload,
            optimizer: self.optimizer,
            ..Closing::default()
        };
        for ((each, once), window) in self.each.into_iter().zip(self.once).zip(self.window) {
            let (usual, last) = self.overlapping.exposed(each.0, once.0, window.0);
            let exposed = Seconds(usual * (micro_batches - 1.0) + last);
            closing.data += exposed;
            closing.hidden += each * micro_batches + once - exposed;
        }
        closing.data += self.tied;
        closing
    }
}

/// By how much the slowest of so many hosts lags: the expected largest of as many normal
/// deviations, `sqrt(2 ln n)`.
pub(crate) fn straggling(training: &TrainingAssumptions, hosts: u32) -> f64 {
    training.straggler_spread * (2.0 * f64::from(hosts).ln()).sqrt()
}

/// Times of a step.
pub(crate) fn step(candidate: &Candidate) -> StepTime {
    step_over(
        candidate,
        candidate.stages.iter().map(|stage| (candidate, stage)),
    )
}

/// Times of a step over stages, each asked about by the candidate of what it runs on.
pub(crate) fn step_over<'q>(
    candidate: &Candidate,
    stages: impl Iterator<Item = (&'q Candidate<'q>, &'q Stage)>,
) -> StepTime {
    let micro_batches = f64::from(candidate.layout.micro_batches(candidate.recipe));
    let mut slowest = StageParts::default();
    let mut path = Seconds::ZERO;
    let mut closing = Closing::default();
    for (asked, stage) in stages {
        let parts = micro_batch(asked, stage);
        path += parts.total() * stage.count;
        if parts.slower_than(&slowest) {
            slowest = parts;
        }
        let own = following(asked, stage, &parts).closing(micro_batches);
        if own.total() * EQUALLY_LONG >= closing.total() {
            closing = own;
        }
    }
    let mut parts = slowest.times(micro_batches);
    parts.offload += closing.offload;
    parts.contention += closing.hidden * candidate.training.framework.data_contention;
    parts.host += candidate.training.framework.step_overhead;
    let mut step = StepTime {
        parts,
        bubble: (path - slowest.total()) * slowest.waits,
        data: closing.data,
        optimizer: closing.optimizer,
        straggler: Seconds::ZERO,
    };
    step.straggler = step.total() * straggling(candidate.training, candidate.hosts);
    step
}

/// One micro-batch on a stage.
pub(crate) fn micro_batch(candidate: &Candidate, stage: &Stage) -> StageParts {
    let layers: f64 = stage.layers.iter().sum();
    let recompute = candidate.layout.recompute;
    let mut parts = StageParts::default();
    let (mut kernels, mut routed) = (0.0, 0.0);
    let mut weights = Seconds::ZERO;
    let mut kept_by_layers = Bytes::ZERO;
    for (cost, &count) in candidate.priced.blocks.iter().zip(&stage.layers) {
        if count > 0.0 {
            let (recomputed, share) = cost.recomputed(recompute, layers);
            parts.add(cost, (recomputed, share), count);
            kernels += (cost.forward_kernels + cost.backward_kernels + recomputed.kernels) * count;
            routed += cost.routed * (2.0 + recomputed.routed) * count;
            kept_by_layers += kept(cost, recompute, layers) * count;
            weights += cost.weight_gradients * count;
        }
    }
    for (here, cost) in [
        (stage.first, &candidate.priced.embedding),
        (stage.last, &candidate.priced.head),
    ] {
        if here {
            parts.add(cost, Default::default(), 1.0);
            kernels += cost.forward_kernels + cost.backward_kernels;
            weights += cost.weight_gradients;
        }
    }
    let framework = &candidate.training.framework;
    let arithmetic = parts.forward + parts.backward + parts.recompute;
    let behind = parts
        .tensor
        .min(arithmetic * candidate.training.framework.tensor_overlap);
    let overlapped = parts
        .overlapped
        .min(parts.backward * framework.gradient_overlap);
    parts.tensor = parts.tensor - behind;
    parts.overlapped = parts.overlapped - overlapped;
    parts.contention += (behind + overlapped) * candidate.training.tensor_contention;
    let dispatched = parts.expert.min(arithmetic * framework.expert_overlap);
    parts.expert = parts.expert - dispatched;
    parts.contention += dispatched * candidate.training.contention;
    let across = if candidate.groups.pipeline.domains() > 1 {
        framework.hop_overhead
    } else {
        Seconds::ZERO
    };
    let messages = (hop(candidate) + across) * (2.0 * f64::from(candidate.layout.vpp));
    // A stage with one chunk has nothing else to do.
    let meanwhile = if candidate.layout.vpp > 1 {
        framework.pipeline_overlap
    } else {
        candidate.training.pipeline_overlap
    };
    parts.pipeline = messages * (1.0 - meanwhile);
    parts.contention += messages * (meanwhile * candidate.training.contention);
    if candidate.layout.offload_activations {
        let moved = candidate.host_line.message(kept_by_layers);
        parts.offload = beyond(candidate, moved, parts.forward)
            + beyond(candidate, moved, parts.backward + parts.recompute);
    }
    // The host runs ahead of the accelerator until it is slower.
    let host = candidate.rates.trainer.host;
    let launched = framework.host_launch * (kernels * host);
    parts.host =
        (launched - parts.total()).max(Seconds::ZERO) + framework.expert_launch * (routed * host);
    let backward = parts.backward + parts.recompute;
    let layout = candidate.layout;
    parts.waits = layout
        .schedule
        .waits(layout.pp, [parts.forward, backward, weights])
        / f64::from(layout.vpp);
    parts
}

fn beyond(candidate: &Candidate, moved: Seconds, work: Seconds) -> Seconds {
    (moved - work * candidate.training.offload_overlap).max(Seconds::ZERO)
}

/// One message between stages: every tensor-parallel rank sends its share, which is gathered
/// again unless the sequence stays divided.
fn hop(candidate: &Candidate) -> Seconds {
    if candidate.layout.pp == 1 {
        return Seconds::ZERO;
    }
    let whole = Bytes(
        candidate.layout.tokens(candidate.recipe)
            * candidate.hidden
            * candidate.recipe.precision.activation_bytes(),
    );
    if candidate.hop_payload == HopPayload::Full && !candidate.layout.sequence_parallel {
        return candidate.groups.pipeline.send(whole);
    }
    let sent = candidate
        .groups
        .pipeline
        .send(whole / f64::from(candidate.layout.tp));
    if candidate.layout.sequence_parallel {
        sent
    } else {
        sent + candidate.groups.tensor.all_gather(whole)
    }
}

/// What data-parallel ranks exchange, and the optimizer.
pub(crate) fn following(candidate: &Candidate, stage: &Stage, parts: &StageParts) -> Following {
    let (dense, experts) = resident_on(candidate, stage);
    let groups = candidate.groups;
    let kinds = [
        (dense, groups.shard, groups.replicate),
        (experts, groups.expert_shard, groups.expert_replicate),
    ];
    let zero = candidate.layout.zero;
    let hidden = candidate.training.framework.data_overlap;
    let mut following = Following {
        window: [
            if candidate.training.framework.broadcasts {
                Seconds::ZERO
            } else {
                parts.forward * hidden
            },
            (parts.backward + parts.recompute) * hidden,
        ],
        overlapping: Overlapping::of(candidate.layout),
        ..Following::default()
    };
    let Following {
        each,
        once,
        offload,
        optimizer,
        ..
    } = &mut following;
    for (resident, shard, replicate) in kinds {
        let share = if zero == Zero::None {
            1.0
        } else {
            f64::from(shard.ranks)
        };
        // Each bucket pays the latency of the whole group.
        let bucket = candidate.training.framework.bucket;
        let in_buckets = |bytes: Bytes, exchange: &dyn Fn(Bytes) -> Seconds| {
            let buckets = (bytes / bucket).ceil().max(1.0);
            exchange(bytes / buckets) * buckets
        };
        let gather = |bytes: Bytes| {
            if candidate.training.framework.broadcasts {
                let parts = f64::from(shard.ranks);
                return shard.all_gather(bytes / parts) * parts;
            }
            in_buckets(bytes, &|part| shard.all_gather(part))
        };
        let whole = candidate.training.framework.gradients_everywhere;
        let reduce = in_buckets(resident.gradients, &|part| {
            if whole {
                shard.all_reduce(part)
            } else {
                shard.reduce_scatter(part)
            }
        });
        let across = in_buckets(resident.gradients / share, &|part| {
            replicate.all_reduce(part)
        });
        let read = if candidate.recipe.adapters.is_some() {
            resident.weights
        } else {
            resident.gathered
        };
        match zero {
            Zero::None => {
                once[1] += in_buckets(resident.gradients, &|part| shard.all_reduce(part)) + across;
            }
            Zero::Zero1 | Zero::Zero2 => {
                once[0] += gather(resident.gathered);
                // A pipeline keeps the gradients of a chunk until its last micro-batch, and
                // shards them once (Llama 3, arXiv 2407.21783, section 3.3.2).
                let often = zero == Zero::Zero2 && candidate.layout.pp == 1;
                let reduced = if often { &mut each[1] } else { &mut once[1] };
                *reduced += reduce;
                once[1] += across;
            }
            Zero::Zero3 => {
                let gathered = gather(read);
                each[0] += gathered;
                each[1] += gathered + reduce;
                once[1] += across;
            }
        }
        if candidate.layout.offload_optimizer {
            let moved = (resident.gradients + resident.trained) / share;
            *offload += moved / candidate.host_line.bandwidth;
            *optimizer += resident.optimizer_traffic() / share / candidate.host_memory;
        } else {
            *optimizer += resident.optimizer_traffic() / share / candidate.rates.memory
                + Seconds(
                    resident.optimizer_flop
                        / share
                        / (candidate.rates.base.0 * candidate.rates.base_products.dense.efficiency),
                );
        }
    }
    if candidate.layout.pp > 1 && (stage.first || stage.last) {
        // First and last stage add up the gradients of the matrix that they share.
        following.tied = groups.pipeline.send(candidate.priced.tied.gradients);
    }
    following
}
