//! The inner loop of training: candidates that differ in the number of micro-batches alone.
//!
//! What a row of them shares is worked out by the functions of the single evaluation; here it is
//! put together, as `StepTime` and `StageMemory` do it for one. No division but one per candidate,
//! no branch, no call: the compiler turns it into vectors of whatever width the machine has.

use multiversion::multiversion;

use super::columns::TrainingColumns;
use crate::bulk::columns::{Column, LANES};
use crate::bulk::lane::{least, pick};
use crate::training::{EQUALLY_LONG, Following, StageMemory};

const SECONDS_PER_HOUR: f64 = 3600.0;
const HOURS_PER_DAY: f64 = 24.0;
const TOKENS_PER_MILLION: f64 = 1e6;
const TERA: f64 = 1e12;

/// A stage, less what the number of micro-batches decides.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct StageTerms {
    memory: StageMemory,
    /// Exposed exchange of every micro-batch but the last, and of the last.
    usual: f64,
    last: f64,
    /// Exchange of each micro-batch, and of a step.
    each: f64,
    once: f64,
    offload: f64,
    optimizer: f64,
}

impl StageTerms {
    pub(super) fn new(memory: StageMemory) -> Self {
        Self {
            memory,
            ..Self::default()
        }
    }

    /// Adds what follows the micro-batches.
    pub(super) fn follow(&mut self, following: &Following) {
        let [forward, backward] = [0, 1].map(|pass| {
            let each = following.each[pass] - following.window[pass];
            let last = each + following.once[pass];
            (each.0.max(0.0), last.0.max(0.0))
        });
        self.usual = forward.0 + backward.0;
        self.last = forward.1 + backward.1 + following.tied.0;
        self.each = following.each[0].0 + following.each[1].0;
        self.once = following.once[0].0 + following.once[1].0 + following.tied.0;
        self.offload = following.offload.0;
        self.optimizer = following.optimizer.0;
    }

    /// Memory with so many micro-batches: it never falls as they grow.
    pub(super) fn total_bytes(&self, micro_batches: f64) -> f64 {
        self.memory.with(micro_batches).total().0
    }
}

/// What candidates share that differ in the number of micro-batches alone.
#[derive(Clone, Debug, Default)]
pub(super) struct Row {
    pub(super) stages: Vec<StageTerms>,
    /// One micro-batch on the slowest stage, and its arithmetic alone.
    pub(super) slowest: f64,
    pub(super) slowest_compute: f64,
    pub(super) bubble: f64,
    /// What exchanges that are hidden slow the rest down by.
    pub(super) contention: f64,
    /// What the host takes once a step.
    pub(super) step_overhead: f64,
    pub(super) straggling: f64,
    pub(super) capacity: f64,
    /// Tokens of one micro-batch on all pipelines.
    pub(super) tokens_per_micro_batch: f64,
    pub(super) accelerators: f64,
    /// Model FLOPs of a token over the peak of all accelerators.
    pub(super) flops_over_peak: f64,
    pub(super) peak: f64,
    pub(super) goodput: f64,
    /// Tokens of the whole run.
    pub(super) tokens: f64,
    pub(super) price_usd: f64,
    pub(super) usd_per_hour: f64,
    pub(super) duty: f64,
}

impl Row {
    /// No candidate of the row takes fewer days: the slowest stage has to do every micro-batch. The
    /// bound is a little lower than that, so that rounding cannot lift it above a candidate.
    pub(super) fn least_days(&self) -> f64 {
        const BELOW_ROUNDING: f64 = 1.0 - 1e-9;
        let seconds = self.tokens * (self.slowest / self.tokens_per_micro_batch) / self.goodput;
        seconds / SECONDS_PER_HOUR / HOURS_PER_DAY * BELOW_ROUNDING
    }
}

/// What closes the step: of the stage whose end comes last, the last of equals.
struct Closing {
    data: Column,
    hidden: Column,
    offload: Column,
    optimizer: Column,
    key: Column,
}

/// Evaluates candidates of `row` with so many micro-batches each, given with their inverses.
#[multiversion(targets(
    "x86_64+avx2+fma+avx512f+avx512dq+avx512vl+avx512bw",
    "x86_64+avx2+fma",
    "aarch64+neon"
))]
#[expect(
    clippy::needless_range_loop,
    reason = "many columns under one index, which the compiler makes vectors of"
)]
pub(super) fn evaluate(
    row: &Row,
    micro_batches: &[f64],
    inverse: &[f64],
    to: &mut TrainingColumns,
) {
    let count = micro_batches.len().min(inverse.len()).min(LANES);
    let (micro_batches, inverse) = (&micro_batches[..count], &inverse[..count]);

    to.total_bytes[..count].fill(f64::NEG_INFINITY);
    for stage in &row.stages {
        let memory = &stage.memory;
        let (kept, most_resident) = (memory.kept_by_layers.0, memory.most_resident.0);
        let (embedding, head) = (memory.kept_by_embedding.0, memory.kept_by_head.0);
        let (working, transient) = (memory.working.0, memory.transient.0);
        let (most_in_flight, most_logits) = (memory.most_in_flight, memory.most_logits);
        let (weights, gradients) = (memory.held.weights.0, memory.held.gradients.0);
        let (optimizer, overhead) = (memory.held.optimizer.0, memory.held.overhead.0);
        let (beyond_use, capacity) = (memory.reserve - 1.0, memory.capacity.0);
        for lane in 0..count {
            let in_flight = least(most_in_flight, micro_batches[lane]);
            let logits = least(most_logits, micro_batches[lane]);
            let resident = least(kept * in_flight, most_resident);
            let activations =
                resident + working + (embedding * in_flight + (head * logits + transient));
            let used = weights + gradients + optimizer + activations;
            let room = pick(capacity > used + overhead, capacity - used - overhead, 0.0);
            let overhead = overhead + least(used * beyond_use, room);
            let total = used + overhead;
            let fuller = total > to.total_bytes[lane];
            to.total_bytes[lane] = pick(fuller, total, to.total_bytes[lane]);
            to.activations_bytes[lane] = pick(fuller, activations, to.activations_bytes[lane]);
            to.weights_bytes[lane] = pick(fuller, weights, to.weights_bytes[lane]);
            to.gradients_bytes[lane] = pick(fuller, gradients, to.gradients_bytes[lane]);
            to.optimizer_bytes[lane] = pick(fuller, optimizer, to.optimizer_bytes[lane]);
            to.overhead_bytes[lane] = pick(fuller, overhead, to.overhead_bytes[lane]);
        }
    }

    let mut closing = Closing {
        data: [0.0; LANES],
        hidden: [0.0; LANES],
        offload: [0.0; LANES],
        optimizer: [0.0; LANES],
        key: [0.0; LANES],
    };
    for stage in &row.stages {
        for lane in 0..count {
            let data = stage.usual * (micro_batches[lane] - 1.0) + stage.last;
            let hidden = stage.each * micro_batches[lane] + stage.once - data;
            let key = data + stage.offload + stage.optimizer;
            let later = key * EQUALLY_LONG >= closing.key[lane];
            closing.key[lane] = pick(later, key, closing.key[lane]);
            closing.data[lane] = pick(later, data, closing.data[lane]);
            closing.hidden[lane] = pick(later, hidden, closing.hidden[lane]);
            closing.offload[lane] = pick(later, stage.offload, closing.offload[lane]);
            closing.optimizer[lane] = pick(later, stage.optimizer, closing.optimizer[lane]);
        }
    }

    let seconds_of_run = row.tokens / row.goodput;
    let tokens_per_usd = row.goodput * SECONDS_PER_HOUR * row.duty / row.usd_per_hour;
    let usd_per_million = TOKENS_PER_MILLION / tokens_per_usd;
    let per_accelerator = 1.0 / row.accelerators;
    let tflops = row.peak / TERA;
    let days_of_run = seconds_of_run / SECONDS_PER_HOUR / HOURS_PER_DAY;
    let inverse_tokens = 1.0 / row.tokens_per_micro_batch;
    for lane in 0..count {
        let batches = micro_batches[lane];
        let communication = (row.slowest - row.slowest_compute) * batches
            + closing.offload[lane]
            + row.contention * closing.hidden[lane]
            + row.step_overhead
            + closing.data[lane];
        let compute = row.slowest_compute * batches + closing.optimizer[lane];
        let straggler = (communication + compute + row.bubble) * row.straggling;
        let waiting = row.bubble + straggler;
        let step = communication + compute + waiting;
        let tokens_per_second = row.tokens_per_micro_batch * batches / step;
        let seconds_per_token = step * inverse[lane] * inverse_tokens;
        let mfu = row.flops_over_peak * tokens_per_second;
        to.capacity_bytes[lane] = row.capacity;
        to.step_seconds[lane] = step;
        to.compute_seconds[lane] = compute;
        to.bubble_seconds[lane] = waiting;
        to.exposed_communication_seconds[lane] = communication;
        to.tokens_per_second[lane] = tokens_per_second;
        to.tokens_per_second_per_accelerator[lane] = tokens_per_second * per_accelerator;
        to.mfu[lane] = mfu;
        to.model_tflops_per_accelerator[lane] = mfu * tflops;
        to.goodput[lane] = row.goodput;
        to.days[lane] = seconds_per_token * days_of_run;
        to.price_usd[lane] = row.price_usd;
        to.usd_per_hour[lane] = row.usd_per_hour;
        to.tokens_per_usd[lane] = tokens_per_second * tokens_per_usd;
        to.usd_per_million_tokens[lane] = seconds_per_token * usd_per_million;
    }
}
