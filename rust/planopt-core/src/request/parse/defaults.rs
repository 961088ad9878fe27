//! `planopt.toml`: what options are where nobody says otherwise.

use std::path::Path;

use serde::Serialize;
use serde_json::Value;

use super::read_options;
use crate::catalog::{Fields, read_file};
use crate::diagnostic::{Diagnostic, Position};
use crate::options::{Entry, table};
use crate::request::Given;

/// What the table of options calls this kind of file.
const FILE: &str = "planopt";

/// An option as a file says it.
#[derive(Debug, Serialize)]
pub struct DefaultOption {
    /// Its argument of the API.
    argument: String,
    /// As it was written.
    value: Value,
    /// Where.
    line: usize,
    /// In characters.
    column: usize,
}

/// Reads defaults of options. Names are looked up once a question is asked of a catalog.
///
/// # Errors
///
/// Everything that is wrong with the file: what is no option that it may set, and each value that
/// its option does not take.
pub fn read_defaults(file: &Path) -> Result<Vec<DefaultOption>, Vec<Diagnostic>> {
    let entry = read_file(file, |fields| {
        let options = table().options.iter();
        let read = options.filter_map(|option| Some((key(option)?, value(fields, option)?)));
        read.collect::<Vec<_>>()
    })?;
    let place = |key: &str| {
        entry
            .figure(key)
            .map_or(Position::START, |figure| figure.position)
    };
    let options = entry.entity.iter();
    let told = options.map(|(key, (argument, value))| DefaultOption {
        argument: argument.clone(),
        value: value.clone(),
        line: place(key).line,
        column: place(key).column,
    });
    Ok(told.collect())
}

fn key(option: &'static Entry) -> Option<&'static str> {
    let keys = option.toml.get(FILE)?;
    keys.first().map(String::as_str)
}

/// The argument and the value of an option that the file has, as a command that takes it reads it.
fn value(fields: &mut Fields<'_>, option: &'static Entry) -> Option<(String, Value)> {
    let command = option.commands.keys().next()?;
    let value = fields.optional(key(option)?, |fields, key| {
        let value = fields.json(key);
        let given = vec![(option.argument(), Given::from(value.clone()))];
        for problem in read_options(command, given).err().unwrap_or_default() {
            fields.reject(key, problem);
        }
        value
    })?;
    Some((option.argument(), value))
}
