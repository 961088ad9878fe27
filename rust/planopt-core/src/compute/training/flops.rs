//! The arithmetic that counts as the model's, in the conventions that published figures use.

use crate::compute::shape::causal_mean;
use crate::load::training::Recipe;
use crate::quantity::real;
use crate::transformer::{Operation, Transformer, Work};

/// One product forward, two backward.
const PASSES: f64 = 3.0;

/// One of those backward where weights are frozen.
const FROZEN_PASSES: f64 = 2.0;

impl Recipe {
    /// Products forward and backward for each one forward.
    pub(crate) fn passes(&self) -> f64 {
        if self.adapters.is_some() {
            FROZEN_PASSES
        } else {
            PASSES
        }
    }
}

/// Operations of a scan for each element of its states, as Megatron-LM counts them
/// (`training.py`, `mamba_layer_flops`).
const SCAN_FLOP: f64 = 7.0;

/// Which arithmetic counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FlopsConvention {
    /// Products, and attention to every token of the sequence (arXiv 2204.02311, appendix B;
    /// Megatron-LM).
    Full,
    /// Products, and attention to the tokens before.
    Causal,
    /// Six (four where weights are frozen) for each parameter and token, of so many parameters, or of the model's active ones
    /// (Kaplan et al., arXiv 2001.08361).
    SixPerParameter(Option<f64>),
}

impl FlopsConvention {
    /// The name used in questions and answers.
    pub fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Causal => "causal",
            Self::SixPerParameter(_) => "6nd",
        }
    }
}

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
    let of = |operation: &Operation| match operation.work {
        Work::Attention {
            heads,
            head_dim,
            window,
            ..
        } => PASSES * 4.0 * real(heads * head_dim) * seen(window),
        Work::LatentAttention {
            heads,
            rope,
            nope,
            value,
            ..
        } => PASSES * 2.0 * real(heads * (nope + rope + value)) * seen(None),
        Work::StateSpace(mixer) => PASSES * SCAN_FLOP * real(mixer.inner() * mixer.state),
        _ => recipe.passes() * operation.flop_per_token(),
    };
    let model: f64 = transformer.operations().map(of).sum();
    let module: f64 = transformer.mtp_operations().map(of).sum();
    model + f64::from(recipe.mtp_modules) * module
}
