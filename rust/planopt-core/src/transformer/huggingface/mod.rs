//! Reads the `config.json` of a Hugging Face repository. What a field means, and what it is where
//! the file leaves it out, follows the configuration class of that model type in `transformers`.
//!
//! Left out: speech towers of multimodal models (their text model is read), and of what sees all but
//! its size.

mod families;
mod fields;
mod gemma;
mod gpt;
mod hybrid;
mod linear;
mod parts;
mod position;
mod unknown;
mod variants;
mod vision;
mod weights;

use self::families::{FAMILIES, Family};
use self::fields::Fields;
pub(crate) use self::fields::NOT_A_MODEL;
use super::architecture::{Architecture, MlpShape};
use crate::diagnostic::{Diagnostic, Position};
use serde_json::{Map, Value};
use std::path::Path;

/// The text is not JSON.
const NOT_JSON: &str = "E110";

/// Reads a Hugging Face `config.json`.
///
/// `file` names the model and the place of problems; it is not opened.
///
/// # Errors
/// E110 if `text` is not JSON; E111, all at once, for every field that is missing, of the wrong type,
/// or out of range, and of an unknown `model_type` for every field that may mean another operation.
pub fn read_config(text: &str, file: &Path) -> Result<Architecture, Vec<Diagnostic>> {
    // Python writes limits that JSON has no word for, such as those of Nemotron's time steps.
    let config: Value = serde_json::from_str(text)
        .or_else(|error| {
            let bounded = text
                .replace("-Infinity", "null")
                .replace("Infinity", "null");
            serde_json::from_str(&bounded).map_err(|_| error)
        })
        .map_err(|error| vec![not_json(&error, file)])?;
    let Value::Object(outer) = &config else {
        let problem = Diagnostic::new(NOT_A_MODEL, "the file holds no JSON object");
        return Err(vec![
            problem
                .in_file(file)
                .accepted("an object with a field model_type"),
        ]);
    };

    // Multimodal models keep the language model in an object of its own.
    let (path, config) = match outer.get("text_config") {
        Some(Value::Object(inner)) => (&["text_config"][..], inner),
        _ => (&[][..], outer),
    };
    let mut fields = Fields::new(text, file, path, config);
    let found = config.get("model_type").or_else(|| outer.get("model_type"));
    let mut model = match (family(outer, config), found.and_then(Value::as_str)) {
        (Some(family), _) => family(&mut fields),
        (None, Some(unknown)) => {
            let mut model = unknown::by_fields(&mut fields);
            model.unknown_type = Some(unknown.to_owned());
            fields.begin_with(unknown_model_type(&fields, found));
            model
        }
        (None, None) => return Err(vec![unknown_model_type(&fields, found)]),
    };
    let weights = weights::read(&mut fields, outer);
    model.weights = weights.format;
    model.only_experts_quantised = weights.only_experts && has_experts(&model);
    model.vision = vision::read(outer, model.hidden);
    model.id = id(file);
    model.name = name(outer).unwrap_or_else(|| model.id.clone());
    fields.finish().map(|()| model)
}

/// Looks the model type up: that of the language model first, else that of the whole.
fn family(outer: &Map<String, Value>, config: &Map<String, Value>) -> Option<Family> {
    let known = |config: &Map<String, Value>| {
        let model_type = config.get("model_type")?.as_str()?;
        FAMILIES
            .iter()
            .find(|(name, _)| *name == model_type)
            .map(|(_, family)| *family)
    };
    known(config).or_else(|| known(outer))
}

fn unknown_model_type(fields: &Fields, found: Option<&Value>) -> Diagnostic {
    let message = match found {
        Some(_) => "planopt does not know this model type, and its fields do not say all",
        None => "model_type is missing",
    };
    // None is proposed: another architecture of a similar name is another model.
    let known: Vec<&str> = FAMILIES.iter().map(|(name, _)| *name).collect();
    fields
        .problem("model_type", message, found)
        .help("write the model as a TOML file of a catalog instead")
        .accepted(known.join(", "))
}

fn has_experts(model: &Architecture) -> bool {
    model
        .blocks
        .iter()
        .any(|block| matches!(block.mlp, MlpShape::Experts(_)))
}

/// The name of the file, or of its folder where the file has the name they all have; in Hugging Face's
/// cache that of the repository, as folders are named by revisions there.
fn id(file: &Path) -> String {
    let name = |path: &Path| {
        let name = path.file_name().map(std::ffi::OsStr::to_string_lossy);
        name.unwrap_or_default().into_owned()
    };
    let mut folders = file.ancestors().skip(1);
    let (folder, above, entry) = (folders.next(), folders.next(), folders.next());
    if let (Some(above), Some(entry)) = (above, entry)
        && name(above) == "snapshots"
        && let Some((_, repository)) = name(entry).rsplit_once("--")
    {
        return repository.to_owned();
    }
    let stem = file.file_stem().map(std::ffi::OsStr::to_string_lossy);
    match (stem, folder.map(name)) {
        (Some(stem), Some(folder)) if stem == "config" && !folder.is_empty() => folder,
        (Some(stem), _) => stem.into_owned(),
        (None, _) => "model".to_owned(),
    }
}

fn name(config: &Map<String, Value>) -> Option<String> {
    let name = config.get("_name_or_path")?.as_str()?;
    (!name.is_empty()).then(|| name.to_owned())
}

fn not_json(error: &serde_json::Error, file: &Path) -> Diagnostic {
    Diagnostic::new(NOT_JSON, format!("this is not JSON: {error}"))
        .in_file(file)
        .at(Position {
            line: error.line(),
            column: error.column(),
        })
        .accepted("the config.json of a Hugging Face repository")
}

#[cfg(test)]
#[path = "../../../tests/unit/huggingface.rs"]
mod tests;
