//! Time of operations on one rank: a roofline with an efficiency that is smooth in every dimension.
//!
//! What depends only on the model, the accelerator, the formats and the tensor-parallel degree is
//! worked out once per [`Rank`]; what is left for a step of `m` tokens is a few multiplications per
//! operation. Formulas: `docs/reference/model.md`, sections 1 to 3.

use crate::catalog::{Accelerator, Assumptions, Format};
use crate::quantity::{Bytes, BytesPerSecond, FlopsPerSecond, Seconds};
use crate::transformer::{Operation, Shard, Transformer, Work};

/// Formats of a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Formats {
    /// Of the quantised weights.
    pub weights: Format,
    /// Of the KV cache.
    pub kv: Format,
}

impl Formats {
    /// Bytes per element of activations, and of parameters that are never quantised.
    pub fn activation_bytes(self) -> f64 {
        match self.weights {
            Format::Fp32 => Format::Fp32.bytes_per_element(),
            _ => Format::Bf16.bytes_per_element(),
        }
    }

    /// Bytes per element of the parameters of an operation.
    pub fn weight_bytes(self, operation: &Operation) -> f64 {
        if operation.quantised {
            self.weights.bytes_per_element()
        } else {
            self.activation_bytes()
        }
    }
}

/// Rates of an accelerator for a choice of formats.
#[derive(Clone, Copy, Debug)]
pub struct Rates {
    /// Arithmetic of operations that are not quantised, and of attention.
    pub base: FlopsPerSecond,
    /// Arithmetic of quantised operations.
    pub quantised: FlopsPerSecond,
    /// Reading weights and activations, as reached.
    pub memory: BytesPerSecond,
    /// Reading the KV cache, as reached.
    pub kv_cache: BytesPerSecond,
    /// Share of the arithmetic rate that a large product reaches.
    pub efficiency: f64,
}

impl Rates {
    /// The rates of `accelerator`, or nothing if it has none for these weights.
    pub fn of(
        accelerator: &Accelerator,
        weights: Format,
        assumptions: &Assumptions,
    ) -> Option<Self> {
        let compute = &assumptions.compute;
        let peak = &accelerator.peak;
        let base = match weights {
            Format::Fp32 => peak.tf32.or(peak.fp32),
            _ if compute.fp16_accumulate && peak.fp16_fp16_accumulate.is_some() => {
                peak.fp16_fp16_accumulate
            }
            Format::Fp16 => peak.fp16.or(peak.bf16).or(peak.fp32),
            _ => peak.bf16.or(peak.fp16).or(peak.fp32),
        }?;
        let quantised = match weights {
            Format::Fp8 if compute.fp16_accumulate => peak.fp8_fp16_accumulate.or(peak.fp8)?,
            Format::Fp8 => peak.fp8?,
            Format::Nvfp4 => peak.fp4?,
            Format::Int8 => peak.int8.unwrap_or(base),
            // Weight-only formats are widened to 16 bits before the product.
            Format::Int4 | Format::Mxfp4 | Format::Fp32 | Format::Bf16 | Format::Fp16 => base,
        };
        let measured = assumptions
            .accelerators
            .iter()
            .find(|entry| entry.id == accelerator.id);
        let (efficiency, bandwidth_efficiency) = measured.map_or(
            (compute.efficiency, compute.bandwidth_efficiency),
            |entry| (entry.efficiency, entry.bandwidth_efficiency),
        );
        Some(Self {
            base,
            quantised,
            memory: accelerator.memory_bandwidth * bandwidth_efficiency,
            kv_cache: accelerator.memory_bandwidth * compute.kv_bandwidth_efficiency,
            efficiency,
        })
    }
}

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
        Work::Gather { .. } => 1.0 / f64::from(tp),
        Work::Attention { .. }
        | Work::LatentAttention { .. }
        | Work::Elementwise { .. }
        | Work::AllReduce { .. } => 1.0,
    }
}

/// Parameters of an operation that one of `tp` ranks holds.
fn weights(operation: &Operation, formats: Formats, tp: u32) -> Bytes {
    Bytes(
        real(operation.parameters)
            * parameter_fraction(operation, tp)
            * formats.weight_bytes(operation),
    )
}

/// Distinct matrices of `experts` that `tokens` meet when each is routed to `active` of them:
/// the expectation for even routing, not `min(experts, tokens * active)`.
pub fn distinct_experts(experts: f64, active: f64, tokens: f64) -> f64 {
    if experts <= 1.0 {
        return 1.0;
    }
    experts * (1.0 - (1.0 - active / experts).powf(tokens))
}

/// Mean number of tokens that a token of a prompt looks at, itself included.
pub fn causal_mean(prompt: f64, window: Option<u64>) -> f64 {
    match window.map(real) {
        Some(window) if window < prompt => {
            (window * (window + 1.0) / 2.0 + (prompt - window) * window) / prompt
        }
        _ => f64::midpoint(prompt, 1.0),
    }
}

/// A step of a micro-batch, as an operation sees it.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// Every one of `sequences` gains a token, with `context` tokens cached.
    Decode {
        /// Sequences of the micro-batch.
        sequences: f64,
        /// Tokens cached per sequence.
        context: f64,
    },
    /// One prompt of `tokens` is read.
    Prefill {
        /// Tokens of the prompt.
        tokens: f64,
    },
}

impl Step {
    /// Tokens that pass through the layers.
    pub fn tokens(self) -> f64 {
        match self {
            Self::Decode { sequences, .. } => sequences,
            Self::Prefill { tokens } => tokens,
        }
    }

    /// Tokens whose logits are needed.
    pub fn head_tokens(self) -> f64 {
        match self {
            Self::Decode { sequences, .. } => sequences,
            Self::Prefill { .. } => 1.0,
        }
    }
}

/// Time of one or several operations, and what it consists of.
#[derive(Clone, Copy, Debug, Default)]
pub struct OperationTime {
    /// The larger of arithmetic and memory, with launches.
    pub total: Seconds,
    /// Arithmetic alone.
    pub compute: Seconds,
    /// Memory traffic alone.
    pub memory: Seconds,
}

impl OperationTime {
    fn roofline(compute: f64, memory: f64, overhead: f64) -> Self {
        Self {
            total: Seconds(compute.max(memory) + overhead),
            compute: Seconds(compute),
            memory: Seconds(memory),
        }
    }

    /// Both, one after the other.
    #[must_use]
    pub fn then(self, other: Self) -> Self {
        Self {
            total: self.total + other.total,
            compute: self.compute + other.compute,
            memory: self.memory + other.memory,
        }
    }

    /// The same `count` times.
    #[must_use]
    pub fn times(self, count: f64) -> Self {
        Self {
            total: self.total * count,
            compute: self.compute * count,
            memory: self.memory * count,
        }
    }
}

/// One operation on one rank, with everything but the step folded into seconds per unit of work.
#[derive(Clone, Copy, Debug)]
enum RankOperation {
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
    Attention {
        window: Option<u64>,
        /// Arithmetic of one query token on one cached token.
        decode_compute: f64,
        prefill_compute: f64,
        /// Reading one cached token.
        memory_per_cached_token: f64,
    },
    Elementwise {
        memory_per_token: f64,
    },
    /// Attention over the cache where the assumptions leave its time out.
    Free,
}

/// The operations of one kind of layer, of the embedding or of the head, on one rank.
#[derive(Clone, Debug)]
pub struct RankBlock {
    operations: Vec<RankOperation>,
    overhead: f64,
    /// Bytes of its parameters.
    pub weights: Bytes,
    /// All-reduces, by bytes per token.
    pub all_reduce_bytes_per_token: Vec<f64>,
    /// KV cache: bytes per cached token, and how many tokens stay cached.
    pub kv: Vec<(Bytes, Option<u64>)>,
    /// Widest product: elements in and out per token.
    pub workspace_elements: f64,
}

/// A model on one rank of a tensor-parallel group of an accelerator.
#[derive(Clone, Debug)]
pub struct Rank {
    /// Kinds of layer.
    pub blocks: Vec<RankBlock>,
    /// Before the first layer.
    pub embedding: RankBlock,
    /// After the last.
    pub head: RankBlock,
    /// What a head needs besides, on another stage than the embedding whose matrix it shares.
    pub tied_weights: Bytes,
    /// Outputs of the head on this rank.
    pub logits: f64,
    /// Bytes of the residual stream per token.
    pub hidden_bytes: f64,
    /// Bytes per element of activations.
    pub activation_bytes: f64,
}

impl Rank {
    /// Prices every operation of `transformer` for one of `tp` ranks.
    pub fn new(
        transformer: &Transformer,
        formats: Formats,
        rates: &Rates,
        tp: u32,
        assumptions: &Assumptions,
    ) -> Self {
        let block =
            |operations: &[Operation]| RankBlock::new(operations, formats, rates, tp, assumptions);
        let is_shared = |operation: &&Operation| {
            transformer.tied && matches!(operation.work, Work::Gather { .. })
        };
        let tied_weights = transformer
            .embedding
            .iter()
            .filter(is_shared)
            .map(|operation| weights(operation, formats, tp))
            .sum();
        let logits = transformer
            .head
            .iter()
            .find_map(|operation| match operation.work {
                Work::MatMul { n, .. } => Some(real(n) / f64::from(tp)),
                _ => None,
            });
        Self {
            blocks: transformer
                .blocks
                .iter()
                .map(|kind| block(&kind.operations))
                .collect(),
            embedding: block(&transformer.embedding),
            head: block(&transformer.head),
            tied_weights,
            logits: logits.unwrap_or(0.0),
            hidden_bytes: real(transformer.hidden) * formats.activation_bytes(),
            activation_bytes: formats.activation_bytes(),
        }
    }
}

impl RankBlock {
    fn new(
        operations: &[Operation],
        formats: Formats,
        rates: &Rates,
        tp: u32,
        assumptions: &Assumptions,
    ) -> Self {
        let activation = formats.activation_bytes();
        let mut block = Self {
            operations: Vec::with_capacity(operations.len()),
            overhead: assumptions.compute.operation_overhead.0,
            weights: Bytes::ZERO,
            all_reduce_bytes_per_token: Vec::new(),
            kv: Vec::new(),
            workspace_elements: 0.0,
        };
        for operation in operations {
            block.weights += weights(operation, formats, tp);
            match operation.work {
                Work::AllReduce { width } => {
                    block
                        .all_reduce_bytes_per_token
                        .push(real(width) * activation);
                }
                Work::MatMul {
                    k,
                    n,
                    shard,
                    active,
                    ..
                } => {
                    let (k_local, n_local) = local_shape(k, n, shard, tp);
                    block.workspace_elements = block
                        .workspace_elements
                        .max(real(active) * (k_local + n_local));
                }
                Work::Attention {
                    kv_heads,
                    head_dim,
                    window,
                    ..
                } => {
                    let local_heads = real(kv_heads) / f64::from(tp).min(real(kv_heads));
                    let elements = 2.0 * local_heads * real(head_dim);
                    block
                        .kv
                        .push((Bytes(elements * formats.kv.bytes_per_element()), window));
                }
                Work::LatentAttention { latent, rope, .. } => {
                    let elements = real(latent + rope);
                    block
                        .kv
                        .push((Bytes(elements * formats.kv.bytes_per_element()), None));
                }
                Work::Gather { .. } | Work::Elementwise { .. } => {}
            }
            if let Some(priced) = price(operation, formats, rates, tp, assumptions) {
                block.operations.push(priced);
            }
        }
        block
    }

    /// Time of a step that brings `tokens` tokens through these operations.
    pub fn time(&self, step: Step, tokens: f64) -> OperationTime {
        self.operations
            .iter()
            .fold(OperationTime::default(), |sum, operation| {
                sum.then(operation.time(step, tokens, self.overhead))
            })
    }

    /// KV cache of one sequence of `context` tokens, in whole pages.
    pub fn kv_cache_bytes(&self, context: u64, page_tokens: u32) -> Bytes {
        let page = u64::from(page_tokens);
        self.kv
            .iter()
            .map(|(bytes_per_token, window)| {
                let tokens = window.map_or(context, |window| window.min(context));
                *bytes_per_token * real(tokens.div_ceil(page) * page)
            })
            .sum()
    }
}

/// Folds everything but the step into seconds per unit of work; all-reduces are not computed.
fn price(
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
            RankOperation::Attention {
                window,
                decode_compute: flop,
                prefill_compute: flop,
                memory_per_cached_token: 2.0 * kv_local * real(head_dim) * kv_element,
            }
        }
        Work::LatentAttention {
            heads,
            latent,
            rope,
            nope,
            value,
        } => {
            let per_width = 2.0 * heads_local(heads) / attention_rate;
            RankOperation::Attention {
                window: None,
                decode_compute: per_width * real(2 * latent + rope),
                prefill_compute: per_width * real(nope + rope + value),
                memory_per_cached_token: real(latent + rope) * kv_element,
            }
        }
        Work::Gather { width } | Work::Elementwise { width } => RankOperation::Elementwise {
            memory_per_token: 2.0 * real(width) * activation_per_element,
        },
        Work::AllReduce { .. } => return None,
    })
}

impl RankOperation {
    fn time(self, step: Step, tokens: f64, overhead: f64) -> OperationTime {
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
            Self::Attention {
                window,
                decode_compute,
                prefill_compute,
                memory_per_cached_token,
            } => match step {
                Step::Decode { sequences, context } => {
                    let seen = window.map_or(context, |window| context.min(real(window)));
                    OperationTime::roofline(
                        sequences * seen * decode_compute,
                        sequences * seen * memory_per_cached_token,
                        overhead,
                    )
                }
                Step::Prefill { tokens } => OperationTime::roofline(
                    tokens * causal_mean(tokens, window) * prefill_compute,
                    tokens * memory_per_cached_token,
                    overhead,
                ),
            },
            Self::Elementwise { memory_per_token } => {
                OperationTime::roofline(0.0, tokens * memory_per_token, overhead)
            }
            Self::Free => OperationTime::default(),
        }
    }
}

/// Share of its full rate that a product reaches at `size` in one dimension: one half at `half`.
pub(crate) fn saturation(size: f64, half: f64) -> f64 {
    size / (size + half)
}

/// A count as a real number.
pub(crate) fn real(count: u64) -> f64 {
    #[expect(
        clippy::cast_precision_loss,
        reason = "dimensions and counts stay below 2^53"
    )]
    let real = count as f64;
    real
}
