//! Shapes: what of an operation one rank holds, and what a token meets of it.
//! Formulas: `docs/reference/model.md`, sections 1 and 3.

use crate::quantity::real;

/// The tighter of two limits.
pub(crate) fn tighter(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    one.into_iter().chain(other).min()
}

/// Heads of keys and values on one of `tp` ranks: where there are fewer of them than ranks, each is on several.
pub(crate) fn kv_heads_on(tp: f64, kv_heads: u64) -> f64 {
    real(kv_heads) / tp.min(real(kv_heads))
}

/// Tokens of `tokens` that a limit leaves.
pub(crate) fn within(limit: Option<u64>, tokens: f64) -> f64 {
    limit.map_or(tokens, |limit| tokens.min(real(limit)))
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
