//! What is wrong with an input: a code, where it stands, the value, what would be accepted and
//! how to mend it. Problems are collected, so that a file is read once to hear of all of them.

use std::path::PathBuf;

/// A position in a text, both counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub struct Position {
    /// Line.
    pub line: usize,
    /// Column, in characters.
    pub column: usize,
}

/// One problem of an input.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Diagnostic {
    /// Code, as `planopt explain` knows it.
    pub code: &'static str,
    /// What is wrong, in one sentence.
    pub message: String,
    /// The file, where there is one.
    pub file: Option<PathBuf>,
    /// Where in the file.
    pub position: Option<Position>,
    /// The field or option.
    pub field: Option<String>,
    /// The value found.
    pub value: Option<String>,
    /// What would be accepted.
    pub accepted: Option<String>,
    /// What to do.
    pub help: Option<String>,
}
