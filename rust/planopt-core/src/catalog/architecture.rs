//! A model in the shape of a model file, for documents that must stand without the file it was
//! read from. Keys: `docs/reference/catalogs.md`.

use super::Catalog;
use crate::diagnostic::Diagnostic;
use crate::transformer::{Architecture, MlpShape};
use serde_json::{Value, json};

/// The model of a catalog id or of a file, in the shape of a model file.
pub fn describe_architecture(catalog: &Catalog, model: &str) -> Result<Value, Vec<Diagnostic>> {
    catalog
        .architecture(model)
        .map(|architecture| table(&architecture))
}

fn table(model: &Architecture) -> Value {
    let outside = model.outside.iter();
    let outside =
        outside.map(|(what, parameters)| json!({ "what": what, "parameters": parameters }));
    let mut table = json!({
        "id": model.id,
        "name": model.name,
        "hidden": model.hidden,
        "vocabulary": model.vocabulary,
        "max_context": model.max_context,
        "weights": model.weights.name(),
        "only_experts_quantised": model.only_experts_quantised,
        "tied": model.tied,
        "norm": model.norm,
        "embedding_norm": model.embedding_norm,
        "final_norm": model.final_norm,
        "positions": model.positions,
        "head_bias": model.head_bias,
        "layers": model.layers.len(),
        "layer_blocks": model.layers,
        "mtp_modules": model.mtp_modules,
        "mtp_layers": model.mtp_layers,
        "block": model.blocks,
        "outside": outside.collect::<Vec<_>>(),
    });
    if model.more_streams > 0 {
        table["more_streams"] = model.more_streams.into();
    }
    if let Some(of_layers) = model.layer_embedding {
        table["layer_embedding"] = json!(of_layers);
    }
    if let Some(vision) = model.vision {
        table["vision"] = json!(vision);
    }
    // The total that stands for the matrices of every layer, where there is one.
    let mut networks = model.blocks.iter().map(|block| &block.mlp);
    if let Some((depth, width)) = networks.find_map(|mlp| match mlp {
        MlpShape::Nominal { depth, width } => Some((depth, width)),
        _ => None,
    }) {
        table["nominal_parameters"] = (depth * width * model.layers.len() as u64).into();
        table["nominal_depth"] = (*depth).into();
    }
    table
}
