//! `measurements/residuals.toml` and `serving-residuals.toml`: how far predictions were from
//! measured rows that no fit had seen.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use super::read::{exists, parse_toml, read_to_text};
use crate::diagnostic::Diagnostic;

const FILES: [&str; 2] = ["residuals.toml", "serving-residuals.toml"];

/// A file of errors. The fit that writes it says how much of a class speaks for it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    /// Rows below which a class says nothing of its own.
    least_rows: u64,
    /// Groups, of rows that err alike, below which it says nothing either.
    #[serde(default)]
    least_groups: u64,
    /// How rows lie in the intervals, by metric: for who reads the file.
    #[serde(default, rename = "judged")]
    _judged: Vec<IgnoredAny>,
    residual: Vec<Residual>,
}

/// Errors of a metric of a class: measured over predicted.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Residual {
    /// What was measured.
    #[serde(skip_serializing)]
    metric: String,
    /// Class: an accelerator or a family, and `dense` or `moe`; or everything.
    pub of: String,
    /// Rows that were measured.
    pub rows: u64,
    /// What a tenth is below.
    pub low: f64,
    /// What a tenth is above.
    pub high: f64,
    /// Error in the median, as a share.
    pub median_ape: f64,
    /// Error in the mean.
    pub mape: f64,
    /// Groups of rows that err alike, where they were counted.
    #[serde(skip_serializing)]
    pub groups: Option<u64>,
    /// Releases of the engines that they were measured under, and when that was.
    #[serde(skip_serializing)]
    pub data: Option<String>,
}

/// Errors by metric and class, of classes that speak for themselves.
type Known = BTreeMap<(String, String), Residual>;

/// The errors of predictions, which are read when they are first asked for.
#[derive(Clone, Debug)]
pub struct Residuals {
    root: PathBuf,
    read: OnceLock<Result<Known, Vec<Diagnostic>>>,
}

impl Residuals {
    /// Those of the catalogs in `root`.
    pub(super) fn of(root: &Path) -> Self {
        Self {
            root: root.to_path_buf(),
            read: OnceLock::new(),
        }
    }

    /// Errors of a metric of the first of some classes that speaks for itself, and whether it is
    /// the class of everything, which comes last.
    pub fn nearest(
        &self,
        metric: &str,
        classes: &[String],
        everything: &str,
    ) -> Result<Option<(Residual, bool)>, Vec<Diagnostic>> {
        let known = self.known()?;
        let mut classes = classes.iter().map(String::as_str).chain([everything]);
        Ok(classes.find_map(|class| {
            let found = known.get(&(metric.to_owned(), class.to_owned()))?;
            Some((found.clone(), class == everything))
        }))
    }
}

impl Residuals {
    fn known(&self) -> Result<&Known, Vec<Diagnostic>> {
        let known = self.read.get_or_init(|| read(&self.root)).as_ref();
        known.map_err(Clone::clone)
    }

    /// Errors of a metric of all classes whose names end so, those that speak for themselves.
    pub fn ending<'a>(
        &'a self,
        metric: &'a str,
        end: &'a str,
    ) -> Result<impl Iterator<Item = &'a Residual>, Vec<Diagnostic>> {
        let known = self.known()?.values();
        Ok(known.filter(move |each| each.metric == metric && each.of.ends_with(end)))
    }
}

fn read(root: &Path) -> Result<Known, Vec<Diagnostic>> {
    let mut known = Known::new();
    for name in FILES {
        let file = root.join("measurements").join(name);
        if exists(&file) {
            known.extend(telling(&file, &read_to_text(&file)?)?);
        }
    }
    Ok(known)
}

/// Classes of a file that have rows and groups enough to speak for themselves.
fn telling(file: &Path, text: &str) -> Result<Known, Vec<Diagnostic>> {
    let read: File = parse_toml(file, text)?;
    let enough = |each: &Residual| {
        let of_groups = |groups| groups >= read.least_groups;
        each.rows >= read.least_rows && each.groups.is_none_or(of_groups)
    };
    let rows = read.residual.into_iter().filter(enough);
    Ok(rows
        .map(|each| ((each.metric.clone(), each.of.clone()), each))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"
least_rows = 20
least_groups = 3
[[residual]]
metric = "tpot"
of = "few rows"
rows = 19
low = 0.5
high = 2
median_ape = 0.1
mape = 0.1
[[residual]]
metric = "tpot"
of = "few groups"
rows = 20
low = 0.5
high = 2
median_ape = 0.1
mape = 0.1
groups = 2
[[residual]]
metric = "tpot"
of = "enough"
rows = 20
low = 0.5
high = 2
median_ape = 0.1
mape = 0.1
groups = 3
"#;

    fn classes(text: &str) -> Result<Vec<String>, String> {
        let known = telling(Path::new("residuals.toml"), text);
        let known = known.map_err(|problems| problems[0].to_string())?;
        Ok(known.into_keys().map(|(_, of)| of).collect())
    }

    #[test]
    fn a_class_speaks_with_rows_and_groups_enough() {
        assert_eq!(classes(FILE), Ok(vec!["enough".to_owned()]));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        for (right, wrong, code, place) in [
            ("rows = 19", "rows = \"many\"", "E104", "residuals.toml:7:8"),
            ("low = 0.5\n", "", "E104", "residuals.toml:4:1"),
            ("mape = 0.1", "smape = 0.1", "E104", "residuals.toml:11:1"),
            ("high = 2", "high = ", "E101", "residuals.toml:9:8"),
        ] {
            let told = classes(&FILE.replacen(right, wrong, 1)).unwrap_err();
            assert!(told.contains(code) && told.contains(place), "{told}");
        }
    }
}
