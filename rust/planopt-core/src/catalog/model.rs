//! `models/ID.toml`: a published configuration in our words.

use super::fields::Fields;
use super::value::Quantity;
use crate::diagnostic::{Diagnostic, code};
use crate::format::Format;
use crate::quantity::Dimension;
use crate::transformer::{
    Architecture, AttentionShape, BlockShape, Experts, Heads, ImageSize, Indexer, KeyValue,
    LayerEmbedding, MOST_MTP_MODULES, MlpShape, Norm, Rule, Side, StateSpace, Vision,
};

const NORMS: &[(&str, Norm)] = &[
    ("rms", Norm::Rms),
    ("layer", Norm::Layer),
    ("layer-no-bias", Norm::LayerNoBias),
];

/// Bounds on what a file may say, far above any published model: no product of them that counts
/// parameters leaves 64 bits.
const MOST_LAYERS: u32 = 1 << 10;

const MOST_EXPERTS: u32 = 1 << 12;

const MOST_HEADS: u32 = 1 << 12;

const WIDEST_HEAD: u32 = 1 << 12;

/// Squares of an image.
const MOST_TILES: u32 = 1 << 10;

const WIDEST: u32 = 1 << 20;

const MOST_STREAMS: u32 = 1 << 4;

const MOST_TOKENS: u32 = 1 << 30;

/// A whole number up to `MOST`.
struct UpTo<const MOST: u32>(u64);

impl<const MOST: u32> Quantity for UpTo<MOST> {
    const DIMENSION: Dimension = Dimension::Count;
    const MOST: f64 = MOST as f64;
    fn from_base(value: f64) -> Self {
        Self(u64::from_base(value))
    }
}

/// A whole number up to `MOST`, and at least 1.
fn some<const MOST: u32>(fields: &mut Fields<'_>, key: &'static str) -> u64 {
    fields.positive::<UpTo<MOST>>(key).0
}

/// A whole number up to `MOST`, where 0 is none.
fn any<const MOST: u32>(fields: &mut Fields<'_>, key: &'static str) -> u64 {
    fields.quantity::<UpTo<MOST>>(key).0
}

pub(super) fn read(fields: &mut Fields<'_>) -> Architecture {
    let layer_count = some::<MOST_LAYERS>(fields, "layers");
    let nominal = nominal_mlp(fields, layer_count);
    let blocks = fields.sections("block", |block| read_block(block, nominal.as_ref()));
    if blocks.is_empty() {
        fields.reject(
            "layers",
            Diagnostic::new(code::MISSING_KEY, "no `[[block]]` says what a layer holds")
                .help("add a table `[[block]]` for each kind of layer"),
        );
    }
    let layers = layer_kinds(fields, layer_count, blocks.len());
    let mtp_layers = mtp_layers(fields, &layers, blocks.len());
    let (published_parameters, published_active) = fields
        .optional_section("published", published)
        .unwrap_or_default();
    fields.optional_section("hosted", hosted);
    let named: Vec<_> = Format::all().map(|own| (own.name(), own)).collect();
    Architecture {
        id: fields.id("id"),
        name: fields.text("name"),
        unknown_type: None,
        stored_bytes: None,
        hidden: some::<WIDEST>(fields, "hidden"),
        vocabulary: any::<MOST_TOKENS>(fields, "vocabulary"),
        max_context: some::<MOST_TOKENS>(fields, "max_context"),
        weights: fields.choice("weights", &named),
        only_experts_quantised: fields.or("only_experts_quantised", false, Fields::flag),
        tied: fields.flag("tied"),
        norm: fields.choice("norm", NORMS),
        embedding_norm: fields.or("embedding_norm", false, Fields::flag),
        final_norm: fields.or("final_norm", true, Fields::flag),
        layer_embedding: fields.optional_section("layer_embedding", |own| LayerEmbedding {
            rows: some::<MOST_TOKENS>(own, "rows"),
            width: some::<WIDEST_HEAD>(own, "width"),
        }),
        more_streams: fields.or("more_streams", 0, any::<MOST_STREAMS>),
        positions: fields.or("positions", 0, any::<MOST_TOKENS>),
        head_bias: fields.or("head_bias", false, Fields::flag),
        blocks,
        layers,
        mtp_modules: fields.or("mtp_modules", 0, mtp_modules),
        mtp_layers,
        outside: fields.sections("outside", |part| {
            (part.text("what"), part.quantity("parameters"))
        }),
        vision: fields.optional_section("vision", vision),
        published_parameters,
        published_active,
    }
}

fn vision(fields: &mut Fields<'_>) -> Vision {
    Vision {
        parameters: fields.quantity("parameters"),
        patch: some::<WIDEST_HEAD>(fields, "patch"),
        merge: some::<WIDEST_HEAD>(fields, "merge"),
        size: fields.section("size", |size| match size.word("kind", &SIZES).as_str() {
            "between" => ImageSize::Between {
                least: some::<MOST_TOKENS>(size, "least"),
                most: some::<MOST_TOKENS>(size, "most"),
            },
            "up-to" => ImageSize::UpTo {
                patches: some::<MOST_TOKENS>(size, "patches"),
                side: some::<WIDEST_HEAD>(size, "side"),
            },
            "filled" => ImageSize::Filled {
                tokens: some::<MOST_TOKENS>(size, "tokens"),
            },
            "rows" => ImageSize::Rows {
                longest: some::<WIDEST>(size, "longest"),
            },
            "tiles" => ImageSize::Tiles {
                side: some::<WIDEST>(size, "side"),
                most: some::<MOST_TILES>(size, "most"),
            },
            _ => ImageSize::Square {
                side: some::<WIDEST>(size, "side"),
            },
        }),
    }
}

/// How an image is brought to size.
const SIZES: [&str; 6] = ["square", "between", "up-to", "filled", "rows", "tiles"];

/// What a million tokens cost from those who serve the model: told with its figures, and no part
/// of what it is.
fn hosted(fields: &mut Fields<'_>) {
    fields.price("input");
    fields.price("output");
}

fn mtp_modules(fields: &mut Fields<'_>, key: &'static str) -> u32 {
    let modules = any::<MOST_MTP_MODULES>(fields, key);
    u32::try_from(modules).unwrap_or(MOST_MTP_MODULES)
}

/// One product per layer of `nominal_depth` inputs, with its share of `nominal_parameters`.
fn nominal_mlp(fields: &mut Fields<'_>, layers: u64) -> Option<MlpShape> {
    let parameters: u64 = fields.optional("nominal_parameters", Fields::positive)?;
    let depth = some::<WIDEST>(fields, "nominal_depth");
    let inputs = depth * layers;
    // To the nearest whole column: the total is met to half a column per layer.
    Some(MlpShape::Nominal {
        depth,
        width: (parameters + inputs / 2) / inputs,
    })
}

fn read_block(fields: &mut Fields<'_>, nominal: Option<&MlpShape>) -> BlockShape {
    BlockShape {
        norms: any::<MOST_HEADS>(fields, "norms"),
        parallel: fields.or("parallel", false, Fields::flag),
        attention: fields.section("attention", attention),
        second_mixer: fields
            .optional_section("second_mixer", attention)
            .unwrap_or(AttentionShape::Absent),
        mlp: nominal
            .cloned()
            .unwrap_or_else(|| fields.section("mlp", mlp)),
        side: fields.sections("side", |own| Side {
            inputs: some::<WIDEST>(own, "inputs"),
            outputs: some::<WIDEST>(own, "outputs"),
        }),
    }
}

const KINDS: [&str; 7] = [
    "grouped",
    "latent",
    "mamba2",
    "gated-delta",
    "kimi-delta",
    "convolution",
    "none",
];

fn attention(fields: &mut Fields<'_>) -> AttentionShape {
    let mixer = |fields: &mut _, rule| AttentionShape::StateSpace(state_space(fields, rule));
    match fields.word("kind", &KINDS).as_str() {
        "mamba2" => mixer(fields, Rule::Decay),
        "gated-delta" => mixer(fields, Rule::GatedDelta),
        "kimi-delta" => mixer(fields, Rule::KimiDelta),
        "convolution" => mixer(fields, Rule::Convolution),
        "none" => AttentionShape::Absent,
        "latent" => AttentionShape::Latent {
            heads: some::<MOST_HEADS>(fields, "heads"),
            query_rank: fields.or("query_rank", 0, any::<WIDEST>),
            latent: some::<WIDEST>(fields, "latent"),
            rope: any::<WIDEST_HEAD>(fields, "rope"),
            nope: any::<WIDEST_HEAD>(fields, "nope"),
            value: some::<WIDEST_HEAD>(fields, "value"),
            selected: fields.optional("selected", some::<MOST_TOKENS>),
            indexer: fields.optional_section("indexer", indexer),
        },
        _ => AttentionShape::Grouped(grouped(fields)),
    }
}

fn grouped(fields: &mut Fields<'_>) -> Heads {
    let heads = some::<MOST_HEADS>(fields, "heads");
    let kv_heads = some::<MOST_HEADS>(fields, "kv_heads");
    if !heads.is_multiple_of(kv_heads) {
        let message = format!("{heads} query heads cannot share {kv_heads} key/value heads evenly");
        fields.reject(
            "kv_heads",
            Diagnostic::new(code::OUT_OF_RANGE, message).accepted(format!("a divisor of {heads}")),
        );
    }
    let head_dim = some::<WIDEST_HEAD>(fields, "head_dim");
    Heads {
        heads,
        kv_heads,
        head_dim,
        value_dim: fields.or("value_dim", head_dim, some::<WIDEST_HEAD>),
        gate: fields.or("gate", 0, any::<WIDEST>),
        key_value: fields.or("key_value", KeyValue::Own, |fields, key| {
            fields.choice(key, &KeyValue::ALL)
        }),
        query_bias: fields.or("query_bias", false, Fields::flag),
        key_value_bias: fields.or("key_value_bias", false, Fields::flag),
        output_bias: fields.or("output_bias", false, Fields::flag),
        query_key_norm: fields.or("query_key_norm", 0, any::<WIDEST>),
        sinks: fields.or("sinks", false, Fields::flag),
        window: fields.optional("window", some::<MOST_TOKENS>),
        selected: fields.optional("selected", some::<MOST_TOKENS>),
        indexer: fields.optional_section("indexer", indexer),
    }
}

fn indexer(fields: &mut Fields<'_>) -> Indexer {
    Indexer {
        heads: some::<MOST_HEADS>(fields, "heads"),
        head_dim: some::<WIDEST_HEAD>(fields, "head_dim"),
    }
}

fn state_space(fields: &mut Fields<'_>, rule: Rule) -> StateSpace {
    let heads = some::<MOST_HEADS>(fields, "heads");
    let groups = some::<MOST_HEADS>(fields, "groups");
    if !heads.is_multiple_of(groups) {
        let message = format!("{heads} heads cannot form {groups} groups evenly");
        fields.reject(
            "groups",
            Diagnostic::new(code::OUT_OF_RANGE, message).accepted(format!("a divisor of {heads}")),
        );
    }
    StateSpace {
        rule,
        heads,
        head_dim: some::<WIDEST_HEAD>(fields, "head_dim"),
        groups,
        state: any::<WIDEST_HEAD>(fields, "state"),
        conv: some::<MOST_HEADS>(fields, "conv"),
        chunk: some::<MOST_HEADS>(fields, "chunk"),
        normalised: (rule == Rule::Decay).then(|| fields.or("normalised", true, Fields::flag)),
    }
}

fn mlp(fields: &mut Fields<'_>) -> MlpShape {
    match fields.word("kind", &["dense", "experts", "none"]).as_str() {
        "experts" => MlpShape::Experts(experts(fields)),
        "none" => MlpShape::Absent,
        _ => MlpShape::Dense {
            width: some::<WIDEST>(fields, "width"),
            gated: fields.flag("gated"),
            bias: fields.or("bias", false, Fields::flag),
        },
    }
}

fn experts(fields: &mut Fields<'_>) -> Experts {
    let experts = some::<MOST_EXPERTS>(fields, "experts");
    let active = some::<MOST_EXPERTS>(fields, "active");
    if active > experts {
        let message = format!("a token cannot meet {active} of {experts} experts");
        fields.reject(
            "active",
            Diagnostic::new(code::OUT_OF_RANGE, message).accepted(format!("1 to {experts}")),
        );
    }
    Experts {
        experts,
        active,
        width: some::<WIDEST>(fields, "width"),
        gated: fields.flag("gated"),
        bias: fields.or("bias", false, Fields::flag),
        router_bias: fields.or("router_bias", false, Fields::flag),
        shared_width: fields.or("shared_width", 0, any::<WIDEST>),
        shared_gate: fields.or("shared_gate", false, Fields::flag),
        latent: fields.or("latent", 0, any::<WIDEST>),
    }
}

/// The kinds of the layers of a module of multi-token prediction: that of the model's last one
/// unless they are listed.
fn mtp_layers(fields: &mut Fields<'_>, layers: &[usize], blocks: usize) -> Vec<usize> {
    match fields.optional("mtp_layers", Fields::counts) {
        Some(kinds) => known_kinds(fields, "mtp_layers", kinds, blocks),
        None => layers.last().copied().into_iter().collect(),
    }
}

/// The kind of each layer, from a `pattern` that repeats or from `layer_blocks` in full.
fn layer_kinds(fields: &mut Fields<'_>, layers: u64, blocks: usize) -> Vec<usize> {
    let listed = fields.optional("layer_blocks", Fields::counts);
    let (key, kinds) = match listed {
        Some(kinds) => ("layer_blocks", kinds),
        None => ("pattern", fields.counts("pattern")),
    };
    let kinds = known_kinds(fields, key, kinds, blocks);
    let stretched: Vec<usize> = (0..layers)
        .zip(kinds.iter().cycle())
        .map(|(_, kind)| *kind)
        .collect();
    if key == "layer_blocks" && kinds.len() != stretched.len() {
        let message = format!("{} blocks are listed for {layers} layers", kinds.len());
        fields.reject(
            key,
            Diagnostic::new(code::OUT_OF_RANGE, message)
                .accepted(format!("a list of {layers} block numbers")),
        );
    }
    stretched
}

/// Numbers of blocks, none of which is beyond those there are.
fn known_kinds(
    fields: &mut Fields<'_>,
    key: &'static str,
    kinds: Vec<u32>,
    blocks: usize,
) -> Vec<usize> {
    let kinds: Vec<usize> = kinds.into_iter().map(|kind| kind as usize).collect();
    if let Some(unknown) = kinds.iter().find(|kind| **kind >= blocks) {
        let message = format!("there is no block {unknown}");
        fields.reject(
            key,
            Diagnostic::new(code::OUT_OF_RANGE, message).accepted(format!(
                "numbers of the {blocks} `[[block]]`, counted from 0"
            )),
        );
    }
    kinds
}

fn published(fields: &mut Fields<'_>) -> (Option<u64>, Option<u64>) {
    (
        fields.optional("parameters", Fields::positive),
        fields.optional("active", Fields::positive),
    )
}
