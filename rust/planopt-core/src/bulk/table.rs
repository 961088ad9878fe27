//! All metrics of candidates, column by column.

use super::columns::Metrics;
use super::sink::{Rejected, Sink};

/// Every metric of the candidates that work, in the order of their indices.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// Which candidates.
    pub indices: Vec<u64>,
    /// Names of the metrics.
    pub names: &'static [&'static str],
    /// Each metric of all of them.
    pub columns: Vec<Vec<f64>>,
}

impl Table {
    /// With no candidates yet.
    pub fn of<C: Metrics>() -> Self {
        Self {
            indices: Vec::new(),
            names: C::NAMES,
            columns: vec![Vec::new(); C::NAMES.len()],
        }
    }
}

impl<C: Metrics> Sink<C> for Table {
    fn accept(&mut self, index: u64, count: usize, columns: &C) {
        self.indices.extend((index..).take(count));
        columns.with(|columns| {
            for (own, column) in self.columns.iter_mut().zip(columns) {
                own.extend_from_slice(&column[..count]);
            }
        });
    }

    fn reject(&mut self, _index: u64, _count: u64, _reason: Rejected) {}
}
