//! Decoders that differ from the plain one by a bias, a normalisation or the names of their fields.
//! Defaults are those of the configuration classes in `transformers`, or of the repositories that bring
//! their own (`internlm2`, `exaone`, `mimo`, `chatglm`, `baichuan`, `qwen`, `minicpm`, `nemotron-nas`).

use super::fields::{COUNTS, Fields, LENGTHS, WIDTHS};
use super::parts::{
    HEADS, HIDDEN, alike, block, decoder, gated, gated_of, layers, looking_back, sliding,
    sparse_above_dense, tied_unless_said, ungated, windows, with_modules,
};
use crate::transformer::architecture::{
    Architecture, AttentionShape, BlockShape, Experts, Heads, MlpShape, Norm,
};
use serde_json::Value;

/// Dense layers with these heads.
fn dense(fields: &mut Fields, heads: Heads, bias: bool) -> Architecture {
    let mlp = gated(fields, bias);
    alike(fields, heads, &mlp)
}

pub(super) fn internlm2(fields: &mut Fields) -> Architecture {
    let heads = Heads::read_biased(fields, "bias", false);
    dense(fields, heads, false)
}

/// EXAONE 3 and Baichuan, without a bias anywhere.
pub(super) fn unbiased(fields: &mut Fields) -> Architecture {
    let heads = Heads::read(fields);
    dense(fields, heads, false)
}

pub(super) fn smollm3(fields: &mut Fields) -> Architecture {
    let heads = Heads::read_biased(fields, "attention_bias", false);
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
    let heads = Heads::read_biased_inward(fields, "attention_bias", true);
    dense(fields, heads, false)
}

/// Normalised behind attention and network, and queries and keys across all their heads together;
/// since the third, three layers of four have a window.
pub(super) fn olmo(fields: &mut Fields) -> Architecture {
    let heads = Heads::read_biased(fields, "attention_bias", false).normalised_together();
    let windows = windows(fields, "sliding_window", |layer| (layer + 1) % 4 != 0);
    let mlp = gated(fields, false);
    looking_back(fields, heads, &windows, &mlp)
}

/// Its activation (xIELU) has two parameters in each layer.
pub(super) fn apertus(fields: &mut Fields) -> Architecture {
    let heads = Heads::read_biased(fields, "attention_bias", false).normalised();
    let width = fields.required(&["intermediate_size"], WIDTHS);
    let mlp = ungated(width, fields.flag("mlp_bias", false));
    let model = alike(fields, heads, &mlp);
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
    let mut heads = Heads::read_biased(fields, "attention_bias", false);
    if fields.flag("use_qk_norm", false) {
        heads = heads.normalised_together();
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
    let heads = Heads::read_biased_inward(fields, "use_qkv_bias", false);
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
    let heads = Heads::read_biased(fields, "attention_bias", false);
    let windows = windows(fields, "sliding_window", |_| true);
    let mlp = Experts::read(fields, "num_local_experts", "intermediate_size").mlp();
    let head_bias = fields.flag("lm_head_bias", false);
    Architecture {
        norm: Norm::Layer,
        head_bias,
        ..looking_back(fields, heads, &windows, &mlp)
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
    let mut heads = Heads::read_biased(fields, "attention_bias", false);
    if fields.flag("use_qk_norm", true) {
        heads = heads.normalised();
    }
    if fields.number("num_experts", 1, COUNTS).unwrap_or(1) == 1 {
        return dense(fields, heads, false);
    }
    let width = fields.either("moe_intermediate_size", "intermediate_size");
    let experts = Experts::named(fields, ["num_experts", "moe_topk", width]);
    let shared = fields.number("num_shared_expert", 0, COUNTS).unwrap_or(0);
    let shared_width = shared * fields.number("intermediate_size", 1, LENGTHS).unwrap_or(0);
    let mlp = Experts {
        shared_width,
        ..experts
    }
    .mlp();
    alike(fields, heads, &mlp)
}

/// GLM-4; with four normalisations since GLM-4-0414, before and behind each half of a layer.
pub(super) fn glm(fields: &mut Fields, norms: u64) -> Architecture {
    fields.assume(&[("head_dim", 128)]);
    let heads = Heads::read_biased_inward(fields, "attention_bias", norms == 2);
    let mlp = gated(fields, false);
    decoder(fields, |_| BlockShape {
        norms,
        ..block(heads.attention(None), mlp.clone())
    })
}

/// GLM in the words of its own repository.
pub(super) fn chatglm(fields: &mut Fields) -> Architecture {
    let query = fields.required(HEADS, COUNTS);
    let groups = fields.required(&["multi_query_group_num"], COUNTS);
    let bias = fields.flag("add_qkv_bias", false);
    let width = fields.required(&["kv_channels"], COUNTS);
    let heads = Heads::new(fields, query, groups)
        .of_width(width)
        .biased_inward(bias);
    let width = fields.required(&["ffn_hidden_size"], WIDTHS);
    let mlp = gated_of(width, fields.flag("add_bias_linear", false));
    alike(fields, heads, &mlp)
}

/// Normalised behind attention and network; where there is a window, each fourth layer has none.
pub(super) fn exaone4(fields: &mut Fields) -> Architecture {
    let heads = Heads::read(fields).normalised();
    let windows = windows(fields, "sliding_window", |layer| (layer + 1) % 4 != 0);
    let mlp = gated(fields, false);
    looking_back(fields, heads, &windows, &mlp)
}

/// The first Qwen: its width is that of both gated halves together.
pub(super) fn qwen(fields: &mut Fields) -> Architecture {
    let heads = Heads::read(fields).biased_inward(true);
    let width = (fields.required(&["intermediate_size"], WIDTHS) / 2).max(1);
    let mlp = gated_of(width, !fields.flag("no_bias", true));
    alike(fields, heads, &mlp)
}

pub(super) fn minicpm(fields: &mut Fields) -> Architecture {
    let heads = Heads::read_biased(fields, "attention_bias", false);
    let model = dense(fields, heads, false);
    tied_unless_said(fields, model)
}

/// Queries and keys are normalised across all their heads together.
pub(super) fn olmoe(fields: &mut Fields) -> Architecture {
    let heads = Heads::read_biased(fields, "attention_bias", false).normalised_together();
    let mlp = Experts::read(fields, "num_experts", "intermediate_size").mlp();
    alike(fields, heads, &mlp)
}

/// DBRX, whose figures stand in two objects.
pub(super) fn dbrx(fields: &mut Fields) -> Architecture {
    let query = fields.required(HEADS, COUNTS);
    let key_value = fields.required(&["attn_config.kv_n_heads"], COUNTS);
    let heads = Heads::new(fields, query, key_value);
    let names = [
        "ffn_config.moe_num_experts",
        "ffn_config.moe_top_k",
        "ffn_config.ffn_hidden_size",
    ];
    let mlp = Experts::named(fields, names).mlp();
    Architecture {
        norm: Norm::LayerNoBias,
        ..alike(fields, heads, &mlp)
    }
}

/// Layers with a window have heads of their own, and sinks.
pub(super) fn mimo_v2_flash(fields: &mut Fields) -> Architecture {
    fields.assume(&[
        ("head_dim", 192),
        ("v_head_dim", 128),
        ("sliding_window", 128),
    ]);
    let heads = Heads::read_biased_inward(fields, "attention_bias", false);
    let global = Heads {
        value_dim: fields.required(&["v_head_dim"], COUNTS),
        sinks: fields.flag("add_full_attention_sink_bias", false),
        ..heads
    };
    let mut own = |name: &str, usual: u64| fields.optional(name, COUNTS).unwrap_or(usual);
    let local = Heads {
        heads: own("swa_num_attention_heads", global.heads),
        kv_heads: own("swa_num_key_value_heads", 2 * global.kv_heads),
        head_dim: own("swa_head_dim", global.head_dim),
        value_dim: own("swa_v_head_dim", global.value_dim),
        ..heads
    };
    let local = Heads {
        sinks: fields.flag("add_swa_attention_sink_bias", true),
        ..local
    };
    let pattern = fields.numbers("hybrid_layer_pattern");
    let slides = sliding(fields, |layer| match &pattern {
        Some(list) => list.get(layer) == Some(&1),
        None => layer > 0 && !(layer + 1).is_multiple_of(6),
    });
    let windows = windows(fields, "sliding_window", |layer| slides[layer]);
    let routed = fields.numbers("moe_layer_freq");
    let experts = Experts {
        router_bias: true,
        ..Experts::read(fields, "n_routed_experts", "moe_intermediate_size")
    };
    let dense = gated(fields, false);
    decoder(fields, |layer| {
        let is_sparse = match &routed {
            Some(list) => list.get(layer) == Some(&1),
            None => layer > 0,
        };
        let heads = if slides[layer] { local } else { global };
        let mlp = experts.where_sparse(is_sparse, &dense);
        block(heads.attention(windows[layer]), mlp)
    })
}

/// Step 3.7: layers with a window may have more heads, and each head has a gate. Modules of
/// multi-token prediction are dense.
pub(super) fn step(fields: &mut Fields) -> Architecture {
    fields.assume(&[("head_dim", 128), ("first_k_dense_replace", 3)]);
    let heads = Heads::read_biased(fields, "attention_bias", false).normalised();
    let gated_by_head = |query| Heads {
        heads: query,
        gate: query,
        ..heads
    };
    let in_windows = [
        "num_sliding_attention_heads",
        "attention_other_setting.num_attention_heads",
    ]
    .into_iter()
    .find_map(|name| fields.optional(name, COUNTS));
    let local = gated_by_head(in_windows.unwrap_or(heads.heads));
    let global = gated_by_head(heads.heads);
    let slides = sliding(fields, |_| false);
    let windows = windows(fields, "sliding_window", |layer| slides[layer]);
    let attention = |layer: usize| {
        let heads = if slides[layer] { local } else { global };
        heads.attention(windows[layer])
    };
    let count = fields.either("n_routed_experts", "num_experts");
    let experts = Experts {
        router_bias: true,
        shared_width: fields.required(&["share_expert_dim"], WIDTHS),
        ..Experts::read(fields, count, "moe_intermediate_size")
    };
    let model = sparse_above_dense(fields, &attention, experts);
    let mlp = gated(fields, false);
    with_modules(model, &block(global.attention(None), mlp))
}

/// Llama with layers that a search has thinned out: each with its own number of key/value heads and
/// its own width, or without one of its halves.
pub(super) fn nemotron_nas(fields: &mut Fields) -> Architecture {
    let query = fields.required(HEADS, COUNTS);
    let hidden = fields.required(HIDDEN, WIDTHS);
    let listed = fields.value("block_configs").and_then(Value::as_array);
    let heads = Heads::new(fields, query, query);
    let blocks: Option<Vec<BlockShape>> = listed
        .filter(|list| list.len() == layers(fields))
        .and_then(|list| list.iter().map(|own| thinned(own, heads, hidden)).collect());
    if blocks.is_none() {
        let message = "block_configs does not say what each layer is";
        let accepted = "for each layer n_heads_in_group and ffn_mult, or no_op";
        fields.note("block_configs", message, None, accepted);
    }
    let plain = block(AttentionShape::Absent, MlpShape::Absent);
    decoder(fields, |layer| {
        let own = blocks.as_ref().and_then(|blocks| blocks.get(layer));
        own.unwrap_or(&plain).clone()
    })
}

/// A layer of `block_configs`; what takes the place of a half by a matrix is not modelled.
fn thinned(own: &Value, heads: Heads, hidden: u64) -> Option<BlockShape> {
    let is = |half: &str, name: &str| own[half][name].as_bool() == Some(true);
    let replaced = |half| is(half, "replace_with_linear") || !own[half]["sparsify"].is_null();
    if replaced("attention") || replaced("ffn") || !own["attention"]["window_length"].is_null() {
        return None;
    }
    let attention = if is("attention", "no_op") {
        AttentionShape::Absent
    } else {
        let group = own["attention"]["n_heads_in_group"].as_u64()?;
        let divides = group > 0 && heads.heads.is_multiple_of(group);
        let kv_heads = divides.then(|| heads.heads / group)?;
        Heads { kv_heads, ..heads }.attention(None)
    };
    let mlp = if is("ffn", "no_op") {
        MlpShape::Absent
    } else {
        let times = own["ffn"]["ffn_mult"]
            .as_f64()
            .filter(|times| (0.0..=64.0).contains(times))?;
        gated_of(widened(times, hidden), false)
    };
    let halves = [attention != AttentionShape::Absent, mlp != MlpShape::Absent];
    Some(BlockShape {
        norms: halves.into_iter().map(u64::from).sum(),
        ..block(attention, mlp)
    })
}

/// Two thirds of so many times the hidden size, up to the next multiple of 256 (`modeling_decilm.py`).
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "widths are small, and are cut as Python cuts them"
)]
fn widened(times: f64, hidden: u64) -> u64 {
    let width = (2.0 * times * hidden as f64 / 3.0) as u64;
    width.next_multiple_of(256)
}
