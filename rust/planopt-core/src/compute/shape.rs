//! Shapes: what of an operation one rank holds, and what a token meets of it.
//! Formulas: `docs/reference/model.md`, sections 1 and 3.

use super::rates::Formats;
use crate::degrees::Degrees;
use crate::quantity::Bytes;
use crate::transformer::{Operation, Shard, Work};

/// Inputs and outputs of a product on one of `tp` ranks.
pub fn local_shape(k: u64, n: u64, shard: Shard, tp: u32) -> (f64, f64) {
    let (k, n, tp) = (real(k), real(n), f64::from(tp));
    match shard {
        Shard::Replicated => (k, n),
        Shard::Columns => (k, n / tp),
        Shard::Rows => (k / tp, n),
        Shard::Heads {
            query,
            key_value,
            kv_heads,
        } => (
            k,
            real(query) / tp + real(key_value) / tp.min(real(kv_heads)),
        ),
    }
}

/// Share of an operation's parameters that one of `tp` ranks holds.
pub fn parameter_fraction(operation: &Operation, tp: u32) -> f64 {
    match operation.work {
        Work::MatMul { k, n, shard, .. } => {
            let (k_local, n_local) = local_shape(k, n, shard, tp);
            (k_local * n_local) / (real(k) * real(n))
        }
        Work::Gather { .. } | Work::StateSpace(_) => 1.0 / f64::from(tp),
        Work::Attention { .. }
        | Work::LatentAttention { .. }
        | Work::Elementwise { .. }
        | Work::AllReduce { .. } => 1.0,
    }
}

/// Parameters of an operation that one rank holds.
pub(super) fn weights(operation: &Operation, formats: Formats, degrees: Degrees) -> Bytes {
    let experts = match operation.work {
        Work::MatMul { experts, .. } => experts,
        _ => 1,
    };
    let fraction = parameter_fraction(operation, degrees.dividing(experts))
        / f64::from(degrees.parts(experts));
    Bytes(real(operation.parameters) * fraction * formats.weight_bytes(operation))
}

/// Distinct matrices of `experts` that `tokens` meet when each is routed to `active` of them:
/// the expectation for even routing, not `min(experts, tokens * active)`.
pub fn distinct_experts(experts: f64, active: f64, tokens: f64) -> f64 {
    if experts <= 1.0 {
        return 1.0;
    }
    experts * share_met(experts, active, tokens)
}

/// Share of `parts` that is met in the mean when each of `draws` meets `at_once` of them.
pub(crate) fn share_met(parts: f64, at_once: f64, draws: f64) -> f64 {
    1.0 - (1.0 - at_once / parts).powf(draws)
}

/// Mean number of tokens that a token of a prompt looks at, itself included.
pub fn causal_mean(prompt: f64, window: Option<u64>) -> f64 {
    causal_mean_behind(0.0, prompt, window)
}

/// The same for the tokens of a `chunk` with `cached` tokens of its prompt before it.
pub(super) fn causal_mean_behind(cached: f64, chunk: f64, window: Option<u64>) -> f64 {
    match window.map(real) {
        Some(window) if window < cached + chunk => {
            // The first of them still have less than a window behind them.
            let growing = (window - cached).max(0.0);
            let seen_by_growing = growing * (cached + f64::midpoint(growing, 1.0));
            (seen_by_growing + (chunk - growing) * window) / chunk
        }
        _ => cached + f64::midpoint(chunk, 1.0),
    }
}

/// Share of its full rate that a product reaches at `size` in one dimension: one half at `half`.
pub(crate) fn saturation(size: f64, half: f64) -> f64 {
    size / (size + half)
}

/// A count as a real number.
pub(crate) fn real(count: u64) -> f64 {
    #[expect(
        clippy::cast_precision_loss,
        reason = "dimensions and counts stay below 2^53"
    )]
    let real = count as f64;
    real
}
