//! How each model type differs from a plain decoder. Defaults are those of the type's
//! configuration class in `transformers`.

use super::fields::{COUNTS, Fields, LENGTHS, WIDTHS};
use super::parts::{
    alike, block, decoder, gated, gated_of, latent, layers, looking_back, qwen_moe,
    sparse_above_dense, ungated, windows, with_modules, words,
};
use super::{gemma, gpt, hybrid, linear, variants};
use crate::transformer::architecture::{Architecture, Experts, Heads, Indexer, Norm};

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
    ("gemma", gemma::gemma),
    ("gemma2", gemma::gemma2),
    ("gemma3", gemma::gemma3),
    ("gemma3_text", gemma::gemma3),
    ("phi3", mistral),
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
    ("exaone", variants::unbiased),
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
    ("baichuan", variants::unbiased),
    ("qwen", variants::qwen),
    ("minicpm", variants::minicpm),
    ("olmoe", variants::olmoe),
    ("granitemoe", mixtral),
    ("nemotron-nas", variants::nemotron_nas),
    ("starcoder2", gpt::starcoder2),
    ("gpt_bigcode", gpt::gpt_bigcode),
    ("gptj", gpt::gptj),
    ("phi", gpt::phi),
    ("dbrx", variants::dbrx),
    ("deepseek_v32", deepseek_sparse),
    ("glm_moe_dsa", deepseek_sparse),
    ("minimax_m3", minimax_m3),
    ("qwen3_next", linear::qwen3_next),
    ("qwen3_5_text", linear::qwen3_next),
    ("qwen3_5_moe_text", linear::qwen3_next),
    ("kimi_linear", linear::kimi),
    ("lfm2", linear::lfm2),
    ("lfm2_moe", linear::lfm2),
    ("falcon_h1", hybrid::falcon_h1),
    ("gemma3n_text", gemma::gemma3n),
    ("gemma4_text", gemma::gemma4),
    ("mimo_v2_flash", variants::mimo_v2_flash),
    ("step3p7", variants::step),
];

fn llama(fields: &mut Fields) -> Architecture {
    let heads = Heads::read_biased(fields, "attention_bias", false);
    let mlp_bias = fields.flag("mlp_bias", false);
    let mlp = gated(fields, mlp_bias);
    alike(fields, heads, &mlp)
}

fn mistral(fields: &mut Fields) -> Architecture {
    let heads = Heads::read(fields);
    let windows = windows(fields, "sliding_window", |_| true);
    let mlp = gated(fields, false);
    looking_back(fields, heads, &windows, &mlp)
}

fn mixtral(fields: &mut Fields) -> Architecture {
    let heads = Heads::read(fields);
    let windows = windows(fields, "sliding_window", |_| true);
    let mlp = Experts::read(fields, "num_local_experts", "intermediate_size").mlp();
    looking_back(fields, heads, &windows, &mlp)
}

fn qwen2(fields: &mut Fields) -> Architecture {
    let heads = Heads::read(fields).biased_inward(true);
    let windows = qwen_windows(fields);
    let mlp = gated(fields, false);
    looking_back(fields, heads, &windows, &mlp)
}

fn qwen2_moe(fields: &mut Fields) -> Architecture {
    let heads = Heads::read_biased_inward(fields, "qkv_bias", true);
    let shared_width = fields.required(&["shared_expert_intermediate_size"], WIDTHS);
    let experts = Experts::read(fields, "num_experts", "moe_intermediate_size");
    let windows = qwen_windows(fields);
    qwen_moe(
        fields,
        &|layer| heads.attention(windows[layer]),
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
    looking_back(fields, heads, &windows, &mlp)
}

fn qwen3_moe(fields: &mut Fields) -> Architecture {
    let heads = qwen3_heads(fields);
    let experts = Experts::read(fields, "num_experts", "moe_intermediate_size");
    let windows = qwen_windows(fields);
    qwen_moe(fields, &|layer| heads.attention(windows[layer]), experts)
}

fn qwen3_heads(fields: &mut Fields) -> Heads {
    fields.assume(&[("head_dim", 128)]);
    Heads::read_biased(fields, "attention_bias", false).normalised()
}

/// Qwen looks back a window only in its upper layers, and only if told to.
fn qwen_windows(fields: &mut Fields) -> Vec<Option<u64>> {
    let used = fields.flag("use_sliding_window", false);
    let first = fields.number("max_window_layers", 0, LENGTHS).unwrap_or(0);
    windows(fields, "sliding_window", |layer| {
        used && layer as u64 >= first
    })
}

/// Latent attention, and experts above the first layers; `router_bias` is DeepSeek-V3's correction
/// of the routing scores.
fn deepseek(fields: &mut Fields, router_bias: bool) -> Architecture {
    let attention = latent(fields, None, None);
    let experts = routed_above_shared(fields, router_bias);
    sparse_above_dense(fields, &|_| attention.clone(), experts)
}

/// Routed experts beside shared ones, with a correction of the routing scores or without.
fn routed_above_shared(fields: &mut Fields, router_bias: bool) -> Experts {
    let experts = Experts::read(fields, "n_routed_experts", "moe_intermediate_size");
    Experts {
        router_bias,
        ..experts.with_shared(fields)
    }
}

/// DeepSeek-V3.2, GLM-5: an indexer selects what a token looks at, in some layers for those behind
/// them as well. A module of multi-token prediction has its own.
fn deepseek_sparse(fields: &mut Fields) -> Architecture {
    let selected = fields.required(&["index_topk"], LENGTHS);
    let indexer = Indexer {
        heads: fields.required(&["index_n_heads"], COUNTS),
        head_dim: fields.required(&["index_head_dim"], COUNTS),
    };
    let own = latent(fields, Some(selected), Some(indexer));
    let shared = latent(fields, Some(selected), None);
    let layers = layers(fields);
    let kinds = words(fields, "indexer_types", &["full", "shared"], layers);
    let step = fields.optional("index_topk_freq", COUNTS).unwrap_or(1);
    let offset = fields.number("index_skip_topk_offset", 0, COUNTS);
    let offset = offset.unwrap_or(2);
    let has_indexer = |layer: usize| match &kinds {
        Some(kinds) => kinds.get(layer) == Some(&"full"),
        None => (layer as u64 + 1)
            .saturating_sub(offset)
            .is_multiple_of(step),
    };
    let experts = routed_above_shared(fields, true);
    let attention = |layer| {
        if has_indexer(layer) {
            own.clone()
        } else {
            shared.clone()
        }
    };
    let model = sparse_above_dense(fields, &attention, experts);
    with_modules(model, &block(own.clone(), experts.mlp()))
}

fn gpt_oss(fields: &mut Fields) -> Architecture {
    fields.assume(&[("head_dim", 64), ("sliding_window", 128)]);
    let heads = Heads {
        sinks: true,
        ..Heads::read_biased(fields, "attention_bias", true)
    };
    let windows = windows(fields, "sliding_window", |layer| layer % 2 == 0);
    let experts = Experts::read(fields, "num_local_experts", "intermediate_size");
    let mlp = Experts {
        bias: true,
        router_bias: true,
        ..experts
    }
    .mlp();
    looking_back(fields, heads, &windows, &mlp)
}

fn glm4_moe(fields: &mut Fields) -> Architecture {
    let mut heads = Heads::read_biased_inward(fields, "attention_bias", false);
    if fields.flag("use_qk_norm", false) {
        heads = heads.normalised();
    }
    let experts = routed_above_shared(fields, true);
    sparse_above_dense(fields, &|_| heads.attention(None), experts)
}

/// Its normalisation of queries and keys has no parameters. Chunks count as windows of their length,
/// which is what a token late in its chunk looks back on.
fn llama4(fields: &mut Fields) -> Architecture {
    fields.assume(&[("head_dim", 128), ("attention_chunk_size", 8192)]);
    let heads = Heads::read_biased(fields, "attention_bias", false);

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
    let dense = gated_of(width, false);
    let step = fields
        .optional("interleave_moe_layer_step", COUNTS)
        .unwrap_or(1);
    let sparse = fields.numbers("moe_layers");
    decoder(fields, |layer| {
        let is_sparse = match &sparse {
            Some(list) => list.contains(&(layer as u64)),
            None => (layer as u64 + 1).is_multiple_of(step),
        };
        let mlp = experts.where_sparse(is_sparse, &dense);
        block(heads.attention(windows[layer]), mlp)
    })
}

/// Queries and keys are normalised across all their heads together.
fn minimax_m2(fields: &mut Fields) -> Architecture {
    let mut heads = Heads::read(fields);
    if fields.flag("use_qk_norm", true) {
        heads = heads.normalised_together();
    }
    let router_bias = fields.flag("use_routing_bias", true);
    let experts = Experts::read(fields, "num_local_experts", "intermediate_size");
    let mlp = Experts {
        router_bias,
        ..experts
    }
    .mlp();
    alike(fields, heads, &mlp)
}

/// `MiniMax` M3: above the first layers an indexer selects blocks of tokens, of which each key/value
/// head has its own choice. The modules of multi-token prediction that a file tells of are in no
/// checkpoint.
fn minimax_m3(fields: &mut Fields) -> Architecture {
    let heads = Heads::read(fields).normalised();
    let config = |name| format!("sparse_attention_config.{name}");
    let blocks = fields.required(&[&config("sparse_topk_blocks")], COUNTS);
    let tokens = fields.required(&[&config("sparse_block_size")], COUNTS);
    let sparse = Heads {
        selected: Some(blocks * tokens),
        indexer: Some(Indexer {
            heads: fields.required(&[&config("sparse_num_index_heads")], COUNTS),
            head_dim: fields.required(&[&config("sparse_index_dim")], COUNTS),
        }),
        ..heads
    };
    let selects = fields.numbers(&config("sparse_attention_freq"));
    let routed = fields.numbers("moe_layer_freq");
    let experts = Experts::read(fields, "num_local_experts", "intermediate_size");
    let experts = Experts {
        router_bias: fields.flag("use_routing_bias", true),
        shared_width: fields.required(&["shared_intermediate_size"], WIDTHS),
        ..experts
    };
    let width = fields.required(&["dense_intermediate_size"], WIDTHS);
    let dense = gated_of(width, false);
    let of = |list: &Option<Vec<u64>>, layer: usize| {
        list.as_ref().is_none_or(|list| list.get(layer) == Some(&1))
    };
    let model = decoder(fields, |layer| {
        let heads = if of(&selects, layer) { sparse } else { heads };
        let mlp = experts.where_sparse(of(&routed, layer), &dense);
        block(heads.attention(None), mlp)
    });
    Architecture {
        mtp_modules: 0,
        ..model
    }
}

fn nemotron(fields: &mut Fields) -> Architecture {
    let heads = Heads::read_biased(fields, "attention_bias", false);
    let bias = fields.flag("mlp_bias", false);
    let width = fields.required(&["intermediate_size"], WIDTHS);
    let mlp = ungated(width, bias);
    Architecture {
        norm: Norm::Layer,
        ..alike(fields, heads, &mlp)
    }
}
