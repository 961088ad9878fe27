//! Gemma, whose head shares the embedding's matrix.

use super::fields::{COUNTS, Fields, WIDTHS};
use super::parts::{Experts, Heads, block, decoder, gated, layers, sliding, windows};
use crate::transformer::architecture::{Architecture, BlockShape, KeyValue, MlpShape};

pub(super) fn gemma(fields: &mut Fields) -> Architecture {
    fields.assume(&[("head_dim", 256)]);
    let bias = fields.flag("attention_bias", false);
    let heads = Heads::read(fields).biased(bias);
    let mlp = gated(fields, false);
    let tied = fields.flag("tie_word_embeddings", true);
    Architecture {
        tied,
        ..decoder(fields, |_| block(heads.attention(None), mlp.clone()))
    }
}

pub(super) fn gemma2(fields: &mut Fields) -> Architecture {
    fields.assume(&[("head_dim", 256), ("sliding_window", 4096)]);
    let bias = fields.flag("attention_bias", false);
    let heads = Heads::read(fields).biased(bias);
    let windows = windows(fields, "sliding_window", |layer| layer % 2 == 0);
    twice_normalised(fields, heads, &windows)
}

pub(super) fn gemma3(fields: &mut Fields) -> Architecture {
    fields.assume(&[
        ("vocab_size", 262_208),
        ("max_position_embeddings", 131_072),
        ("num_attention_heads", 8),
        ("num_key_value_heads", 4),
        ("head_dim", 256),
        ("sliding_window", 4096),
        ("sliding_window_pattern", 6),
    ]);
    let bias = fields.flag("attention_bias", false);
    let heads = Heads::read(fields).biased(bias).normalised();
    let pattern = fields.required(&["sliding_window_pattern"], COUNTS);
    let is_global = |layer: usize| (layer as u64 + 1).is_multiple_of(pattern);
    let windows = windows(fields, "sliding_window", |layer| !is_global(layer));
    twice_normalised(fields, heads, &windows)
}

/// Gemma since its second generation: a normalisation before and one behind each half of a layer.
fn twice_normalised(fields: &mut Fields, heads: Heads, windows: &[Option<u64>]) -> Architecture {
    let mlp = gated(fields, false);
    let tied = fields.flag("tie_word_embeddings", true);
    let layer = |layer: usize| BlockShape {
        norms: 4,
        ..block(heads.attention(windows[layer]), mlp.clone())
    };
    Architecture {
        tied,
        ..decoder(fields, layer)
    }
}

/// Layers without a window have heads of their own, whose keys may be values as well; the last layers
/// may read what earlier ones cached. In mixtures the dense network stands beside the experts, and
/// the router has a gain of each element and of each expert.
pub(super) fn gemma4(fields: &mut Fields) -> Architecture {
    fields.assume(&[
        ("head_dim", 256),
        ("global_head_dim", 512),
        ("sliding_window", 512),
        ("hidden_size_per_layer_input", 256),
        ("vocab_size", 262_144),
        ("max_position_embeddings", 131_072),
    ]);
    let of_layers = "hidden_size_per_layer_input";
    if let Some(width) = fields
        .number(of_layers, 0, WIDTHS)
        .filter(|width| *width > 0)
    {
        let message = "embeddings of each layer are not modelled";
        fields.note(of_layers, message, Some(&width.into()), "0");
    }
    let bias = fields.flag("attention_bias", false);
    let local = Heads::read(fields).biased(bias).normalised();
    let same = fields.flag("attention_k_eq_v", false);
    let key_value = fields
        .optional("num_global_key_value_heads", COUNTS)
        .filter(|_| same);
    let global = Heads {
        key_value: key_value.unwrap_or(local.key_value),
        is: if same { KeyValue::Same } else { KeyValue::Own },
        ..local.of_width(fields.required(&["global_head_dim"], COUNTS))
    }
    .normalised();

    let slides = sliding(fields, |layer| (layer + 1) % 6 != 0);
    let windows = windows(fields, "sliding_window", |layer| slides[layer]);
    let count = layers(fields);
    let shared = fields
        .number("num_kv_shared_layers", 0, COUNTS)
        .unwrap_or(0);
    let is_shared = |layer: usize| layer as u64 + shared >= count as u64;
    let width = fields.required(&["intermediate_size"], WIDTHS);
    let wide = fields.flag("use_double_wide_mlp", false);
    let experts = fields.flag("enable_moe_block", false).then(|| {
        let names = ["num_experts", "top_k_experts", "moe_intermediate_size"];
        Experts {
            router_bias: true,
            shared_width: width,
            ..Experts::named(fields, names)
        }
    });
    let tied = fields.flag("tie_word_embeddings", true);
    let model = decoder(fields, |layer| {
        let heads = if slides[layer] { local } else { global };
        let heads = if is_shared(layer) {
            Heads {
                is: KeyValue::Earlier,
                query_key_norm: heads.width,
                ..heads
            }
        } else {
            heads
        };
        let mlp = match experts {
            Some(experts) => experts.mlp(),
            None => MlpShape::Dense {
                width: if wide && is_shared(layer) {
                    2 * width
                } else {
                    width
                },
                gated: true,
                bias: false,
            },
        };
        BlockShape {
            norms: if experts.is_some() { 8 } else { 4 },
            ..block(heads.attention(windows[layer]), mlp)
        }
    });
    Architecture {
        tied,
        outside: vec![("scalars of the layers".to_owned(), count as u64)],
        ..model
    }
}
