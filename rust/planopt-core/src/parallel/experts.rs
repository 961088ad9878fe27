//! How many distinct experts the tokens of a step are routed to.

/// Distinct matrices of `experts` that `tokens` reach when each is routed to `active` of them:
/// the expectation for even routing, not `min(experts, tokens * active)`.
pub fn distinct_experts(experts: f64, active: f64, tokens: f64) -> f64 {
    if experts <= 1.0 {
        return 1.0;
    }
    experts * distinct_share(experts, active, tokens)
}

/// Share of `parts` that is distinct in the mean when each of `draws` takes `at_once` of them.
pub(crate) fn distinct_share(parts: f64, at_once: f64, draws: f64) -> f64 {
    1.0 - (1.0 - at_once / parts).powf(draws)
}
