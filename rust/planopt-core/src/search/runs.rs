//! Clusters that a search for a run found, as rows that can be bought.

use std::sync::Arc;

use super::found::{Finding, Found, Laid, Work};
use super::result::SearchResult;
use super::rows::{Row, SystemNames};
use super::trained::Trained;
use super::training::FoundCluster;
use crate::catalog::Catalog;
use crate::quantity::{MicroUsd, SECONDS_PER_HOUR};

impl Trained {
    /// Takes in what a search found.
    pub(crate) fn found(
        mut self,
        catalog: &Arc<Catalog>,
        result: &SearchResult<FoundCluster>,
    ) -> Found {
        let mut finding = Finding::default();
        for cluster in &result.found {
            let hardware = &cluster.hardware;
            let system = SystemNames::of(hardware, cluster.accelerators, cluster.hosts);
            let layout = cluster.layout;
            let laid = Laid { layout, part: 0 };
            finding.put(laid, system, &hardware.accelerator.id, row_of(cluster));
            self.run_seconds.push(cluster.run.0);
        }
        finding.add(result);
        finding.of(Arc::clone(catalog), Work::Training(Box::new(self)))
    }
}

/// A cluster serves one run, at the run's own speed. What is rented costs what its run does.
fn row_of(cluster: &FoundCluster) -> Row {
    let hours = cluster.run.0 / SECONDS_PER_HOUR;
    Row {
        price_micro_usd: match cluster.hardware.host.rent {
            None => cluster.price.0,
            Some(_) => times(cluster.price, hours).0,
        },
        usd_per_hour: cluster.usd_per_hour,
        power_watts: cluster.power.0,
        rack_units: cluster.rack_units,
        replicas: 1,
        users: 1,
        tokens_per_second: cluster.tokens_per_second,
        tokens_per_second_per_user: cluster.tokens_per_second,
        goodput: 1.0,
        ..Row::default()
    }
}

/// The price of so many hours, to the nearest micro-dollar.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "below 2^53 micro-dollars, nine billion dollars"
)]
fn times(price: MicroUsd, hours: f64) -> MicroUsd {
    MicroUsd((price.0 as f64 * hours).round_ties_even() as i64)
}
