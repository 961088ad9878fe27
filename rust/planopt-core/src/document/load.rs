//! Latencies under a load, simulated or estimated.

use super::pools::TransferAnswer;
use super::rejection::RejectionAnswer;
use crate::serving::engine::{EngineLimits, LoadReport, Quantiles, SessionsKept};
use serde::Serialize;

/// What came of a load.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SimulationAnswer {
    /// Whether the configuration works at all.
    pub feasible: bool,
    /// Why not.
    pub rejections: Vec<RejectionAnswer>,
    /// Latencies and rates, if it does.
    pub report: Option<LoadReport>,
    /// Promises that were not kept, as multiples of them.
    pub missed: Vec<(&'static str, f64)>,
    /// What sessions keep in the cache, where the load is of these.
    pub sessions: Option<SessionsKept>,
    /// Limits of an engine, and of the one that answers where that is another.
    pub engines: Vec<EngineAnswer>,
    /// How caches get to the replicas that answer, where those are others and it was not given.
    pub transfer: Option<TransferAnswer>,
}

/// Limits that an engine was simulated with.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct EngineAnswer {
    /// Tokens of a step.
    pub token_budget: u32,
    /// Sequences of a micro-batch.
    pub max_sequences: u32,
    /// Tokens that the KV cache holds.
    pub kv_tokens: u64,
    /// Micro-batches under way at the same time.
    pub micro_batches: u32,
}

impl From<EngineLimits> for EngineAnswer {
    fn from(limits: EngineLimits) -> Self {
        Self {
            token_budget: limits.token_budget,
            max_sequences: limits.max_sequences,
            kv_tokens: limits.kv_tokens,
            micro_batches: limits.micro_batches,
        }
    }
}

/// What the closed form says of a load, whatever the run.
#[derive(Clone, Debug, Default, Serialize)]
pub struct EstimateAnswer {
    /// Whether the configuration works at all.
    pub feasible: bool,
    /// Why not.
    pub rejections: Vec<RejectionAnswer>,
    /// Whether it cannot keep up with the load.
    pub overloaded: bool,
    /// Latencies and rates, if it can.
    pub report: Option<EstimateReport>,
}

/// Latencies and rates by the closed form.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct EstimateReport {
    /// Time to the first token.
    pub ttft_seconds: Quantiles,
    /// Time per output token.
    pub tpot_seconds: Quantiles,
    /// Of all replicas.
    pub requests_per_second: f64,
    /// Output tokens of all replicas.
    pub tokens_per_second: f64,
}
