//! The parts that model types share: heads, feed-forward networks, windows, and the stack of layers.

use super::fields::{COUNTS, Fields, LENGTHS, WIDTHS};
use crate::format::Format;
use crate::transformer::MOST_MTP_MODULES;
use crate::transformer::architecture::{
    Architecture, AttentionShape, BlockShape, Experts, Heads, Indexer, KeyValue, MlpShape, Norm,
};
use serde_json::Value;

/// The first name is the usual one, the others those of older model types.
pub(super) const HIDDEN: &[&str] = &["hidden_size", "n_embd", "n_embed", "d_model"];

pub(super) const LAYERS: &[&str] = &["num_hidden_layers", "n_layer", "n_layers", "num_layers"];

pub(super) const HEADS: &[&str] = &["num_attention_heads", "n_head", "n_heads"];

pub(super) const CONTEXT: &[&str] = &[
    "max_position_embeddings",
    "n_positions",
    "max_seq_len",
    "seq_length",
    "model_max_length",
];

/// Rows of the embedding; `padded_vocab_size` is `ChatGLM`'s word.
const VOCABULARY: &[&str] = &["vocab_size", "padded_vocab_size"];

impl Heads {
    /// As Llama and its descendants write them: as many key/value heads as query heads, and the
    /// hidden size shared out among those, where nothing else is said.
    pub(super) fn read(fields: &mut Fields) -> Self {
        let query = fields.required(HEADS, COUNTS);
        let key_value = fields
            .optional("num_key_value_heads", COUNTS)
            .unwrap_or(query);
        Self::new(fields, query, key_value)
    }

    pub(super) fn new(fields: &mut Fields, query: u64, key_value: u64) -> Self {
        if !query.is_multiple_of(key_value) {
            let accepted = format!("a divisor of the {query} query heads");
            let message = "key/value heads must divide the query heads";
            fields.note(
                "num_key_value_heads",
                message,
                Some(&key_value.into()),
                &accepted,
            );
        }
        let width = head_width(fields, query);
        Self {
            heads: query,
            kv_heads: key_value,
            ..Self::default().of_width(width)
        }
    }

    /// With a bias on every projection, if a field says so.
    pub(super) fn read_biased(fields: &mut Fields, name: &str, usual: bool) -> Self {
        let bias = fields.flag(name, usual);
        Self::read(fields).biased(bias)
    }

    /// With a bias on the projections of queries, keys and values, if a field says so.
    pub(super) fn read_biased_inward(fields: &mut Fields, name: &str, usual: bool) -> Self {
        let bias = fields.flag(name, usual);
        Self::read(fields).biased_inward(bias)
    }

    /// With heads of another width.
    pub(super) fn of_width(self, width: u64) -> Self {
        Self {
            head_dim: width,
            value_dim: width,
            ..self
        }
    }

    /// That read keys and values which an earlier layer has cached.
    pub(super) fn of_earlier(self) -> Self {
        Self {
            key_value: KeyValue::Earlier,
            query_key_norm: self.head_dim,
            ..self
        }
    }

    /// With a bias on every projection, or on none.
    pub(super) fn biased(self, bias: bool) -> Self {
        Self {
            query_bias: bias,
            key_value_bias: bias,
            output_bias: bias,
            ..self
        }
    }

    /// With a bias on the projections of queries, keys and values.
    pub(super) fn biased_inward(self, bias: bool) -> Self {
        Self {
            query_bias: bias,
            key_value_bias: bias,
            ..self
        }
    }

    /// With a normalisation of every query and every key head, whose gains the heads share.
    pub(super) fn normalised(self) -> Self {
        Self {
            query_key_norm: 2 * self.head_dim,
            ..self
        }
    }

    /// With a normalisation of all queries together, and of all keys.
    pub(super) fn normalised_together(self) -> Self {
        Self {
            query_key_norm: (self.heads + self.kv_heads) * self.head_dim,
            ..self
        }
    }

    /// In a layer that looks back so far.
    pub(super) fn attention(self, window: Option<u64>) -> AttentionShape {
        AttentionShape::Grouped(Self { window, ..self })
    }
}

fn head_width(fields: &mut Fields, heads: u64) -> u64 {
    if let Some(head_dim) = fields.optional("head_dim", COUNTS) {
        return head_dim;
    }
    let hidden = fields.required(HIDDEN, WIDTHS);
    if !hidden.is_multiple_of(heads) {
        let message = "without head_dim, the heads must divide the hidden size";
        let accepted = format!("a divisor of {hidden}");
        fields.note(HEADS[0], message, Some(&heads.into()), &accepted);
    }
    (hidden / heads).max(1)
}

/// A gated network of `intermediate_size`.
pub(super) fn gated(fields: &mut Fields, bias: bool) -> MlpShape {
    let width = fields.required(&["intermediate_size"], WIDTHS);
    gated_of(width, bias)
}

/// A gated network of some width.
pub(super) fn gated_of(width: u64, bias: bool) -> MlpShape {
    MlpShape::Dense {
        width,
        gated: true,
        bias,
    }
}

/// A network without gates.
pub(super) fn ungated(width: u64, bias: bool) -> MlpShape {
    MlpShape::Dense {
        width,
        gated: false,
        bias,
    }
}

impl Experts {
    /// Gated experts counted by the field `experts`, each as wide as the field `width` says.
    pub(super) fn read(fields: &mut Fields, experts: &'static str, width: &'static str) -> Self {
        Self::named(fields, [experts, "num_experts_per_tok", width])
    }

    /// Gated experts whose fields are named for their number, those that a token meets, and their width.
    pub(super) fn named(fields: &mut Fields, [experts, meets, width]: [&'static str; 3]) -> Self {
        let count = fields.required(&[experts], COUNTS);
        let active = fields.required(&[meets], COUNTS);
        if active > count {
            let message = "a token cannot be routed to more experts than there are";
            let accepted = format!("at most {count}");
            fields.note(meets, message, Some(&active.into()), &accepted);
        }
        Self {
            experts: count,
            active,
            width: fields.required(&[width], WIDTHS),
            gated: true,
            ..Self::default()
        }
    }

    /// With `n_shared_experts` experts that every token meets.
    pub(super) fn with_shared(self, fields: &mut Fields) -> Self {
        let shared = fields.number("n_shared_experts", 0, COUNTS).unwrap_or(0);
        Self {
            shared_width: shared * self.width,
            ..self
        }
    }

    /// In layers that are sparse; a dense network in the others.
    pub(super) fn where_sparse(self, is_sparse: bool, dense: &MlpShape) -> MlpShape {
        if is_sparse { self.mlp() } else { dense.clone() }
    }

    pub(super) fn mlp(self) -> MlpShape {
        MlpShape::Experts(self)
    }
}

/// How far each layer looks back: the field `width` in the layers that `layer_types` names, or else
/// in those for which `slides` is true. A window as long as the context is none.
pub(super) fn windows(
    fields: &mut Fields,
    width: &str,
    slides: impl Fn(usize) -> bool,
) -> Vec<Option<u64>> {
    let slides = sliding(fields, slides);
    let context = fields.required(CONTEXT, LENGTHS);
    let width = fields
        .optional(width, LENGTHS)
        .filter(|width| *width < context);
    slides
        .into_iter()
        .map(|slides| width.filter(|_| slides))
        .collect()
}

/// Which layers have a window: those that `layer_types` names, or else those for which `slides` is
/// true.
pub(super) fn sliding(fields: &mut Fields, slides: impl Fn(usize) -> bool) -> Vec<bool> {
    let layers = layers(fields);
    match layer_types(fields, layers) {
        Some(types) => types,
        None => (0..layers).map(slides).collect(),
    }
}

/// Whether each layer has a window, where the file says so layer by layer.
fn layer_types(fields: &mut Fields, layers: usize) -> Option<Vec<bool>> {
    let known = ["full_attention", "sliding_attention", "chunked_attention"];
    let words = words(fields, "layer_types", &known, layers)?;
    Some(words.into_iter().map(|word| word != known[0]).collect())
}

/// What a list says of each layer, in words that are `known`; it may go on with those of modules of
/// multi-token prediction.
pub(super) fn words(
    fields: &mut Fields,
    name: &str,
    known: &[&'static str],
    layers: usize,
) -> Option<Vec<&'static str>> {
    let value = fields.value(name)?;
    let with_modules = layers + mtp_modules(fields) as usize;
    let word = |own: &Value| {
        known
            .iter()
            .find(|word| own.as_str() == Some(word))
            .copied()
    };
    let list: Option<Vec<&str>> = value
        .as_array()
        .filter(|list| list.len() == layers || list.len() == with_modules)
        .and_then(|list| list.iter().map(word).collect());
    if list.is_none() {
        let message = format!("{name} is not a list of kinds of layer that planopt knows");
        let accepted = format!("one of {} for each of {layers} layers", known.join(", "));
        fields.note(name, &message, Some(value), &accepted);
    }
    list
}

/// Number of layers.
pub(super) fn layers(fields: &mut Fields) -> usize {
    usize::try_from(fields.required(LAYERS, COUNTS)).unwrap_or(usize::MAX)
}

/// A layer that normalises before attention and before the feed-forward network.
pub(super) fn block(attention: AttentionShape, mlp: MlpShape) -> BlockShape {
    BlockShape {
        norms: 2,
        parallel: false,
        attention,
        second_mixer: AttentionShape::Absent,
        mlp,
        side: Vec::new(),
    }
}

/// Modules of multi-token prediction, as DeepSeek-V3 and its descendants write them.
fn mtp_modules(fields: &mut Fields) -> u32 {
    let modules = fields.number("num_nextn_predict_layers", 0, u64::from(MOST_MTP_MODULES));
    modules.map_or(0, |modules| {
        u32::try_from(modules).unwrap_or(MOST_MTP_MODULES)
    })
}

/// The same with modules of multi-token prediction of which each is a layer like this, if any is.
pub(super) fn with_modules(model: Architecture, of_module: &BlockShape) -> Architecture {
    let place = model.blocks.iter().position(|known| known == of_module);
    Architecture {
        mtp_layers: place.into_iter().collect(),
        ..model
    }
}

/// A decoder with RMS normalisation and rotary positions, its layers as `block_of` gives them.
pub(super) fn decoder(fields: &mut Fields, block_of: impl Fn(usize) -> BlockShape) -> Architecture {
    let layers = layers(fields);
    decoder_of(fields, layers, block_of)
}

/// The same with layers that are all alike.
pub(super) fn alike(fields: &mut Fields, heads: Heads, mlp: &MlpShape) -> Architecture {
    decoder(fields, |_| block(heads.attention(None), mlp.clone()))
}

/// The same whose head shares the embedding's matrix, unless the file says otherwise.
pub(super) fn tied_unless_said(fields: &mut Fields, model: Architecture) -> Architecture {
    let tied = fields.flag("tie_word_embeddings", true);
    Architecture { tied, ..model }
}

/// The same with layers that differ in nothing but how far they look back.
pub(super) fn looking_back(
    fields: &mut Fields,
    heads: Heads,
    windows: &[Option<u64>],
    mlp: &MlpShape,
) -> Architecture {
    decoder(fields, |layer| {
        block(heads.attention(windows[layer]), mlp.clone())
    })
}

/// A decoder with so many layers.
pub(super) fn decoder_of(
    fields: &mut Fields,
    layers: usize,
    block_of: impl Fn(usize) -> BlockShape,
) -> Architecture {
    let (mut blocks, mut kinds) = (Vec::new(), Vec::new());
    for layer in 0..layers {
        let block = block_of(layer);
        kinds.push(
            blocks
                .iter()
                .position(|known| *known == block)
                .unwrap_or_else(|| {
                    blocks.push(block);
                    blocks.len() - 1
                }),
        );
    }
    let mtp_layers = kinds.last().copied().into_iter().collect();
    Architecture {
        id: String::new(),
        name: String::new(),
        unknown_type: None,
        stored_bytes: None,
        hidden: fields.required(HIDDEN, WIDTHS),
        vocabulary: fields.required(VOCABULARY, LENGTHS),
        max_context: fields.required(CONTEXT, LENGTHS),
        weights: Format::Bf16,
        only_experts_quantised: false,
        tied: fields.flag("tie_word_embeddings", false),
        norm: Norm::Rms,
        embedding_norm: false,
        final_norm: true,
        layer_embedding: None,
        more_streams: 0,
        positions: 0,
        head_bias: false,
        blocks,
        layers: kinds,
        mtp_modules: mtp_modules(fields),
        mtp_layers,
        outside: Vec::new(),
        vision: None,
        published_parameters: None,
        published_active: None,
    }
}

/// Experts in every `decoder_sparse_step`-th layer, but for those named dense.
pub(super) fn qwen_moe(
    fields: &mut Fields,
    attention: &dyn Fn(usize) -> AttentionShape,
    experts: Experts,
) -> Architecture {
    let step = fields.optional("decoder_sparse_step", COUNTS).unwrap_or(1);
    let dense_layers = fields.numbers("mlp_only_layers").unwrap_or_default();
    let dense = if step > 1 || !dense_layers.is_empty() {
        gated(fields, false)
    } else {
        MlpShape::Absent
    };
    decoder(fields, |layer| {
        let is_sparse = (layer as u64 + 1).is_multiple_of(step);
        let is_sparse = is_sparse && !dense_layers.contains(&(layer as u64));
        block(attention(layer), experts.where_sparse(is_sparse, &dense))
    })
}

/// Latent attention as `DeepSeek` and its descendants write it.
pub(super) fn latent(
    fields: &mut Fields,
    selected: Option<u64>,
    indexer: Option<Indexer>,
) -> AttentionShape {
    let attention = AttentionShape::Latent {
        heads: fields.required(HEADS, COUNTS),
        query_rank: fields.optional("q_lora_rank", WIDTHS).unwrap_or(0),
        latent: fields.required(&["kv_lora_rank"], WIDTHS),
        rope: fields.required(&["qk_rope_head_dim"], COUNTS),
        nope: fields.required(&["qk_nope_head_dim"], COUNTS),
        value: fields.required(&["v_head_dim"], COUNTS),
        selected,
        indexer,
    };
    if fields.flag("attention_bias", false) {
        let message = "latent attention with biases is not modelled";
        fields.note("attention_bias", message, Some(&true.into()), "false");
    }
    attention
}

/// The first `first_k_dense_replace` layers dense, then experts in every `moe_layer_freq`-th.
pub(super) fn sparse_above_dense(
    fields: &mut Fields,
    attention: &dyn Fn(usize) -> AttentionShape,
    experts: Experts,
) -> Architecture {
    let dense_layers = fields
        .number("first_k_dense_replace", 0, COUNTS)
        .unwrap_or(0);
    let step = fields.optional("moe_layer_freq", COUNTS).unwrap_or(1);
    let dense = gated(fields, false);
    decoder(fields, |layer| {
        let index = layer as u64;
        let is_sparse = index >= dense_layers && index.is_multiple_of(step);
        block(attention(layer), experts.where_sparse(is_sparse, &dense))
    })
}
