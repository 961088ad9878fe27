//! Files to entries. This is the only module of the core that touches the file system; where there
//! is none, in a browser, files are those that were handed over.

#[cfg_attr(target_family = "wasm", path = "read/held.rs")]
mod disk;
mod gguf;

#[cfg(target_family = "wasm")]
pub use self::disk::hold;

use super::entry::{Entry, Figure};
use super::fields::{Fields, Log};
use super::value::json_of;
use crate::diagnostic::{Diagnostic, Lines, Position, Problems, code};
use crate::transformer::{Architecture, NOT_A_MODEL, read_config};
use serde::de::DeserializeOwned;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use toml::de::{DeTable, DeValue};

/// The entity that a file describes.
pub(crate) fn read_file<T>(
    file: &Path,
    read: impl FnOnce(&mut Fields<'_>) -> T,
) -> Result<Entry<T>, Vec<Diagnostic>> {
    read_text(file, &read_to_text(file)?, read)
}

/// All of a file.
pub(super) fn read_to_text(file: &Path) -> Result<String, Vec<Diagnostic>> {
    disk::text(file).map_err(|error| vec![unreadable(file, &error)])
}

/// The entity that the text of a file describes, or everything that is wrong with it.
pub(super) fn read_text<T>(
    file: &Path,
    text: &str,
    read: impl FnOnce(&mut Fields<'_>) -> T,
) -> Result<Entry<T>, Vec<Diagnostic>> {
    let (table, errors) = DeTable::parse_recoverable(text);
    if !errors.is_empty() {
        return Err(errors
            .iter()
            .map(|error| syntax_problem(file, text, error))
            .collect());
    }
    let mut log = Log::new(&id_of(file));
    let entity = Fields::read_root(table.get_ref(), &mut log, read);
    let lines = Lines::of(text);

    let mut problems = Problems::default();
    log.problems.sort_by_key(|(offset, _)| *offset);
    log.figures.sort_by_key(|figure| figure.offset);
    for (offset, problem) in log.problems {
        problems.push(problem.in_file(file).at(lines.position(offset)));
    }
    let figures = log.figures.into_iter().map(|noted| Figure {
        position: lines.position(noted.offset),
        field: noted.field,
        text: noted.text,
        source: noted.source,
        tag: noted.tag,
    });
    problems.unless_any(Entry {
        entity,
        figures: figures.collect(),
        aliases: log.aliases,
        file: file.to_path_buf(),
    })
}

/// A TOML file as JSON has it.
///
/// # Errors
///
/// That it cannot be read, or is none.
pub fn read_json(file: &Path) -> Result<serde_json::Value, Vec<Diagnostic>> {
    let text = read_to_text(file)?;
    let table = DeTable::parse(&text).map_err(|error| vec![syntax_problem(file, &text, &error)])?;
    Ok(json_of(&DeValue::Table(table.into_inner())))
}

/// The model that a Hugging Face `config.json` describes, with the bytes that the index beside it
/// says are stored.
pub(super) fn read_config_file(file: &Path) -> Result<Architecture, Vec<Diagnostic>> {
    let model = read_config(&read_to_text(file)?, file)?;
    let index = file.with_file_name("model.safetensors.index.json");
    if !exists(&index) {
        return Ok(model);
    }
    let told: Option<serde_json::Value> = serde_json::from_str(&read_to_text(&index)?).ok();
    let bytes = told.and_then(|told| told["metadata"]["total_size"].as_u64());
    if bytes.is_none() {
        let message = "the index does not say how many bytes the weights have";
        let problem = Diagnostic::new(NOT_A_MODEL, message).in_file(&index);
        let accepted = "a number at metadata.total_size, or no such file beside config.json";
        return Err(vec![problem.accepted(accepted)]);
    }
    Ok(Architecture {
        stored_bytes: bytes,
        ..model
    })
}

/// The model that the header of a GGUF file describes.
pub(super) fn read_gguf_file(file: &Path) -> Result<Architecture, Vec<Diagnostic>> {
    let from = disk::open(file, gguf::LARGEST_HEADER);
    let header = gguf::header(from.map_err(|error| vec![unreadable(file, &error)])?);
    let header = header.map_err(|message| {
        let problem = Diagnostic::new(NOT_A_MODEL, message).in_file(file);
        vec![problem.help("give the config.json of the model, and say --weights")]
    })?;
    let model = read_config(&header.config.to_string(), file).map_err(|problems| {
        let without_place = |problem| Diagnostic {
            position: None,
            ..problem
        };
        problems.into_iter().map(without_place).collect::<Vec<_>>()
    })?;
    Ok(Architecture {
        weights: header.weights,
        stored_bytes: Some(header.bytes),
        ..model
    })
}

/// The file of a model that a path leads to: itself, what a folder has, or what an entry of Hugging
/// Face's cache (`models--ORGANISATION--NAME`) has checked out.
pub(super) fn model_file(path: &Path) -> Option<PathBuf> {
    let extension = path.extension().and_then(OsStr::to_str);
    if matches!(extension, Some("json" | "toml" | "gguf")) {
        return Some(path.to_path_buf());
    }
    let in_folder = |folder: &Path| {
        let config = folder.join("config.json");
        let files = disk::entries(folder).ok()?;
        let mut packed = files
            .into_iter()
            .filter(|file| file.extension() == Some(OsStr::new("gguf")));
        let one = packed.next().filter(|_| packed.next().is_none());
        exists(&config).then_some(config).or(one)
    };
    let revision = read_to_text(&path.join("refs").join("main")).ok();
    let revision = revision.map(|text| text.trim().to_owned());
    let named = revision.filter(|text| text.bytes().all(|byte| byte.is_ascii_hexdigit()));
    let checked_out = named.map(|revision| path.join("snapshots").join(revision));
    checked_out.map_or_else(|| in_folder(path), |folder| in_folder(&folder))
}

/// The TOML files of a folder in the order of their names; none if there is no such folder.
pub(super) fn toml_files(folder: &Path) -> Result<Vec<PathBuf>, Diagnostic> {
    if !disk::exists(folder) {
        return Ok(Vec::new());
    }
    let mut files = disk::entries(folder).map_err(|error| unreadable(folder, &error))?;
    files.retain(|path| is_toml(path) && !id_of(path).starts_with('.'));
    files.sort();
    Ok(files)
}

/// Whether there is such a file or folder.
pub(super) fn exists(path: &Path) -> bool {
    disk::exists(path)
}

/// Asks that a folder exist.
pub(super) fn require_folder(folder: &Path) -> Result<(), Diagnostic> {
    disk::entries(folder)
        .map(drop)
        .map_err(|error| unreadable(folder, &error))
}

/// Whether a file is named as one of a catalog.
pub(super) fn is_toml(path: &Path) -> bool {
    path.extension() == Some(OsStr::new("toml"))
}

/// The id of the entity that a file describes: its name.
pub(super) fn id_of(file: &Path) -> String {
    file.file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

fn unreadable(path: &Path, error: &std::io::Error) -> Diagnostic {
    let help = if error.kind() == std::io::ErrorKind::InvalidData {
        "save the file as UTF-8 text"
    } else {
        "check the path and its permissions"
    };
    Diagnostic::new(
        code::UNREADABLE,
        format!("`{}` cannot be read: {error}", path.display()),
    )
    .in_file(path)
    .help(help)
}

/// What serde makes of the text of a file.
pub(super) fn parse_toml<T: DeserializeOwned>(
    file: &Path,
    text: &str,
) -> Result<T, Vec<Diagnostic>> {
    let table = toml::Deserializer::parse(text)
        .map_err(|error| vec![syntax_problem(file, text, &error)])?;
    T::deserialize(table).map_err(|error| {
        let problem = Diagnostic::new(code::WRONG_TYPE, error.message());
        vec![at(file, text, &error, problem)]
    })
}

fn syntax_problem(file: &Path, text: &str, error: &toml::de::Error) -> Diagnostic {
    let message = format!("this is not TOML: {}", error.message());
    let problem = Diagnostic::new(code::SYNTAX, message);
    at(file, text, error, problem).accepted("TOML 1.0, as described on https://toml.io")
}

fn at(file: &Path, text: &str, error: &toml::de::Error, problem: Diagnostic) -> Diagnostic {
    let offset = error.span().map_or(0, |span| span.start);
    problem.in_file(file).at(Position::in_text(text, offset))
}
