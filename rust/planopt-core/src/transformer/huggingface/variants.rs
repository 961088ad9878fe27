//! Decoders that differ from the plain one by a bias, a normalisation or the names of their fields.
//! Defaults are those of the configuration classes in `transformers`, or of the repositories that bring
//! their own (`internlm2`, `exaone`, `mimo`).

use super::fields::{COUNTS, Fields, LENGTHS, WIDTHS};
use super::parts::{Experts, Heads, block, decoder, gated, windows};
use crate::transformer::architecture::{Architecture, BlockShape, MlpShape, Norm};

fn tied_unless_said(fields: &mut Fields, model: Architecture) -> Architecture {
    let tied = fields.flag("tie_word_embeddings", true);
    Architecture { tied, ..model }
}

/// Dense layers with these heads.
fn dense(fields: &mut Fields, heads: Heads, bias: bool) -> Architecture {
    let mlp = gated(fields, bias);
    decoder(fields, |_| block(heads.attention(None), mlp.clone()))
}

pub(super) fn internlm2(fields: &mut Fields) -> Architecture {
    let bias = fields.flag("bias", false);
    let heads = Heads::read(fields).biased(bias);
    dense(fields, heads, false)
}

pub(super) fn exaone(fields: &mut Fields) -> Architecture {
    let heads = Heads::read(fields);
    dense(fields, heads, false)
}

pub(super) fn smollm3(fields: &mut Fields) -> Architecture {
    let bias = fields.flag("attention_bias", false);
    let heads = Heads::read(fields).biased(bias);
    let mlp_bias = fields.flag("mlp_bias", false);
    let model = dense(fields, heads, mlp_bias);
    tied_unless_said(fields, model)
}

pub(super) fn seed_oss(fields: &mut Fields) -> Architecture {
    let bias = fields.flag("attention_bias", true);
    let heads = Heads {
        output_bias: fields.flag("attention_out_bias", false),
        ..Heads::read(fields).biased_inward(bias)
    };
    let mlp_bias = fields.flag("mlp_bias", false);
    dense(fields, heads, mlp_bias)
}

pub(super) fn mimo(fields: &mut Fields) -> Architecture {
    let bias = fields.flag("attention_bias", true);
    let heads = Heads::read(fields).biased_inward(bias);
    dense(fields, heads, false)
}

/// Normalised behind attention and network, and queries and keys across all their heads together;
/// since the third, three layers of four have a window.
pub(super) fn olmo(fields: &mut Fields) -> Architecture {
    let bias = fields.flag("attention_bias", false);
    let mut heads = Heads::read(fields).biased(bias);
    heads.query_key_norm = (heads.query + heads.key_value) * heads.width;
    let windows = windows(fields, "sliding_window", |layer| (layer + 1) % 4 != 0);
    let mlp = gated(fields, false);
    decoder(fields, |layer| {
        block(heads.attention(windows[layer]), mlp.clone())
    })
}

/// Its activation (xIELU) has two parameters in each layer.
pub(super) fn apertus(fields: &mut Fields) -> Architecture {
    let bias = fields.flag("attention_bias", false);
    let heads = Heads::read(fields).biased(bias).normalised();
    let mlp = MlpShape::Dense {
        width: fields.required(&["intermediate_size"], WIDTHS),
        gated: false,
        bias: fields.flag("mlp_bias", false),
    };
    let model = decoder(fields, |_| block(heads.attention(None), mlp.clone()));
    let activations = XIELU * model.layers.len() as u64;
    Architecture {
        outside: vec![("activations".to_owned(), activations)],
        ..model
    }
}

/// Parameters of an xIELU.
const XIELU: u64 = 2;

/// Attention and network side by side behind one normalisation; in Command R7B and later (`cohere2`)
/// all but each fourth layer have a window.
pub(super) fn cohere(fields: &mut Fields, slides: bool) -> Architecture {
    let bias = fields.flag("attention_bias", false);
    let mut heads = Heads::read(fields).biased(bias);
    if fields.flag("use_qk_norm", false) {
        heads.query_key_norm = (heads.query + heads.key_value) * heads.width;
    }
    let pattern = fields
        .optional("sliding_window_pattern", COUNTS)
        .unwrap_or(4);
    let windows = windows(fields, "sliding_window", |layer| {
        slides && !(layer as u64 + 1).is_multiple_of(pattern)
    });
    let mlp = gated(fields, false);
    let model = decoder(fields, |layer| BlockShape {
        norms: 1,
        parallel: true,
        ..block(heads.attention(windows[layer]), mlp.clone())
    });
    let model = Architecture {
        norm: Norm::LayerNoBias,
        ..model
    };
    tied_unless_said(fields, model)
}

pub(super) fn stablelm(fields: &mut Fields) -> Architecture {
    let bias = fields.flag("use_qkv_bias", false);
    let heads = Heads::read(fields).biased_inward(bias);
    for other in ["qk_layernorm", "use_parallel_residual"] {
        if fields.flag(other, false) {
            let message = "planopt does not know StableLM with it";
            fields.note(other, message, Some(&true.into()), "false");
        }
    }
    Architecture {
        norm: Norm::Layer,
        ..dense(fields, heads, false)
    }
}

pub(super) fn phimoe(fields: &mut Fields) -> Architecture {
    let bias = fields.flag("attention_bias", false);
    let heads = Heads::read(fields).biased(bias);
    let windows = windows(fields, "sliding_window", |_| true);
    let mlp = Experts::read(fields, "num_local_experts", "intermediate_size").mlp();
    let head_bias = fields.flag("lm_head_bias", false);
    Architecture {
        norm: Norm::Layer,
        head_bias,
        ..decoder(fields, |layer| {
            block(heads.attention(windows[layer]), mlp.clone())
        })
    }
}

/// Experts, where there are any, in every `moe_layer_interval`-th layer from one to another.
pub(super) fn ernie(fields: &mut Fields) -> Architecture {
    let bias = fields.flag("use_bias", false);
    let heads = Heads::read(fields).biased(bias);
    let network = gated(fields, bias);
    let experts = fields.value("moe_num_experts").is_some().then(|| {
        let names = ["moe_num_experts", "moe_k", "moe_intermediate_size"];
        let experts = Experts::named(fields, names);
        let shared = fields.number("moe_num_shared_experts", 0, COUNTS);
        Experts {
            router_bias: true,
            shared_width: shared.unwrap_or(0) * experts.width,
            ..experts
        }
    });
    let first = fields
        .number("moe_layer_start_index", 0, COUNTS)
        .unwrap_or(1);
    let last = fields
        .value("moe_layer_end_index")
        .and_then(serde_json::Value::as_u64)
        .unwrap_or(COUNTS);
    let step = fields.optional("moe_layer_interval", COUNTS).unwrap_or(1);
    let model = decoder(fields, |layer| {
        let index = layer as u64;
        let is_sparse = (first..=last).contains(&index) && (index + 1).is_multiple_of(step);
        let mlp = experts.filter(|_| is_sparse).map(Experts::mlp);
        block(
            heads.attention(None),
            mlp.unwrap_or_else(|| network.clone()),
        )
    });
    tied_unless_said(fields, model)
}

pub(super) fn hunyuan(fields: &mut Fields) -> Architecture {
    let bias = fields.flag("attention_bias", false);
    let mut heads = Heads::read(fields).biased(bias);
    if fields.flag("use_qk_norm", true) {
        heads = heads.normalised();
    }
    if fields.number("num_experts", 1, COUNTS).unwrap_or(1) == 1 {
        return dense(fields, heads, false);
    }
    let width = match fields.value("moe_intermediate_size") {
        Some(_) => "moe_intermediate_size",
        None => "intermediate_size",
    };
    let experts = Experts::named(fields, ["num_experts", "moe_topk", width]);
    let shared = fields.number("num_shared_expert", 0, COUNTS).unwrap_or(0);
    let shared_width = shared * fields.number("intermediate_size", 1, LENGTHS).unwrap_or(0);
    let mlp = Experts {
        shared_width,
        ..experts
    }
    .mlp();
    decoder(fields, |_| block(heads.attention(None), mlp.clone()))
}
