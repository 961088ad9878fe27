//! The arithmetic that counts as the model's, in the conventions that published figures use.

use super::heads::Heads;
use crate::compute::shape::causal_mean;
use crate::load::training::{FlopsConvention, PASSES, Recipe};
use crate::quantity::real;
use crate::transformer::{Operation, Rule, Transformer, Work};

/// Operations of a scan for each element of its states, as Megatron-LM counts them (`training.py`,
/// `mamba_layer_flops`).
const SCAN_FLOP: f64 = 7.0;

/// The same of a delta rule (`gdn_layer_flops`).
const DELTA_FLOP: f64 = 8.0;

/// Model FLOPs of one token, forward and backward.
pub fn model_flops_per_token(
    transformer: &Transformer,
    recipe: &Recipe,
    convention: FlopsConvention,
) -> f64 {
    if let FlopsConvention::SixPerParameter(parameters) = convention {
        let parameters = parameters.unwrap_or_else(|| real(transformer.active_parameters()));
        return 2.0 * recipe.passes() * parameters;
    }
    let sequence = f64::from(recipe.seq_len);
    let seen = |window: Option<u64>| {
        if recipe.causal && convention == FlopsConvention::Causal {
            causal_mean(sequence, window)
        } else {
            window.map_or(sequence, |window| real(window).min(sequence))
        }
    };
    let of = |operation: &Operation| match (operation.work, Heads::of(operation.work, 1.0)) {
        (_, Some(heads)) => {
            let widths = heads.query * (heads.depth + heads.value);
            PASSES * 2.0 * widths * seen(heads.window)
        }
        (Work::StateSpace(mixer), _) => {
            let of_element = match mixer.rule {
                Rule::Decay => SCAN_FLOP,
                Rule::GatedDelta | Rule::KimiDelta => DELTA_FLOP,
                Rule::Convolution => 0.0,
            };
            PASSES * of_element * real(mixer.inner() * mixer.state)
        }
        _ => recipe.passes() * operation.flop_per_token(),
    };
    let model: f64 = transformer.operations().map(of).sum();
    let module: f64 = transformer.mtp_operations().map(of).sum();
    model + f64::from(recipe.mtp_modules) * module
}
