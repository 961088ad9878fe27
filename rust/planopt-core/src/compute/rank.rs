//! A model on one rank of a tensor-parallel group: what depends only on the model, the
//! accelerator, the formats and the degree, worked out once.

use super::operation::{RankOperation, price};
use super::scan::state;
use super::shape::{kv_heads_on, within};
use super::step::{OperationTime, Step};
use crate::format::Formats;
use crate::hardware::Rates;
use crate::parallel::{Degrees, Exchange, local_shape, weights};
use crate::quantity::{Bytes, Seconds, real};
use crate::transformer::{
    Drafter, Operation, Role, Shard, Transformer, Work, greatest_common_divisor,
};

/// The operations of one kind of layer, of the embedding or of the head, on one rank.
#[derive(Clone, Debug, Default)]
pub struct RankBlock {
    pub(super) operations: Vec<RankOperation>,
    /// Kernels of its operations beyond one of each.
    more_kernels: u32,
    /// Small kernels of a layer, where an engine has a figure for all of them.
    small_kernels: Seconds,
    /// Operations that mix tokens: one a layer.
    mixing: u32,
    /// Bytes of its parameters.
    pub weights: Bytes,
    /// Bytes of the adapters beside them.
    pub adapters: Bytes,
    /// All-reduces, by bytes per token.
    pub all_reduce_bytes_per_token: Vec<f64>,
    /// Ways of tokens to their experts and back, where attention is data parallel.
    pub exchanges: Vec<Exchange>,
    /// Caches of keys and values.
    pub caches: Vec<Cache>,
    /// State that a sequence leaves in place of a cache, however long it is.
    pub state: Bytes,
    /// Widest product: elements in and out per token.
    pub workspace_elements: f64,
}

/// The cache of an attention on one rank.
#[derive(Clone, Copy, Debug)]
pub struct Cache {
    /// Bytes of a token.
    pub bytes_per_token: Bytes,
    /// Tokens that stay cached, where that is limited.
    pub window: Option<u64>,
    /// What the attention of one token to a part of the cache gives: to be combined with the others.
    pub partial_bytes: Bytes,
    /// Heads that look at it.
    pub heads: f64,
    /// Context-parallel ranks that share it.
    pub shared_by: u32,
}

/// The logarithm of the sum of exponentials that goes with a partial attention of a head, in fp32
/// (Milakov and Gimelshein, arXiv 1805.02867).
const LOG_SUM_BYTES: f64 = 4.0;

impl Cache {
    /// Bytes of one sequence of `context` tokens, in whole pages: tokens are assigned to ranks.
    fn bytes(&self, context: u64, page_tokens: u32) -> Bytes {
        let page = u64::from(page_tokens);
        let tokens = self.window.map_or(context, |window| window.min(context));
        let here = tokens.div_ceil(u64::from(self.shared_by));
        self.bytes_per_token * real(here.div_ceil(page) * page)
    }

    /// Keys and values of a step's chunks and of what is cached before them.
    pub fn gathered(&self, step: Step) -> Bytes {
        let tokens = step.chunk + within(self.window, step.cached);
        self.bytes_per_token * (step.prompts * tokens)
    }
}

/// A model on one rank of a stage.
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
    /// What drafts tokens for it on the last stage, if anything does.
    pub draft: Option<RankDraft>,
}

/// What drafts tokens on the ranks of the last stage.
#[derive(Clone, Debug)]
pub struct RankDraft {
    /// Its blocks, and how often each runs for one token.
    pub blocks: Vec<(RankBlock, f64)>,
    /// Tokens that it drafts ahead of a check.
    pub tokens: f64,
}

impl RankDraft {
    /// Prices what drafts `tokens` tokens for `transformer` on one rank. A model whose heads so many
    /// ranks do not divide is kept whole on as many groups of them.
    pub fn new(
        transformer: &Transformer,
        drafter: &Drafter,
        tokens: u32,
        formats: Formats,
        rates: &Rates,
        degrees: Degrees,
    ) -> Self {
        // It is small: each context-parallel rank has all of its cache.
        let degrees = degrees.with_whole_contexts();
        let blocks = match drafter {
            Drafter::Mtp => {
                let module = &transformer.mtp;
                let layers = module
                    .kinds
                    .iter()
                    .map(|&kind| &transformer.blocks[kind].operations);
                [&module.entry]
                    .into_iter()
                    .chain(layers)
                    .chain([&module.exit])
                    .map(|operations| (RankBlock::new(operations, formats, rates, degrees), 1.0))
                    .collect()
            }
            Drafter::Model(model) => {
                let divided = greatest_common_divisor(u64::from(degrees.tp), model.heads);
                let degrees = Degrees::tensor(u32::try_from(divided).unwrap_or(1));
                let Rank {
                    blocks,
                    embedding,
                    head,
                    ..
                } = Rank::new(model, formats, rates, degrees);
                let layers = |kind| {
                    let of_kind = model.layers.iter().filter(|&&layer| layer == kind);
                    f64::from(u32::try_from(of_kind.count()).unwrap_or(u32::MAX))
                };
                let mut counted: Vec<(RankBlock, f64)> = blocks
                    .into_iter()
                    .enumerate()
                    .map(|(kind, block)| (block, layers(kind)))
                    .collect();
                counted.extend([(embedding, 1.0), (head, 1.0)]);
                counted
            }
        };
        Self {
            blocks,
            tokens: f64::from(tokens),
        }
    }

    /// Bytes of its parameters.
    pub fn weights(&self) -> Bytes {
        self.blocks
            .iter()
            .map(|(block, count)| block.weights * *count)
            .sum()
    }

    /// KV cache of one sequence of `context` tokens.
    pub fn kv_cache_bytes(&self, context: u64, page_tokens: u32) -> Bytes {
        self.blocks
            .iter()
            .map(|(block, count)| block.kv_cache_bytes(context, page_tokens) * *count)
            .sum()
    }
}

impl Rank {
    /// Prices every operation of `transformer` for one rank of a stage.
    pub fn new(
        transformer: &Transformer,
        formats: Formats,
        rates: &Rates,
        degrees: Degrees,
    ) -> Self {
        let block = |operations: &[Operation]| RankBlock::new(operations, formats, rates, degrees);
        let is_shared =
            |operation: &&Operation| transformer.tied && operation.role == Role::SharedEmbedding;
        let tied_weights = transformer
            .embedding
            .iter()
            .filter(is_shared)
            .map(|operation| weights(operation, formats, degrees))
            .sum();
        let logits = transformer
            .head
            .iter()
            .filter(|operation| operation.role == Role::Head)
            .find_map(|operation| match operation.work {
                Work::MatMul { n, .. } => Some(real(n) / f64::from(degrees.tp)),
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
            draft: None,
        }
    }

    /// The same with something that drafts tokens for it.
    #[must_use]
    pub fn with_draft(self, draft: Option<RankDraft>) -> Self {
        Self { draft, ..self }
    }
}

/// The cache of an attention: its elements of a token on one rank, its window, its heads and the
/// width of what each of them gives.
fn cache(
    (elements, window, heads, width): (f64, Option<u64>, u64, u64),
    formats: Formats,
    degrees: Degrees,
) -> Cache {
    let heads = real(heads) / f64::from(degrees.tp);
    let partial = heads * (real(width) * formats.activation_bytes() + LOG_SUM_BYTES);
    Cache {
        bytes_per_token: Bytes(elements * formats.kv.bytes_per_element()),
        window,
        partial_bytes: Bytes(partial),
        heads,
        shared_by: degrees.cp,
    }
}

/// What a product of experts exchanges: its inputs if it is the first of a network, divided by
/// columns, its outputs if it is the last.
fn exchange(k: u64, n: u64, shard: Shard, active: u64, formats: Formats) -> Option<Exchange> {
    let bytes_per_token = match shard {
        Shard::Columns => real(k) * formats.product_input_bytes(),
        Shard::Rows => real(n) * formats.activation_bytes(),
        Shard::Replicated | Shard::Heads { .. } => return None,
    };
    Some(Exchange {
        bytes_per_token,
        active: real(active),
    })
}

impl RankBlock {
    fn new(operations: &[Operation], formats: Formats, rates: &Rates, degrees: Degrees) -> Self {
        let tp = degrees.tp;
        let activation = formats.activation_bytes();
        let mut block = Self {
            operations: Vec::with_capacity(operations.len()),
            ..Self::default()
        };
        for operation in operations {
            block.weights += weights(operation, formats, degrees);
            let of_experts = rates
                .of_operation(operation.quantised, true)
                .1
                .expert_launches;
            block.more_kernels += operation.work.kernels(of_experts) - 1;
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
                    experts,
                    active,
                } => {
                    let (k_local, n_local) = local_shape(k, n, shard, degrees.dividing(experts));
                    let parts = f64::from(degrees.parts(experts));
                    let mut rows = real(active) * rates.share_of_busiest(parts);
                    if experts > 1 {
                        rows *= f64::from(degrees.dp);
                    }
                    block.workspace_elements =
                        block.workspace_elements.max(rows * (k_local + n_local));
                    if experts > 1 && degrees.dp > 1 {
                        block
                            .exchanges
                            .extend(exchange(k, n, shard, active, formats));
                    }
                }
                Work::Attention {
                    heads,
                    kv_heads,
                    head_dim,
                    value_dim,
                    window,
                    cached,
                    ..
                } => {
                    let local_heads = kv_heads_on(f64::from(tp), kv_heads);
                    let width = if cached { head_dim + value_dim } else { 0 };
                    let shape = (local_heads * real(width), window, heads, value_dim);
                    block.caches.push(cache(shape, formats, degrees));
                }
                Work::Index { head_dim, .. } => {
                    let shape = (real(head_dim), None, 0, 0);
                    block.caches.push(cache(shape, formats, degrees));
                }
                Work::LatentAttention {
                    heads,
                    latent,
                    rope,
                    ..
                } => {
                    let shape = (real(latent + rope), None, heads, latent);
                    block.caches.push(cache(shape, formats, degrees));
                }
                Work::StateSpace(mixer) => block.state += state(&mixer, formats, tp),
                Work::Gather { .. } | Work::Elementwise { .. } => {}
            }
            if let Some(priced) = price(operation, formats, rates, degrees) {
                block.operations.push(priced);
            }
            if operation.work.mixes_tokens() {
                block.small_kernels += rates.compute.host.layer_overhead.unwrap_or_default();
                block.mixing += 1;
            }
        }
        block
    }

    /// Time of a step that brings `tokens` tokens through these operations.
    pub fn time(&self, step: Step, tokens: f64) -> OperationTime {
        let small_kernels = OperationTime {
            host: self.small_kernels,
            ..OperationTime::default()
        };
        self.operations
            .iter()
            .fold(small_kernels, |sum, operation| {
                sum.then(operation.time(step, tokens))
            })
    }

    /// Time of attention of the chunks of prompts alone, without what decodes.
    pub fn chunk_attention(&self, step: Step) -> Seconds {
        let chunks = Step {
            sequences: 0.0,
            ..step
        };
        self.operations
            .iter()
            .filter(|operation| operation.is_attention())
            .map(|operation| operation.time(chunks, 0.0).total())
            .sum()
    }

    /// What a host computes itself, or hands over, where it keeps a layer: its experts, of a dense
    /// layer all of its products.
    fn kept(&self) -> impl Iterator<Item = &RankOperation> {
        let any = self.operations.iter().any(RankOperation::is_choice);
        self.operations
            .iter()
            .filter(move |own| !any || own.is_choice())
    }

    /// Bytes of these on this rank.
    pub fn kept_bytes(&self) -> Bytes {
        self.kept().map(RankOperation::resident_bytes).sum()
    }

    /// Bytes of these that a step meets, and the time that it would take with them.
    pub fn kept_work(&self, step: Step, tokens: f64) -> (Bytes, OperationTime) {
        let distinct = self
            .kept()
            .map(|own| own.distinct_bytes(step, tokens))
            .sum();
        let time = self.kept().map(|own| match own.resident_bytes() {
            Bytes::ZERO => OperationTime::default(),
            _ => own.time(step, tokens),
        });
        (
            distinct,
            time.fold(OperationTime::default(), OperationTime::then),
        )
    }

    /// Kernels and messages that a host launches: all where no graph was captured, else the attention
    /// of each layer and the piece of the graph before it.
    pub fn launches(&self, captured: bool) -> f64 {
        if captured {
            return 2.0 * f64::from(self.mixing);
        }
        let divided = |cache: &&Cache| cache.shared_by > 1;
        let of_contexts = self.caches.iter().filter(divided).count();
        let messages = self.all_reduce_bytes_per_token.len() + self.exchanges.len() + of_contexts;
        real((self.operations.len() + messages) as u64) + f64::from(self.more_kernels)
    }

    /// KV cache of one sequence of `context` tokens, in whole pages, and its state.
    pub fn kv_cache_bytes(&self, context: u64, page_tokens: u32) -> Bytes {
        let cached = self.caches.iter();
        let cached: Bytes = cached.map(|cache| cache.bytes(context, page_tokens)).sum();
        cached + self.state
    }
}
