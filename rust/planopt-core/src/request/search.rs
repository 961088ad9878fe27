//! Searches for units and for clusters.

use super::selection::{known, select};
use super::serving::{LatencyRequest, SearchServing};
use super::training::EvaluateTraining;
use crate::catalog::Catalog;
use crate::diagnostic::Diagnostic;
use crate::hardware::{Fit, Instances, RentRequest, Selection, Shelf, Space};
use crate::quantity::{MicroUsd, Seconds, Watts};
use crate::search::{
    BatchPolicy, ClusterAnswer, ClusterColumns, Demand, Goal, Payment, SearchAnswer, TrainingAim,
    TrainingGoal, TrainingLimits, TrainingSearch, UnitColumns, search,
};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

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
            Some(Instances::rented(catalog, rent, &request.hosts)?),
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
        None => Shelf::of(catalog),
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

/// Finds the units that meet a goal.
///
/// # Errors
///
/// Everything in the question that is not known or cannot be.
pub fn search_serving(
    catalog: &Catalog,
    request: &SearchServing,
    stop: &AtomicBool,
) -> Result<SearchAnswer, Vec<Diagnostic>> {
    let transformer = request.serving.transformer(catalog)?;
    let question = request.serving.question(&transformer)?;
    let assumptions = request.serving.assumptions(catalog)?;
    let rented = match &request.rent {
        Some(rent) => Some(Instances::rented(catalog, rent, &request.hosts)?),
        None => None,
    };
    let selection = select(catalog, request, rented.as_ref())?;
    let shelf = rented
        .as_ref()
        .map_or_else(|| Shelf::of(catalog), |rented| rented.shelf(catalog));
    let space = Space::available(&shelf, &selection, &assumptions);
    let policy = match (request.each_batch_up_to, request.batches_that_share) {
        (Some(most), _) => BatchPolicy::Each(most),
        (None, Some(users)) => BatchPolicy::SharesOf(users),
        (None, None) if request.exhaustive => BatchPolicy::LargestOfEach,
        (None, None) => BatchPolicy::Largest,
    };
    let goal = Goal {
        tokens_per_second_per_user: request.tokens_per_second_per_user,
        prefill: request.prefill_seconds.map(Seconds),
        batch: request.batch,
        in_flight: request.in_flight,
        policy,
        latency: request.latency.as_ref().map(LatencyRequest::goal),
    };
    let demand = Demand {
        users: request.users,
        tokens_per_second: request.tokens_per_second,
        redundancy: request.redundancy,
        builds: request.builds,
        speed: request.each_batch_up_to.is_some() || request.batches_that_share.is_some(),
        aim: request.aim,
    };
    let found = search(
        &transformer,
        &question,
        &space,
        &goal,
        &demand,
        request.max_accelerators,
        request.price_cap_usd.map(MicroUsd::from_usd),
        &assumptions,
        stop,
    );
    let mut units = UnitColumns::default();
    for unit in &found.units {
        units.push(unit);
    }
    Ok(SearchAnswer {
        units,
        covered: found.covered,
        evaluated: found.evaluated,
        rejected: found.rejected,
        nearest: found.nearest,
        is_cut_by_price: found.is_cut_by_price,
        reduces_over_pcie: space.fits.iter().any(Fit::reduces_over_pcie),
        interrupted: found.interrupted,
        weights: question.formats.weights.name(),
        kv: question.formats.kv.name(),
    })
}
