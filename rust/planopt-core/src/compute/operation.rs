//! One operation on one rank: a roofline with an efficiency that is smooth in every dimension.
//! Formulas: `docs/reference/model.md`, section 3.

use super::scan::ScanPrice;
use super::shape::{causal_mean_behind, kv_heads_on, tighter, within};
use super::step::{OperationTime, Step};
use crate::catalog::ProductAssumptions;
use crate::format::Formats;
use crate::hardware::{OwnRates, Rates, saturation};
use crate::parallel::{Degrees, distinct_share, local_shape};
use crate::quantity::{BITS_PER_BYTE, Bytes, FlopsPerSecond, Seconds, real};
use crate::transformer::{Operation, Work};

/// One operation on one rank, with everything but the step folded into seconds per unit of work.
#[derive(Clone, Copy, Debug)]
pub(super) struct RankOperation {
    work: RankWork,
    /// Share of the shorter of arithmetic and memory traffic that hides behind the longer.
    overlap: f64,
    overhead: f64,
    /// Time of a step that reads prompts over that of the best kernels.
    prefill_factor: f64,
}

#[derive(Clone, Copy, Debug)]
enum RankWork {
    MatMul {
        choice: Choice,
        price: ProductPrice,
    },
    /// One of the two products of an adapter, for each of as many as a step meets.
    Adapter {
        resident: f64,
        choice: Choice,
        price: ProductPrice,
    },
    /// What encodes images: all of its work is on tokens of prompts.
    Encoder {
        compute_per_prompt_token: f64,
    },
    Attention(AttentionPrice),
    Scan(ScanPrice),
    Elementwise {
        memory_per_token: f64,
    },
    /// Attention over the cache where the assumptions leave its time out.
    Free,
}

impl RankOperation {
    /// Whether it is a choice of experts.
    pub(super) fn is_choice(&self) -> bool {
        matches!(self.work, RankWork::MatMul { choice, .. } if choice.experts > 1.0)
    }

    /// Bytes of weights of a product that so many tokens are routed to.
    pub(super) fn distinct_bytes(&self, step: Step, tokens: f64) -> Bytes {
        match self.work {
            RankWork::MatMul { choice, price } => {
                price.bytes_per_matrix * choice.distinct_experts(choice.tokens(step, tokens))
            }
            _ => Bytes::ZERO,
        }
    }

    /// Bytes of its weights on this rank.
    pub(super) fn resident_bytes(&self) -> Bytes {
        match self.work {
            RankWork::MatMul { choice, price } => price.bytes_per_matrix * choice.resident,
            _ => Bytes::ZERO,
        }
    }

    /// Whether it looks at a cache.
    pub(super) fn is_attention(&self) -> bool {
        matches!(self.work, RankWork::Attention(_))
    }

    pub(super) fn time(self, step: Step, tokens: f64) -> OperationTime {
        let (compute, memory) = match self.work {
            RankWork::MatMul { choice, price } => {
                let tokens = choice.tokens(step, tokens);
                price.work(choice.distinct_experts(tokens), choice.rows(tokens))
            }
            RankWork::Adapter {
                resident,
                choice,
                price,
            } => {
                // Tokens of one adapter meet the matrices that they would meet without it.
                let adapters = resident.min(choice.sequences(step));
                let tokens = choice.tokens(step, tokens);
                let matrices = adapters * choice.distinct_experts(tokens / adapters);
                price.work(matrices, choice.rows(tokens))
            }
            RankWork::Encoder {
                compute_per_prompt_token,
            } => (
                step.prompts * step.chunk / step.split * compute_per_prompt_token,
                0.0,
            ),
            RankWork::Attention(price) => {
                return price.time(step, self.overlap, self.overhead, self.prefill_factor);
            }
            RankWork::Scan(price) => return price.time(step, self.overlap, self.overhead),
            RankWork::Elementwise { memory_per_token } => (0.0, tokens * memory_per_token),
            RankWork::Free => return OperationTime::default(),
        };
        let time = OperationTime::roofline(compute, memory, self.overlap, self.overhead);
        if step.prompts > 0.0 {
            time.slower(self.prefill_factor)
        } else {
            time
        }
    }
}

/// Matrices that a product chooses from for each token: one, or the experts of a layer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Choice {
    /// Matrices to choose from, and those of them on this rank.
    experts: f64,
    resident: f64,
    /// Matrices that a token meets, and those of them on this rank if it is the busiest.
    active: f64,
    active_here: f64,
}

impl Choice {
    pub(super) fn new((experts, active): (u64, u64), rates: &Rates, degrees: Degrees) -> Self {
        let parts = f64::from(degrees.parts(experts));
        Self {
            experts: real(experts),
            resident: real(experts) / parts,
            active: real(active),
            active_here: real(active) * rates.share_of_busiest(parts),
        }
    }

    /// Matrices on this rank.
    pub(super) fn resident(self) -> f64 {
        self.resident
    }

    /// Tokens that may meet them: those of other groups come to experts as well.
    fn tokens(self, step: Step, tokens: f64) -> f64 {
        if self.experts > 1.0 {
            tokens + step.remote_tokens
        } else {
            tokens
        }
    }

    /// Sequences that these tokens belong to.
    fn sequences(self, step: Step) -> f64 {
        let here = step.prompts + step.sequences;
        if self.experts > 1.0 {
            here + step.remote_tokens / (1.0 + step.drafted)
        } else {
            here
        }
    }

    /// Distinct matrices of this rank that so many tokens are routed to.
    fn distinct_experts(self, tokens: f64) -> f64 {
        if self.experts > 1.0 {
            self.resident * distinct_share(self.experts, self.active, tokens)
        } else {
            1.0
        }
    }

    /// Rows that they are on the busiest rank.
    fn rows(self, tokens: f64) -> f64 {
        if self.experts > 1.0 {
            tokens * self.active_here
        } else {
            tokens
        }
    }
}

/// A product with seconds per unit of work.
#[derive(Clone, Copy, Debug)]
struct ProductPrice {
    /// Arithmetic of one row of one matrix, at the efficiency of its columns and depth.
    compute_per_row: f64,
    half_rows: f64,
    /// Widening the weights of one matrix, and reading them.
    widening_per_matrix: f64,
    memory_per_matrix: f64,
    /// Reading and writing the activations of one row.
    memory_per_row: f64,
    bytes_per_matrix: Bytes,
}

impl ProductPrice {
    /// Of a matrix of `k` x `n` on one rank, of `element_bytes` and seconds to widen it for each
    /// weight, that reaches so much.
    fn new(
        (k, n): (f64, f64),
        (element_bytes, widening): (f64, f64),
        (rate, reached): (FlopsPerSecond, ProductAssumptions),
        formats: Formats,
        rates: &Rates,
    ) -> Self {
        if let Some(own) = &rates.own {
            return Self::of_own_kernel(k * n, element_bytes, own, formats);
        }
        let efficiency = reached.efficiency
            * saturation(n, reached.half_columns)
            * saturation(k, reached.half_depth);
        let bandwidth = (rates.bandwidth * reached.bandwidth_efficiency).0;
        let activation = if rates.compute.activation_traffic {
            formats.activation_bytes() / bandwidth
        } else {
            0.0
        };
        Self {
            compute_per_row: 2.0 * k * n / (rate.0 * efficiency),
            half_rows: reached.half_rows,
            widening_per_matrix: k * n * widening,
            memory_per_matrix: k * n * element_bytes / bandwidth,
            memory_per_row: (k + n) * activation,
            bytes_per_matrix: Bytes(k * n * element_bytes),
        }
    }

    /// Of so many `weights` under an engine with kernels of its own: they are read, unpacked and
    /// multiplied at once, the slower of both deciding, smoothly; rows add arithmetic.
    fn of_own_kernel(weights: f64, element_bytes: f64, own: &OwnRates, formats: Formats) -> Self {
        let kernels = &own.kernels;
        let is_packed = element_bytes < formats.activation_bytes();
        let reached = if is_packed {
            kernels.packed
        } else {
            kernels.wide
        };
        let bytes = weights * element_bytes;
        let read = bytes / (own.bandwidth.0 * reached.bandwidth);
        let multiplied = bytes * BITS_PER_BYTE / (own.clocks * reached.bits_per_clock);
        let products = 1.0 / (own.rate.0 * reached.efficiency);
        let conversion = 1.0 / (own.clocks * reached.flops_per_clock);
        Self {
            compute_per_row: 2.0 * weights * (products + conversion),
            half_rows: 0.0,
            widening_per_matrix: 0.0,
            memory_per_matrix: (read.powi(4) + multiplied.powi(4)).sqrt().sqrt(),
            memory_per_row: 0.0,
            bytes_per_matrix: Bytes(bytes),
        }
    }

    /// Arithmetic and memory traffic of `rows` assigned to `matrices`.
    fn work(self, matrices: f64, rows: f64) -> (f64, f64) {
        let rows_of_each = rows / matrices;
        let products = rows * self.compute_per_row / saturation(rows_of_each, self.half_rows);
        let compute = products + matrices * self.widening_per_matrix;
        let memory = matrices * self.memory_per_matrix + rows * self.memory_per_row;
        (compute, memory)
    }
}

/// Attention with seconds per unit of work.
#[derive(Clone, Copy, Debug)]
pub(super) struct AttentionPrice {
    window: Option<u64>,
    /// Tokens of the window that an indexer selects.
    selected: Option<u64>,
    /// Arithmetic of one decoded token on one cached token.
    decode_compute: f64,
    /// Arithmetic of one token of a long prompt on one token before it.
    prefill_compute: f64,
    half_prompt: f64,
    /// Arithmetic of bringing one token back that was cached before a chunk.
    recover_compute: f64,
    /// Reading one cached token.
    memory_per_cached_token: f64,
}

impl AttentionPrice {
    /// Each part of a step has its own kernel: chunks are arithmetic, decoding reads the cache.
    fn time(self, step: Step, overlap: f64, overhead: f64, prefill_factor: f64) -> OperationTime {
        let mut time = OperationTime::default();
        if step.prompts > 0.0 {
            time = time.then(self.prefill(step, overlap, overhead).slower(prefill_factor));
        }
        if step.sequences > 0.0 {
            time = time.then(self.decode(step, overlap, overhead));
        }
        time
    }

    fn prefill(self, step: Step, overlap: f64, overhead: f64) -> OperationTime {
        let limit = tighter(self.window, self.selected);
        let attended_tokens = causal_mean_behind(step.cached, step.chunk, limit);
        let cached = within(self.window, step.cached);
        // A context-parallel rank has its share of the queries, and sees the keys and values of all.
        let queries = step.chunk / step.split;
        let reached = saturation(queries, self.half_prompt);
        let mut compute = queries * attended_tokens * self.prefill_compute / reached;
        let of_others = cached + (step.chunk - queries);
        if of_others > 0.0 {
            compute += of_others * self.recover_compute / saturation(of_others, self.half_prompt);
        }
        let read = (step.chunk + cached) * self.memory_per_cached_token;
        OperationTime::roofline(
            step.prompts * compute,
            step.prompts * read,
            overlap,
            overhead,
        )
    }

    fn decode(self, step: Step, overlap: f64, overhead: f64) -> OperationTime {
        let limit = tighter(self.window, self.selected);
        let seen = step.sequences * within(limit, step.context) / step.split;
        OperationTime::roofline(
            seen * (1.0 + step.drafted) * self.decode_compute,
            seen * self.memory_per_cached_token,
            overlap,
            overhead,
        )
    }
}

/// Folds everything but the step into seconds per unit of work; all-reduces are not computed.
pub(super) fn price(
    operation: &Operation,
    formats: Formats,
    rates: &Rates,
    degrees: Degrees,
) -> Option<RankOperation> {
    let compute = &rates.compute;
    let activation_per_element = if compute.activation_traffic {
        formats.activation_bytes() / rates.served_memory().0
    } else {
        0.0
    };
    // Small kernels of a layer are one figure of an engine, where it has one.
    let small = if compute.host.layer_overhead.is_some() {
        Seconds::ZERO
    } else {
        rates.of_operation(false, false).1.operation_overhead
    };
    let (work, overhead) = match operation.work {
        Work::MatMul {
            k,
            n,
            shard,
            experts,
            active,
        } => {
            let shape = local_shape(k, n, shard, degrees.dividing(experts));
            let reached = rates.of_operation(operation.quantised, experts > 1);
            let weight = (
                operation.stored_bytes(formats),
                rates.widening(formats, operation),
            );
            let work = RankWork::MatMul {
                choice: Choice::new((experts, active), rates, degrees),
                price: ProductPrice::new(shape, weight, reached, formats, rates),
            };
            (work, reached.1.operation_overhead)
        }
        Work::Attention { .. } | Work::LatentAttention { .. } | Work::Index { .. } => (
            attention(operation.work, formats, rates, degrees.tp),
            compute.attention_overhead,
        ),
        Work::Gather { width } | Work::Elementwise { width } => (
            RankWork::Elementwise {
                memory_per_token: 2.0 * real(width) * activation_per_element,
            },
            small,
        ),
        Work::StateSpace(mixer) => (
            if compute.attention_time {
                RankWork::Scan(ScanPrice::new(&mixer, formats, rates, degrees.tp))
            } else {
                RankWork::Free
            },
            compute.attention_overhead,
        ),
        Work::AllReduce { .. } => return None,
    };
    Some(RankOperation {
        work,
        overlap: compute.roofline_overlap,
        overhead: overhead.0,
        prefill_factor: compute.host.prefill_factor,
    })
}

/// One of the two products of adapters: a matrix of `shape` for each of those `resident`.
pub(super) fn price_of_adapter(
    shape: (f64, f64),
    (resident, choice): (f64, Choice),
    formats: Formats,
    rates: &Rates,
) -> RankOperation {
    let reached = rates.of_operation(false, choice.experts > 1.0);
    let element_bytes = formats.activation_bytes();
    RankOperation {
        work: RankWork::Adapter {
            resident,
            choice,
            price: ProductPrice::new(shape, (element_bytes, 0.0), reached, formats, rates),
        },
        overlap: rates.compute.roofline_overlap,
        overhead: reached.1.operation_overhead.0,
        prefill_factor: rates.compute.host.prefill_factor,
    }
}

/// An encoder whose `parameters` are used once for each token of a prompt.
pub(super) fn price_of_encoder(parameters: f64, rates: &Rates) -> RankOperation {
    let (rate, reached) = rates.of_operation(false, false);
    RankOperation {
        work: RankWork::Encoder {
            compute_per_prompt_token: 2.0 * parameters / (rate.0 * reached.efficiency),
        },
        overlap: rates.compute.roofline_overlap,
        overhead: 0.0,
        prefill_factor: rates.compute.host.prefill_factor,
    }
}

/// Attention over the cache, grouped or latent, and what selects its tokens.
fn attention(work: Work, formats: Formats, rates: &Rates, tp: u32) -> RankWork {
    let compute = &rates.compute;
    if !compute.attention_time {
        return RankWork::Free;
    }
    let kv_element = formats.kv.bytes_per_element() / rates.kv_cache(formats.kv).0;
    let heads_local = |heads: u64| real(heads) / f64::from(tp);
    let (limits, decode_flop, prefill_flop, recovered, cached) = match work {
        Work::Attention {
            heads,
            kv_heads,
            head_dim,
            value_dim,
            window,
            selected,
            ..
        } => {
            let flop = 2.0 * heads_local(heads) * real(head_dim + value_dim);
            let kv_local = kv_heads_on(f64::from(tp), kv_heads);
            let cached = kv_local * real(head_dim + value_dim);
            ((window, selected), flop, flop, 0.0, cached)
        }
        Work::LatentAttention {
            heads,
            latent,
            rope,
            nope,
            value,
            selected,
        } => {
            let per_width = 2.0 * heads_local(heads);
            let absorbed = per_width * real(2 * latent + rope);
            let (prefill, recovered) = match selected {
                // Selected tokens are looked at as latents, in prompts as well.
                Some(_) => (absorbed, 0.0),
                // Keys and values of cached tokens are recomputed from their latents.
                None => (
                    per_width * real(nope + rope + value),
                    per_width * real(latent * (nope + value)),
                ),
            };
            let cached = real(latent + rope);
            ((None, selected), absorbed, prefill, recovered, cached)
        }
        Work::Index { heads, head_dim } => {
            let flop = 2.0 * real(heads * head_dim);
            ((None, None), flop, flop, 0.0, real(head_dim))
        }
        _ => return RankWork::Free,
    };
    let (window, selected) = limits;
    let prompt_rate = rates.base.0 * compute.attention_efficiency;
    RankWork::Attention(AttentionPrice {
        window,
        selected,
        decode_compute: decode_flop / (rates.base.0 * compute.decode_attention_efficiency),
        prefill_compute: prefill_flop / prompt_rate,
        half_prompt: compute.half_prompt,
        recover_compute: recovered / prompt_rate,
        memory_per_cached_token: cached * kv_element,
    })
}
