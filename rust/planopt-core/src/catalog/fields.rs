//! A TOML table read key by key, so that the reader of an entity is the list of its fields.
//!
//! Nothing stops at the first problem: a field that cannot be read is reported and replaced by a
//! stand-in, and an entity with any report is never handed out.

mod price;

use super::entry::{Source, Status, Tag};
use super::value::{Quantity, json_of, list_of, text_of, without_source};
use crate::diagnostic::{Diagnostic, code};
use crate::options;
use crate::quantity::{Dimension, parse};
use std::collections::BTreeMap;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Of a quantity that cannot be read.
const STAND_IN: f64 = 1.0;

/// What reading a file has brought to light so far, by byte offset.
pub(super) struct Log {
    id: String,
    sources: BTreeMap<String, Source>,
    pub(super) problems: Vec<(usize, Diagnostic)>,
    pub(super) figures: Vec<Noted>,
    pub(super) aliases: Vec<String>,
}

/// A figure whose place is still a byte offset.
pub(super) struct Noted {
    pub(super) field: String,
    pub(super) text: String,
    pub(super) source: Option<Source>,
    pub(super) tag: Option<Tag>,
    pub(super) offset: usize,
}

impl Log {
    /// Of a file that is to describe the entity called `id`.
    pub(super) fn new(id: &str) -> Self {
        Self {
            id: id.to_owned(),
            sources: BTreeMap::new(),
            problems: Vec::new(),
            figures: Vec::new(),
            aliases: Vec::new(),
        }
    }
}

/// A table being read.
pub(crate) struct Fields<'s> {
    /// None stands in for a table that is missing, which has been reported.
    table: Option<&'s DeTable<'s>>,
    /// Where the table starts.
    pub(super) start: usize,
    /// The table's name with a dot behind, or nothing for the whole file.
    path: String,
    /// The keys that were asked for.
    requested: Vec<&'static str>,
    log: &'s mut Log,
}

impl<'s> Fields<'s> {
    /// Reads the table that is the whole file, after its sources.
    pub(super) fn read_root<T>(
        table: &'s DeTable<'s>,
        log: &'s mut Log,
        read: impl FnOnce(&mut Fields<'_>) -> T,
    ) -> T {
        let mut root = Fields {
            table: Some(table),
            start: 0,
            path: String::new(),
            requested: Vec::new(),
            log,
        };
        root.log.sources = root
            .named_sections("sources", Source::read)
            .into_iter()
            .collect();
        // The citations are told with the figures they belong to.
        root.log.figures.clear();
        let entity = read(&mut root);
        root.log.aliases = root.or("aliases", Vec::new(), Self::texts);
        root.report_unknown_keys();
        entity
    }

    /// The id of the entity, which is the name of the file.
    pub(super) fn id(&mut self, key: &'static str) -> String {
        let id = self.text(key);
        let expected = self.log.id.clone();
        if !id.is_empty() && id != expected {
            let message = format!("the id is `{id}`, but the file is called `{expected}.toml`");
            let problem = Diagnostic::new(code::WRONG_ID, message)
                .accepted(format!("\"{expected}\""))
                .help(format!(
                    "write `id = \"{expected}\"` or rename the file to `{id}.toml`"
                ));
            self.reject(key, problem);
        }
        id
    }

    /// A text.
    pub(crate) fn text(&mut self, key: &'static str) -> String {
        self.plain(key, "a text in quotes", |value| {
            value.as_str().map(str::to_owned)
        })
        .unwrap_or_default()
    }

    /// The id of what is named.
    pub(crate) fn named(
        &mut self,
        key: &'static str,
        id: impl FnOnce(&str) -> Result<String, Diagnostic>,
    ) -> String {
        let name = self.text(key);
        if name.is_empty() {
            return name;
        }
        id(&name).unwrap_or_else(|problem| {
            self.reject(key, problem);
            name
        })
    }

    /// Any value, as JSON has it.
    pub(crate) fn json(&mut self, key: &'static str) -> serde_json::Value {
        self.plain(key, "a value", |value| Some(json_of(value)))
            .unwrap_or_default()
    }

    /// `true` or `false`.
    pub(super) fn flag(&mut self, key: &'static str) -> bool {
        self.plain(key, "true or false", DeValue::as_bool)
            .unwrap_or_default()
    }

    /// One of a few words.
    pub(crate) fn word(&mut self, key: &'static str, words: &[&str]) -> String {
        let Some(given) = self.figure(key) else {
            return String::new();
        };
        match given.value.as_str() {
            Some(word) if words.contains(&word) => word.to_owned(),
            _ => {
                let text = text_of(given.value);
                let problem = Diagnostic::new(code::WRONG_TYPE, "this is none of the choices");
                self.report(&given, problem.one_of(&text, words.iter().copied()));
                String::new()
            }
        }
    }

    /// What one of a few words stands for.
    pub(super) fn choice<T: Clone>(&mut self, key: &'static str, choices: &[(&str, T)]) -> T {
        let words: Vec<&str> = choices.iter().map(|(word, _)| *word).collect();
        let chosen = self.word(key, &words);
        let index = words
            .iter()
            .position(|word| *word == chosen)
            .unwrap_or_default();
        choices[index].1.clone()
    }

    /// A quantity with the unit of its type, 0 or more.
    pub(crate) fn quantity<T: Quantity>(&mut self, key: &'static str) -> T {
        T::from_base(self.measured(key, T::DIMENSION, T::MOST, true))
    }

    /// A quantity with the unit of its type, more than 0.
    pub(crate) fn positive<T: Quantity>(&mut self, key: &'static str) -> T {
        T::from_base(self.measured(key, T::DIMENSION, T::MOST, false))
    }

    /// A number of a dimension that has no type of its own, 0 or more.
    pub(crate) fn number(&mut self, key: &'static str, dimension: Dimension) -> f64 {
        self.measured(key, dimension, f64::MAX, true)
    }

    /// A number of a dimension that has no type of its own, more than 0.
    pub(crate) fn positive_number(&mut self, key: &'static str, dimension: Dimension) -> f64 {
        self.measured(key, dimension, f64::MAX, false)
    }

    /// A number of a key that means the same as an option: in its unit, within its limits.
    pub(crate) fn option(&mut self, key: &'static str) -> f64 {
        let place = format!("{}{key}", without_indices(&self.path));
        let entry = options::table()
            .of_key("fleet", &place)
            .expect("a key that the table of options has");
        let dimension = entry.dimension().expect("an option with a unit");
        let value = self.number(key, dimension);
        let (least, most) = entry.range();
        if !(least..=most).contains(&value) {
            let accepted = format!("{}, from {least} to {most}", dimension.accepted());
            let problem = Diagnostic::new(code::OUT_OF_RANGE, "this is out of range");
            self.reject(key, problem.accepted(accepted));
        }
        value
    }

    /// A whole number of a key that means the same as an option.
    pub(crate) fn counted(&mut self, key: &'static str) -> u32 {
        u32::from_base(self.option(key))
    }

    /// A list of whole numbers, not empty.
    pub(super) fn counts(&mut self, key: &'static str) -> Vec<u32> {
        let whole = |value: &DeValue<'_>| {
            value
                .as_integer()
                .and_then(|n| u32::from_str_radix(n.as_str(), n.radix()).ok())
        };
        self.plain(key, "whole numbers, such as `[1, 2]`", |value| {
            list_of(value, whole)
        })
        .unwrap_or_default()
    }

    /// A list of plain numbers, not empty.
    pub(crate) fn shares(&mut self, key: &'static str) -> Vec<f64> {
        let number = |value: &DeValue<'_>| text_of(value).parse().ok();
        self.plain(key, "numbers, such as `[0.5, 1]`", |value| {
            list_of(value, number)
        })
        .unwrap_or_default()
    }

    /// Reports that a key is missing that holds tables.
    pub(crate) fn missing(&mut self, key: &'static str) {
        self.required(key);
    }

    /// A list of texts, not empty.
    pub(super) fn texts(&mut self, key: &'static str) -> Vec<String> {
        let text = |value: &DeValue<'_>| value.as_str().map(str::to_owned);
        self.plain(key, "texts, such as `[\"a\", \"b\"]`", |value| {
            list_of(value, text)
        })
        .unwrap_or_default()
    }

    /// A list of words out of a few, not empty.
    pub(super) fn words(&mut self, key: &'static str, words: &[&str]) -> Vec<String> {
        let accepted = format!("a list of any of {}", words.join(", "));
        let known = |value: &DeValue<'_>| {
            value
                .as_str()
                .filter(|word| words.contains(word))
                .map(str::to_owned)
        };
        self.plain(key, &accepted, |value| list_of(value, known))
            .unwrap_or_default()
    }

    /// What `read` makes of the key, if it is there: `fields.optional("price", Fields::quantity)`.
    pub(crate) fn optional<T>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(&mut Self, &'static str) -> T,
    ) -> Option<T> {
        self.requested.push(key);
        self.table
            .is_some_and(|table| table.contains_key(key))
            .then(|| read(self, key))
    }

    /// What `read` makes of the key, or a default.
    pub(crate) fn or<T>(
        &mut self,
        key: &'static str,
        default: T,
        read: impl FnOnce(&mut Self, &'static str) -> T,
    ) -> T {
        self.optional(key, read).unwrap_or(default)
    }

    /// What stands under a key of a table that is laid over another: there it stands for certain,
    /// unless nothing lies below.
    pub(crate) fn laid_over<T>(
        &mut self,
        key: &'static str,
        below: Option<T>,
        read: impl FnOnce(&mut Self, &'static str) -> T,
    ) -> T {
        match below {
            Some(below) => self.or(key, below, read),
            None => read(self, key),
        }
    }

    /// The table under a key.
    pub(crate) fn section<T>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(&mut Fields<'_>) -> T,
    ) -> T {
        let found = self.required(key);
        let table = found.and_then(|value| self.table_at(key, value));
        self.enter(
            table,
            found.map_or(self.start, |value| value.span().start),
            key,
            read,
        )
    }

    /// The table under a key, if it is there.
    pub(super) fn optional_section<T>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(&mut Fields<'_>) -> T,
    ) -> Option<T> {
        self.optional(key, |fields, key| fields.section(key, read))
    }

    /// The tables of an array of tables, `[[key]]`; none if the key is absent.
    pub(crate) fn sections<T>(
        &mut self,
        key: &'static str,
        mut read: impl FnMut(&mut Fields<'_>) -> T,
    ) -> Vec<T> {
        self.requested.push(key);
        let Some(value) = self.table.and_then(|table| table.get(key)) else {
            return Vec::new();
        };
        let Some(items) = value.get_ref().as_array() else {
            self.report_wrong_type(key, value, &format!("tables, each under `[[{key}]]`"));
            return Vec::new();
        };
        let mut all = Vec::new();
        for (index, item) in items.iter().enumerate() {
            let table = self.table_at(key, item);
            let name = format!("{key}[{index}]");
            all.push(self.enter(table, item.span().start, &name, &mut read));
        }
        all
    }

    /// The tables inside of a table, by their names; none if the key is absent.
    pub(super) fn named_sections<T>(
        &mut self,
        key: &'static str,
        mut read: impl FnMut(&mut Fields<'_>) -> T,
    ) -> Vec<(String, T)> {
        self.requested.push(key);
        let Some(value) = self.table.and_then(|table| table.get(key)) else {
            return Vec::new();
        };
        let Some(tables) = self.table_at(key, value) else {
            return Vec::new();
        };
        let mut all = Vec::new();
        for (name, item) in tables {
            let table = self.table_at(key, item);
            let path = format!("{key}.{}", name.get_ref());
            let start = item.span().start;
            all.push((
                name.get_ref().to_string(),
                self.enter(table, start, &path, &mut read),
            ));
        }
        all
    }

    /// Whether a key holds a table that is not a value with its source.
    pub(super) fn is_table(&self, key: &str) -> bool {
        let found = self.table.and_then(|table| table.get(key));
        found.is_some_and(|value| without_source(value).0.get_ref().is_table())
    }

    /// Reports a problem with the value of a key that may be right by itself.
    pub(crate) fn reject(&mut self, key: &'static str, problem: Diagnostic) {
        let Some(value) = self.table.and_then(|table| table.get(key)) else {
            return;
        };
        let (value, _) = without_source(value);
        let given = self.given(key, value);
        self.report(&given, problem);
    }

    fn measured(&mut self, key: &'static str, dimension: Dimension, most: f64, zero: bool) -> f64 {
        match self.figure(key) {
            Some(given) => self.measure(&given, dimension, most, zero),
            None => STAND_IN,
        }
    }

    /// A value of some dimension, or a stand-in once it is reported.
    fn measure(&mut self, given: &Given<'_>, dimension: Dimension, most: f64, zero: bool) -> f64 {
        let text = match given.value {
            DeValue::String(_) | DeValue::Integer(_) | DeValue::Float(_) => text_of(given.value),
            _ => {
                self.report_type_of(given, dimension.accepted());
                return STAND_IN;
            }
        };
        let problem = match parse(&text, dimension) {
            Err(error) => {
                let kind = if error.is_out_of_range() {
                    code::OUT_OF_RANGE
                } else {
                    code::MALFORMED_QUANTITY
                };
                let mut problem = Diagnostic::new(kind, error.to_string());
                problem.help.clone_from(&error.help);
                problem
            }
            Ok(value) if value > most => {
                Diagnostic::new(code::OUT_OF_RANGE, format!("`{text}` is more than {most}"))
            }
            Ok(value) if !zero && value <= 0.0 => {
                Diagnostic::new(code::OUT_OF_RANGE, format!("`{text}` is not more than 0"))
            }
            Ok(value) => return value,
        };
        self.report(given, problem.accepted(dimension.accepted()));
        STAND_IN
    }

    /// A value that is not measured, as `convert` understands it.
    fn plain<T>(
        &mut self,
        key: &'static str,
        accepted: &str,
        convert: impl FnOnce(&'s DeValue<'s>) -> Option<T>,
    ) -> Option<T> {
        let given = self.figure(key)?;
        let converted = convert(given.value);
        if converted.is_none() {
            self.report_type_of(&given, accepted);
        }
        converted
    }

    /// Reads a table inside of this one.
    pub(super) fn enter<T>(
        &mut self,
        table: Option<&'s DeTable<'s>>,
        start: usize,
        name: &str,
        read: impl FnOnce(&mut Fields<'_>) -> T,
    ) -> T {
        let path = format!("{}{name}.", self.path);
        let mut inner = Fields {
            table,
            start,
            path,
            requested: Vec::new(),
            log: self.log,
        };
        let value = read(&mut inner);
        inner.report_unknown_keys();
        value
    }

    /// The value of a key, written bare or as `{ value, source }`, noted with its source.
    pub(super) fn figure(&mut self, key: &'static str) -> Option<Given<'s>> {
        self.figure_with(key, &[]).map(|(given, _)| given)
    }

    /// The same of a figure that may have further keys, with its table where it is one.
    pub(super) fn figure_with(
        &mut self,
        key: &'static str,
        further: &[&'static str],
    ) -> Option<(Given<'s>, Option<&'s DeTable<'s>>)> {
        let found = self.required(key)?;
        let (value, with_source) = without_source(found);
        let source = with_source.and_then(|table| self.cited(key, table, further));
        let given = self.given(key, value);
        self.log.figures.push(Noted {
            field: given.field.clone(),
            text: text_of(given.value),
            source,
            tag: None,
            offset: given.offset,
        });
        Some((given, with_source))
    }

    pub(super) fn given(&self, key: &str, value: &'s Spanned<DeValue<'s>>) -> Given<'s> {
        Given {
            field: format!("{}{key}", self.path),
            offset: value.span().start,
            value: value.get_ref(),
        }
    }

    /// The source that a `{ value, source }` names.
    fn cited(
        &mut self,
        key: &'static str,
        table: &'s DeTable<'s>,
        further: &[&'static str],
    ) -> Option<Source> {
        let known = [&["value", "source"], further].concat();
        for (other, value) in table {
            if !known.contains(&other.get_ref().as_ref()) {
                let given = Given {
                    offset: other.span().start,
                    ..self.given(key, value)
                };
                let message = format!("a figure has no `{}`", other.get_ref());
                let problem = Diagnostic::new(code::UNKNOWN_KEY, message);
                self.report(
                    &given,
                    problem.one_of(other.get_ref(), known.iter().copied()),
                );
            }
        }
        let named = table.get("source")?;
        let given = self.given(key, named);
        let Some(name) = named.get_ref().as_str() else {
            self.report_type_of(&given, "the name of one of the `[sources]`, in quotes");
            return None;
        };
        if let Some(source) = self.log.sources.get(name) {
            return Some(source.clone());
        }
        let problem = Diagnostic::new(
            code::UNKNOWN_REFERENCE,
            format!("no source of this file is called `{name}`"),
        )
        .help(format!("add a table `[sources.{name}]`"))
        .one_of(name, self.log.sources.keys().map(String::as_str));
        self.report(&given, problem);
        None
    }

    /// The value of a key, which is reported if it is absent.
    pub(super) fn required(&mut self, key: &'static str) -> Option<&'s Spanned<DeValue<'s>>> {
        self.requested.push(key);
        let found = self.table?.get(key);
        if found.is_none() {
            let field = format!("{}{key}", self.path);
            let problem = Diagnostic::new(code::MISSING_KEY, format!("`{field}` is missing"))
                .field(field)
                .help(format!(
                    "add `{key}`; docs/reference/catalogs.md shows what it holds"
                ));
            self.log.problems.push((self.start, problem));
        }
        found
    }

    pub(super) fn table_at(
        &mut self,
        key: &'static str,
        value: &'s Spanned<DeValue<'s>>,
    ) -> Option<&'s DeTable<'s>> {
        let table = value.get_ref().as_table();
        if table.is_none() {
            self.report_wrong_type(key, value, &format!("a table under `[{}{key}]`", self.path));
        }
        table
    }

    pub(super) fn report_unknown_keys(&mut self) {
        let Some(table) = self.table else { return };
        self.requested.dedup(); // a key that may be absent is looked at before it is read
        for (key, value) in table {
            let name = key.get_ref().as_ref();
            if !self.requested.contains(&name) {
                let given = Given {
                    offset: key.span().start,
                    ..self.given(name, value)
                };
                let message = format!("nothing reads `{}`", given.field);
                let problem = Diagnostic::new(code::UNKNOWN_KEY, message)
                    .help("remove it")
                    .one_of(name, self.requested.iter().copied());
                self.log
                    .problems
                    .push((given.offset, problem.field(given.field)));
            }
        }
    }

    pub(super) fn report_wrong_type(
        &mut self,
        key: &str,
        value: &'s Spanned<DeValue<'s>>,
        accepted: &str,
    ) {
        let given = self.given(key, value);
        self.report_type_of(&given, accepted);
    }

    pub(super) fn report_type_of(&mut self, given: &Given<'_>, accepted: &str) {
        let message = format!(
            "this is not {accepted}, but of type {}",
            given.value.type_str()
        );
        self.report(
            given,
            Diagnostic::new(code::WRONG_TYPE, message).accepted(accepted),
        );
    }

    pub(super) fn report(&mut self, given: &Given<'_>, problem: Diagnostic) {
        let problem = problem.field(&given.field).value(text_of(given.value));
        self.log.problems.push((given.offset, problem));
    }
}

/// A value that is there.
pub(super) struct Given<'s> {
    pub(super) field: String,
    pub(super) offset: usize,
    pub(super) value: &'s DeValue<'s>,
}

/// A number, 0 or more.
pub(super) fn number(fields: &mut Fields<'_>, key: &'static str) -> f64 {
    fields.number(key, Dimension::Number)
}

/// A number that something is multiplied with, or divided by: more than 0.
pub(super) fn factor(fields: &mut Fields<'_>, key: &'static str) -> f64 {
    fields.positive_number(key, Dimension::Number)
}

/// A share that may be none.
pub(super) fn part(fields: &mut Fields<'_>, key: &'static str) -> f64 {
    fields.number(key, Dimension::Share)
}

/// A share that something is divided by: more than 0.
pub(super) fn share(fields: &mut Fields<'_>, key: &'static str) -> f64 {
    fields.positive_number(key, Dimension::Share)
}

impl Source {
    /// Reads one of the `[sources]` of a file.
    pub(super) fn read(source: &mut Fields<'_>) -> Self {
        Self {
            cite: source.text("cite"),
            date: source.text("date"),
            status: source.choice(
                "status",
                &[
                    ("stored", Status::Stored),
                    ("from-memory", Status::FromMemory),
                    ("derived", Status::Derived),
                    ("assumed", Status::Assumed),
                ],
            ),
            changes: Vec::new(),
        }
    }
}

/// `workload[0].size[1].` as the table of options writes it: `workload.size.`.
fn without_indices(path: &str) -> String {
    let digits = |c: char| c.is_ascii_digit() || c == '[' || c == ']';
    path.split('.')
        .map(|part| part.trim_end_matches(digits))
        .collect::<Vec<_>>()
        .join(".")
}
