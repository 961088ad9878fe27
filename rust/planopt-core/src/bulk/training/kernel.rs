//! The inner loop of training: candidates that differ in the number of micro-batches alone.
//!
//! What a row of them shares is worked out by the functions of the single evaluation; here it is
//! put together, as `StepTime` and `StageMemory` do it for one. No division but one per candidate,
//! no branch, no call: the compiler turns it into vectors of whatever width the machine has.

use super::columns::TrainingColumns;
use super::levels::{StageExchange, StageKept, StagePace, StageResident};
use crate::bulk::columns::{Column, LANES};
use crate::bulk::lane::{least, most, pick};
use crate::parallel::Stage;
use crate::quantity::{EQUALLY_LONG, HOURS_PER_DAY, SECONDS_PER_HOUR, TOKENS_PER_MILLION};
use multiversion::multiversion;

const TERA: f64 = 1e12;

/// A stage, less what the number of micro-batches decides.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct StageTerms {
    kept: StageKept,
    resident: StageResident,
    /// Exposed exchange of every micro-batch but the last, and of the last.
    usual: f64,
    last: f64,
    /// Exchange of each micro-batch, and of a step.
    each: f64,
    once: f64,
    /// The optimizer's pass.
    update: f64,
}

/// Bytes of a stage that depend on the number of micro-batches.
struct Used {
    activations: f64,
    overhead: f64,
    total: f64,
}

impl StageTerms {
    pub(super) fn new(
        pace: &StagePace,
        exchange: &StageExchange,
        kept: StageKept,
        resident: StageResident,
    ) -> Self {
        let [forward, backward] = [0, 1].map(|pass| {
            let (each, once) = (exchange.each[pass], exchange.once[pass]);
            exchange.overlapping.exposed(each, once, pace.window[pass])
        });
        Self {
            kept,
            resident,
            usual: forward.0 + backward.0,
            last: forward.1 + backward.1 + pace.tied,
            each: exchange.each[0] + exchange.each[1],
            once: exchange.once[0] + exchange.once[1] + pace.tied,
            update: exchange.update,
        }
    }

    /// Memory with so many micro-batches, as `StageMemory::with` has it.
    #[inline]
    fn used(&self, micro_batches: f64) -> Used {
        let Self { kept, resident, .. } = self;
        let in_flight = least(kept.most_in_flight, micro_batches);
        let logits = least(kept.most_logits, micro_batches);
        let activations = kept.by_layers * in_flight
            + kept.working
            + (kept.by_embedding * in_flight + (kept.by_head * logits + kept.transient));
        let used = resident.weights + resident.gradients + resident.optimizer + activations;
        let room = most(resident.capacity - used - resident.overhead, 0.0);
        let overhead = resident.overhead + least(used * (resident.reserve - 1.0), room);
        Used {
            activations,
            overhead,
            total: used + overhead,
        }
    }
}

/// What candidates share that differ in the number of micro-batches alone.
#[derive(Clone, Debug, Default)]
pub(super) struct Row {
    pub(super) stages: Vec<StageTerms>,
    /// One micro-batch on the slowest stage, its arithmetic alone, and what it waits for the host.
    pub(super) slowest: f64,
    pub(super) slowest_compute: f64,
    pub(super) slowest_host: f64,
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
    /// Takes what one micro-batch takes on the stages of a pipeline: of equally long stages the
    /// first is the slowest.
    pub(super) fn pace(&mut self, paces: &[StagePace], stages: &[Stage]) {
        (self.slowest, self.slowest_compute, self.slowest_host) = (0.0, 0.0, 0.0);
        let (mut path, mut waits) = (0.0, 0.0);
        for (pace, stage) in paces.iter().zip(stages) {
            path += pace.seconds * stage.count;
            // No branch: what is behind it need not wait for memory.
            let slower = pace.seconds > self.slowest * EQUALLY_LONG;
            self.slowest = pick(slower, pace.seconds, self.slowest);
            self.slowest_compute = pick(slower, pace.compute, self.slowest_compute);
            self.slowest_host = pick(slower, pace.host, self.slowest_host);
            waits = pick(slower, pace.waits, waits);
        }
        self.bubble = (path - self.slowest) * waits;
    }

    /// Whether it fits in memory with so many micro-batches; more of them never need less.
    pub(super) fn fits(&self, micro_batches: f64) -> bool {
        let fits = |stage: &StageTerms| stage.used(micro_batches).total <= self.capacity;
        self.stages.iter().all(fits)
    }

    /// No candidate of the row takes fewer days: the slowest stage has to do every micro-batch. The
    /// bound is a little lower than that, so that rounding cannot lift it above a candidate.
    pub(super) fn least_days(&self) -> f64 {
        const BELOW_ROUNDING: f64 = 1.0 - 1e-9;
        let seconds = self.tokens * (self.slowest / self.tokens_per_micro_batch) / self.goodput;
        seconds / SECONDS_PER_HOUR / HOURS_PER_DAY * BELOW_ROUNDING
    }
}

/// What closes the step: of the stage whose end comes last, the last of equals.
#[derive(Clone, Debug)]
pub(super) struct Closing {
    data: Column,
    hidden: Column,
    update: Column,
    key: Column,
}

impl Default for Closing {
    fn default() -> Self {
        Self {
            data: [0.0; LANES],
            hidden: [0.0; LANES],
            update: [0.0; LANES],
            key: [0.0; LANES],
        }
    }
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
    closing: &mut Closing,
    to: &mut TrainingColumns,
) {
    let count = micro_batches.len().min(inverse.len()).min(LANES);
    let (micro_batches, inverse) = (&micro_batches[..count], &inverse[..count]);

    to.total_bytes[..count].fill(f64::NEG_INFINITY);
    for stage in &row.stages {
        let StageTerms { resident, .. } = stage;
        for lane in 0..count {
            let used = stage.used(micro_batches[lane]);
            let fuller = used.total > to.total_bytes[lane];
            to.total_bytes[lane] = pick(fuller, used.total, to.total_bytes[lane]);
            to.activations_bytes[lane] = pick(fuller, used.activations, to.activations_bytes[lane]);
            to.weights_bytes[lane] = pick(fuller, resident.weights, to.weights_bytes[lane]);
            to.gradients_bytes[lane] = pick(fuller, resident.gradients, to.gradients_bytes[lane]);
            to.optimizer_bytes[lane] = pick(fuller, resident.optimizer, to.optimizer_bytes[lane]);
            to.overhead_bytes[lane] = pick(fuller, used.overhead, to.overhead_bytes[lane]);
        }
    }

    closing.key[..count].fill(f64::NEG_INFINITY);
    for stage in &row.stages {
        for lane in 0..count {
            let data = stage.usual * (micro_batches[lane] - 1.0) + stage.last;
            let hidden = stage.each * micro_batches[lane] + stage.once - data;
            let key = data + stage.update;
            let later = key * EQUALLY_LONG >= closing.key[lane];
            closing.key[lane] = pick(later, key, closing.key[lane]);
            closing.data[lane] = pick(later, data, closing.data[lane]);
            closing.hidden[lane] = pick(later, hidden, closing.hidden[lane]);
            closing.update[lane] = pick(later, stage.update, closing.update[lane]);
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
        let communication = (row.slowest - row.slowest_compute - row.slowest_host) * batches
            + row.contention * closing.hidden[lane]
            + closing.data[lane];
        let host = row.slowest_host * batches + row.step_overhead;
        let compute = row.slowest_compute * batches + closing.update[lane];
        let straggler = (communication + host + compute + row.bubble) * row.straggling;
        let waiting = row.bubble + straggler;
        let step = communication + host + compute + waiting;
        let tokens_per_second = row.tokens_per_micro_batch * batches / step;
        let seconds_per_token = step * inverse[lane] * inverse_tokens;
        let mfu = row.flops_over_peak * tokens_per_second;
        to.capacity_bytes[lane] = row.capacity;
        to.step_seconds[lane] = step;
        to.compute_seconds[lane] = compute;
        to.bubble_seconds[lane] = waiting;
        to.exposed_communication_seconds[lane] = communication;
        to.host_seconds[lane] = host;
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
