//! What a search found, with names, as columns of one length.

use super::found::{Found, Part, Work};
use super::rows::{Columns, SystemNames};
use super::trained::Trained;
use crate::parallel::{Layout, Zero};
use serde::Serialize;

/// Rows with their names, as columns of one length.
#[derive(Clone, Debug, Serialize)]
#[expect(
    missing_docs,
    reason = "each is a column of the rows, of their systems or layouts"
)]
pub struct Listed<'f> {
    pub accelerator: Vec<&'f str>,
    pub accelerators: Vec<u32>,
    pub host: Vec<&'f str>,
    pub hosts: Vec<u32>,
    pub terms: Vec<Option<&'f str>>,
    pub network: Vec<Option<&'f str>>,
    pub nics_per_host: Vec<u32>,
    pub switch: Vec<Option<&'f str>>,
    pub tp: Vec<u32>,
    pub cp: Vec<u32>,
    pub dp: Vec<u32>,
    pub ep: Vec<u32>,
    pub pp: Vec<u32>,
    pub batch: Vec<u32>,
    #[serde(flatten)]
    pub columns: &'f Columns,
    #[serde(flatten)]
    pub work: ListedWork<'f>,
}

/// What is known of one kind of work alone: columns of the same length.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
#[expect(missing_docs, reason = "each is a column of layouts, or of the work")]
pub enum ListedWork<'f> {
    /// Units that serve.
    Serving {
        in_flight: Vec<u32>,
        weights: Vec<&'f str>,
        kv: Vec<&'f str>,
    },
    /// Clusters that train.
    Training {
        shard: Vec<Zero>,
        run_seconds: &'f [f64],
    },
}

impl Found {
    /// Every row with its names.
    pub fn listed(&self) -> Listed<'_> {
        let rows = &self.rows;
        let named = || (0..rows.len()).map(|row| rows.system(row));
        let count = |of: fn(&SystemNames) -> u32| named().map(of).collect();
        let degree = |of: fn(&Layout) -> u32| self.each_layout().map(|own| of(&own)).collect();
        Listed {
            accelerator: named().map(|own| own.accelerator.as_str()).collect(),
            accelerators: count(|own| own.accelerators),
            host: named().map(|own| own.host.as_str()).collect(),
            hosts: count(|own| own.hosts),
            terms: named().map(|own| own.terms.as_deref()).collect(),
            network: named().map(|own| own.network.as_deref()).collect(),
            nics_per_host: count(|own| own.nics_per_host),
            switch: named().map(|own| own.switch.as_deref()).collect(),
            tp: degree(|layout| layout.tp),
            cp: degree(|layout| layout.cp),
            dp: degree(|layout| layout.dp),
            ep: degree(|layout| layout.ep),
            pp: degree(|layout| layout.pp),
            batch: degree(|layout| layout.batch),
            columns: &rows.columns,
            work: match &self.work {
                Work::Serving(parts) => self.units(parts),
                Work::Training(trained) => self.runs(trained),
            },
        }
    }

    fn each_layout(&self) -> impl Iterator<Item = Layout> {
        (0..self.rows.len()).map(|row| self.layout(row))
    }

    fn units<'f>(&self, parts: &'f [Part]) -> ListedWork<'f> {
        let formats = || (0..self.rows.len()).map(|row| parts[self.part(row)].question.formats);
        ListedWork::Serving {
            in_flight: self.each_layout().map(|layout| layout.in_flight).collect(),
            weights: formats().map(|formats| formats.weights.name()).collect(),
            kv: formats().map(|formats| formats.kv.name()).collect(),
        }
    }

    fn runs<'f>(&self, trained: &'f Trained) -> ListedWork<'f> {
        ListedWork::Training {
            shard: self.each_layout().map(|layout| layout.zero).collect(),
            run_seconds: &trained.run_seconds,
        }
    }
}
