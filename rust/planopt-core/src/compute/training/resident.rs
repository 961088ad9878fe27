//! What a rank holds for its parameters, whatever the batch: weights, gradients, optimizer.

use crate::format::Format;
use crate::load::training::{AdaptedModules, Optimizer, Precision, Recipe};
use crate::parallel::{Layout, local_shape, parameter_fraction};
use crate::quantity::{Bytes, real};
use crate::transformer::{Operation, Role, Work};
use std::ops::{Add, Mul};

/// A 32-bit number.
const WIDE: f64 = 4.0;

/// A moment in 8 bits.
const NARROW: f64 = 1.0;

/// Iterations of Muon (Jordan et al., 2024: kellerjordan.github.io/posts/muon).
const NEWTON_SCHULZ_STEPS: f64 = 5.0;

/// Times that an optimizer's pass reads or writes gradients: once for their norm, twice to clip
/// them, once for the update and once to set them to zero (`NVIDIA/Megatron-LM`, optimizer).
const GRADIENT_PASSES: f64 = 5.0;

/// Bytes on one rank, before data-parallel ranks share them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Resident {
    /// Weights as products read them.
    pub weights: Bytes,
    /// Gradients as they are summed.
    pub gradients: Bytes,
    /// State of the optimizer with the master weights.
    pub state: Bytes,
    /// Of the weights, those that are trained, in the format of activations.
    pub trained: Bytes,
    /// The same as ranks gather them after a step.
    pub gathered: Bytes,
    /// Arithmetic of the optimizer, in floating-point operations.
    pub optimizer_flop: f64,
}

impl Resident {
    /// Bytes that the optimizer's pass moves: its state read and written, gradients read for
    /// their norm, clipped, read for the update and set to zero, weights written.
    pub fn optimizer_traffic(&self) -> Bytes {
        self.state * 2.0 + self.gradients * GRADIENT_PASSES + self.trained
    }
}

/// Adds and multiplies a struct field by field.
macro_rules! by_field {
    ($name:ident { $($field:ident),+ }) => {
        impl Add for $name {
            type Output = Self;
            fn add(self, other: Self) -> Self {
                Self { $($field: self.$field + other.$field),+ }
            }
        }

        impl Mul<f64> for $name {
            type Output = Self;
            fn mul(self, factor: f64) -> Self {
                Self { $($field: self.$field * factor),+ }
            }
        }
    };
}
pub(super) use by_field;

by_field!(Resident {
    weights,
    gradients,
    state,
    trained,
    gathered,
    optimizer_flop
});

/// Bytes of optimizer state per parameter, the master weight included, of a matrix of `k` by
/// `n` in a layer, or of anything else.
fn state_bytes(recipe: &Recipe, matrix: Option<(f64, f64)>) -> f64 {
    // In 32 bits the weights are their own master.
    let master = match recipe.precision {
        Precision::Fp32 => 0.0,
        _ if !recipe.master_weights => 0.0,
        _ => WIDE,
    };
    let wide = if recipe.master_weights {
        WIDE
    } else {
        recipe.precision.activation_bytes()
    };
    let moments = match (recipe.optimizer, matrix) {
        (Optimizer::Adam8bit, _) => 2.0 * NARROW,
        (Optimizer::Adam16bit, _) => 2.0 * Format::Bf16.bytes_per_element(),
        (Optimizer::Sgd, _) | (Optimizer::Muon, Some(_)) | (Optimizer::Adafactor, None) => wide,
        (Optimizer::Adafactor, Some((k, n))) => wide * (k + n) / (k * n),
        (Optimizer::Adam, _) | (Optimizer::Muon, None) => 2.0 * wide,
    };
    master + moments
}

/// What a rank holds of `operation`, without copies in fewer bits.
pub(crate) fn resident_state(recipe: &Recipe, operation: &Operation, layout: &Layout) -> Resident {
    let (tp, parts) = if is_routed(operation) {
        (layout.expert_tp(), f64::from(layout.ep))
    } else {
        (layout.tp, 1.0)
    };
    let parameters = real(operation.parameters) * parameter_fraction(operation, tp) / parts;
    let Some(adapters) = recipe.adapters else {
        let matrix = match operation.work {
            Work::MatMul { k, n, .. } if operation.quantised => Some((real(k), real(n))),
            _ => None,
        };
        return trained(recipe, parameters, matrix);
    };
    let frozen = if operation.quantised {
        adapters.frozen.bytes_per_element()
    } else {
        recipe.precision.activation_bytes()
    };
    let weights = Bytes(parameters * frozen);
    let own = Resident {
        weights,
        ..Resident::default()
    };
    own + trained(
        recipe,
        adapter_parameters(recipe, operation, tp, parts),
        None,
    )
}

/// Parameters of the adapter on a product of a layer: `rank (k + n)` for each of its matrices.
fn adapter_parameters(recipe: &Recipe, operation: &Operation, tp: u32, parts: f64) -> f64 {
    let (
        Some(adapters),
        Work::MatMul {
            k,
            n,
            shard,
            experts,
            ..
        },
    ) = (recipe.adapters, operation.work)
    else {
        return 0.0;
    };
    if !is_adapted(recipe, operation) {
        return 0.0;
    }
    let (k_local, n_local) = local_shape(k, n, shard, tp);
    real(experts) / parts * f64::from(adapters.rank) * (k_local + n_local)
}

/// Whether a product has an adapter beside it.
pub(super) fn is_adapted(recipe: &Recipe, operation: &Operation) -> bool {
    let of_attention = matches!(
        operation.role,
        Role::Query
            | Role::QueryKeyValue
            | Role::QueryKey
            | Role::QueryDown
            | Role::QueryUp
            | Role::KeyValueDown
            | Role::KeyValueUp
            | Role::AttentionOutput
    );
    operation.quantised
        && recipe
            .adapters
            .is_some_and(|adapters| match adapters.modules {
                AdaptedModules::All => true,
                AdaptedModules::Attention => of_attention,
            })
}

/// What a checkpoint writes of `operation`, once for all ranks: the state, and the weights
/// where they are their own master.
pub(crate) fn checkpoint_bytes(recipe: &Recipe, operation: &Operation) -> Bytes {
    let whole = resident_state(recipe, operation, &Layout::SINGLE);
    match recipe.precision {
        Precision::Fp32 => whole.state + whole.trained,
        _ => whole.state,
    }
}

fn trained(recipe: &Recipe, parameters: f64, matrix: Option<(f64, f64)>) -> Resident {
    let state = state_bytes(recipe, matrix);
    let weights = Bytes(parameters * recipe.precision.activation_bytes());
    Resident {
        weights,
        gradients: Bytes(parameters * recipe.gradients.bytes_per_element()),
        state: Bytes(parameters * state),
        trained: weights,
        gathered: weights,
        optimizer_flop: match (recipe.optimizer, matrix) {
            (Optimizer::Muon, Some((k, n))) => parameters / (k * n) * orthogonalise(k, n),
            _ => 0.0,
        },
    }
}

/// Newton-Schulz iteration on a matrix: `A = X X'`, `B = b A + c A A`, `X = a X + B X`.
fn orthogonalise(k: f64, n: f64) -> f64 {
    let (narrow, wide) = (k.min(n), k.max(n));
    NEWTON_SCHULZ_STEPS * (4.0 * narrow * narrow * wide + 2.0 * narrow * narrow * narrow)
}

/// Whether a token meets only some of the operation's matrices.
pub(super) fn is_routed(operation: &Operation) -> bool {
    matches!(operation.work, Work::MatMul { experts, .. } if experts > 1)
}
