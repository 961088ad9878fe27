//! Hybrids of state-space, attention and feed-forward layers, each layer one of them.

use super::fields::{COUNTS, Fields, WIDTHS};
use super::parts::{block, decoder, decoder_of, gated, gated_of, layers, ungated};
use crate::transformer::architecture::{
    Architecture, AttentionShape, BlockShape, Experts, Heads, MlpShape,
};
use crate::transformer::operation::{Rule, StateSpace};

/// What a letter of `hybrid_override_pattern`, or a word of `layers_block_type`, stands for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Mamba,
    Attention,
    Dense,
    Experts,
}

const KINDS: [(char, &str, Kind); 4] = [
    ('M', "mamba", Kind::Mamba),
    ('*', "attention", Kind::Attention),
    ('-', "mlp", Kind::Dense),
    ('E', "moe", Kind::Experts),
];

/// Layers of a module of multi-token prediction have the kinds that its own pattern names.
pub(super) fn nemotron_h(fields: &mut Fields) -> Architecture {
    let kinds = kinds(fields, "hybrid_override_pattern", "layers_block_type").unwrap_or_default();
    let of_module = kinds_of_module(fields);
    let attention = Heads::read_biased(fields, "attention_bias", false).attention(None);
    let mixer = AttentionShape::StateSpace(state_space(fields));
    let dense = if kinds.contains(&Kind::Dense) {
        let width = fields.required(&["intermediate_size"], WIDTHS);
        ungated(width, fields.flag("mlp_bias", false))
    } else {
        MlpShape::Absent
    };
    let experts = if kinds.contains(&Kind::Experts) {
        experts(fields)
    } else {
        MlpShape::Absent
    };
    let block = |kind: Kind| BlockShape {
        norms: 1,
        parallel: false,
        second_mixer: AttentionShape::Absent,
        attention: match kind {
            Kind::Mamba => mixer.clone(),
            Kind::Attention => attention.clone(),
            Kind::Dense | Kind::Experts => AttentionShape::Absent,
        },
        mlp: match kind {
            Kind::Dense => dense.clone(),
            Kind::Experts => experts.clone(),
            Kind::Mamba | Kind::Attention => MlpShape::Absent,
        },
        side: Vec::new(),
    };
    let model = decoder_of(fields, kinds.len(), |layer| block(kinds[layer]));
    let place = |kind: Kind| model.blocks.iter().position(|known| *known == block(kind));
    match of_module {
        Some(own) => Architecture {
            mtp_layers: own.into_iter().filter_map(place).collect(),
            ..model
        },
        None => model,
    }
}

fn kinds_of_module(fields: &mut Fields) -> Option<Vec<Kind>> {
    let (letters, words) = ("mtp_hybrid_override_pattern", "mtp_layers_block_type");
    if fields.value(letters).is_none() && fields.value(words).is_none() {
        return None;
    }
    kinds(fields, letters, words)
}

/// The kind of each layer, from the letters of one field or the words of another.
fn kinds(fields: &mut Fields, letters: &str, words: &str) -> Option<Vec<Kind>> {
    let known = |is: &dyn Fn(char, &str) -> bool| {
        KINDS
            .iter()
            .find(|(letter, word, _)| is(*letter, word))
            .map(|(_, _, kind)| *kind)
    };
    let found = match (fields.value(letters), fields.value(words)) {
        (Some(pattern), _) => pattern.as_str().and_then(|pattern| {
            let kinds = pattern.chars().map(|own| known(&|letter, _| letter == own));
            kinds.collect()
        }),
        (None, Some(list)) => list.as_array().and_then(|list| {
            let kinds = list
                .iter()
                .map(|own| known(&|_, word| own.as_str() == Some(word)));
            kinds.collect()
        }),
        (None, None) => None,
    };
    if found.is_none() {
        let message = "the kinds of the layers are not told in words that planopt knows";
        let accepted = "letters M, *, - and E, one for each layer";
        let value = fields.value(letters);
        fields.note(letters, message, value, accepted);
    }
    found
}

/// Granite 4: a state-space mixer or attention, and behind either experts with a shared network, or
/// that network alone.
pub(super) fn granite(fields: &mut Fields) -> Architecture {
    fields.assume(&[("mamba_chunk_size", 256), ("mamba_n_groups", 1)]);
    let attention = Heads::read_biased(fields, "attention_bias", false).attention(None);
    let words = fields.either("layer_types", "layers_block_type");
    let kinds = match fields.value(words) {
        Some(_) => kinds(fields, "hybrid_override_pattern", words).unwrap_or_default(),
        None => vec![Kind::Attention; layers(fields)],
    };
    let mixer = if kinds.contains(&Kind::Mamba) {
        AttentionShape::StateSpace(mamba(fields, true))
    } else {
        AttentionShape::Absent
    };
    let shared_width = fields.required(&["shared_intermediate_size", "intermediate_size"], WIDTHS);
    let mlp = if fields.number("num_local_experts", 0, COUNTS).unwrap_or(0) > 0 {
        Experts {
            shared_width,
            ..Experts::read(fields, "num_local_experts", "intermediate_size")
        }
        .mlp()
    } else {
        gated_of(shared_width, false)
    };
    decoder_of(fields, kinds.len(), |layer| {
        let attention = match kinds[layer] {
            Kind::Mamba => mixer.clone(),
            _ => attention.clone(),
        };
        block(attention, mlp.clone())
    })
}

/// Falcon-H1: attention and a state-space mixer side by side, behind one normalisation.
pub(super) fn falcon_h1(fields: &mut Fields) -> Architecture {
    fields.assume(&[("mamba_chunk_size", 256), ("mamba_n_groups", 1)]);
    let attention = Heads::read_biased(fields, "attention_bias", false).attention(None);
    let normalised = fields.flag("mamba_rms_norm", false);
    let second_mixer = AttentionShape::StateSpace(mamba(fields, normalised));
    for (other, usual) in [
        ("mamba_conv_bias", true),
        ("mamba_proj_bias", false),
        ("projectors_bias", false),
    ] {
        if fields.flag(other, usual) != usual {
            let message = "planopt knows its mixers with a bias on the convolution alone";
            let value = fields.value(other);
            fields.note(other, message, value, &usual.to_string());
        }
    }
    let mlp_bias = fields.flag("mlp_bias", false);
    let mlp = gated(fields, mlp_bias);
    decoder(fields, |_| BlockShape {
        second_mixer: second_mixer.clone(),
        ..block(attention.clone(), mlp.clone())
    })
}

/// A state-space mixer in the words of Granite and Falcon.
fn mamba(fields: &mut Fields, normalised: bool) -> StateSpace {
    StateSpace {
        rule: Rule::Decay,
        heads: fields.required(&["mamba_n_heads"], COUNTS),
        head_dim: fields.required(&["mamba_d_head"], COUNTS),
        groups: fields.required(&["mamba_n_groups"], COUNTS),
        state: fields.required(&["mamba_d_state"], COUNTS),
        conv: fields.required(&["mamba_d_conv"], COUNTS),
        chunk: fields.required(&["mamba_chunk_size"], COUNTS),
        normalised: Some(normalised),
    }
}

fn state_space(fields: &mut Fields) -> StateSpace {
    StateSpace {
        rule: Rule::Decay,
        heads: fields.required(&["mamba_num_heads"], COUNTS),
        head_dim: fields.required(&["mamba_head_dim"], COUNTS),
        groups: fields.required(&["n_groups"], COUNTS),
        state: fields.required(&["ssm_state_size"], COUNTS),
        conv: fields.required(&["conv_kernel"], COUNTS),
        chunk: fields.required(&["chunk_size"], COUNTS),
        normalised: Some(true),
    }
}

fn experts(fields: &mut Fields) -> MlpShape {
    let shared_width = fields.required(&["moe_shared_expert_intermediate_size"], WIDTHS);
    let latent = fields.optional("moe_latent_size", WIDTHS).unwrap_or(0);
    Experts {
        gated: false,
        router_bias: true,
        shared_width,
        latent,
        ..Experts::read(fields, "n_routed_experts", "moe_intermediate_size")
    }
    .mlp()
}
