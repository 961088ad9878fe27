//! A search for clusters, in SI units and catalog ids.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use serde::{Deserialize, Serialize};

use super::EvaluateTraining;
use super::words::{CONTEXT_PARALLEL, SHARDINGS};
use crate::ask::rent::RentRequest;
use crate::ask::serving::known;
use crate::catalog::Catalog;
use crate::diagnostic::Diagnostic;
use crate::quantity::{MicroUsd, Seconds, Watts};
use crate::search::{
    FoundCluster, Payment, Selection, Space, TrainingAim, TrainingGoal, TrainingLimits,
    TrainingSearch, TrainingTally,
};
use crate::training::{Recompute, Sharding};

/// A search for clusters that train a model.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SearchTraining {
    /// What is trained, and how; its hardware and degrees are what is searched for.
    pub run: EvaluateTraining,
    /// `cheapest` or `fastest`.
    pub aim: TrainingAim,
    /// Time that the run may take, failures included.
    #[serde(default)]
    pub deadline_seconds: Option<f64>,
    /// Accelerators, at most.
    pub max_accelerators: u32,
    /// Purchase, or the whole of a rented run, at most.
    #[serde(default)]
    pub max_price_usd: Option<f64>,
    /// Draw at work, at most.
    #[serde(default)]
    pub max_power_watts: Option<f64>,
    /// Rack units, at most.
    #[serde(default)]
    pub max_rack_units: Option<f64>,
    /// Accelerators that can be had, by id.
    #[serde(default)]
    pub stock: BTreeMap<String, u32>,
    /// Accelerator ids; empty for all.
    #[serde(default)]
    pub accelerators: Vec<String>,
    /// Accelerator ids that are out.
    #[serde(default)]
    pub exclude: Vec<String>,
    /// Host ids; empty for all.
    #[serde(default)]
    pub hosts: Vec<String>,
    /// Network ids; empty for all.
    #[serde(default)]
    pub networks: Vec<String>,
    /// Only parts whose licence allows a data center.
    #[serde(default)]
    pub datacenter: bool,
    /// What may be rented, instead of buying: prices are then those of an hour, and hosts that fail
    /// are replaced by whoever rents them out.
    #[serde(default)]
    pub rent: Option<RentRequest>,
}

/// The clusters found, as columns of one length.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ClusterColumns {
    /// Accelerator ids.
    pub accelerator: Vec<String>,
    /// Host ids.
    pub host: Vec<String>,
    /// Terms of instances that are rented; their prices are those of an hour.
    pub terms: Vec<Option<String>>,
    /// Network ids.
    pub network: Vec<Option<String>>,
    /// NICs of a host.
    pub nics_per_host: Vec<u32>,
    /// Hosts.
    pub hosts: Vec<u32>,
    /// Accelerators that come with them.
    pub accelerators: Vec<u32>,
    /// Tensor-parallel degree.
    pub tp: Vec<u32>,
    /// Whether activations are divided by sequence.
    pub sequence_parallel: Vec<bool>,
    /// Pipeline stages.
    pub pp: Vec<u32>,
    /// Chunks of a stage.
    pub vpp: Vec<u32>,
    /// Data-parallel degree.
    pub dp: Vec<u32>,
    /// Context-parallel degree.
    pub cp: Vec<u32>,
    /// How context-parallel ranks meet; none where there is one.
    pub context_parallel: Vec<Option<&'static str>>,
    /// Expert-parallel degree.
    pub ep: Vec<u32>,
    /// Sequences of a micro-batch.
    pub micro_batch: Vec<u32>,
    /// What is recomputed.
    pub recompute: Vec<String>,
    /// What data-parallel ranks divide.
    pub shard: Vec<&'static str>,
    /// Ranks that divide it among each other; none for all.
    pub shard_group: Vec<Option<u32>>,
    /// The run, failures included.
    pub run_seconds: Vec<f64>,
    /// Tokens per second, failures included.
    pub tokens_per_second: Vec<f64>,
    /// Price, in micro-dollars.
    pub price_micro_usd: Vec<i64>,
    /// Draw at work.
    pub power_watts: Vec<f64>,
    /// Rack units.
    pub rack_units: Vec<f64>,
    /// Written off, electricity and hosting.
    pub usd_per_hour: Vec<f64>,
}

impl ClusterColumns {
    fn push(&mut self, found: &FoundCluster) {
        let (hardware, layout) = (&found.hardware, &found.layout);
        self.accelerator.push(hardware.accelerator.id.clone());
        self.host.push(hardware.host.id.clone());
        self.terms
            .push(hardware.host.rent.map(|rent| rent.terms.name()));
        self.network
            .push(hardware.network.map(|(network, _)| network.id.clone()));
        self.nics_per_host
            .push(hardware.network.map_or(0, |(_, nics)| nics));
        self.hosts.push(found.hosts);
        self.accelerators.push(found.accelerators);
        self.tp.push(layout.tp);
        self.sequence_parallel.push(layout.sequence_parallel);
        self.pp.push(layout.pp);
        self.vpp.push(layout.vpp);
        self.dp.push(layout.dp);
        self.cp.push(layout.cp);
        self.context_parallel
            .push((layout.cp > 1).then(|| word(&CONTEXT_PARALLEL, layout.context)));
        self.ep.push(layout.ep);
        self.micro_batch.push(layout.micro_batch);
        self.recompute.push(recompute_word(layout.recompute));
        self.shard.push(sharding_word(layout.sharding));
        self.shard_group.push(layout.shard_group);
        self.run_seconds.push(found.run.0);
        self.tokens_per_second.push(found.tokens_per_second);
        self.price_micro_usd.push(found.price.0);
        self.power_watts.push(found.power.0);
        self.rack_units.push(found.rack_units);
        self.usd_per_hour.push(found.usd_per_hour);
    }
}

/// The word that asks for it.
pub(in crate::ask) fn recompute_word(recompute: Recompute) -> String {
    match recompute {
        Recompute::None => "none".to_owned(),
        Recompute::Selective => "selective".to_owned(),
        Recompute::Full => "full".to_owned(),
        Recompute::Block(layers) => format!("block:{layers}"),
        Recompute::Layers(layers) => format!("layers:{layers}"),
    }
}

/// The word that asks for it.
pub(in crate::ask) fn sharding_word(sharding: Sharding) -> &'static str {
    word(&SHARDINGS, sharding)
}

/// The word that asks for a choice.
fn word<T: Copy + PartialEq>(words: &[(&'static str, T)], choice: T) -> &'static str {
    let named = words.iter().find(|(_, one)| *one == choice);
    named.map_or("none", |(name, _)| name)
}

/// What a search for clusters found.
#[derive(Clone, Debug, Serialize)]
pub struct ClusterAnswer {
    /// The best cluster of each accelerator, host and network.
    pub clusters: ClusterColumns,
    /// Candidates in the space.
    pub covered: u64,
    /// Candidates whose memory and step were computed.
    pub evaluated: u64,
    /// Why others were rejected.
    pub rejected: TrainingTally,
    /// Smallest ratio of memory needed to memory there, of those that do not fit.
    pub memory_ratio: Option<f64>,
    /// Whether it was stopped before its end.
    pub interrupted: bool,
}

/// Finds the clusters that train a model; `stop` ends the search early.
///
/// # Errors
///
/// Everything in the question that is not known or cannot be.
pub fn search_training(
    catalog: &Catalog,
    request: &SearchTraining,
    stop: &AtomicBool,
) -> Result<ClusterAnswer, Vec<Diagnostic>> {
    let transformer = request.run.model().transformer(catalog)?;
    request.run.check()?;
    let recipe = request.run.recipe(&transformer)?;
    let assumptions = &catalog.assumptions.entity;
    let training = request.run.assumptions(assumptions)?;
    let (training, instances) = match &request.rent {
        Some(rent) => (
            training.of_rented(),
            Some(catalog.instances(rent, &request.hosts)?),
        ),
        None => (training, None),
    };
    let selection = known(
        catalog,
        Selection {
            accelerators: request.accelerators.clone(),
            exclude: request.exclude.clone(),
            hosts: request.hosts.clone(),
            networks: request.networks.clone(),
            datacenter: request.datacenter,
            ..Selection::default()
        },
    )?;
    let goal = TrainingGoal {
        tokens: request.run.tokens.unwrap_or_default(),
        deadline: request.deadline_seconds.map(Seconds),
        aim: request.aim,
        payment: match request.rent {
            Some(_) => Payment::Hours,
            None => Payment::Purchase,
        },
        limits: TrainingLimits {
            accelerators: request.max_accelerators,
            price: request.max_price_usd.map(MicroUsd::from_usd),
            power: request.max_power_watts.map(Watts),
            rack_units: request.max_rack_units,
            stock: request.stock.clone(),
        },
    };
    let search = TrainingSearch {
        transformer: &transformer,
        recipe: &recipe,
        goal: &goal,
        assumptions,
        training: &training,
        stop,
    };
    let shelf = match &instances {
        Some(instances) => instances.shelf(catalog),
        None => catalog.shelf(),
    };
    let space = Space::available(&shelf, &selection, assumptions);
    let found = search.search(&space);
    let mut clusters = ClusterColumns::default();
    for cluster in &found.clusters {
        clusters.push(cluster);
    }
    Ok(ClusterAnswer {
        clusters,
        covered: found.covered,
        evaluated: found.evaluated,
        rejected: found.rejected,
        memory_ratio: found.memory_ratio,
        interrupted: found.interrupted,
    })
}
