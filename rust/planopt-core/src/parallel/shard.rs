//! How degrees divide an operation.

use super::degrees::Degrees;
use crate::format::Formats;
use crate::quantity::{Bytes, real};
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
        | Work::Index { .. }
        | Work::Elementwise { .. }
        | Work::AllReduce { .. } => 1.0,
    }
}

/// Parameters of an operation that one rank holds.
pub(crate) fn weights(operation: &Operation, formats: Formats, degrees: Degrees) -> Bytes {
    let experts = match operation.work {
        Work::MatMul { experts, .. } => experts,
        _ => 1,
    };
    let fraction = parameter_fraction(operation, degrees.dividing(experts))
        / f64::from(degrees.parts(experts));
    Bytes(real(operation.parameters) * fraction * operation.stored_bytes(formats))
}
