//! What is wrong with an input: a code, where it stands, the value, what would be accepted and
//! how to mend it. Problems are collected, so that a file is read once to hear of all of them.

pub mod option;

use std::fmt;
use std::path::{Path, PathBuf};

/// The codes of problems with names and files, as `planopt explain` knows them.
pub mod code {

    /// No entity has the id that was asked for.
    pub const UNKNOWN_NAME: &str = "E001";

    /// An option with a value that cannot be read.
    pub const MALFORMED_OPTION: &str = "E002";

    /// An option with a number that cannot be.
    pub const OPTION_OUT_OF_RANGE: &str = "E003";

    /// Options that cannot be together.
    pub const CONTRADICTION: &str = "E004";

    /// An option that is needed and not given.
    pub const MISSING_OPTION: &str = "E005";

    /// A file or folder cannot be read.
    pub const UNREADABLE: &str = "E006";

    /// The text is not TOML.
    pub const SYNTAX: &str = "E101";

    /// A key that is needed is absent.
    pub const MISSING_KEY: &str = "E102";

    /// A key that nothing reads.
    pub const UNKNOWN_KEY: &str = "E103";

    /// A value of another type, or a word that is none of the choices.
    pub const WRONG_TYPE: &str = "E104";

    /// A quantity that cannot be read, or in a unit of something else.
    pub const MALFORMED_QUANTITY: &str = "E105";

    /// A quantity that can be read but not be true.
    pub const OUT_OF_RANGE: &str = "E106";

    /// A reference to an entity or source that does not exist.
    pub const UNKNOWN_REFERENCE: &str = "E107";

    /// An id that differs from its file name, or that two files claim.
    pub const WRONG_ID: &str = "E108";
}

/// A position in a text, both counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub struct Position {
    /// Line.
    pub line: usize,
    /// Column, in characters.
    pub column: usize,
}

impl Position {
    /// The first character of a text.
    pub const START: Self = Self { line: 1, column: 1 };

    /// The position of the byte at `offset`, or of the end of a shorter text.
    pub fn in_text(text: &str, offset: usize) -> Self {
        Lines::of(text).position(offset)
    }
}

/// Where the lines of a text start, so that many positions in it are found quickly.
pub struct Lines<'t> {
    text: &'t str,
    starts: Vec<usize>,
}

impl<'t> Lines<'t> {
    /// The lines of a text.
    pub fn of(text: &'t str) -> Self {
        let after_newlines = text.match_indices('\n').map(|(newline, _)| newline + 1);
        Self {
            text,
            starts: std::iter::once(0).chain(after_newlines).collect(),
        }
    }

    /// The position of the byte at `offset`, or of the end of a shorter text.
    pub fn position(&self, offset: usize) -> Position {
        let before = self.text.get(..offset).unwrap_or(self.text);
        let line = self.starts.partition_point(|start| *start <= before.len());
        Position {
            line,
            column: 1 + before[self.starts[line - 1]..].chars().count(),
        }
    }
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
    #[serde(flatten)]
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

impl Diagnostic {
    /// A problem of which only the code and the sentence are known yet.
    pub fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            file: None,
            position: None,
            field: None,
            value: None,
            accepted: None,
            help: None,
        }
    }

    /// No `kind` is called `name`; `valid` are.
    pub fn unknown_name<'a>(
        kind: &str,
        name: &str,
        valid: impl IntoIterator<Item = &'a str> + Clone,
    ) -> Self {
        Self::new(code::UNKNOWN_NAME, format!("no {kind} is called `{name}`"))
            .value(name)
            .one_of(name, valid)
    }

    /// Names the file.
    #[must_use]
    pub fn in_file(mut self, file: &Path) -> Self {
        self.file = Some(file.to_path_buf());
        self
    }

    /// Says where in the file.
    #[must_use]
    pub fn at(mut self, position: Position) -> Self {
        self.position = Some(position);
        self
    }

    /// Names the field or option.
    #[must_use]
    pub fn field(mut self, field: impl Into<String>) -> Self {
        self.field = Some(field.into());
        self
    }

    /// Quotes the value found.
    #[must_use]
    pub fn value(mut self, value: impl Into<String>) -> Self {
        self.value = Some(value.into());
        self
    }

    /// Says what would be accepted.
    #[must_use]
    pub fn accepted(mut self, accepted: impl Into<String>) -> Self {
        self.accepted = Some(accepted.into());
        self
    }

    /// Says what to do.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Says what to do, where nothing better is known.
    #[must_use]
    pub fn help_unless(mut self, help: impl Into<String>) -> Self {
        self.help = self.help.or_else(|| Some(help.into()));
        self
    }

    /// Lists the names that are accepted in place of `name`, and the nearest of them as help.
    #[must_use]
    pub fn one_of<'a>(
        mut self,
        name: &str,
        valid: impl IntoIterator<Item = &'a str> + Clone,
    ) -> Self {
        self.accepted = Some(listed(valid.clone()));
        self.help = did_you_mean(&nearest(name, valid)).or(self.help);
        self
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error[{}]: {}", self.code, self.message)?;
        if let Some(file) = &self.file {
            write!(f, "\n  --> {}", file.display())?;
            if let Some(Position { line, column }) = self.position {
                write!(f, ":{line}:{column}")?;
            }
        }
        let details = [
            ("field", &self.field),
            ("value", &self.value),
            ("accepted", &self.accepted),
            ("help", &self.help),
        ];
        for (label, detail) in details {
            if let Some(text) = detail {
                write!(f, "\n  {label:<8}  {text}")?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostic {}

impl From<Diagnostic> for Vec<Diagnostic> {
    fn from(problem: Diagnostic) -> Self {
        vec![problem]
    }
}

/// The problems of an input met so far.
#[derive(Clone, Debug, Default)]
pub struct Problems(Vec<Diagnostic>);

impl Problems {
    /// Adds one.
    pub fn push(&mut self, problem: Diagnostic) {
        self.0.push(problem);
    }

    /// Keeps the problems of a result, and gives back what succeeded.
    pub fn keep<T>(&mut self, result: Result<T, Vec<Diagnostic>>) -> Option<T> {
        result.map_err(|problems| self.0.extend(problems)).ok()
    }

    /// `value`, if there were no problems.
    ///
    /// # Errors
    ///
    /// The problems otherwise, in the order they were met.
    pub fn unless_any<T>(self, value: T) -> Result<T, Vec<Diagnostic>> {
        if self.0.is_empty() {
            Ok(value)
        } else {
            Err(self.0)
        }
    }
}

/// How alike two names must be (Jaro-Winkler, 0 to 1) for one to be offered for the other.
const ALIKE: f64 = 0.85;

/// How many names are offered, or listed in full.
const OFFERED: usize = 3;

const LISTED: usize = 16;

/// The names most like `name`, best first: none, or up to three.
pub fn nearest<'a>(name: &str, valid: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let wanted = comparable(name);
    let mut alike: Vec<(f64, &str)> = valid
        .into_iter()
        .map(|candidate| {
            (
                strsim::jaro_winkler(&wanted, &comparable(candidate)),
                candidate,
            )
        })
        .filter(|(likeness, _)| *likeness >= ALIKE)
        .collect();
    alike.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    alike
        .into_iter()
        .take(OFFERED)
        .map(|(_, candidate)| candidate)
        .collect()
}

/// The question that offers `names`, if there are any.
pub fn did_you_mean(names: &[&str]) -> Option<String> {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    (!quoted.is_empty()).then(|| format!("did you mean {}?", quoted.join(" or ")))
}

/// Case and the choice of separator are what people get wrong first.
fn comparable(name: &str) -> String {
    name.to_lowercase().replace(['_', ' '], "-")
}

fn listed<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    match names.len() {
        0 => "nothing: there are none".into(),
        1..=LISTED => names.join(", "),
        count => format!("{}, ... ({count} in all)", names[..LISTED].join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_counts_characters_from_one() {
        let text = "a = 1\nµs = \"é\" x";
        assert_eq!(Position::in_text(text, 0), Position::START);
        let offset = text.find('x').expect("there is an x");
        assert_eq!(
            Position::in_text(text, offset),
            Position {
                line: 2,
                column: 10
            }
        );
        assert_eq!(
            Position::in_text(text, 1000),
            Position {
                line: 2,
                column: 11
            }
        );
    }

    #[test]
    fn a_diagnostic_prints_what_it_knows() {
        let bare = Diagnostic::new(code::UNREADABLE, "cannot read it");
        assert_eq!(bare.to_string(), "error[E006]: cannot read it");
        let full = bare
            .in_file(Path::new("a.toml"))
            .at(Position {
                line: 3,
                column: 10,
            })
            .field("memory")
            .value("24 GX")
            .accepted("24 GiB")
            .help("write it");
        assert_eq!(
            full.to_string(),
            "error[E006]: cannot read it\n  --> a.toml:3:10\n  field     memory\n  \
             value     24 GX\n  accepted  24 GiB\n  help      write it"
        );
    }

    #[test]
    fn the_nearest_names_come_best_first() {
        let ids = ["h100-pcie", "h100-sxm", "rtx-4090", "rtx-4090-d", "l4"];
        assert_eq!(nearest("rtx4090", ids), ["rtx-4090", "rtx-4090-d"]);
        assert_eq!(nearest("H100_SXM", ids)[0], "h100-sxm");
        assert_eq!(nearest("quantum", ids), Vec::<&str>::new());
    }

    #[test]
    fn an_unknown_name_lists_few_names_and_counts_many() {
        let few = Diagnostic::unknown_name("link", "pci", ["pcie", "eth"]);
        assert_eq!(few.accepted.as_deref(), Some("pcie, eth"));
        assert_eq!(few.help.as_deref(), Some("did you mean `pcie`?"));
        let ids: Vec<String> = (0..40).map(|index| format!("id-{index}")).collect();
        let many = Diagnostic::unknown_name("link", "x", ids.iter().map(String::as_str));
        assert!(
            many.accepted
                .is_some_and(|text| text.ends_with("... (40 in all)"))
        );
        assert_eq!(many.help, None);
    }

    #[test]
    fn problems_are_all_kept() {
        let mut problems = Problems::default();
        assert_eq!(problems.keep(Ok(1)), Some(1));
        assert_eq!(problems.clone().unless_any(2), Ok(2));
        problems.push(Diagnostic::new("E1", "one"));
        let more = vec![Diagnostic::new("E2", "two"), Diagnostic::new("E3", "three")];
        assert_eq!(problems.keep(Err::<(), _>(more)), None);
        let codes = problems.unless_any(()).map_err(|all| all.len());
        assert_eq!(codes, Err(3));
    }
}
