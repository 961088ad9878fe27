//! The older model types: layer normalisation, feed-forward networks without a gate, and mostly
//! biases, learned positions and a head that shares the embedding's matrix.

use super::fields::{COUNTS, Fields, WIDTHS};
use super::parts::{HEADS, HIDDEN, alike, looking_back, tied_unless_said, ungated, windows};
use crate::transformer::architecture::{Architecture, BlockShape, Heads, Norm};
use serde_json::Value;

/// Feed-forward width over hidden size where a file does not say.
const EXPANSION: u64 = 4;

/// Rows of OPT's position embedding that fairseq kept for padding.
const OPT_PADDING_POSITIONS: u64 = 2;

pub(super) fn gpt2(fields: &mut Fields) -> Architecture {
    fields.assume(&[("max_position_embeddings", 1024)]);
    let heads = multi_head(fields).biased(true);
    let width = width(fields, "n_inner");
    let model = gpt(fields, heads, width, true);
    Architecture {
        positions: model.max_context,
        ..model
    }
}

pub(super) fn opt(fields: &mut Fields) -> Architecture {
    let bias = fields.flag("enable_bias", true);
    let heads = multi_head(fields).biased(bias);
    let width = width(fields, "ffn_dim");
    only(fields, "do_layer_norm_before", &Value::from(true));
    let hidden = fields.required(HIDDEN, WIDTHS);
    only(fields, "word_embed_proj_dim", &Value::from(hidden));
    let model = gpt(fields, heads, width, bias);
    Architecture {
        positions: model.max_context + OPT_PADDING_POSITIONS,
        ..model
    }
}

pub(super) fn bloom(fields: &mut Fields) -> Architecture {
    fields.assume(&[("max_position_embeddings", 2048)]);
    let heads = multi_head(fields).biased(true);
    let width = width(fields, "n_inner");
    Architecture {
        embedding_norm: true,
        ..gpt(fields, heads, width, true)
    }
}

/// Falcon, in the layout of 7B (one key/value head and one normalisation for attention and network
/// side by side) or of 40B and 180B (grouped heads and one normalisation for each).
pub(super) fn falcon(fields: &mut Fields) -> Architecture {
    fields.assume(&[("max_position_embeddings", 2048)]);
    let is_new = fields.flag("new_decoder_architecture", false);
    let is_parallel = fields.flag("parallel_attn", true) || is_new;
    let is_multi_query = fields.flag("multi_query", true);
    let bias = fields.flag("bias", false);

    let heads = fields.required(HEADS, COUNTS);
    let kv_heads = match (is_new, is_multi_query) {
        (true, _) => fields.optional("num_kv_heads", COUNTS).unwrap_or(heads),
        (false, true) => 1,
        (false, false) => heads,
    };
    let heads = Heads::new(fields, heads, kv_heads).biased(bias);
    let norms = if is_new {
        fields.optional("num_ln_in_parallel_attn", 2).unwrap_or(2)
    } else if is_parallel {
        1
    } else {
        2
    };
    let width = width(fields, "ffn_hidden_size");
    arranged(gpt(fields, heads, width, bias), norms, is_parallel)
}

pub(super) fn mpt(fields: &mut Fields) -> Architecture {
    let bias = !fields.flag("no_bias", true);
    let attention = fields.value("attn_config");
    let attention = |name: &str| attention.and_then(|config| config.get(name));

    let heads = fields.required(HEADS, COUNTS);
    let kv_heads = match attention("attn_type").and_then(Value::as_str) {
        Some("multiquery_attention") => 1,
        Some("grouped_query_attention") => attention("kv_n_heads")
            .and_then(Value::as_u64)
            .filter(|kv_heads| (1..=heads).contains(kv_heads))
            .unwrap_or_else(|| {
                let accepted = format!("kv_n_heads from 1 to {heads}");
                let message = "grouped-query attention needs its number of key/value heads";
                fields.note("attn_config", message, None, &accepted);
                1
            }),
        _ => heads,
    };
    let heads = Heads::new(fields, heads, kv_heads).biased(bias);
    let expansion = fields
        .optional("expansion_ratio", COUNTS)
        .unwrap_or(EXPANSION);
    let width = expansion * fields.required(HIDDEN, WIDTHS);

    // Linear biases take the place of learned positions.
    let is_linear = attention("alibi").and_then(Value::as_bool).unwrap_or(false);
    let has_positions = fields.flag("learned_pos_emb", true) && !is_linear;
    let model = gpt(fields, heads, width, bias);
    Architecture {
        norm: if bias { Norm::Layer } else { Norm::LayerNoBias },
        positions: if has_positions { model.max_context } else { 0 },
        ..model
    }
}

pub(super) fn gpt_neox(fields: &mut Fields) -> Architecture {
    let bias = fields.flag("attention_bias", true);
    let heads = multi_head(fields).biased(bias);
    let is_parallel = fields.flag("use_parallel_residual", true);
    let width = width(fields, "intermediate_size");
    let tied = fields.flag("tie_word_embeddings", false);
    Architecture {
        tied,
        ..arranged(gpt(fields, heads, width, true), 2, is_parallel)
    }
}

pub(super) fn starcoder2(fields: &mut Fields) -> Architecture {
    let bias = fields.flag("use_bias", true);
    let heads = Heads::read(fields).biased(bias);
    let windows = windows(fields, "sliding_window", |_| true);
    let width = width(fields, "intermediate_size");
    let mlp = ungated(width, bias);
    let model = Architecture {
        norm: Norm::Layer,
        ..looking_back(fields, heads, &windows, &mlp)
    };
    tied_unless_said(fields, model)
}

pub(super) fn gpt_bigcode(fields: &mut Fields) -> Architecture {
    let query = fields.required(HEADS, COUNTS);
    let is_multi_query = fields.flag("multi_query", true);
    let heads = Heads::new(fields, query, if is_multi_query { 1 } else { query });
    let width = width(fields, "n_inner");
    let model = gpt(fields, heads.biased(true), width, true);
    Architecture {
        positions: model.max_context,
        ..model
    }
}

/// Attention, without biases, and network side by side behind one normalisation.
pub(super) fn gptj(fields: &mut Fields) -> Architecture {
    let heads = multi_head(fields);
    let width = width(fields, "n_inner");
    side_by_side(fields, heads, width)
}

/// Phi-1 to Phi-2: as GPT-J, with biases everywhere.
pub(super) fn phi(fields: &mut Fields) -> Architecture {
    let heads = Heads::read(fields).biased(true);
    only(fields, "qk_layernorm", &Value::from(false));
    let width = width(fields, "intermediate_size");
    side_by_side(fields, heads, width)
}

fn side_by_side(fields: &mut Fields, heads: Heads, width: u64) -> Architecture {
    let tied = fields.flag("tie_word_embeddings", false);
    Architecture {
        tied,
        head_bias: true,
        ..arranged(gpt(fields, heads, width, true), 1, true)
    }
}

/// The encoder with a masked-language-model head, without that head's transformation, the segment
/// embeddings and the pooler. Attention counts as causal, as everywhere.
pub(super) fn bert(fields: &mut Fields) -> Architecture {
    let heads = multi_head(fields).biased(true);
    let width = width(fields, "intermediate_size");
    let model = gpt(fields, heads, width, true);
    Architecture {
        positions: model.max_context,
        embedding_norm: true,
        final_norm: false,
        head_bias: true,
        ..model
    }
}

fn gpt(fields: &mut Fields, heads: Heads, width: u64, bias: bool) -> Architecture {
    let mlp = ungated(width, bias);
    let model = Architecture {
        norm: Norm::Layer,
        ..alike(fields, heads, &mlp)
    };
    tied_unless_said(fields, model)
}

fn multi_head(fields: &mut Fields) -> Heads {
    let heads = fields.required(HEADS, COUNTS);
    Heads::new(fields, heads, heads)
}

/// The feed-forward width that the field `name` gives, or else the usual multiple of the hidden size.
fn width(fields: &mut Fields, name: &str) -> u64 {
    let hidden = fields.required(HIDDEN, WIDTHS);
    fields.optional(name, WIDTHS).unwrap_or(EXPANSION * hidden)
}

/// The same with so many normalisations per layer, attention and network side by side or not.
fn arranged(model: Architecture, norms: u64, parallel: bool) -> Architecture {
    let arrange = |block| BlockShape {
        norms,
        parallel,
        ..block
    };
    Architecture {
        blocks: model.blocks.into_iter().map(arrange).collect(),
        ..model
    }
}

/// Notes a field whose other values make a different model.
fn only(fields: &mut Fields, name: &str, accepted: &Value) {
    if let Some(value) = fields.value(name).filter(|value| *value != accepted) {
        let message = format!("{name} other than {accepted} is not modelled");
        fields.note(name, &message, Some(value), &accepted.to_string());
    }
}
