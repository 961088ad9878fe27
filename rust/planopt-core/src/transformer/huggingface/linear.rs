//! Linear attention: delta rules and short convolutions in most layers, attention in the others.

use super::fields::{COUNTS, Fields, WIDTHS};
use super::parts::{
    HIDDEN, block, decoder, gated, gated_of, latent, layers, qwen_moe, sparse_above_dense, words,
};
use crate::transformer::MOST_MTP_MODULES;
use crate::transformer::architecture::{Architecture, AttentionShape, Experts, Heads};
use crate::transformer::operation::{Rule, StateSpace};
use serde_json::Value;

/// Tokens that kernels of delta rules work on together (`flash-linear-attention`, `chunk.py`).
const CHUNK: u64 = 64;

/// Qwen3-Next and Qwen3.5: attention, whose output is gated element by element, in each fourth layer.
pub(super) fn qwen3_next(fields: &mut Fields) -> Architecture {
    fields.assume(&[
        ("head_dim", 256),
        ("full_attention_interval", 4),
        ("linear_conv_kernel_dim", 4),
        ("linear_key_head_dim", 128),
        ("linear_value_head_dim", 128),
        ("linear_num_key_heads", 16),
        ("linear_num_value_heads", 32),
    ]);
    let heads = Heads::read_biased(fields, "attention_bias", false).normalised();
    let attention = Heads {
        gate: heads.heads * heads.head_dim,
        ..heads
    }
    .attention(None);
    let state = AttentionShape::StateSpace(StateSpace {
        rule: Rule::GatedDelta,
        heads: fields.required(&["linear_num_value_heads"], COUNTS),
        head_dim: fields.required(&["linear_value_head_dim"], COUNTS),
        groups: fields.required(&["linear_num_key_heads"], COUNTS),
        state: fields.required(&["linear_key_head_dim"], COUNTS),
        conv: fields.required(&["linear_conv_kernel_dim"], COUNTS),
        chunk: CHUNK,
        normalised: None,
    });
    let listed = attending(fields, "linear_attention");
    let interval = fields.required(&["full_attention_interval"], COUNTS);
    let count = layers(fields) as u64;
    let each = || (1..=count).map(|layer| layer.is_multiple_of(interval));
    let mixer = mixers(listed.unwrap_or_else(|| each().collect()), attention, state);
    let model = if fields.value("num_experts").is_some() {
        let shared_width = fields.required(&["shared_expert_intermediate_size"], WIDTHS);
        let experts = Experts {
            shared_width,
            shared_gate: true,
            ..Experts::read(fields, "num_experts", "moe_intermediate_size")
        };
        qwen_moe(fields, &mixer, experts)
    } else {
        let mlp = gated(fields, false);
        decoder(fields, |layer| block(mixer(layer), mlp.clone()))
    };
    let modules = fields.number("mtp_num_hidden_layers", 0, u64::from(MOST_MTP_MODULES));
    let modules = modules.and_then(|modules| u32::try_from(modules).ok());
    Architecture {
        mtp_modules: modules.unwrap_or(model.mtp_modules),
        ..model
    }
}

/// Kimi Linear: latent attention in some layers, and above the first layers experts.
pub(super) fn kimi(fields: &mut Fields) -> Architecture {
    fields.assume(&[("first_k_dense_replace", 1)]);
    // Kimi K3 has more than these say.
    for other in ["attn_res_block_size", "routed_expert_hidden_size"] {
        if let Some(value) = fields.value(other) {
            let message = "planopt does not know Kimi Linear with it";
            fields.note(other, message, Some(value), "a file without it");
        }
    }
    let attention = latent(fields, None, None);
    let heads = fields.required(
        &["linear_attn_config.num_heads", "linear_num_heads"],
        COUNTS,
    );
    let head_dim = fields.required(&["linear_attn_config.head_dim", "linear_head_dim"], COUNTS);
    let conv = [
        "linear_attn_config.short_conv_kernel_size",
        "linear_conv_kernel_dim",
    ];
    let state = AttentionShape::StateSpace(StateSpace {
        rule: Rule::KimiDelta,
        heads,
        head_dim,
        groups: heads,
        state: head_dim,
        conv: fields.required(&conv, COUNTS),
        chunk: CHUNK,
        normalised: None,
    });
    let numbers = ("linear_attn_config.full_attn_layers", 1);
    let attends = attending_or_told(fields, "linear_attention", numbers);
    let mixer = mixers(attends, attention, state);
    let meets = fields.either("num_experts_per_token", "num_experts_per_tok");
    let experts = Experts::named(fields, ["num_experts", meets, "moe_intermediate_size"]);
    let shared = fields.either("num_shared_experts", "n_shared_experts");
    let shared = fields.number(shared, 0, COUNTS);
    let experts = Experts {
        router_bias: true,
        shared_width: shared.unwrap_or(0) * experts.width,
        ..experts
    };
    sparse_above_dense(fields, &mixer, experts)
}

/// LFM2: a short convolution between two gates in most layers; in its mixtures experts above the
/// first layers.
pub(super) fn lfm2(fields: &mut Fields) -> Architecture {
    fields.assume(&[
        ("conv_L_cache", 3),
        ("num_dense_layers", 2),
        ("block_multiple_of", 256),
    ]);
    let attention = Heads::read(fields).normalised().attention(None);
    let hidden = fields.required(HIDDEN, WIDTHS);
    let convolution = AttentionShape::StateSpace(StateSpace {
        rule: Rule::Convolution,
        heads: hidden,
        head_dim: 1,
        groups: hidden,
        state: 0,
        conv: fields.required(&["conv_L_cache"], COUNTS),
        chunk: 1,
        normalised: None,
    });
    if fields.flag("conv_bias", false) {
        let message = "convolutions with biases are not modelled";
        fields.note("conv_bias", message, Some(&true.into()), "false");
    }
    let attends = attending_or_told(fields, "conv", ("full_attn_idxs", 0));
    let mixer = mixers(attends, attention, convolution);
    let mlp = gated_of(fitted(fields), false);
    let experts = fields.value("num_experts").is_some().then(|| {
        let router_bias = fields.flag("use_expert_bias", true);
        Experts {
            router_bias,
            ..Experts::read(fields, "num_experts", "moe_intermediate_size")
        }
    });
    let dense_layers = fields.number("num_dense_layers", 0, COUNTS).unwrap_or(0);
    let model = decoder(fields, |layer| {
        let experts = experts.filter(|_| layer as u64 >= dense_layers);
        block(
            mixer(layer),
            experts.map_or_else(|| mlp.clone(), Experts::mlp),
        )
    });
    let tied = fields.either("tie_embedding", "tie_word_embeddings");
    let tied = fields.flag(tied, true);
    Architecture { tied, ..model }
}

/// Which layers attend, where the file says it layer by layer; `other` is what it calls the rest.
fn attending(fields: &mut Fields, other: &'static str) -> Option<Vec<bool>> {
    let count = layers(fields);
    let words = words(fields, "layer_types", &[ATTENDS, other], count)?;
    Some(words.into_iter().map(|word| word == ATTENDS).collect())
}

/// The same, or by the numbers of those that do, from the first on.
fn attending_or_told(
    fields: &mut Fields,
    other: &'static str,
    (numbers, first): (&str, u64),
) -> Vec<bool> {
    let listed = attending(fields, other);
    let told = fields.numbers(numbers);
    if listed.is_none() && told.is_none() {
        let message = "it is not said which layers attend";
        fields.note(
            "layer_types",
            message,
            None,
            &format!("{ATTENDS} or {other}"),
        );
    }
    let told = told.unwrap_or_default();
    let count = layers(fields) as u64;
    let by_number = || (0..count).map(|layer| told.contains(&(layer + first)));
    listed.unwrap_or_else(|| by_number().collect())
}

/// Attention in the layers that attend, and something else in the others.
fn mixers(
    attends: Vec<bool>,
    attention: AttentionShape,
    other: AttentionShape,
) -> impl Fn(usize) -> AttentionShape {
    move |layer| {
        if attends.get(layer) == Some(&true) {
            attention.clone()
        } else {
            other.clone()
        }
    }
}

/// What files call a layer that attends.
const ATTENDS: &str = "full_attention";

/// The width of a network of LFM2: two thirds of what is said, times a factor, in whole multiples,
/// unless the file says that it is meant as it stands; mixtures always mean it so.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "widths are small, and are cut as Python cuts them"
)]
fn fitted(fields: &mut Fields) -> u64 {
    let width = fields.required(&["block_ff_dim", "intermediate_size"], WIDTHS);
    let is_mixture = fields.value("num_experts").is_some();
    if is_mixture || !fields.flag("block_auto_adjust_ff_dim", true) {
        return width;
    }
    let factor = fields.value("block_ffn_dim_multiplier");
    let factor = factor.and_then(Value::as_f64).unwrap_or(1.0);
    let multiple = fields.required(&["block_multiple_of"], WIDTHS);
    let scaled = (factor * (2 * width / 3) as f64) as u64;
    scaled.next_multiple_of(multiple).clamp(1, WIDTHS)
}
