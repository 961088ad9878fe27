//! Single values of a table: finding them, noting where they come from, and reporting problems.

use super::{Fields, Noted};
use crate::catalog::entry::Source;
use crate::catalog::value::{text_of, without_source};
use crate::diagnostic::{Diagnostic, code};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A value that is there.
pub(super) struct Given<'s> {
    pub(super) field: String,
    pub(super) offset: usize,
    pub(super) value: &'s DeValue<'s>,
}

impl<'s> Fields<'s> {
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
        self.asked.push(key);
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
        self.asked.dedup(); // a key that may be absent is looked at before it is read
        for (key, value) in table {
            let name = key.get_ref().as_ref();
            if !self.asked.contains(&name) {
                let given = Given {
                    offset: key.span().start,
                    ..self.given(name, value)
                };
                let message = format!("nothing reads `{}`", given.field);
                let problem = Diagnostic::new(code::UNKNOWN_KEY, message)
                    .help("remove it")
                    .one_of(name, self.asked.iter().copied());
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
