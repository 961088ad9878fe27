//! A model in the shape of a model file, for documents that must stand without the file it was
//! read from. Keys: `docs/reference/catalogs.md`.

use super::Catalog;
use crate::diagnostic::Diagnostic;
use crate::transformer::{
    Architecture, AttentionShape, BlockShape, ImageSize, Indexer, LayerEmbedding, MlpShape, Norm,
    Rule, Side, Vision,
};
use serde_json::{Map, Value, json};

/// The model of a catalog id or of a file, in the shape of a model file.
pub fn describe_architecture(catalog: &Catalog, model: &str) -> Result<Value, Vec<Diagnostic>> {
    catalog
        .architecture(model)
        .map(|architecture| table(&architecture))
}

fn table(model: &Architecture) -> Value {
    let outside: Vec<Value> = model
        .outside
        .iter()
        .map(|(what, parameters)| json!({ "what": what, "parameters": parameters }))
        .collect();
    let table = json!({
        "id": model.id,
        "name": model.name,
        "hidden": model.hidden,
        "vocabulary": model.vocabulary,
        "max_context": model.max_context,
        "weights": model.weights.name(),
        "only_experts_quantised": model.only_experts_quantised,
        "tied": model.tied,
        "norm": match model.norm {
            Norm::Rms => "rms",
            Norm::Layer => "layer",
            Norm::LayerNoBias => "layer-no-bias",
        },
        "embedding_norm": model.embedding_norm,
        "final_norm": model.final_norm,
        "positions": model.positions,
        "head_bias": model.head_bias,
        "layers": model.layers.len(),
        "layer_blocks": model.layers,
        "mtp_modules": model.mtp_modules,
        "mtp_layers": model.mtp_layers,
        "block": model.blocks.iter().map(block).collect::<Vec<_>>(),
        "outside": outside,
    });
    let more = (model.more_streams > 0).then(|| json!({ "more_streams": model.more_streams }));
    let vision = model
        .vision
        .map(|vision| json!({ "vision": seeing(&vision) }));
    let of_layers = model.layer_embedding.map(|LayerEmbedding { rows, width }| {
        json!({ "layer_embedding": { "rows": rows, "width": width } })
    });
    with(
        with(with(with(table, more), of_layers), vision),
        nominal(model),
    )
}

fn seeing(vision: &Vision) -> Value {
    let size = match vision.size {
        ImageSize::Square { side } => json!({ "kind": "square", "side": side }),
        ImageSize::Between { least, most } => {
            json!({ "kind": "between", "least": least, "most": most })
        }
        ImageSize::UpTo { patches, side } => {
            json!({ "kind": "up-to", "patches": patches, "side": side })
        }
        ImageSize::Filled { tokens } => json!({ "kind": "filled", "tokens": tokens }),
        ImageSize::Rows { longest } => json!({ "kind": "rows", "longest": longest }),
        ImageSize::Tiles { side, most } => {
            json!({ "kind": "tiles", "side": side, "most": most })
        }
    };
    json!({
        "parameters": vision.parameters,
        "patch": vision.patch,
        "merge": vision.merge,
        "size": size,
    })
}

/// A key with a list, unless that is empty.
fn some(key: &str, list: &[Value]) -> Option<Value> {
    (!list.is_empty()).then(|| json!({ key: list }))
}

fn block(shape: &BlockShape) -> Value {
    let block = json!({
        "norms": shape.norms,
        "parallel": shape.parallel,
        "attention": attention(&shape.attention),
    });
    let second_mixer = match &shape.second_mixer {
        AttentionShape::Absent => None,
        mixer => Some(json!({ "second_mixer": attention(mixer) })),
    };
    let side = |(inputs, outputs): &Side| json!({ "inputs": inputs, "outputs": outputs });
    let side: Vec<_> = shape.side.iter().map(side).collect();
    let block = with(with(block, second_mixer), some("side", &side));
    with(block, mlp(&shape.mlp).map(|mlp| json!({ "mlp": mlp })))
}

fn attention(shape: &AttentionShape) -> Value {
    match *shape {
        AttentionShape::Grouped {
            heads,
            kv_heads,
            head_dim,
            value_dim,
            gate,
            key_value,
            query_bias,
            key_value_bias,
            output_bias,
            query_key_norm,
            sinks,
            window,
            selected,
            indexer,
        } => {
            let grouped = json!({
                "kind": "grouped",
                "heads": heads,
                "kv_heads": kv_heads,
                "head_dim": head_dim,
                "value_dim": value_dim,
                "gate": gate,
                "key_value": key_value.name(),
                "query_bias": query_bias,
                "key_value_bias": key_value_bias,
                "output_bias": output_bias,
                "query_key_norm": query_key_norm,
                "sinks": sinks,
            });
            let grouped = with(grouped, window.map(|window| json!({ "window": window })));
            with(grouped, selection(selected, indexer))
        }
        AttentionShape::Latent {
            heads,
            query_rank,
            latent,
            rope,
            nope,
            value,
            selected,
            indexer,
        } => {
            let latent = json!({
            "kind": "latent",
            "heads": heads,
            "query_rank": query_rank,
            "latent": latent,
            "rope": rope,
            "nope": nope,
            "value": value,
            });
            with(latent, selection(selected, indexer))
        }
        AttentionShape::StateSpace(mixer) => {
            let table = json!({
                "kind": mixer.rule.name(),
                "heads": mixer.heads,
                "head_dim": mixer.head_dim,
                "groups": mixer.groups,
                "state": mixer.state,
                "conv": mixer.conv,
                "chunk": mixer.chunk,
            });
            let norm = match mixer.rule {
                Rule::Decay { normalised } => Some(json!({ "normalised": normalised })),
                _ => None,
            };
            with(table, norm)
        }
        AttentionShape::Absent => json!({ "kind": "none" }),
    }
}

/// How many tokens are selected, where any are, and by what, where the layer has its own indexer.
fn selection(selected: Option<u64>, indexer: Option<Indexer>) -> Option<Value> {
    let selected = json!({ "selected": selected? });
    let indexer = indexer.map(|Indexer { heads, head_dim }| {
        json!({ "indexer": { "heads": heads, "head_dim": head_dim } })
    });
    Some(with(selected, indexer))
}

/// The feed-forward part; none where a nominal total stands for it.
fn mlp(shape: &MlpShape) -> Option<Value> {
    match *shape {
        MlpShape::Dense { width, gated, bias } => {
            Some(json!({ "kind": "dense", "width": width, "gated": gated, "bias": bias }))
        }
        MlpShape::Experts {
            experts,
            active,
            width,
            gated,
            bias,
            router_bias,
            shared_width,
            shared_gate,
            latent,
        } => Some(json!({
            "kind": "experts",
            "experts": experts,
            "active": active,
            "width": width,
            "gated": gated,
            "bias": bias,
            "router_bias": router_bias,
            "shared_width": shared_width,
            "shared_gate": shared_gate,
            "latent": latent,
        })),
        MlpShape::Absent => Some(json!({ "kind": "none" })),
        MlpShape::Nominal { .. } => None,
    }
}

/// The total that stands for the matrices of every layer, where there is one.
fn nominal(model: &Architecture) -> Option<Value> {
    let layers = model.layers.len() as u64;
    model.blocks.iter().find_map(|shape| match shape.mlp {
        MlpShape::Nominal { depth, width } => Some(json!({
            "nominal_parameters": depth * width * layers,
            "nominal_depth": depth,
        })),
        _ => None,
    })
}

/// A table with the keys of another added.
fn with(table: Value, more: Option<Value>) -> Value {
    match (table, more) {
        (Value::Object(table), Some(Value::Object(more))) => {
            Value::Object(table.into_iter().chain(more).collect::<Map<_, _>>())
        }
        (table, _) => table,
    }
}
