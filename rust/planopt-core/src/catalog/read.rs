//! Files to entries. This is the only module of the core that touches the file system; where there
//! is none, in a browser, files are those that were handed over.

#[cfg_attr(target_family = "wasm", path = "read/held.rs")]
mod disk;

#[cfg(target_family = "wasm")]
pub use self::disk::hold;

use super::entry::{Entry, Figure};
use super::fields::{Fields, Log};
use super::value::json_of;
use crate::diagnostic;
use crate::diagnostic::{Diagnostic, Lines, Position, Problems};
use crate::transformer::{Architecture, read_config};
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
pub(super) fn read_json(file: &Path) -> Result<serde_json::Value, Vec<Diagnostic>> {
    let text = read_to_text(file)?;
    let table = DeTable::parse(&text).map_err(|error| vec![syntax_problem(file, &text, &error)])?;
    Ok(json_of(&DeValue::Table(table.into_inner())))
}

/// The model that a Hugging Face `config.json` describes.
pub(super) fn read_config_file(file: &Path) -> Result<Architecture, Vec<Diagnostic>> {
    read_config(&read_to_text(file)?, file)
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
        diagnostic::UNREADABLE,
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
        let problem = Diagnostic::new(diagnostic::WRONG_TYPE, error.message());
        vec![at(file, text, &error, problem)]
    })
}

fn syntax_problem(file: &Path, text: &str, error: &toml::de::Error) -> Diagnostic {
    let message = format!("this is not TOML: {}", error.message());
    let problem = Diagnostic::new(diagnostic::SYNTAX, message);
    at(file, text, error, problem).accepted("TOML 1.0, as described on https://toml.io")
}

fn at(file: &Path, text: &str, error: &toml::de::Error, problem: Diagnostic) -> Diagnostic {
    let offset = error.span().map_or(0, |span| span.start);
    problem.in_file(file).at(Position::in_text(text, offset))
}
