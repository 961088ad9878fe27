//! `measurements/residuals.toml` and `serving-residuals.toml`: how far predictions were from
//! measured rows that no fit had seen.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use toml::de::DeTable;

use super::read::read_to_text;
use super::value::text_of;
use crate::diagnostic::Diagnostic;

/// Rows below which a class says nothing of its own.
const LEAST_ROWS: u64 = 20;
/// Groups, of rows that err alike, below which it says nothing either.
const LEAST_GROUPS: u64 = 3;

const FILES: [&str; 2] = ["residuals.toml", "serving-residuals.toml"];

/// Errors of a metric of a class: measured over predicted.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Residual {
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
    #[serde(skip)]
    groups: Option<u64>,
}

impl Residual {
    /// Whether it has rows and groups enough to speak for the class.
    fn is_telling(&self) -> bool {
        let few = self.groups.is_some_and(|groups| groups < LEAST_GROUPS);
        self.rows >= LEAST_ROWS && !few
    }
}

/// Errors by metric and class.
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
    ///
    /// # Errors
    ///
    /// A file that cannot be read.
    pub fn nearest(
        &self,
        metric: &str,
        classes: &[String],
        everything: &str,
    ) -> Result<Option<(Residual, bool)>, Vec<Diagnostic>> {
        let known = self.read.get_or_init(|| read(&self.root)).as_ref();
        let known = known.map_err(Clone::clone)?;
        let mut classes = classes.iter().map(String::as_str).chain([everything]);
        Ok(classes.find_map(|class| {
            let found = known.get(&(metric.to_owned(), class.to_owned()))?;
            found
                .is_telling()
                .then(|| (found.clone(), class == everything))
        }))
    }
}

fn read(root: &Path) -> Result<Known, Vec<Diagnostic>> {
    let mut known = Known::new();
    for name in FILES {
        let file = root.join("measurements").join(name);
        if !file.exists() {
            continue;
        }
        let text = read_to_text(&file)?;
        let (table, _) = DeTable::parse_recoverable(&text);
        let rows = table.get_ref().get("residual");
        let rows = rows.and_then(|rows| rows.get_ref().as_array());
        known.extend(rows.into_iter().flatten().filter_map(|row| {
            let row = row.get_ref().as_table()?;
            let named = |key: &str| Some(row.get(key)?.get_ref().as_str()?.to_owned());
            let text = |key: &str| Some(text_of(row.get(key)?.get_ref()));
            let count = |key: &str| text(key)?.parse().ok();
            let figure = |key: &str| text(key)?.parse().ok();
            let residual = Residual {
                of: named("of")?,
                median_ape: figure("median_ape")?,
                mape: figure("mape")?,
                rows: count("rows")?,
                low: figure("low")?,
                high: figure("high")?,
                groups: count("groups"),
            };
            Some(((named("metric")?, named("of")?), residual))
        }));
    }
    Ok(known)
}
