//! An entity of a catalog together with where each of its figures comes from.

use super::fields::Fields;
use crate::diagnostic::{Diagnostic, Position};
use std::path::PathBuf;

/// How well a source is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// Read in the cited material.
    Stored,
    /// To be checked.
    FromMemory,
    /// Arithmetic on other figures, given in the citation.
    Derived,
    /// A choice, explained in the citation.
    Assumed,
}

/// Where a figure comes from.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Source {
    /// The material.
    pub cite: String,
    /// When it was published or read.
    pub date: String,
    /// How well it is known.
    pub status: Status,
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
        }
    }
}

/// One value of an entity, as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Figure {
    /// The key with the tables it is in, as in `peak.bf16`.
    pub field: String,
    /// The value.
    pub text: String,
    /// Where it comes from; none for a bare value, which stands for itself.
    pub source: Option<Source>,
    /// Where in the file it stands.
    pub position: Position,
}

/// An entity with the file and the figures it was read from.
#[derive(Clone, Debug)]
pub struct Entry<T> {
    /// What was read.
    pub entity: T,
    /// Every value of the file, in its order.
    pub figures: Vec<Figure>,
    /// The file.
    pub file: PathBuf,
}

impl<T> Entry<T> {
    /// The value of `field`, if the file has it.
    pub fn figure(&self, field: &str) -> Option<&Figure> {
        self.figures.iter().find(|figure| figure.field == field)
    }

    /// The first field whose name starts with `prefix`, or the prefix where there is none.
    pub(super) fn first_field_under(&self, prefix: &str) -> String {
        self.figures
            .iter()
            .find(|figure| figure.field.starts_with(prefix))
            .map_or_else(|| prefix.to_owned(), |figure| figure.field.clone())
    }

    /// A problem with the value of `field`.
    pub(super) fn problem(&self, code: &'static str, field: &str, message: String) -> Diagnostic {
        let problem = Diagnostic::new(code, message)
            .in_file(&self.file)
            .field(field);
        match self.figure(field) {
            Some(figure) => problem.at(figure.position).value(&figure.text),
            None => problem.at(Position::START),
        }
    }
}
