//! Totals of published checkpoints from their published configurations, and what is said of
//! configurations that are wrong.

use super::families::FAMILIES;
use super::read_config;
use crate::diagnostic::Diagnostic;
use crate::format::Format;
use crate::transformer::Transformer;
use crate::transformer::architecture::{Architecture, AttentionShape, Experts, MlpShape};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::path::Path;

fn read(config: &Value) -> Result<Architecture, Vec<Diagnostic>> {
    read_config(
        &config.to_string(),
        Path::new("models/some-model/config.json"),
    )
}

fn parameters(config: &Value) -> u64 {
    Transformer::from(&read(config).expect("a valid configuration")).parameters()
}

fn problems(config: &Value) -> Vec<Diagnostic> {
    read(config).expect_err("an invalid configuration")
}

/// meta-llama/Llama-3.1-8B.
fn llama() -> Value {
    json!({
        "model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336,
        "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
        "vocab_size": 128_256, "max_position_embeddings": 131_072, "torch_dtype": "bfloat16"
    })
}

/// deepseek-ai/DeepSeek-V2-Lite.
fn deepseek() -> Value {
    json!({
        "model_type": "deepseek_v2", "hidden_size": 2048, "intermediate_size": 10944,
        "moe_intermediate_size": 1408, "num_hidden_layers": 27, "num_attention_heads": 16,
        "q_lora_rank": null, "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
        "v_head_dim": 128, "n_routed_experts": 64, "n_shared_experts": 2, "num_experts_per_tok": 6,
        "first_k_dense_replace": 1, "moe_layer_freq": 1, "vocab_size": 102_400,
        "max_position_embeddings": 163_840, "torch_dtype": "bfloat16"
    })
}

/// nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16.
fn nemotron_h() -> Value {
    json!({
        "model_type": "nemotron_h", "hidden_size": 2688, "num_hidden_layers": 52,
        "hybrid_override_pattern": "MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME",
        "num_attention_heads": 32, "num_key_value_heads": 2, "head_dim": 128,
        "mamba_num_heads": 64, "mamba_head_dim": 64, "n_groups": 8, "ssm_state_size": 128,
        "conv_kernel": 4, "chunk_size": 128, "n_routed_experts": 128, "num_experts_per_tok": 6,
        "moe_intermediate_size": 1856, "moe_shared_expert_intermediate_size": 3712,
        "vocab_size": 131_072, "max_position_embeddings": 262_144, "torch_dtype": "bfloat16"
    })
}

/// Added up by hand: 23 layers of `2688 x 10304 + 4096 x 2688` with 6,144 convolved elements, 64
/// heads and two normalisations; 6 of attention; 23 of 128 experts with router and shared expert.
#[test]
fn hybrids_of_state_space_layers_are_read() {
    assert_eq!(parameters(&nemotron_h()), 31_577_940_288);
    let model = Transformer::from(&read(&nemotron_h()).expect("valid"));
    assert!(model.has_state_space());
    assert_eq!(
        (model.layers.len(), model.heads),
        (52, 8),
        "groups divide too"
    );
}

/// Configurations of types with operations of their own, and the totals that their sources state
/// (Hugging Face, safetensors).
fn with_operations_of_their_own() -> Vec<(Value, u64)> {
    let three_of_four: Vec<_> = (1..=48)
        .map(|layer| {
            if layer % 4 == 0 {
                "full_attention"
            } else {
                "linear_attention"
            }
        })
        .collect();
    let qwen3_coder_next = json!({
        "model_type": "qwen3_next", "hidden_size": 2048, "num_hidden_layers": 48,
        "num_attention_heads": 16, "num_key_value_heads": 2, "num_experts": 512,
        "num_experts_per_tok": 10, "moe_intermediate_size": 512,
        "shared_expert_intermediate_size": 512, "layer_types": three_of_four,
        "vocab_size": 151_936, "max_position_embeddings": 262_144
    });
    let kimi_linear = json!({
        "model_type": "kimi_linear", "hidden_size": 2304, "intermediate_size": 9216,
        "num_hidden_layers": 27, "num_attention_heads": 32, "kv_lora_rank": 512,
        "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "q_lora_rank": null,
        "num_experts": 256, "num_experts_per_token": 8, "num_shared_experts": 1,
        "moe_intermediate_size": 1024, "vocab_size": 163_840, "model_max_length": 1_048_576,
        "linear_attn_config": {
            "num_heads": 32, "head_dim": 128, "short_conv_kernel_size": 4,
            "full_attn_layers": [4, 8, 12, 16, 20, 24, 27]
        }
    });
    let lfm2 = json!({
        "model_type": "lfm2", "hidden_size": 2048, "intermediate_size": 10752,
        "num_hidden_layers": 30, "num_attention_heads": 32, "num_key_value_heads": 8,
        "full_attn_idxs": [2, 6, 9, 12, 15, 18, 21, 24], "block_auto_adjust_ff_dim": false,
        "vocab_size": 65536, "max_position_embeddings": 128_000
    });
    let falcon_h1 = json!({
        "model_type": "falcon_h1", "hidden_size": 1024, "intermediate_size": 2048,
        "num_hidden_layers": 36, "num_attention_heads": 8, "num_key_value_heads": 2,
        "head_dim": 64, "mamba_n_heads": 24, "mamba_d_head": 64, "mamba_d_state": 128,
        "mamba_n_groups": 1, "mamba_d_conv": 4, "vocab_size": 32784,
        "max_position_embeddings": 16384
    });
    let glm_5 = json!({
        "model_type": "glm_moe_dsa", "hidden_size": 6144, "intermediate_size": 12288,
        "num_hidden_layers": 78, "first_k_dense_replace": 3, "num_attention_heads": 64,
        "q_lora_rank": 2048, "kv_lora_rank": 512, "qk_nope_head_dim": 192,
        "qk_rope_head_dim": 64, "v_head_dim": 256, "index_topk": 2048, "index_n_heads": 32,
        "index_head_dim": 128, "n_routed_experts": 256, "n_shared_experts": 1,
        "num_experts_per_tok": 8, "moe_intermediate_size": 2048, "num_nextn_predict_layers": 1,
        "vocab_size": 154_880, "max_position_embeddings": 202_752
    });
    let mut glm_5_2 = glm_5.clone();
    glm_5_2["index_topk_freq"] = json!(4);
    glm_5_2["index_skip_topk_offset"] = json!(3);
    vec![
        (qwen3_coder_next, 79_674_391_296),
        (kimi_linear, 49_122_681_728),
        (lfm2, 2_569_272_320),
        (falcon_h1, 521_411_104),
        (glm_5, 753_864_139_008),
        (glm_5_2, 753_329_940_480),
    ]
}

#[test]
fn types_with_operations_of_their_own_give_their_totals() {
    for (config, total) in with_operations_of_their_own() {
        let model = Transformer::from(&read(&config).expect("valid"));
        let of_modules = u64::from(model.mtp_modules) * model.mtp_parameters();
        assert_eq!(
            model.parameters() + of_modules,
            total,
            "{}",
            config["model_type"]
        );
    }
}

/// Heads of layers with a window, and of those without one, by hand.
#[test]
fn layers_with_a_window_may_have_heads_of_their_own() {
    let mimo = json!({
        "model_type": "mimo_v2_flash", "hidden_size": 4096, "intermediate_size": 16384,
        "num_hidden_layers": 2, "num_attention_heads": 64, "num_key_value_heads": 4,
        "swa_num_key_value_heads": 8, "hybrid_layer_pattern": [0, 1], "moe_layer_freq": [0, 0],
        "n_routed_experts": 256, "num_experts_per_tok": 8, "moe_intermediate_size": 2048,
        "vocab_size": 1000, "max_position_embeddings": 262_144
    });
    let around = 2 * 1000 * 4096 + 4096 + 2 * (2 * 4096 + 3 * 4096 * 16384);
    let of_heads = |keys: u64| 4096 * (64 * 192 + keys * (192 + 128)) + 64 * 128 * 4096;
    let sinks = 64;
    assert_eq!(
        parameters(&mimo),
        around + of_heads(4) + of_heads(8) + sinks
    );
}

/// Two of six layers have no window: heads of 8 where the others have 4, whose one key is a value as
/// well; the last reads what the other cached. By hand.
#[test]
fn layers_of_gemma_4_share_keys_and_values() {
    let gemma = json!({
        "model_type": "gemma4_text", "hidden_size": 32, "intermediate_size": 64,
        "num_hidden_layers": 6, "num_attention_heads": 4, "num_key_value_heads": 2,
        "num_global_key_value_heads": 1, "head_dim": 4, "global_head_dim": 8,
        "attention_k_eq_v": true, "num_kv_shared_layers": 1, "use_double_wide_mlp": true,
        "hidden_size_per_layer_input": 0, "sliding_window": 16, "vocab_size": 100,
        "max_position_embeddings": 1024,
        "layer_types": [
            "sliding_attention", "full_attention", "sliding_attention", "sliding_attention",
            "sliding_attention", "full_attention"
        ]
    });
    let network = |width: u64| 3 * 32 * width + 4 * 32;
    let sliding = 32 * (16 + 16) + 16 * 32 + 2 * 4;
    let full = 32 * (32 + 8) + 32 * 32 + 2 * 8;
    let reading = 32 * 32 + 32 * 32 + 8;
    let layers = 4 * (sliding + network(64)) + full + network(64) + reading + network(128);
    assert_eq!(parameters(&gemma), 100 * 32 + 32 + layers);

    // With 16 elements of each layer's own out of a table of 50 rows.
    let mut small = gemma;
    small["hidden_size_per_layer_input"] = json!(16);
    small["vocab_size_per_layer_input"] = json!(50);
    let table = 50 * 6 * 16 + 32 * 6 * 16 + 16;
    let of_layers = 6 * (2 * 32 * 16 + 32);
    assert_eq!(
        parameters(&small),
        100 * 32 + 32 + layers + table + of_layers
    );
}

/// Two layers, the second of which reads what the first cached; added up by hand.
#[test]
fn gemma_3n_has_streams_and_embeddings_of_its_layers() {
    let gemma = json!({
        "model_type": "gemma3n_text", "hidden_size": 32, "intermediate_size": 64,
        "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
        "head_dim": 8, "num_kv_shared_layers": 1, "altup_num_inputs": 4, "laurel_rank": 6,
        "hidden_size_per_layer_input": 16, "vocab_size_per_layer_input": 50, "vocab_size": 100,
        "max_position_embeddings": 1024,
        "layer_types": ["sliding_attention", "sliding_attention"]
    });
    let key_value = 32 * 32 + 8;
    let queries = 32 * 32 + 8 + 32 * 32;
    let side = 2 * 32 * 16 + 2 * 32 * 6 + 32 * 4 + 4 * 20;
    let layer = queries + 3 * 32 * 64 + 8 * 32 + side;
    let table = 50 * 2 * 16 + 32 * 2 * 16 + 16;
    let ends = 100 * 32 + 32 + 6 * 32 * 32;
    assert_eq!(parameters(&gemma), 2 * layer + key_value + table + ends);
    let read = read(&gemma).expect("valid");
    assert_eq!(
        read.outside[0].1, key_value,
        "the second has its own in its checkpoint"
    );
}

#[test]
fn what_layers_attend_must_be_told() {
    let mut config = with_operations_of_their_own().swap_remove(2).0;
    config
        .as_object_mut()
        .expect("an object")
        .remove("full_attn_idxs");
    let missing: Vec<_> = problems(&config).into_iter().map(|one| one.field).collect();
    assert_eq!(missing, [Some("layer_types".to_owned())]);
}

#[test]
fn layers_of_unknown_kinds_are_told() {
    let mut config = nemotron_h();
    config["hybrid_override_pattern"] = json!("MEX");
    let accepted: Vec<_> = problems(&config).into_iter().map(|one| one.field).collect();
    assert_eq!(accepted, [Some("hybrid_override_pattern".to_owned())]);
}

/// openai/gpt-oss-20b.
fn gpt_oss() -> Value {
    json!({
        "model_type": "gpt_oss", "hidden_size": 2880, "intermediate_size": 2880,
        "num_hidden_layers": 24, "num_attention_heads": 64, "num_key_value_heads": 8,
        "head_dim": 64, "num_local_experts": 32, "num_experts_per_tok": 4, "sliding_window": 128,
        "attention_bias": true, "vocab_size": 201_088, "max_position_embeddings": 131_072,
        "quantization_config": {
            "quant_method": "mxfp4",
            "modules_to_not_convert": ["model.layers.*.self_attn", "model.layers.*.mlp.router"]
        }
    })
}

/// google/gemma-2-9b.
fn gemma2() -> Value {
    json!({
        "model_type": "gemma2", "hidden_size": 3584, "intermediate_size": 14336,
        "num_hidden_layers": 42, "num_attention_heads": 16, "num_key_value_heads": 8,
        "head_dim": 256, "sliding_window": 4096, "vocab_size": 256_000,
        "max_position_embeddings": 8192, "torch_dtype": "float32"
    })
}

/// bigscience/bloom.
fn bloom() -> Value {
    json!({
        "model_type": "bloom", "n_embed": 14336, "n_layer": 70, "num_attention_heads": 112,
        "vocab_size": 250_880, "seq_length": 2048, "torch_dtype": "bfloat16"
    })
}

/// tiiuae/falcon-40b.
fn falcon() -> Value {
    json!({
        "model_type": "falcon", "hidden_size": 8192, "num_hidden_layers": 60,
        "num_attention_heads": 128, "num_kv_heads": 8, "vocab_size": 65024, "bias": false,
        "new_decoder_architecture": true, "torch_dtype": "bfloat16"
    })
}

/// Qwen/Qwen3-30B-A3B.
fn qwen3_moe() -> Value {
    json!({
        "model_type": "qwen3_moe", "hidden_size": 2048, "intermediate_size": 6144,
        "moe_intermediate_size": 768, "num_hidden_layers": 48, "num_attention_heads": 32,
        "num_key_value_heads": 4, "head_dim": 128, "num_experts": 128, "num_experts_per_tok": 8,
        "decoder_sparse_step": 1, "mlp_only_layers": [], "vocab_size": 151_936,
        "max_position_embeddings": 40960, "torch_dtype": "bfloat16"
    })
}

/// openai-community/gpt2.
fn gpt2() -> Value {
    json!({
        "model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "n_positions": 1024,
        "vocab_size": 50257
    })
}

#[test]
fn modules_of_multi_token_prediction_are_counted() {
    let mut config = deepseek();
    let modules = |config: &Value| {
        let model = read_config(&config.to_string(), Path::new("config.json"));
        model.expect("a known type").mtp_modules
    };
    assert_eq!(modules(&config), 0);
    config["num_nextn_predict_layers"] = json!(2);
    assert_eq!(modules(&config), 2);
    config["num_nextn_predict_layers"] = json!(1000);
    assert!(read_config(&config.to_string(), Path::new("config.json")).is_err());
}

#[test]
fn totals_equal_those_of_the_published_checkpoints() {
    // Elements of the safetensors files on the hub.
    assert_eq!(parameters(&llama()), 8_030_261_248);
    assert_eq!(parameters(&deepseek()), 15_706_484_224);
    assert_eq!(parameters(&gpt_oss()), 20_914_757_184);
    assert_eq!(parameters(&gemma2()), 9_241_705_984);
    assert_eq!(parameters(&bloom()), 176_247_271_424);
    assert_eq!(parameters(&qwen3_moe()), 30_532_122_624);
    // The tied head is in the file again: 41,835,970,560 - 65,024 * 8192.
    assert_eq!(parameters(&falcon()), 41_303_293_952);
    // Without the causal masks, which the file has as buffers.
    assert_eq!(parameters(&gpt2()), 124_439_808);
}

/// Fields of a plain decoder, with others beside them.
fn plain(model_type: &str, sizes: [u64; 7], beside: &Value) -> Value {
    let [hidden, layers, heads, kv_heads, width, vocabulary, head_dim] = sizes;
    let mut config = json!({
        "model_type": model_type, "hidden_size": hidden, "num_hidden_layers": layers,
        "num_attention_heads": heads, "num_key_value_heads": kv_heads, "intermediate_size": width,
        "vocab_size": vocabulary, "head_dim": head_dim, "max_position_embeddings": 4096
    });
    for (name, value) in beside.as_object().expect("an object") {
        config[name] = value.clone();
    }
    config
}

fn meet(cases: &[(Value, u64)]) {
    for (config, total) in cases {
        assert_eq!(parameters(config), *total, "{}", config["model_type"]);
    }
}

/// Elements of the safetensors files on the hub, by the type of their configuration.
#[test]
fn totals_of_more_types_equal_those_published() {
    meet(&[
        // zai-org/GLM-4-9B-0414, and the same with two normalisations: THUDM/glm-4-9b-chat-hf.
        (
            plain(
                "glm4",
                [4096, 40, 32, 2, 13696, 151_552, 128],
                &json!({"attention_bias": true}),
            ),
            9_400_279_040,
        ),
        (
            plain("glm", [4096, 40, 32, 2, 13696, 151_552, 128], &json!({})),
            9_399_951_360,
        ),
        // THUDM/chatglm3-6b.
        (
            json!({
                "model_type": "chatglm", "hidden_size": 4096, "num_layers": 28, "kv_channels": 128,
                "num_attention_heads": 32, "multi_query_group_num": 2, "ffn_hidden_size": 13696,
                "padded_vocab_size": 65024, "seq_length": 8192, "add_qkv_bias": true
            }),
            6_243_584_000,
        ),
        // LGAI-EXAONE/EXAONE-4.0-32B and -1.2B.
        (
            plain(
                "exaone4",
                [5120, 64, 40, 8, 27392, 102_400, 128],
                &json!({"sliding_window": 4096}),
            ),
            32_003_216_384,
        ),
        (
            plain(
                "exaone4",
                [2048, 30, 32, 8, 4096, 102_400, 64],
                &json!({"tie_word_embeddings": true}),
            ),
            1_279_391_488,
        ),
        // baichuan-inc/Baichuan2-7B-Base, Qwen/Qwen-7B, openbmb/MiniCPM-2B-sft-bf16.
        (
            plain(
                "baichuan",
                [4096, 32, 32, 32, 11008, 125_696, 128],
                &json!({}),
            ),
            7_505_973_248,
        ),
        (
            plain(
                "qwen",
                [4096, 32, 32, 32, 22016, 151_936, 128],
                &json!({"no_bias": true}),
            ),
            7_721_324_544,
        ),
        (
            plain("minicpm", [2304, 40, 36, 36, 5760, 122_753, 64], &json!({})),
            2_724_880_896,
        ),
        // allenai/OLMoE-1B-7B-0924, ibm-granite/granite-3.0-1b-a400m-base.
        (
            plain(
                "olmoe",
                [2048, 16, 16, 16, 1024, 50304, 128],
                &json!({"num_experts": 64, "num_experts_per_tok": 8}),
            ),
            6_919_161_856,
        ),
        (
            plain(
                "granitemoe",
                [1024, 24, 16, 8, 512, 49155, 64],
                &json!({
                    "num_local_experts": 32, "num_experts_per_tok": 8, "tie_word_embeddings": true
                }),
            ),
            1_334_628_352,
        ),
    ]);
}

#[test]
fn totals_of_older_types_equal_those_published() {
    meet(&[
        // bigcode/starcoder2-3b, bigcode/starcoder, EleutherAI/gpt-j-6b, microsoft/phi-2.
        (
            plain(
                "starcoder2",
                [3072, 30, 24, 2, 12288, 49152, 128],
                &json!({}),
            ),
            3_030_371_328,
        ),
        (
            json!({
                "model_type": "gpt_bigcode", "n_embd": 6144, "n_layer": 40, "n_head": 48,
                "n_inner": 24576, "n_positions": 8192, "vocab_size": 49152, "multi_query": true
            }),
            15_517_456_384,
        ),
        (
            json!({
                "model_type": "gptj", "n_embd": 4096, "n_layer": 28, "n_head": 16, "n_inner": null,
                "n_positions": 2048, "vocab_size": 50400, "tie_word_embeddings": false
            }),
            6_050_882_784,
        ),
        (
            plain("phi", [2560, 32, 32, 32, 10240, 51200, 80], &json!({})),
            2_779_683_840,
        ),
    ]);
}

#[test]
fn layers_that_a_search_has_thinned_out_are_each_their_own() {
    let layer = |attention: Value, ffn: Value| json!({"attention": attention, "ffn": ffn});
    let off = || json!({"no_op": true});
    let mut config = plain(
        "nemotron-nas",
        [8192, 3, 64, 8, 28672, 128, 128],
        &json!({
            "block_configs": [
                layer(json!({"n_heads_in_group": 8}), json!({"ffn_mult": 5.25})),
                layer(off(), json!({"ffn_mult": 2.625})),
                layer(json!({"n_heads_in_group": 16}), off()),
            ]
        }),
    );
    // Attention 2 h² and 2 x 8 or 4 heads of 128; 3 h x 28,672 (of 5.25) and 3 h x 14,336; 4
    // normalisations and the last one; embedding and head.
    let h = 8192;
    let attention = 4 * h * h + 2 * h * 128 * (8 + 4);
    let expected = attention + 3 * h * (28672 + 14336) + 5 * h + 2 * 128 * h;
    assert_eq!(parameters(&config), expected);
    config["block_configs"][0]["attention"] = json!({"replace_with_linear": true});
    assert_eq!(problems(&config)[0].field.as_deref(), Some("block_configs"));
}

#[test]
fn an_unknown_type_is_read_by_its_fields_where_they_say_all() {
    let said = json!({"hidden_act": "silu", "rms_norm_eps": 1e-5, "rope_theta": 5e5});
    let sizes = [4096, 32, 32, 8, 14336, 128_256, 128];
    let whole = plain("brand_new", sizes, &said);
    let model = read(&whole).expect("it is complete");
    assert_eq!(model.unknown_type.as_deref(), Some("brand_new"));
    assert_eq!(Transformer::from(&model).parameters(), 8_030_261_248);
    assert_eq!(read(&llama()).expect("valid").unknown_type, None);
    let named = |config: &Value| -> Vec<String> {
        let problems = problems(config).into_iter();
        problems.filter_map(|problem| problem.field).collect()
    };
    for missing in ["hidden_size", "vocab_size", "hidden_act", "rms_norm_eps"] {
        let mut config = whole.clone();
        config.as_object_mut().expect("an object").remove(missing);
        assert_eq!(named(&config), ["model_type", missing]);
    }
    let mut other = whole.clone();
    other["linear_num_key_heads"] = json!(16);
    assert_eq!(named(&other), ["model_type", "linear_num_key_heads"]);
    other["linear_num_key_heads"] = json!(null);
    assert!(read(&other).is_ok());
    let mut experts = whole;
    experts["num_experts"] = json!(8);
    experts["num_experts_per_tok"] = json!(2);
    experts["moe_intermediate_size"] = json!(1024);
    let moe = read(&experts).expect("it is complete");
    assert!(matches!(
        moe.blocks[0].mlp,
        MlpShape::Experts(Experts { width: 1024, .. })
    ));
}

#[test]
fn active_parameters_are_those_a_token_meets() {
    let active =
        |config: &Value| Transformer::from(&read(config).expect("valid")).active_parameters();
    // All but 58 of 64 experts of 3 * 2048 * 1408 in 26 layers: 15,706,484,224 - 13,045,334,016.
    assert_eq!(active(&deepseek()), 2_661_150_208);
    // All but 120 of 128 experts of 3 * 2048 * 768 in 48 layers.
    assert_eq!(active(&qwen3_moe()), 3_353_032_704);
}

#[test]
fn the_model_is_named_after_its_folder_and_has_its_weights_format() {
    let model = read(&llama()).expect("valid");
    assert_eq!(
        (model.id.as_str(), model.name.as_str()),
        ("some-model", "some-model")
    );
    assert_eq!(model.weights, Format::Bf16);
    let model = read(&gpt_oss()).expect("valid");
    assert_eq!(
        (model.weights, model.only_experts_quantised),
        (Format::Mxfp4, true)
    );
    assert_eq!(read(&gemma2()).expect("valid").weights, Format::Fp32);
}

#[test]
fn windows_alternate_and_layers_share_a_kind() {
    let model = read(&gemma2()).expect("valid");
    let windows: Vec<Option<u64>> = model
        .layers
        .iter()
        .map(|&kind| match model.blocks[kind].attention {
            AttentionShape::Grouped(own) => own.window,
            _ => None,
        })
        .collect();
    assert_eq!(windows[..3], [Some(4096), None, Some(4096)]);
    assert_eq!(model.blocks.len(), 2);
}

#[test]
fn a_field_that_is_left_out_has_its_default_and_one_that_is_null_has_none() {
    let windowed = |config: &Value| read(config).expect("valid").blocks.len() == 2;
    let mut config = gemma2();
    config["sliding_window"] = Value::Null;
    assert!(!windowed(&config));
    config
        .as_object_mut()
        .expect("an object")
        .remove("sliding_window");
    assert!(windowed(&config));
}

#[test]
fn the_text_model_of_a_multimodal_one_is_read() {
    let mut inner = llama();
    inner["model_type"] = json!("llama");
    let outer = json!({"model_type": "llava", "text_config": inner, "vision_config": {}});
    assert_eq!(parameters(&outer), parameters(&llama()));
}

#[test]
fn every_problem_is_reported_with_its_place() {
    let text = "{\n  \"model_type\": \"llama\",\n  \"hidden_size\": \"wide\",\n  \
                \"num_attention_heads\": 0,\n  \"vocab_size\": 32000\n}";
    let found = read_config(text, Path::new("config.json")).expect_err("invalid");
    let summary: Vec<_> = found
        .iter()
        .map(|problem| {
            let place = problem
                .position
                .map(|position| (position.line, position.column));
            (
                problem.field.as_deref().unwrap_or(""),
                place,
                problem.value.as_deref(),
            )
        })
        .collect();
    assert_eq!(
        summary,
        [
            ("num_attention_heads", Some((4, 3)), Some("0")),
            ("hidden_size", Some((3, 3)), Some("\"wide\"")),
            ("intermediate_size", None, None),
            ("num_hidden_layers", None, None),
            ("max_position_embeddings", None, None),
        ]
    );
    assert!(
        found
            .iter()
            .all(|problem| problem.code == "E111" && problem.accepted.is_some())
    );
}

#[test]
fn text_that_is_not_json_has_a_line_and_a_column() {
    let found = read_config("{\n  \"model_type\": llama\n}", Path::new("x.json")).expect_err("bad");
    let position = found[0].position.expect("a position");
    assert_eq!(
        (found[0].code, position.line, position.column),
        ("E110", 2, 17)
    );
}

#[test]
fn an_unknown_model_type_proposes_no_other() {
    let mut config = llama();
    config["model_type"] = json!("qwen3moe");
    let found = problems(&config);
    assert_eq!(found[0].field.as_deref(), Some("model_type"));
    let says = |said: &Option<String>| said.as_deref().is_some_and(|it| it.contains("qwen3_moe"));
    assert!(
        !says(&found[0].help) && says(&found[0].accepted),
        "{found:?}"
    );
    assert_eq!(problems(&json!({}))[0].message, "model_type is missing");
    assert_eq!(problems(&json!([]))[0].code, "E111");
}

#[test]
fn contradictions_are_refused() {
    let with = |mut config: Value, field: &str, value: Value| {
        config[field] = value;
        problems(&config)[0].field.clone().expect("a field")
    };
    assert_eq!(
        with(llama(), "num_key_value_heads", json!(7)),
        "num_key_value_heads"
    );
    assert_eq!(
        with(llama(), "num_attention_heads", json!(24)),
        "num_attention_heads"
    );
    assert_eq!(
        with(qwen3_moe(), "num_experts_per_tok", json!(129)),
        "num_experts_per_tok"
    );
    assert_eq!(
        with(gemma2(), "layer_types", json!(["full_attention"])),
        "layer_types"
    );
    assert_eq!(
        with(deepseek(), "attention_bias", json!(true)),
        "attention_bias"
    );
    assert_eq!(with(llama(), "torch_dtype", json!("int3")), "torch_dtype");
    let unknown = json!({"quant_method": "marvellous"});
    assert_eq!(
        with(llama(), "quantization_config", unknown),
        "quantization_config"
    );
}

#[test]
fn quantisation_methods_are_understood() {
    let format = |quantisation: Value| {
        let mut config = llama();
        config["quantization_config"] = quantisation;
        read(&config).expect("valid").weights
    };
    assert_eq!(format(json!({"quant_method": "fp8"})), Format::Fp8);
    assert_eq!(
        format(json!({"quant_method": "awq", "bits": 4})),
        Format::Int4
    );
    assert_eq!(
        format(json!({"quant_method": "gptq", "bits": 8})),
        Format::Int8
    );
    let nvfp4 = json!({"quant_method": "modelopt", "quant_algo": "NVFP4"});
    assert_eq!(format(nvfp4), Format::Nvfp4);
    let weights = json!({"weights": {"num_bits": 8, "type": "float"}});
    let groups =
        json!({"quant_method": "compressed-tensors", "config_groups": {"group_0": weights}});
    assert_eq!(format(groups), Format::Fp8);
}

fn any_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (0_u64..300_000).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-z_0-9é\"]{0,12}".prop_map(Value::from),
        Just(json!([])),
        Just(json!([1, 0, "x"])),
        Just(json!({"quant_method": "fp8"})),
    ]
}

proptest! {
    /// Whatever stands in the fields, the answer is a model that can be counted, or problems.
    #[test]
    fn mutated_configurations_never_panic(
        config in prop::sample::select(vec![
            llama(), deepseek(), gpt_oss(), gemma2(), bloom(), falcon(), qwen3_moe(), gpt2(),
        ]),
        model_type in prop::sample::select(
            FAMILIES.iter().map(|(name, _)| *name).collect::<Vec<_>>()
        ),
        mutations in prop::collection::vec((any::<prop::sample::Index>(), any_value()), 0..4),
    ) {
        let mut config = config;
        config["model_type"] = json!(model_type);
        let fields: Vec<String> =
            config.as_object().expect("an object").keys().cloned().collect();
        for (field, value) in mutations {
            config[field.get(&fields).as_str()] = value;
        }
        match read(&config) {
            Ok(model) => {
                let transformer = Transformer::from(&model);
                prop_assert!(transformer.active_parameters() <= transformer.parameters());
            }
            Err(problems) => prop_assert!(!problems.is_empty()),
        }
    }

    #[test]
    fn truncated_text_never_panics(end in 0..400_usize) {
        let text = gpt_oss().to_string();
        let text = text.get(..end.min(text.len())).unwrap_or_default();
        prop_assert!(read_config(text, Path::new("")).is_err() || end >= text.len());
    }
}
