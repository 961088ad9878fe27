//! Clusters that a search for a run found, as rows that can be bought.

use std::sync::Arc;

use serde_json::Value;

use super::found::{Found, Laid, Summary, Work};
use super::rows::{Filling, Interned, Row, SystemNames};
use super::serving::Nearest;
use super::trained::Trained;
use super::training::{FoundCluster, TrainingSearchResult};
use crate::catalog::Catalog;
use crate::quantity::{MicroUsd, SECONDS_PER_HOUR};

impl Trained {
    /// Takes in what a search found.
    pub(crate) fn found(mut self, catalog: &Arc<Catalog>, result: &TrainingSearchResult) -> Found {
        let mut filling = Filling::default();
        let (mut interned, mut layouts) = (Interned::default(), Vec::new());
        for cluster in &result.clusters {
            let layout = cluster.layout;
            let laid = Laid { layout, part: 0 };
            let row = row_of(cluster, interned.place(laid, &mut layouts));
            let stock = &cluster.hardware.accelerator.id;
            filling.push(system_of(cluster), stock, row);
            self.run_seconds.push(cluster.run.0);
        }
        let rows = filling.done();
        Found {
            catalog: Arc::clone(catalog),
            summary: Summary {
                rows: rows.len(),
                ..counted(result)
            },
            rows: Arc::new(rows),
            layouts,
            work: Work::Training(Box::new(self)),
        }
    }
}

fn system_of(cluster: &FoundCluster) -> SystemNames {
    let hardware = &cluster.hardware;
    SystemNames {
        accelerator: hardware.accelerator.id.clone(),
        accelerators: cluster.accelerators,
        host: hardware.host.id.clone(),
        hosts: cluster.hosts,
        network: hardware.network.map(|(network, _)| network.id.clone()),
        nics_per_host: hardware.network.map_or(0, |(_, nics)| nics),
        switch: None,
        terms: hardware.host.rent.map(|rent| rent.terms.name()),
        weights: None,
        owned: hardware.owned.within(cluster.accelerators, cluster.hosts),
    }
}

/// A cluster serves one run, at the run's own speed. What is rented costs what its run does.
fn row_of(cluster: &FoundCluster, layout: u32) -> Row {
    let hours = cluster.run.0 / SECONDS_PER_HOUR;
    Row {
        system: 0,
        layout,
        price_micro_usd: match cluster.hardware.host.rent {
            None => cluster.price.0,
            Some(_) => times(cluster.price, hours).0,
        },
        capital_micro_usd: 0,
        usd_per_hour: cluster.usd_per_hour,
        power_watts: cluster.power.0,
        rack_units: cluster.rack_units,
        replicas: 1,
        users: 1,
        tokens_per_second: cluster.tokens_per_second,
        tokens_per_second_per_user: cluster.tokens_per_second,
        goodput: 1.0,
        switch_port_blocks: 0,
        is_build: false,
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

fn counted(result: &TrainingSearchResult) -> Summary {
    let rejected = match serde_json::to_value(result.rejected) {
        Ok(Value::Object(reasons)) => reasons,
        _ => serde_json::Map::new(),
    };
    Summary {
        covered: result.covered,
        evaluated: result.evaluated,
        rejected: rejected
            .into_iter()
            .filter(|(_, count)| count.as_u64() != Some(0))
            .collect(),
        nearest: Nearest {
            memory_ratio: result.memory_ratio,
            ..Nearest::default()
        },
        is_cut_by_time: result.interrupted,
        ..Summary::default()
    }
}
