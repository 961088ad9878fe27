//! What is answered about training, in the words of the contract's JSON.

use super::bill::BomLine;
use super::interval::Intervals;
use super::rejection::RejectionAnswer;
use super::serving::HardwareAnswer;
use crate::cost::Cost;
use crate::format::Format;
use crate::load::training::{AdaptedModules, Optimizer, Precision, Recipe};
use crate::parallel::{ContextParallel, Layout, Schedule, Zero};
use crate::training::{StepTime, TrainingEvaluation};
use serde::Serialize;

/// Memory of the fullest accelerator.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct TrainingMemoryAnswer {
    /// Weights as the products read them.
    pub weights_bytes: f64,
    /// Gradients as they are summed.
    pub gradients_bytes: f64,
    /// State of the optimizer, with the master weights.
    pub optimizer_bytes: f64,
    /// What forward keeps for backward, and the working set of what is recomputed.
    pub activations_bytes: f64,
    /// Contexts, kernels, communication buffers.
    pub overhead_bytes: f64,
    /// All of them.
    pub total_bytes: f64,
    /// What may be used.
    pub capacity_bytes: f64,
    /// Of the activations: what one micro-batch keeps of one layer (the largest kind).
    pub activations_per_layer_bytes: f64,
    /// Of the activations: micro-batches that the stage holds at once.
    pub micro_batches_in_flight: f64,
    /// Memory of the host that one accelerator's offload takes.
    pub host_bytes: f64,
}

/// What a step consists of: parts of `step_seconds`, on the slowest stage.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct StepAnswer {
    /// Forward of all micro-batches.
    pub forward_seconds: f64,
    /// Backward, without recomputation.
    pub backward_seconds: f64,
    /// Forward done again.
    pub recompute_seconds: f64,
    /// Tensor-parallel collectives that nothing hides.
    pub tensor_seconds: f64,
    /// Context-parallel messages that nothing hides.
    pub context_seconds: f64,
    /// Expert all-to-all.
    pub expert_seconds: f64,
    /// Messages between stages that nothing hides.
    pub pipeline_seconds: f64,
    /// Gradients and weights over the data-parallel group that nothing hides.
    pub data_seconds: f64,
    /// Transfers to and from the host that nothing hides.
    pub offload_seconds: f64,
    /// What hidden messages slow arithmetic down by.
    pub contention_seconds: f64,
    /// Waiting for the host: for launches that take longer than the kernels, and once a step.
    pub host_seconds: f64,
    /// Waiting of a stage for the others.
    pub bubble_seconds: f64,
    /// The optimizer's pass over its state.
    pub optimizer_seconds: f64,
    /// Waiting for the slowest host.
    pub straggler_seconds: f64,
}

/// The whole run.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct RunAnswer {
    /// Tokens seen.
    pub tokens: f64,
    /// Steps.
    pub steps: f64,
    /// Hours of all accelerators together, failures included.
    pub accelerator_hours: f64,
    /// The same without failures and checkpoints.
    pub productive_accelerator_hours: f64,
    /// Energy of the cluster, with the overhead of its building.
    pub energy_kwh: Option<f64>,
    /// Carbon dioxide and its equivalents of that energy.
    pub kg_co2e: Option<f64>,
    /// Dollars: the hours of the run at the hourly cost of the cluster.
    pub usd: Option<f64>,
}

/// Failures and what they cost.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct FailureAnswer {
    /// Mean time between failures of the whole cluster.
    pub interval_seconds: f64,
    /// Failures of the run to be expected.
    pub expected: Option<f64>,
    /// One checkpoint.
    pub checkpoint_bytes: f64,
    /// Time to write it.
    pub checkpoint_seconds: f64,
    /// Work between two checkpoints (Daly).
    pub checkpoint_interval_seconds: f64,
    /// Time from a failure until work goes on.
    pub restart_seconds: f64,
    /// Hosts away at any time, in the mean.
    pub hosts_away: f64,
    /// Spare hosts.
    pub spare_hosts: u32,
    /// Share of the time in which spares make up for all that are away.
    pub availability: f64,
}

/// One way to spread a run over accelerators.
#[derive(Clone, Debug, Serialize)]
pub struct TrainingCandidate {
    /// Accelerator id; of several kinds, all of them.
    pub accelerator: String,
    /// Tensor-parallel degree.
    pub tp: u32,
    /// Whether activations are divided by sequence.
    pub sequence_parallel: bool,
    /// Pipeline stages.
    pub pp: u32,
    /// Chunks of layers of one stage.
    pub vpp: u32,
    /// Order of micro-batches, where there are stages.
    pub schedule: Option<Schedule>,
    /// Data-parallel degree.
    pub dp: u32,
    /// Context-parallel degree.
    pub cp: u32,
    /// How context-parallel ranks meet.
    pub context_parallel: Option<ContextParallel>,
    /// Expert-parallel degree.
    pub ep: u32,
    /// Data-parallel degree of the experts: `dp * cp / ep`; none where nothing can be laid out.
    pub expert_data_parallel: Option<u32>,
    /// Sequences of a micro-batch.
    pub batch: u32,
    /// Micro-batches of a step on each pipeline (gradient accumulation).
    pub micro_batches: Option<u32>,
    /// Sequences of a step.
    pub global_batch: u32,
    /// Tokens of a sequence.
    pub seq_len: u32,
    /// Modules of multi-token prediction.
    pub mtp_modules: u32,
    /// What is recomputed.
    pub recompute: String,
    /// What data-parallel ranks divide.
    pub shard: Zero,
    /// Ranks that divide it among each other; none for all.
    pub shard_group: Option<u32>,
    /// Arithmetic of the products.
    pub precision: Precision,
    /// Rule that turns gradients into new weights.
    pub optimizer: Optimizer,
    /// What rests in the memory of the host.
    pub offload: Vec<&'static str>,
    /// Rank of adapters, where they alone are trained.
    pub lora_rank: Option<u32>,
    /// Products that have some.
    pub lora_modules: Option<AdaptedModules>,
    /// Format of the weights that they leave as they are.
    pub frozen_weights: Option<Format>,
    /// Tensor-parallel degree of experts, where it is not that of the rest.
    pub expert_tp: Option<u32>,
    /// Framework, where it is named.
    pub framework: Option<String>,
    /// Pieces in which the head and the loss go through a micro-batch.
    pub loss_chunks: u32,
    /// Whether weights are kept in 32 bits too.
    pub master_weights: bool,
}

impl TrainingCandidate {
    /// A layout of a run; `placed` says whether it can be laid out.
    pub(crate) fn of(accelerator: &str, layout: &Layout, recipe: &Recipe, placed: bool) -> Self {
        let rest = [
            (layout.offload_optimizer, "optimizer"),
            (layout.offload_activations, "activations"),
        ];
        Self {
            accelerator: accelerator.to_owned(),
            tp: layout.tp,
            sequence_parallel: layout.sequence_parallel,
            pp: layout.pp,
            vpp: layout.vpp,
            schedule: (layout.pp > 1).then_some(layout.schedule),
            dp: layout.dp,
            cp: layout.cp,
            context_parallel: (layout.cp > 1).then_some(layout.context_parallel),
            ep: layout.ep,
            expert_data_parallel: placed.then(|| layout.expert_replicas()),
            batch: layout.batch,
            micro_batches: placed.then(|| layout.micro_batches(recipe)),
            global_batch: recipe.global_batch,
            seq_len: recipe.seq_len,
            mtp_modules: recipe.mtp_modules,
            recompute: layout.recompute.to_string(),
            shard: layout.zero,
            shard_group: layout.shard_group,
            precision: recipe.precision,
            optimizer: recipe.optimizer,
            offload: rest
                .into_iter()
                .filter_map(|(rests, what)| rests.then_some(what))
                .collect(),
            lora_rank: recipe.adapters.map(|adapters| adapters.rank),
            lora_modules: recipe.adapters.map(|adapters| adapters.modules),
            frozen_weights: recipe.adapters.map(|adapters| adapters.frozen),
            expert_tp: layout.whole_experts.then_some(1),
            framework: None,
            loss_chunks: recipe.loss_chunks,
            master_weights: recipe.master_weights,
        }
    }
}

/// What a run does, as a plan records it; a figure that a rejection leaves without meaning is not
/// there.
#[derive(Clone, Debug, Default, Serialize)]
pub struct RunEvaluation {
    /// Whether it works.
    pub feasible: bool,
    /// Why not.
    pub rejections: Vec<RejectionAnswer>,
    /// Memory of the fullest accelerator; none where the layout cannot be laid out.
    pub memory: Option<TrainingMemoryAnswer>,
    /// One step of the optimizer.
    pub step_seconds: Option<f64>,
    /// Of it: arithmetic and memory traffic, recomputation and the optimizer included.
    pub compute_seconds: Option<f64>,
    /// Of it: waiting for other stages, and for the slowest host.
    pub bubble_seconds: Option<f64>,
    /// Of it: messages that nothing hides, and what the hidden ones slow down.
    pub exposed_communication_seconds: Option<f64>,
    /// Of it: waiting for the host, for launches that take longer than the kernels and once a step.
    pub host_seconds: Option<f64>,
    /// The same in finer parts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<StepAnswer>,
    /// Of the cluster, while it works.
    pub tokens_per_second: Option<f64>,
    /// Of one accelerator.
    pub tokens_per_second_per_accelerator: Option<f64>,
    /// Model FLOPs, in 10^12 per second.
    pub model_tflops_per_accelerator: Option<f64>,
    /// Model FLOPs utilisation.
    pub mfu: Option<f64>,
    /// The same with recomputed FLOPs.
    pub hfu: Option<f64>,
    /// Which arithmetic counts as the model's: `full`, `causal` or `6nd`.
    pub model_flops: &'static str,
    /// Share of the time that goes into steps which count.
    pub goodput: Option<f64>,
    /// Failures and checkpoints.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failures: Option<FailureAnswer>,
    /// Days of the run, failures included.
    pub days: Option<f64>,
    /// The run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<RunAnswer>,
    /// Money of the cluster, where everything has a price.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
    /// Draw at work, where it is known.
    pub power_watts: Option<f64>,
    /// Accelerators: `tp * pp * dp * cp`.
    pub accelerators: u32,
    /// Hosts.
    pub hosts: Option<u32>,
    /// What figures are expected to lie in.
    pub intervals: Intervals,
}

/// One configuration of a run: what it is, and what it does.
#[derive(Clone, Debug, Serialize)]
pub struct TrainingAnswer {
    /// What it does.
    #[serde(flatten)]
    pub evaluation: RunEvaluation,
    /// Model, as it was asked for.
    pub model: String,
    /// How it is spread.
    pub candidate: TrainingCandidate,
    /// Where it runs.
    pub hardware: HardwareAnswer,
    /// Parts, where everything has a price.
    pub bill_of_materials: Vec<BomLine>,
}

/// What is done on the accelerators of one kind.
#[derive(Clone, Debug, Serialize)]
pub struct ShareAnswer {
    /// Accelerator id.
    pub accelerator: String,
    /// How many.
    pub accelerators: u32,
    /// Host id.
    pub host: String,
    /// Hosts.
    pub hosts: u32,
    /// A step of the whole job, were all accelerators of this kind.
    pub step_seconds: Option<f64>,
    /// Layers of each of its stages, where they are balanced.
    pub layers: Vec<u32>,
}

/// Both ways of sharing a job.
#[derive(Clone, Debug, Serialize)]
pub struct MixedAnswer {
    /// Layers assigned evenly: every step waits for the slowest kind.
    pub slowest: TrainingAnswer,
    /// Layers by the speed of the accelerators under each stage.
    pub balanced: TrainingAnswer,
    /// What is done on each kind, in the order asked.
    pub shares: Vec<ShareAnswer>,
}

pub(crate) fn memory_answer(evaluation: &TrainingEvaluation) -> TrainingMemoryAnswer {
    let memory = &evaluation.memory;
    TrainingMemoryAnswer {
        weights_bytes: memory.weights.0,
        gradients_bytes: memory.gradients.0,
        optimizer_bytes: memory.optimizer.0,
        activations_bytes: memory.activations.0,
        overhead_bytes: memory.overhead.0,
        total_bytes: memory.total().0,
        capacity_bytes: evaluation.capacity.0,
        activations_per_layer_bytes: memory.per_layer.0,
        micro_batches_in_flight: memory.in_flight,
        host_bytes: memory.host.0,
    }
}

pub(crate) fn step_answer(step: &StepTime) -> StepAnswer {
    let parts = &step.parts;
    StepAnswer {
        forward_seconds: parts.forward.0,
        backward_seconds: parts.backward.0,
        recompute_seconds: parts.recompute.0,
        tensor_seconds: (parts.tensor + parts.overlapped).0,
        context_seconds: parts.context.0,
        expert_seconds: parts.expert.0,
        pipeline_seconds: parts.pipeline.0,
        data_seconds: step.data.0,
        offload_seconds: parts.offload.0,
        contention_seconds: parts.contention.0,
        host_seconds: parts.host.0,
        bubble_seconds: step.bubble.0,
        optimizer_seconds: step.optimizer.0,
        straggler_seconds: step.straggler.0,
    }
}
