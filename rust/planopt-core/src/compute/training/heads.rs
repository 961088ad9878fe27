//! Heads of attention as training computes them.

use crate::compute::shape::{kv_heads_on, tighter};
use crate::quantity::real;
use crate::transformer::Work;

/// Heads of attention on one rank.
pub(super) struct Heads {
    pub(super) query: f64,
    pub(super) key_value: f64,
    /// Width of a query or key.
    pub(super) depth: f64,
    /// Width of a value.
    pub(super) value: f64,
    pub(super) window: Option<u64>,
}

impl Heads {
    /// Of an attention, or of what selects its tokens, on one of `tp` ranks.
    pub(super) fn of(work: Work, tp: f64) -> Option<Self> {
        match work {
            Work::Attention {
                heads,
                kv_heads,
                head_dim,
                value_dim,
                window,
                selected,
                ..
            } => Some(Self {
                query: real(heads) / tp,
                key_value: kv_heads_on(tp, kv_heads),
                depth: real(head_dim),
                value: real(value_dim),
                window: tighter(window, selected),
            }),
            // Training expands the latent: every head has its own keys and values.
            Work::LatentAttention {
                heads,
                rope,
                nope,
                value,
                selected,
                ..
            } => Some(Self {
                query: real(heads) / tp,
                key_value: real(heads) / tp,
                depth: real(nope + rope),
                value: real(value),
                window: selected,
            }),
            // It has no values, and every rank scores for all heads.
            Work::Index { heads, head_dim } => Some(Self {
                query: real(heads),
                key_value: 1.0,
                depth: real(head_dim),
                value: 0.0,
                window: None,
            }),
            _ => None,
        }
    }
}
