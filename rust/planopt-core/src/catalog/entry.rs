//! An entity of a catalog together with where each of its figures comes from.

use crate::diagnostic::{Diagnostic, Position};
use crate::quantity::MicroUsd;
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
    /// Said by whoever asks; no file says it of itself.
    Given,
}

impl Status {
    /// Its name.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Stored => "stored",
            Self::FromMemory => "from-memory",
            Self::Derived => "derived",
            Self::Assumed => "assumed",
            Self::Given => "given",
        }
    }
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
    /// What a question has done to it since: discounts, tax.
    #[serde(skip)]
    pub changes: Vec<String>,
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
    /// What it comes to as a price; none of anything else.
    pub tag: Option<Tag>,
    /// Where in the file it stands.
    pub position: Position,
}

/// A price as a file states it: `{ value, low, high, per, source }`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag {
    /// Price of one, rounded up to a micro-dollar.
    pub each: MicroUsd,
    /// The lowest that one is seen at.
    pub low: Option<MicroUsd>,
    /// The highest.
    pub high: Option<MicroUsd>,
    /// How many the price that was read is for: 8 of a board of eight.
    pub per: u32,
}

/// An entity with the file and the figures it was read from.
#[derive(Clone, Debug)]
pub struct Entry<T> {
    /// What was read.
    pub entity: T,
    /// Every value of the file, in its order.
    pub figures: Vec<Figure>,
    /// What else it is called.
    pub aliases: Vec<String>,
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
