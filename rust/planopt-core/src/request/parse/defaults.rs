//! `planopt.toml`: what options are where nobody says otherwise.

use std::path::Path;

use serde::Serialize;
use serde_json::Value;

use super::read_options;
use super::reader::CURRENCY;
use crate::catalog::{Fields, read_file};
use crate::diagnostic::{Diagnostic, Position};
use crate::options::{Entry, table};

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
        let keys = options.flat_map(|option| keys(option).map(move |key| (key, option)));
        let mut read: Vec<(&str, (String, Value))> = Vec::new();
        for (key, option) in keys {
            let currency = read.iter().find(|(key, _)| *key == CURRENCY);
            let currency = currency.map(|(_, (_, value))| value.clone());
            read.extend(value(fields, key, option, currency).map(|value| (key, value)));
        }
        read
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

fn keys(option: &'static Entry) -> impl Iterator<Item = &'static str> {
    let keys = option.toml.get(FILE).into_iter().flatten();
    keys.map(String::as_str)
}

/// The argument and the value of an option that the file has, as a command that takes it reads it
/// beside the currency of the file.
fn value(
    fields: &mut Fields<'_>,
    key: &'static str,
    option: &Entry,
    currency: Option<Value>,
) -> Option<(String, Value)> {
    let command = option.commands.keys().next()?;
    let value = fields.optional(key, |fields, key| {
        let value = fields.json(key);
        let own = (option.argument(), value.clone());
        let currency = currency.map(|value| (CURRENCY.to_owned(), value));
        let given = currency.into_iter().chain([own]).collect();
        for problem in read_options(command, given).err().unwrap_or_default() {
            fields.reject(key, problem);
        }
        value
    })?;
    Some((option.argument(), value))
}
