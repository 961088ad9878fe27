//! Gemma, whose head shares the embedding's matrix.

use super::fields::{COUNTS, Fields, LENGTHS, WIDTHS};
use super::parts::{
    HIDDEN, alike, block, decoder, gated, gated_of, layers, sliding, tied_unless_said, windows,
};
use crate::transformer::architecture::{
    Architecture, BlockShape, Experts, Heads, KeyValue, LayerEmbedding, Side,
};

pub(super) fn gemma(fields: &mut Fields) -> Architecture {
    fields.assume(&[("head_dim", 256)]);
    let heads = Heads::read_biased(fields, "attention_bias", false);
    let mlp = gated(fields, false);
    let model = alike(fields, heads, &mlp);
    tied_unless_said(fields, model)
}

pub(super) fn gemma2(fields: &mut Fields) -> Architecture {
    fields.assume(&[("head_dim", 256), ("sliding_window", 4096)]);
    let heads = Heads::read_biased(fields, "attention_bias", false);
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
    let heads = Heads::read_biased(fields, "attention_bias", false).normalised();
    let pattern = fields.required(&["sliding_window_pattern"], COUNTS);
    let is_global = |layer: usize| (layer as u64 + 1).is_multiple_of(pattern);
    let windows = windows(fields, "sliding_window", |layer| !is_global(layer));
    twice_normalised(fields, heads, &windows)
}

/// Gemma since its second generation: a normalisation before and one behind each half of a layer.
fn twice_normalised(fields: &mut Fields, heads: Heads, windows: &[Option<u64>]) -> Architecture {
    let mlp = gated(fields, false);
    let model = decoder(fields, |layer| BlockShape {
        norms: 4,
        ..block(heads.attention(windows[layer]), mlp.clone())
    });
    tied_unless_said(fields, model)
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
        ("vocab_size_per_layer_input", 262_144),
        ("vocab_size", 262_144),
        ("max_position_embeddings", 131_072),
    ]);
    let of_layers = layer_embedding(fields);
    let local = Heads::read_biased(fields, "attention_bias", false).normalised();
    let same = fields.flag("attention_k_eq_v", false);
    let key_value = fields
        .optional("num_global_key_value_heads", COUNTS)
        .filter(|_| same);
    let global = Heads {
        kv_heads: key_value.unwrap_or(local.kv_heads),
        key_value: if same { KeyValue::Same } else { KeyValue::Own },
        ..local.of_width(fields.required(&["global_head_dim"], COUNTS))
    }
    .normalised();

    let slides = sliding(fields, |layer| (layer + 1) % 6 != 0);
    let windows = windows(fields, "sliding_window", |layer| slides[layer]);
    let count = layers(fields);
    let hidden = fields.required(HIDDEN, WIDTHS);
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
            heads.of_earlier()
        } else {
            heads
        };
        let mlp = match experts {
            Some(experts) => experts.mlp(),
            None if wide && is_shared(layer) => gated_of(2 * width, false),
            None => gated_of(width, false),
        };
        BlockShape {
            norms: if experts.is_some() { 8 } else { 4 } + u64::from(of_layers.is_some()),
            side: with_part(of_layers, hidden),
            ..block(heads.attention(windows[layer]), mlp)
        }
    });
    Architecture {
        tied,
        layer_embedding: of_layers,
        outside: vec![("scalars of the layers".to_owned(), count as u64)],
        ..model
    }
}

/// Embeddings of each layer.
fn layer_embedding(fields: &mut Fields) -> Option<LayerEmbedding> {
    let width = fields.number("hidden_size_per_layer_input", 0, WIDTHS)?;
    let rows = fields.required(&["vocab_size_per_layer_input"], LENGTHS);
    (width > 0).then_some(LayerEmbedding { rows, width })
}

/// The products by which a layer takes its own embedding in.
fn with_part(of_layers: Option<LayerEmbedding>, hidden: u64) -> Vec<Side> {
    let ways = of_layers.map(|part| {
        let (inward, outward) = (Side::new(hidden, part.width), Side::new(part.width, hidden));
        [inward, outward]
    });
    ways.into_iter().flatten().collect()
}

/// Gemma 3n: further streams beside the one that a layer works on, residuals of low rank, embeddings
/// of each layer; the last layers read what earlier ones cached, and their checkpoints have the
/// projections of keys and values all the same.
pub(super) fn gemma3n(fields: &mut Fields) -> Architecture {
    fields.assume(&[
        ("head_dim", 256),
        ("sliding_window", 512),
        ("hidden_size_per_layer_input", 256),
        ("vocab_size_per_layer_input", 262_144),
        ("num_kv_shared_layers", 15),
        ("altup_num_inputs", 4),
        ("laurel_rank", 64),
    ]);
    let heads = Heads::read_biased(fields, "attention_bias", false).normalised();
    let slides = sliding(fields, |layer| (layer + 1) % 5 != 0);
    let windows = windows(fields, "sliding_window", |layer| slides[layer]);
    let count = layers(fields) as u64;
    let shared = fields.number("num_kv_shared_layers", 0, COUNTS);
    let shared = shared.unwrap_or(0).min(count);
    let hidden = fields.required(HIDDEN, WIDTHS);
    let streams = fields.required(&["altup_num_inputs"], MOST_STREAMS);
    let rank = fields.required(&["laurel_rank"], WIDTHS);
    let of_layers = layer_embedding(fields);
    let mut side = with_part(of_layers, hidden);
    side.extend([
        Side::new(hidden, rank),
        Side::new(rank, hidden),
        Side::new(hidden, streams),
        Side::new(streams, streams * streams + streams),
    ]);
    let mlp = gated(fields, false);
    let tied = fields.flag("tie_word_embeddings", true);
    let model = decoder(fields, |layer| {
        let heads = if layer as u64 + shared >= count {
            heads.of_earlier()
        } else {
            heads
        };
        // Around attention and network, of the residual and of the streams' router, the gains of
        // what it corrects, and the layer's embedding.
        BlockShape {
            norms: 7 + u64::from(of_layers.is_some()),
            side: side.clone(),
            ..block(heads.attention(windows[layer]), mlp.clone())
        }
    });
    let key_value = 2 * hidden * heads.kv_heads * heads.head_dim + heads.head_dim;
    let unused = "keys and values that no layer uses".to_owned();
    Architecture {
        tied,
        layer_embedding: of_layers,
        more_streams: streams - 1,
        outside: vec![(unused, shared * key_value)],
        ..model
    }
}

/// Streams, at most: twice those of any published model, and few enough to multiply.
const MOST_STREAMS: u64 = 8;
