//! The figures of a published configuration, in our words: what a model file or a Hugging Face
//! `config.json` says, before it becomes the list of operations.

use super::operation::StateSpace;
use super::vision::Vision;
use crate::diagnostic::Diagnostic;
use crate::diagnostic::option::wrong_option;
use crate::format::Format;
use serde::Serialize;

/// Kind of normalisation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Norm {
    /// Root mean square: one gain per element.
    Rms,
    /// Layer normalisation: a gain and a bias per element.
    Layer,
    /// Layer normalisation without biases: one gain per element (MPT with `no_bias`).
    LayerNoBias,
}

/// What keys and values of grouped heads are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum KeyValue {
    /// Projected each for itself.
    #[default]
    Own,
    /// Values are what keys are before their normalisation (Gemma 4).
    Same,
    /// Those of an earlier layer, whose cache is read (Gemma 3n).
    Earlier,
}

impl KeyValue {
    /// All of them, by their names in a model file.
    pub const ALL: [(&str, Self); 3] = [
        ("own", Self::Own),
        ("same", Self::Same),
        ("earlier", Self::Earlier),
    ];
}

/// What selects the tokens that attention looks at. In latent attention its queries come out of the
/// latent of queries, and each head has a weight; beside grouped heads they come out of the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Indexer {
    /// Query heads.
    pub heads: u64,
    /// Width of its queries, and of the one key of a token.
    pub head_dim: u64,
}

/// Grouped heads: multi-head, grouped-query or multi-query.
#[expect(
    clippy::struct_excessive_bools,
    reason = "they are flags of published configurations"
)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Heads {
    /// Query heads.
    pub heads: u64,
    /// Key/value heads.
    pub kv_heads: u64,
    /// Width of a query or key.
    pub head_dim: u64,
    /// Width of a value.
    pub value_dim: u64,
    /// Columns beside the queries that gate what attention gives: 0, one for each head, or one
    /// for each element of the heads.
    pub gate: u64,
    /// What keys and values are.
    pub key_value: KeyValue,
    /// A bias on the query projection.
    pub query_bias: bool,
    /// Biases on the key and value projections.
    pub key_value_bias: bool,
    /// A bias on the output projection.
    pub output_bias: bool,
    /// Parameters of the normalisation of queries and keys together; 0 for none.
    pub query_key_norm: u64,
    /// One learned sink per query head.
    pub sinks: bool,
    /// Tokens that a token may look back on, itself included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<u64>,
    /// Tokens that an indexer selects for a token to look at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selected: Option<u64>,
    /// The indexer, where the layer has its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub indexer: Option<Indexer>,
}

/// What mixes the tokens of one kind of layer: attention, or what stands for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum AttentionShape {
    /// Grouped heads.
    Grouped(Heads),
    /// Multi-head latent attention.
    Latent {
        /// Query heads.
        heads: u64,
        /// Rank of the query projection; 0 for a direct one.
        query_rank: u64,
        /// Width of the cached latent.
        latent: u64,
        /// Width of the rotary part of a key.
        rope: u64,
        /// Width of the part of a key without rotation.
        nope: u64,
        /// Width of a value.
        value: u64,
        /// Tokens that an indexer selects for a token to look at.
        #[serde(skip_serializing_if = "Option::is_none")]
        selected: Option<u64>,
        /// The indexer, where the layer has its own.
        #[serde(skip_serializing_if = "Option::is_none")]
        indexer: Option<Indexer>,
    },
    /// None: a layer that is a feed-forward part alone.
    #[serde(rename = "none")]
    Absent,
    /// A state-space mixer in place of attention, whose kind is its rule.
    #[serde(untagged)]
    StateSpace(StateSpace),
}

impl AttentionShape {
    fn is_absent(&self) -> bool {
        *self == Self::Absent
    }
}

/// A choice of networks.
#[expect(
    clippy::struct_excessive_bools,
    reason = "they are flags of published configurations"
)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Experts {
    /// Routed experts.
    pub experts: u64,
    /// Experts that a token meets.
    pub active: u64,
    /// Intermediate width of one expert.
    pub width: u64,
    /// Gate and up projections rather than up alone.
    pub gated: bool,
    /// Biases in the experts.
    pub bias: bool,
    /// A bias per expert in the router.
    pub router_bias: bool,
    /// Intermediate width of the shared experts together; 0 for none.
    pub shared_width: u64,
    /// A learned gate of `hidden` parameters on the shared experts.
    pub shared_gate: bool,
    /// Width that tokens are projected to on their way to the routed experts and back from
    /// them (Nemotron 3, `moe_latent_size`); 0 for none.
    pub latent: u64,
}

/// Feed-forward part of one kind of layer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum MlpShape {
    /// One network for all tokens.
    Dense {
        /// Intermediate width.
        width: u64,
        /// Gate and up projections (`SwiGLU`) rather than up alone.
        gated: bool,
        /// Biases.
        bias: bool,
    },
    /// A choice of networks.
    Experts(Experts),
    /// None: a layer that only mixes tokens.
    #[serde(rename = "none")]
    Absent,
    /// One product holding this layer's share of a nominal total (the seed article's model).
    Nominal {
        /// Inputs.
        depth: u64,
        /// Outputs.
        width: u64,
    },
}

impl MlpShape {
    fn is_nominal(&self) -> bool {
        matches!(self, Self::Nominal { .. })
    }
}

/// One kind of layer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BlockShape {
    /// Normalisations of `hidden` elements.
    pub norms: u64,
    /// Attention and feed-forward side by side, with one all-reduce for both.
    pub parallel: bool,
    /// Attention.
    pub attention: AttentionShape,
    /// A second mixer of its tokens, behind the same normalisation and before the same sum.
    #[serde(skip_serializing_if = "AttentionShape::is_absent")]
    pub second_mixer: AttentionShape,
    /// Small products behind attention and feed-forward.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub side: Vec<Side>,
    /// Feed-forward; a nominal total stands beside all layers.
    #[serde(skip_serializing_if = "MlpShape::is_nominal")]
    pub mlp: MlpShape,
}

/// A small product that every rank does all of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Side {
    /// Elements of a token that go in.
    pub inputs: u64,
    /// Elements that come out.
    pub outputs: u64,
}

impl Side {
    pub(super) fn new(inputs: u64, outputs: u64) -> Self {
        Self { inputs, outputs }
    }
}

/// A second table of embeddings, of which each layer has its own part (Gemma 3n).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LayerEmbedding {
    /// Rows.
    pub rows: u64,
    /// Width of the part of one layer.
    pub width: u64,
}

/// A published model.
#[expect(
    clippy::struct_excessive_bools,
    reason = "they are flags of published configurations"
)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Architecture {
    /// Catalog id, or the name of the file.
    pub id: String,
    /// Full name.
    pub name: String,
    /// Type of a configuration that planopt does not know, and has read by its fields.
    pub unknown_type: Option<String>,
    /// Bytes of the checkpoint, where its index or header was read.
    pub stored_bytes: Option<u64>,
    /// Width of the residual stream.
    pub hidden: u64,
    /// Rows of the token embedding; 0 for none (the seed article's model).
    pub vocabulary: u64,
    /// Longest context the model was made for.
    pub max_context: u64,
    /// Format of the published weights.
    pub weights: Format,
    /// Whether only the experts' matrices are in that format (gpt-oss), the rest in 16 bits.
    pub only_experts_quantised: bool,
    /// The head shares the embedding's matrix.
    pub tied: bool,
    /// Kind of normalisation.
    pub norm: Norm,
    /// A normalisation behind the embedding.
    pub embedding_norm: bool,
    /// A normalisation before the head.
    pub final_norm: bool,
    /// Embeddings of each layer, beside those of the stream.
    pub layer_embedding: Option<LayerEmbedding>,
    /// Copies of the residual stream that layers read and write, but for the one they work on
    /// (`AltUp`, arXiv 2301.13310); each is projected out of the embedding, and back before the head.
    pub more_streams: u64,
    /// Rows of a learned position embedding; 0 for none.
    pub positions: u64,
    /// A bias on the head.
    pub head_bias: bool,
    /// Kinds of layer.
    pub blocks: Vec<BlockShape>,
    /// The kind of each layer.
    pub layers: Vec<usize>,
    /// Modules of multi-token prediction behind the last layer.
    pub mtp_modules: u32,
    /// Kinds of the layers of a module.
    pub mtp_layers: Vec<usize>,
    /// Parameters of the checkpoint outside of the list: what they are, and how many.
    pub outside: Vec<(String, u64)>,
    /// What encodes images, where it is known.
    pub vision: Option<Vision>,
    /// Published total of parameters.
    pub published_parameters: Option<u64>,
    /// Published parameters that a token meets.
    pub published_active: Option<u64>,
}

pub(crate) fn set_kv_heads(
    architecture: &mut Architecture,
    wanted: u64,
) -> Result<(), Vec<Diagnostic>> {
    for block in &mut architecture.blocks {
        match &mut block.attention {
            AttentionShape::Grouped(own) if wanted > 0 && own.heads.is_multiple_of(wanted) => {
                own.kv_heads = wanted;
            }
            AttentionShape::Grouped(own) => {
                let accepted = format!("a divisor of the {} query heads", own.heads);
                return Err(vec![wrong_option("kv_heads", &wanted, accepted)]);
            }
            AttentionShape::StateSpace(_) | AttentionShape::Absent => {}
            AttentionShape::Latent { .. } => {
                let accepted = "models with grouped heads; this one caches a latent";
                return Err(vec![wrong_option("kv_heads", &wanted, accepted)]);
            }
        }
    }
    Ok(())
}
