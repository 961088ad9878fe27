//! One operation on one rank: a roofline with an efficiency that is smooth in every dimension.
//! Formulas: `docs/reference/model.md`, section 3.

use super::rates::{Formats, Rates};
use super::shape::{causal_mean_behind, distinct_experts, local_shape, real, saturation};
use super::step::{OperationTime, Step};
use crate::catalog::Assumptions;
use crate::transformer::{Operation, Work};

/// One operation on one rank, with everything but the step folded into seconds per unit of work.
#[derive(Clone, Copy, Debug)]
pub(super) enum RankOperation {
    MatMul {
        experts: f64,
        active: f64,
        /// Arithmetic of one row of one matrix, at the efficiency of its columns and depth.
        compute_per_row: f64,
        half_rows: f64,
        /// Reading one matrix.
        memory_per_matrix: f64,
        /// Reading and writing the activations of one token.
        memory_per_token: f64,
    },
    Attention(AttentionPrice),
    Elementwise {
        memory_per_token: f64,
    },
    /// Attention over the cache where the assumptions leave its time out.
    Free,
}

impl RankOperation {
    pub(super) fn time(self, step: Step, tokens: f64, overhead: f64) -> OperationTime {
        match self {
            Self::MatMul {
                experts,
                active,
                compute_per_row,
                half_rows,
                memory_per_matrix,
                memory_per_token,
            } => {
                let matrices = distinct_experts(experts, active, tokens);
                let rows = tokens * active / matrices;
                let compute = tokens * active * compute_per_row / saturation(rows, half_rows);
                let memory = matrices * memory_per_matrix + tokens * memory_per_token;
                OperationTime::roofline(compute, memory, overhead)
            }
            Self::Attention(price) => price.time(step, overhead),
            Self::Elementwise { memory_per_token } => {
                OperationTime::roofline(0.0, tokens * memory_per_token, overhead)
            }
            Self::Free => OperationTime::default(),
        }
    }
}

/// Attention with seconds per unit of work.
#[derive(Clone, Copy, Debug)]
pub(super) struct AttentionPrice {
    window: Option<u64>,
    /// Arithmetic of one decoded token on one cached token.
    decode_compute: f64,
    /// Arithmetic of one token of a prompt on one token before it.
    prefill_compute: f64,
    /// Arithmetic of bringing one token back that was cached before a chunk.
    recover_compute: f64,
    /// Reading one cached token.
    memory_per_cached_token: f64,
}

impl AttentionPrice {
    /// Each part of a step has its own kernel: chunks are arithmetic, decoding reads the cache.
    fn time(self, step: Step, overhead: f64) -> OperationTime {
        let mut time = OperationTime::default();
        if step.prompts > 0.0 {
            time = time.then(self.prefill(step, overhead));
        }
        if step.sequences > 0.0 {
            time = time.then(self.decode(step, overhead));
        }
        time
    }

    fn prefill(self, step: Step, overhead: f64) -> OperationTime {
        let looked_at = causal_mean_behind(step.cached, step.chunk, self.window);
        let cached = self.within_window(step.cached);
        let compute = step.chunk * looked_at * self.prefill_compute + cached * self.recover_compute;
        let read = (step.chunk + cached) * self.memory_per_cached_token;
        OperationTime::roofline(step.prompts * compute, step.prompts * read, overhead)
    }

    fn decode(self, step: Step, overhead: f64) -> OperationTime {
        let seen = step.sequences * self.within_window(step.context);
        OperationTime::roofline(
            seen * self.decode_compute,
            seen * self.memory_per_cached_token,
            overhead,
        )
    }

    fn within_window(self, tokens: f64) -> f64 {
        self.window
            .map_or(tokens, |window| tokens.min(real(window)))
    }
}

/// Folds everything but the step into seconds per unit of work; all-reduces are not computed.
pub(super) fn price(
    operation: &Operation,
    formats: Formats,
    rates: &Rates,
    tp: u32,
    assumptions: &Assumptions,
) -> Option<RankOperation> {
    let compute = &assumptions.compute;
    let activation_per_element = if compute.activation_traffic {
        formats.activation_bytes() / rates.memory.0
    } else {
        0.0
    };
    let attention_rate = rates.base.0 * compute.attention_efficiency;
    let heads_local = |heads: u64| real(heads) / f64::from(tp);
    let kv_element = formats.kv.bytes_per_element() / rates.kv_cache.0;
    Some(match operation.work {
        Work::MatMul {
            k,
            n,
            shard,
            experts,
            active,
        } => {
            let (k_local, n_local) = local_shape(k, n, shard, tp);
            let rate = if operation.quantised {
                rates.quantised
            } else {
                rates.base
            };
            let efficiency = rates.efficiency
                * saturation(n_local, compute.half_columns)
                * saturation(k_local, compute.half_depth);
            RankOperation::MatMul {
                experts: real(experts),
                active: real(active),
                compute_per_row: 2.0 * k_local * n_local / (rate.0 * efficiency),
                half_rows: compute.half_rows,
                memory_per_matrix: k_local * n_local * formats.weight_bytes(operation)
                    / rates.memory.0,
                memory_per_token: real(active) * (k_local + n_local) * activation_per_element,
            }
        }
        Work::Attention { .. } | Work::LatentAttention { .. } if !compute.attention_time => {
            RankOperation::Free
        }
        Work::Attention {
            heads,
            kv_heads,
            head_dim,
            window,
        } => {
            let flop = 4.0 * heads_local(heads) * real(head_dim) / attention_rate;
            let kv_local = real(kv_heads) / f64::from(tp).min(real(kv_heads));
            RankOperation::Attention(AttentionPrice {
                window,
                decode_compute: flop,
                prefill_compute: flop,
                recover_compute: 0.0,
                memory_per_cached_token: 2.0 * kv_local * real(head_dim) * kv_element,
            })
        }
        Work::LatentAttention {
            heads,
            latent,
            rope,
            nope,
            value,
        } => {
            let per_width = 2.0 * heads_local(heads) / attention_rate;
            RankOperation::Attention(AttentionPrice {
                window: None,
                decode_compute: per_width * real(2 * latent + rope),
                prefill_compute: per_width * real(nope + rope + value),
                // Keys and values of cached tokens are made again from their latents.
                recover_compute: per_width * real(latent * (nope + value)),
                memory_per_cached_token: real(latent + rope) * kv_element,
            })
        }
        Work::Gather { width } | Work::Elementwise { width } => RankOperation::Elementwise {
            memory_per_token: 2.0 * real(width) * activation_per_element,
        },
        Work::AllReduce { .. } => return None,
    })
}
