//! Typed access to the fields of a configuration. A problem is noted and a harmless value handed
//! back, so that the reader goes on and every problem of the file is reported at once.

use super::position::locate;
use crate::diagnostic::Diagnostic;
use serde_json::{Map, Value};
use std::path::Path;

/// Largest accepted width: more than twice the widest published feed-forward layer, and small
/// enough that no product of a model leaves 64 bits.
pub(super) const WIDTHS: u64 = 1 << 18;

/// Most layers, heads and experts accepted; see [`WIDTHS`].
pub(super) const COUNTS: u64 = 1 << 12;

/// Longest context and largest vocabulary accepted; see [`WIDTHS`].
pub(super) const LENGTHS: u64 = 1 << 30;

/// Characters of an offending value that a message quotes.
const QUOTED: usize = 60;

pub(super) struct Fields<'a> {
    text: &'a str,
    file: &'a Path,
    path: &'static [&'static str],
    config: &'a Map<String, Value>,
    defaults: &'static [(&'static str, u64)],
    problems: Vec<Diagnostic>,
}

impl<'a> Fields<'a> {
    pub(super) fn new(
        text: &'a str,
        file: &'a Path,
        path: &'static [&'static str],
        config: &'a Map<String, Value>,
    ) -> Self {
        Self {
            text,
            file,
            path,
            config,
            defaults: &[],
            problems: Vec::new(),
        }
    }

    /// The value, unless it is absent or null. A dot leads into an object.
    pub(super) fn value(&self, name: &str) -> Option<&'a Value> {
        self.found(name).filter(|value| !value.is_null())
    }

    fn found(&self, name: &str) -> Option<&'a Value> {
        let (outer, inner) = name.split_once('.').unwrap_or((name, ""));
        let value = self.config.get(outer)?;
        if inner.is_empty() {
            Some(value)
        } else {
            value.get(inner)
        }
    }

    /// The first of two names, unless there is nothing under it.
    pub(super) fn either(&self, first: &'static str, other: &'static str) -> &'static str {
        self.value(first).map_or(other, |_| first)
    }

    /// Names of all that is there.
    pub(super) fn names(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.config.keys().map(String::as_str)
    }

    /// What numbers are where the file leaves them out; one that is null is none all the same.
    pub(super) fn assume(&mut self, defaults: &'static [(&'static str, u64)]) {
        self.defaults = defaults;
    }

    /// A whole number from 1 to `most` that must be there, under one of its names.
    pub(super) fn required(&mut self, names: &[&str], most: u64) -> u64 {
        let name = names
            .iter()
            .find(|name| self.value(name).is_some())
            .unwrap_or(&names[0]);
        let present = self.value(name).is_some();
        self.optional(name, most).unwrap_or_else(|| {
            if !present {
                let message = format!("{} is missing", names.join(" or "));
                self.note(name, &message, None, &whole_number(1, most));
            }
            1
        })
    }

    /// A whole number from 1 to `most`, if it is there.
    pub(super) fn optional(&mut self, name: &str, most: u64) -> Option<u64> {
        self.number(name, 1, most)
    }

    /// A whole number from `least` to `most`, if it is there.
    pub(super) fn number(&mut self, name: &str, least: u64, most: u64) -> Option<u64> {
        if self.found(name).is_none() {
            let default = self.defaults.iter().find(|(field, _)| *field == name);
            return default.map(|(_, number)| *number);
        }
        let value = self.value(name)?;
        let number = one_of_equals(value)
            .as_u64()
            .filter(|number| (least..=most).contains(number));
        if number.is_none() {
            let message = format!("{name} is not a whole number in range");
            self.note(name, &message, Some(value), &whole_number(least, most));
        }
        number
    }

    /// A truth value, `default` where it is not there.
    pub(super) fn flag(&mut self, name: &str, default: bool) -> bool {
        let Some(value) = self.value(name) else {
            return default;
        };
        value.as_bool().unwrap_or_else(|| {
            self.note(
                name,
                &format!("{name} is not a truth value"),
                Some(value),
                "true or false",
            );
            default
        })
    }

    /// A text, if it is there.
    pub(super) fn string(&mut self, name: &str) -> Option<&'a str> {
        let value = self.value(name)?;
        if value.as_str().is_none() {
            self.note(
                name,
                &format!("{name} is not a text"),
                Some(value),
                "a text in quotes",
            );
        }
        value.as_str()
    }

    /// A list of whole numbers, if it is there.
    pub(super) fn numbers(&mut self, name: &str) -> Option<Vec<u64>> {
        let value = self.value(name)?;
        let numbers = value
            .as_array()
            .and_then(|list| list.iter().map(Value::as_u64).collect());
        if numbers.is_none() {
            let message = format!("{name} is not a list of whole numbers");
            self.note(name, &message, Some(value), "a list such as [0, 1, 2]");
        }
        numbers
    }

    /// Notes a problem with a field, once.
    pub(super) fn note(
        &mut self,
        name: &str,
        message: &str,
        value: Option<&Value>,
        accepted: &str,
    ) {
        let is_noted = |problem: &Diagnostic| problem.field.as_deref() == Some(name);
        if !self.problems.iter().any(is_noted) {
            let problem = self.problem(name, message, value).accepted(accepted);
            self.problems.push(problem);
        }
    }

    /// A problem with a field and its value, at the field's place.
    pub(super) fn problem(&self, name: &str, message: &str, value: Option<&Value>) -> Diagnostic {
        let path: Vec<&str> = self.path.iter().copied().chain(name.split('.')).collect();
        Diagnostic {
            position: locate(self.text, &path),
            value: value.map(quoted),
            ..Diagnostic::new(NOT_A_MODEL, message)
        }
        .in_file(self.file)
        .field(name)
    }

    /// Puts a problem before all others, if there are any.
    pub(super) fn begin_with(&mut self, problem: Diagnostic) {
        if !self.problems.is_empty() {
            self.problems.insert(0, problem);
        }
    }

    pub(super) fn finish(self) -> Result<(), Vec<Diagnostic>> {
        if self.problems.is_empty() {
            Ok(())
        } else {
            Err(self.problems)
        }
    }
}

/// What a list with one value for each layer says, where it is always the same.
fn one_of_equals(value: &Value) -> &Value {
    match value.as_array().map(Vec::as_slice) {
        Some([first, rest @ ..]) if rest.iter().all(|each| each == first) => first,
        _ => value,
    }
}

fn whole_number(least: u64, most: u64) -> String {
    format!("a whole number from {least} to {most}")
}

fn quoted(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(QUOTED) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

/// The JSON does not describe a transformer that planopt knows.
pub(crate) const NOT_A_MODEL: &str = "E111";
