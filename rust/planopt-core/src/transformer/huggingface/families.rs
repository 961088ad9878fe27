//! How each model type differs from a plain decoder. Defaults are those of the type's
//! configuration class in `transformers`.

use super::fields::{COUNTS, Fields, LENGTHS, WIDTHS};
use super::parts::{Experts, HEADS, Heads, block, decoder, gated, windows};
use super::{gpt, hybrid, variants};
use crate::transformer::architecture::{Architecture, AttentionShape, BlockShape, MlpShape, Norm};

pub(super) type Family = fn(&mut Fields) -> Architecture;

/// Every model type that can be read.
pub(super) const FAMILIES: &[(&str, Family)] = &[
    ("llama", llama),
    ("mistral", mistral),
    ("mixtral", mixtral),
    ("qwen2", qwen2),
    ("qwen2_moe", qwen2_moe),
    ("qwen3", qwen3),
    ("qwen3_moe", qwen3_moe),
    ("gemma", gemma),
    ("gemma2", gemma2),
    ("gemma3", gemma3),
    ("gemma3_text", gemma3),
    ("phi3", phi3),
    ("deepseek_v2", |fields| deepseek(fields, false)),
    ("deepseek_v3", |fields| deepseek(fields, true)),
    ("kimi_k2", |fields| deepseek(fields, true)),
    ("gpt_oss", gpt_oss),
    ("glm4_moe", glm4_moe),
    ("llama4", llama4),
    ("llama4_text", llama4),
    ("minimax_m2", minimax_m2),
    ("nemotron", nemotron),
    ("nemotron_h", hybrid::nemotron_h),
    ("gpt2", gpt::gpt2),
    ("opt", gpt::opt),
    ("bloom", gpt::bloom),
    ("falcon", gpt::falcon),
    ("mpt", gpt::mpt),
    ("gpt_neox", gpt::gpt_neox),
    ("bert", gpt::bert),
    ("mistral3", mistral),
    ("ministral3", mistral),
    ("qwen2_vl", qwen2),
    ("qwen2_vl_text", qwen2),
    ("qwen2_5_vl", qwen2),
    ("qwen2_5_vl_text", qwen2),
    ("qwen3_vl", qwen3),
    ("qwen3_vl_text", qwen3),
    ("qwen3_vl_moe", qwen3_moe),
    ("qwen3_vl_moe_text", qwen3_moe),
    ("glm4_moe_lite", |fields| deepseek(fields, true)),
    ("granite", llama),
    ("internlm2", variants::internlm2),
    ("exaone", variants::exaone),
    ("smollm3", variants::smollm3),
    ("seed_oss", variants::seed_oss),
    ("mimo", variants::mimo),
    ("olmo2", variants::olmo),
    ("olmo3", variants::olmo),
    ("apertus", variants::apertus),
    ("cohere", |fields| variants::cohere(fields, false)),
    ("cohere2", |fields| variants::cohere(fields, true)),
    ("stablelm", variants::stablelm),
    ("phimoe", variants::phimoe),
    ("ernie4_5", variants::ernie),
    ("ernie4_5_moe", variants::ernie),
    ("hunyuan_v1_dense", variants::hunyuan),
    ("hunyuan_v1_moe", variants::hunyuan),
    ("granitemoehybrid", hybrid::granite),
    ("glm", |fields| variants::glm(fields, 2)),
    ("glm4", |fields| variants::glm(fields, 4)),
    ("chatglm", variants::chatglm),
    ("exaone4", variants::exaone4),
    ("baichuan", variants::baichuan),
    ("qwen", variants::qwen),
    ("minicpm", variants::minicpm),
    ("olmoe", variants::olmoe),
    ("granitemoe", mixtral),
    ("nemotron-nas", variants::nemotron_nas),
    ("starcoder2", gpt::starcoder2),
    ("gpt_bigcode", gpt::gpt_bigcode),
    ("gptj", gpt::gptj),
    ("phi", gpt::phi),
];

fn llama(fields: &mut Fields) -> Architecture {
    let bias = fields.flag("attention_bias", false);
    let heads = Heads::read(fields).biased(bias);
    let mlp_bias = fields.flag("mlp_bias", false);
    let mlp = gated(fields, mlp_bias);
    decoder(fields, |_| block(heads.attention(None), mlp.clone()))
}

fn mistral(fields: &mut Fields) -> Architecture {
    let heads = Heads::read(fields);
    let windows = windows(fields, "sliding_window", |_| true);
    let mlp = gated(fields, false);
    decoder(fields, |layer| {
        block(heads.attention(windows[layer]), mlp.clone())
    })
}

fn mixtral(fields: &mut Fields) -> Architecture {
    let heads = Heads::read(fields);
    let windows = windows(fields, "sliding_window", |_| true);
    let mlp = Experts::read(fields, "num_local_experts", "intermediate_size").mlp();
    decoder(fields, |layer| {
        block(heads.attention(windows[layer]), mlp.clone())
    })
}

fn qwen2(fields: &mut Fields) -> Architecture {
    let heads = Heads::read(fields).biased_inward(true);
    let windows = qwen_windows(fields);
    let mlp = gated(fields, false);
    decoder(fields, |layer| {
        block(heads.attention(windows[layer]), mlp.clone())
    })
}

fn qwen2_moe(fields: &mut Fields) -> Architecture {
    let bias = fields.flag("qkv_bias", true);
    let heads = Heads::read(fields).biased_inward(bias);
    let shared_width = fields.required(&["shared_expert_intermediate_size"], WIDTHS);
    let experts = Experts::read(fields, "num_experts", "moe_intermediate_size");
    qwen_moe(
        fields,
        heads,
        Experts {
            shared_width,
            shared_gate: true,
            ..experts
        },
    )
}

fn qwen3(fields: &mut Fields) -> Architecture {
    let heads = qwen3_heads(fields);
    let windows = qwen_windows(fields);
    let mlp = gated(fields, false);
    decoder(fields, |layer| {
        block(heads.attention(windows[layer]), mlp.clone())
    })
}

fn qwen3_moe(fields: &mut Fields) -> Architecture {
    let heads = qwen3_heads(fields);
    let experts = Experts::read(fields, "num_experts", "moe_intermediate_size");
    qwen_moe(fields, heads, experts)
}

fn qwen3_heads(fields: &mut Fields) -> Heads {
    fields.assume(&[("head_dim", 128)]);
    let bias = fields.flag("attention_bias", false);
    Heads::read(fields).biased(bias).normalised()
}

/// Experts in every `decoder_sparse_step`-th layer, but for those named dense.
fn qwen_moe(fields: &mut Fields, heads: Heads, experts: Experts) -> Architecture {
    let step = fields.optional("decoder_sparse_step", COUNTS).unwrap_or(1);
    let dense_layers = fields.numbers("mlp_only_layers").unwrap_or_default();
    let windows = qwen_windows(fields);
    let dense = gated(fields, false);
    decoder(fields, |layer| {
        let is_sparse = (layer as u64 + 1).is_multiple_of(step);
        let mlp = if is_sparse && !dense_layers.contains(&(layer as u64)) {
            experts.mlp()
        } else {
            dense.clone()
        };
        block(heads.attention(windows[layer]), mlp)
    })
}

/// Qwen looks back a window only in its upper layers, and only if told to.
fn qwen_windows(fields: &mut Fields) -> Vec<Option<u64>> {
    let used = fields.flag("use_sliding_window", false);
    let first = fields.number("max_window_layers", 0, LENGTHS).unwrap_or(0);
    windows(fields, "sliding_window", |layer| {
        used && layer as u64 >= first
    })
}

fn gemma(fields: &mut Fields) -> Architecture {
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

fn gemma2(fields: &mut Fields) -> Architecture {
    fields.assume(&[("head_dim", 256), ("sliding_window", 4096)]);
    let bias = fields.flag("attention_bias", false);
    let heads = Heads::read(fields).biased(bias);
    let windows = windows(fields, "sliding_window", |layer| layer % 2 == 0);
    twice_normalised(fields, heads, &windows)
}

fn gemma3(fields: &mut Fields) -> Architecture {
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

fn phi3(fields: &mut Fields) -> Architecture {
    mistral(fields)
}

/// Latent attention, and experts above the first layers; `router_bias` is DeepSeek-V3's correction
/// of the routing scores.
fn deepseek(fields: &mut Fields, router_bias: bool) -> Architecture {
    let attention = AttentionShape::Latent {
        heads: fields.required(HEADS, COUNTS),
        query_rank: fields.optional("q_lora_rank", WIDTHS).unwrap_or(0),
        latent: fields.required(&["kv_lora_rank"], WIDTHS),
        rope: fields.required(&["qk_rope_head_dim"], COUNTS),
        nope: fields.required(&["qk_nope_head_dim"], COUNTS),
        value: fields.required(&["v_head_dim"], COUNTS),
    };
    if fields.flag("attention_bias", false) {
        let message = "latent attention with biases is not modelled";
        fields.note("attention_bias", message, Some(&true.into()), "false");
    }
    let experts = Experts::read(fields, "n_routed_experts", "moe_intermediate_size");
    let experts = Experts {
        router_bias,
        ..experts.with_shared(fields)
    };
    sparse_above_dense(fields, &|_| attention.clone(), experts)
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
        block(
            attention(layer),
            if is_sparse {
                experts.mlp()
            } else {
                dense.clone()
            },
        )
    })
}

fn gpt_oss(fields: &mut Fields) -> Architecture {
    fields.assume(&[("head_dim", 64), ("sliding_window", 128)]);
    let bias = fields.flag("attention_bias", true);
    let heads = Heads {
        sinks: true,
        ..Heads::read(fields).biased(bias)
    };
    let windows = windows(fields, "sliding_window", |layer| layer % 2 == 0);
    let experts = Experts::read(fields, "num_local_experts", "intermediate_size");
    let mlp = Experts {
        bias: true,
        router_bias: true,
        ..experts
    }
    .mlp();
    decoder(fields, |layer| {
        block(heads.attention(windows[layer]), mlp.clone())
    })
}

fn glm4_moe(fields: &mut Fields) -> Architecture {
    let bias = fields.flag("attention_bias", false);
    let mut heads = Heads::read(fields).biased_inward(bias);
    if fields.flag("use_qk_norm", false) {
        heads = heads.normalised();
    }
    let experts = Experts::read(fields, "n_routed_experts", "moe_intermediate_size");
    let experts = Experts {
        router_bias: true,
        ..experts.with_shared(fields)
    };
    sparse_above_dense(fields, &|_| heads.attention(None), experts)
}

/// Its normalisation of queries and keys has no parameters. Chunks count as windows of their length,
/// which is what a token late in its chunk looks back on.
fn llama4(fields: &mut Fields) -> Architecture {
    fields.assume(&[("head_dim", 128), ("attention_chunk_size", 8192)]);
    let bias = fields.flag("attention_bias", false);
    let heads = Heads::read(fields).biased(bias);

    // Every fourth layer has no rotary positions and looks back on everything.
    let rotary = fields
        .numbers("no_rope_layers")
        .filter(|list| !list.is_empty());
    let windows = windows(fields, "attention_chunk_size", |layer| match &rotary {
        Some(list) => list.get(layer) == Some(&1),
        None => (layer + 1) % 4 != 0,
    });

    let experts = Experts::read(fields, "num_local_experts", "intermediate_size");
    let experts = Experts {
        shared_width: experts.width,
        ..experts
    };
    let width = fields.required(&["intermediate_size_mlp"], WIDTHS);
    let dense = MlpShape::Dense {
        width,
        gated: true,
        bias: false,
    };
    let step = fields
        .optional("interleave_moe_layer_step", COUNTS)
        .unwrap_or(1);
    let sparse = fields.numbers("moe_layers");
    decoder(fields, |layer| {
        let is_sparse = match &sparse {
            Some(list) => list.contains(&(layer as u64)),
            None => (layer as u64 + 1).is_multiple_of(step),
        };
        let mlp = if is_sparse {
            experts.mlp()
        } else {
            dense.clone()
        };
        block(heads.attention(windows[layer]), mlp)
    })
}

/// Queries and keys are normalised across all their heads together.
fn minimax_m2(fields: &mut Fields) -> Architecture {
    let mut heads = Heads::read(fields);
    if fields.flag("use_qk_norm", true) {
        heads.query_key_norm = (heads.query + heads.key_value) * heads.width;
    }
    let router_bias = fields.flag("use_routing_bias", true);
    let experts = Experts::read(fields, "num_local_experts", "intermediate_size");
    let mlp = Experts {
        router_bias,
        ..experts
    }
    .mlp();
    decoder(fields, |_| block(heads.attention(None), mlp.clone()))
}

fn nemotron(fields: &mut Fields) -> Architecture {
    let bias = fields.flag("attention_bias", false);
    let heads = Heads::read(fields).biased(bias);
    let bias = fields.flag("mlp_bias", false);
    let width = fields.required(&["intermediate_size"], WIDTHS);
    let mlp = MlpShape::Dense {
        width,
        gated: false,
        bias,
    };
    let model = decoder(fields, |_| block(heads.attention(None), mlp.clone()));
    Architecture {
        norm: Norm::Layer,
        ..model
    }
}
