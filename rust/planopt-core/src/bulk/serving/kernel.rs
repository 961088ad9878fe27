//! The inner loop of serving: candidates that differ in the batch alone.
//!
//! What a step of each batch takes is worked out once for a replica, by the functions of the
//! single evaluation; here it is put together with the micro-batches in flight, memory and money.

use super::columns::ServingColumns;
use crate::bulk::columns::LANES;
use crate::bulk::lane::{most, pick};
use crate::memory::StageMemory;
use crate::quantity::{SECONDS_PER_HOUR, TOKENS_PER_MILLION};
use multiversion::multiversion;

/// Batches, and what a step of each takes: columns of one length.
#[derive(Clone, Debug, Default)]
pub(super) struct Steps {
    /// Sequences of a micro-batch.
    pub(super) batch: Vec<f64>,
    /// One over it.
    pub(super) inverse: Vec<f64>,
    /// Sequences on the busiest attention data-parallel rank.
    pub(super) local: Vec<f64>,
    /// One micro-batch through all stages.
    pub(super) turn: Vec<f64>,
    /// The slowest stage.
    pub(super) slowest: Vec<f64>,
    /// What the turn consists of.
    pub(super) compute: Vec<f64>,
    pub(super) memory: Vec<f64>,
    pub(super) communication: Vec<f64>,
    pub(super) host: Vec<f64>,
}

/// What candidates share that differ in the batch alone.
#[derive(Clone, Debug, Default)]
pub(super) struct Row {
    /// Of each kind of stage.
    pub(super) memory: Vec<StageMemory>,
    pub(super) capacity: f64,
    /// Micro-batches in flight.
    pub(super) in_flight: f64,
    /// Batches resident for each that is stepped.
    pub(super) resident: f64,
    pub(super) prefill_seconds: f64,
    pub(super) replicas: f64,
    pub(super) duty: f64,
    pub(super) price_usd: f64,
    pub(super) usd_per_hour: f64,
    pub(super) power_watts: f64,
}

/// Evaluates the candidates of `row` with the batches from `from` on, `count` of them.
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
    steps: &Steps,
    from: usize,
    count: usize,
    to: &mut ServingColumns,
) {
    let count = count.min(LANES);
    let lanes = from..from + count;
    let batch = &steps.batch[lanes.clone()];
    let inverse = &steps.inverse[lanes.clone()];
    let local = &steps.local[lanes.clone()];
    let turn = &steps.turn[lanes.clone()];
    let slowest = &steps.slowest[lanes.clone()];
    let compute = &steps.compute[lanes.clone()];
    let memory = &steps.memory[lanes.clone()];
    let communication = &steps.communication[lanes.clone()];
    let host = &steps.host[lanes];

    to.total_bytes[..count].fill(0.0);
    for stage in &row.memory {
        let (weights, overhead) = (stage.weights.0, stage.overhead.0);
        let (workspace, logits) = (stage.workspace.0, stage.logits_per_sequence.0);
        let cache = stage.kv_cache_per_sequence.0;
        for lane in 0..count {
            let kv_cache = cache * (local[lane] * row.in_flight * row.resident);
            let activations = workspace + logits * local[lane];
            let total = weights + kv_cache + activations + overhead;
            let fuller = total > to.total_bytes[lane];
            to.total_bytes[lane] = pick(fuller, total, to.total_bytes[lane]);
            to.weights_bytes[lane] = pick(fuller, weights, to.weights_bytes[lane]);
            to.kv_cache_bytes[lane] = pick(fuller, kv_cache, to.kv_cache_bytes[lane]);
            to.activations_bytes[lane] = pick(fuller, activations, to.activations_bytes[lane]);
            to.overhead_bytes[lane] = pick(fuller, overhead, to.overhead_bytes[lane]);
        }
    }

    let tokens_per_usd = row.replicas * SECONDS_PER_HOUR * row.duty / row.usd_per_hour;
    let usd_per_million = TOKENS_PER_MILLION / tokens_per_usd / row.in_flight;
    let inverse_resident = 1.0 / row.resident;
    for lane in 0..count {
        let step = most(turn[lane], slowest[lane] * row.in_flight);
        let rate = 1.0 / step;
        let tokens_per_second = row.in_flight * batch[lane] * rate;
        to.capacity_bytes[lane] = row.capacity;
        to.step_seconds[lane] = step;
        to.compute_seconds[lane] = compute[lane];
        to.memory_seconds[lane] = memory[lane];
        to.communication_seconds[lane] = communication[lane];
        to.host_seconds[lane] = host[lane];
        to.waiting_seconds[lane] = step - turn[lane];
        to.tpot_seconds[lane] = step * row.resident;
        to.tokens_per_second_per_user[lane] = rate * inverse_resident;
        to.tokens_per_second[lane] = tokens_per_second;
        to.prefill_seconds[lane] = row.prefill_seconds;
        to.price_usd[lane] = row.price_usd;
        to.usd_per_hour[lane] = row.usd_per_hour;
        to.usd_per_million_tokens[lane] = step * inverse[lane] * usd_per_million;
        to.tokens_per_usd[lane] = tokens_per_second * tokens_per_usd;
        to.power_watts[lane] = row.power_watts;
    }
}
