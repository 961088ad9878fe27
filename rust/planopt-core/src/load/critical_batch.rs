//! What larger batches cost: tokens to the same loss (training.md, section 15).

use crate::quantity::real;
use crate::transformer::{Operation, Transformer};

/// `B*` of the law of the critical batch, tokens (Kaplan et al. 2020, arXiv 2001.08361, section 5.1).
const BATCH_SCALE: f64 = 2e8;
/// `alpha_B` of the same law.
const BATCH_EXPONENT: f64 = 0.21;
/// `N_c` of the law of the loss by parameters outside of embeddings (the same, equation 1.1).
const PARAMETER_SCALE: f64 = 8.8e13;
/// `alpha_N` of that law.
const PARAMETER_EXPONENT: f64 = 0.076;

/// Tokens of a step from which a larger batch costs more in tokens than it saves in steps, for a
/// model trained until its size limits its loss: `B* / L^(1 / alpha_B)`, `L = (N_c / N)^alpha_N`,
/// with `N` the parameters of its layers that a token meets.
pub fn critical_batch_tokens(transformer: &Transformer) -> f64 {
    let layers = transformer.layers.iter();
    let operations = layers.flat_map(|&kind| &transformer.blocks[kind].operations);
    let parameters: u64 = operations.map(Operation::active_parameters).sum();
    let loss = (PARAMETER_SCALE / real(parameters.max(1))).powf(PARAMETER_EXPONENT);
    BATCH_SCALE / loss.powf(1.0 / BATCH_EXPONENT)
}

/// Tokens with one batch in place of another to the same loss: they grow by `1 + B / B_crit`
/// (arXiv 1812.06162, section 2.3). Batches are in tokens.
pub fn tokens_to_the_same_loss(tokens: f64, of: f64, batch: f64, critical: f64) -> f64 {
    if batch.total_cmp(&of).is_eq() {
        return tokens;
    }
    tokens * (critical + batch) / (critical + of)
}

#[cfg(test)]
mod tests {
    use super::tokens_to_the_same_loss;

    #[test]
    fn a_step_of_the_critical_batch_needs_twice_the_tokens_of_a_tiny_one() {
        let tokens = |batch| tokens_to_the_same_loss(1e12, 1e-3, batch, 15e6);
        assert!((tokens(15e6) / 2e12 - 1.0).abs() < 1e-9);
        assert!((tokens(45e6) / 4e12 - 1.0).abs() < 1e-9);
    }

    #[test]
    fn what_is_asked_of_its_own_batch_is_needed_to_the_last_token() {
        for batch in [1.0, 4096.0 * 1023.0, 3e8] {
            let same = tokens_to_the_same_loss(2.1e12, batch, batch, 1.49e7);
            assert!(same.total_cmp(&2.1e12).is_eq());
        }
    }
}
