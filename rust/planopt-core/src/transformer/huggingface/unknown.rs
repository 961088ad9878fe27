//! A type that planopt does not know, read by its fields: a decoder of Llama's kind, with experts or
//! without. Every field of the file must be one that such a decoder has, or one that changes nothing;
//! the first that may mean another operation is named, and nothing is read.

use super::fields::Fields;
use super::parts::{block, decoder, gated, sparse_above_dense, windows};
use crate::transformer::architecture::{Architecture, Experts, Heads};
use serde_json::Value;

/// Fields that are read here and in the parts that all types share.
const READ: &[&str] = &[
    "attention_bias",
    "dtype",
    "first_k_dense_replace",
    "head_dim",
    "hidden_act",
    "hidden_size",
    "intermediate_size",
    "layer_types",
    "max_position_embeddings",
    "mlp_bias",
    "model_type",
    "moe_intermediate_size",
    "moe_layer_freq",
    "n_routed_experts",
    "n_shared_experts",
    "num_attention_heads",
    "num_experts",
    "num_experts_per_tok",
    "num_hidden_layers",
    "num_key_value_heads",
    "num_local_experts",
    "quantization_config",
    "rms_norm_eps",
    "sliding_window",
    "tie_word_embeddings",
    "torch_dtype",
    "vocab_size",
];

/// Fields of names, tokens, positions, training and the choice of experts, which change neither a
/// matrix nor what is read of the cache.
const HARMLESS: &[&str] = &[
    "_attn_implementation",
    "_name_or_path",
    "architectures",
    "attention_dropout",
    "attn_implementation",
    "auto_map",
    "bos_token_id",
    "embd_pdrop",
    "eos_token_id",
    "hidden_dropout",
    "id2label",
    "initializer_range",
    "label2id",
    "n_group",
    "norm_topk_prob",
    "pad_token_id",
    "partial_rotary_factor",
    "pretraining_tp",
    "resid_pdrop",
    "rope_parameters",
    "rope_scaling",
    "rope_theta",
    "routed_scaling_factor",
    "router_aux_loss_coef",
    "scoring_func",
    "tokenizer_class",
    "topk_group",
    "topk_method",
    "transformers_version",
    "unk_token_id",
    "use_cache",
];

const EXPERTS: [&str; 3] = ["num_experts", "num_local_experts", "n_routed_experts"];

pub(super) fn by_fields(fields: &mut Fields) -> Architecture {
    for name in fields.names() {
        let is_off = matches!(fields.value(name), None | Some(Value::Bool(false)));
        if !is_off && !READ.contains(&name) && !HARMLESS.contains(&name) {
            let message = "planopt does not know what this means for a type that it does not know";
            let value = fields.value(name);
            fields.note(name, message, value, "a file without it");
        }
    }
    if fields.value("rms_norm_eps").is_none() {
        let message = "it is not said that normalisations are by the root mean square";
        fields.note("rms_norm_eps", message, None, "a small number");
    }
    let gates = ["silu", "swish", "swiglu"];
    if !fields
        .string("hidden_act")
        .is_some_and(|act| gates.contains(&act))
    {
        let message = "it is not said that the networks are gated by SiLU";
        let value = fields.value("hidden_act");
        fields.note("hidden_act", message, value, "silu");
    }
    if fields.value("sliding_window").is_some() && fields.value("layer_types").is_none() {
        let message = "it is not said which layers have the window";
        fields.note(
            "layer_types",
            message,
            None,
            "a kind of attention for each layer",
        );
    }
    let bias = fields.flag("attention_bias", false);
    let heads = Heads::read(fields).biased(bias);
    let windows = windows(fields, "sliding_window", |_| false);
    let attention = |layer: usize| heads.attention(windows.get(layer).copied().flatten());
    let count = EXPERTS
        .into_iter()
        .find(|name| fields.value(name).is_some());
    let Some(count) = count else {
        let mlp_bias = fields.flag("mlp_bias", false);
        let mlp = gated(fields, mlp_bias);
        return decoder(fields, |layer| block(attention(layer), mlp.clone()));
    };
    let width = match fields.value("moe_intermediate_size") {
        Some(_) => "moe_intermediate_size",
        None => "intermediate_size",
    };
    let experts = Experts::read(fields, count, width).with_shared(fields);
    sparse_above_dense(fields, &attention, experts)
}
