//! Searches for units and for clusters.

use super::model::ModelRequest;
use super::pools::Limits;
use super::selection::{known, select};
use super::serving::{Asked, SearchServing};
use super::training::{RecipeRequest, TrainingRun, training_with};
use crate::catalog::Catalog;
use crate::diagnostic::{Diagnostic, Problems};
use crate::hardware::{Instances, Inventory, RentRequest, Selection, Space, System};
use crate::quantity::{MicroUsd, Seconds, Watts};
use crate::search::{
    BatchPolicy, Demand, Finding, Found, Goal, Part, Payment, Trained, TrainingAim, TrainingGoal,
    TrainingLimits, TrainingSearch, search,
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A search for clusters that train a model.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SearchTraining {
    /// What is trained.
    pub model: ModelRequest,
    /// How.
    #[serde(default)]
    pub recipe: RecipeRequest,
    /// How much of it.
    #[serde(default)]
    pub run: TrainingRun,
    /// What may be bought.
    #[serde(default)]
    pub hardware: Selection,
    /// What may be rented, instead of buying: prices are then those of an hour, and hosts that fail
    /// are replaced by whoever rents them out.
    #[serde(default)]
    pub rent: Option<RentRequest>,
    /// What a cluster may not exceed.
    #[serde(default)]
    pub limits: Limits,
    /// How far and for what is searched.
    pub search: ClusterOptions,
}

/// How far and for what clusters are searched.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ClusterOptions {
    /// `cheapest` or `fastest`.
    pub aim: TrainingAim,
    /// Time that the run may take, failures included.
    #[serde(default)]
    pub deadline_seconds: Option<f64>,
    /// Accelerators, at most.
    pub max_accelerators: u32,
}

/// Finds the clusters that train a model; `stop` ends the search early.
///
/// # Errors
///
/// Everything in the question that is not known or cannot be.
pub fn search_training(
    catalog: &Arc<Catalog>,
    request: &SearchTraining,
    stop: &AtomicBool,
) -> Result<Found, Vec<Diagnostic>> {
    let transformer = request.model.transformer(catalog)?;
    let mut problems = Problems::default();
    problems.keep(request.recipe.check());
    problems.keep(request.run.check());
    problems.unless_any(())?;
    let recipe = request.recipe.recipe(&transformer, 1)?;
    let assumptions = &catalog.assumptions.entity;
    let (hardware, limits) = (&request.hardware, &request.limits);
    let rented = request.rent.is_some();
    let training = training_with(assumptions, &request.recipe, &request.run, rented)?;
    let instances = match &request.rent {
        Some(rent) => Some(Instances::rented(catalog, rent, &hardware.hosts)?),
        None => None,
    };
    let selection = known(catalog, hardware.clone())?;
    let goal = TrainingGoal {
        tokens: request.run.tokens.unwrap_or_default(),
        deadline: request.search.deadline_seconds.map(Seconds),
        aim: request.search.aim,
        payment: if rented {
            Payment::Hours
        } else {
            Payment::Purchase
        },
        limits: TrainingLimits {
            accelerators: request.search.max_accelerators,
            price: limits.price_usd.map(MicroUsd::from_usd),
            power: limits.power_watts.map(Watts),
            rack_units: limits.rack_units,
            stock: limits.stock.clone(),
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
    let inventory = match &instances {
        Some(instances) => instances.inventory(catalog),
        None => Inventory::of(catalog),
    };
    let space = Space::available(&inventory, &selection, assumptions);
    let found = search.search(&space);
    let trained = Trained {
        model: request.model.name.clone(),
        run: request.run.run(),
        framework: request.recipe.framework.clone(),
        transformer,
        recipe,
        training,
        rented,
        run_seconds: Vec::new(),
    };
    Ok(trained.found(catalog, &found))
}

/// Finds the units that meet the goal of each part of a question: formats that it allows, what is
/// bought and what is rented, groups of hardware that promise more or less.
///
/// # Errors
///
/// Everything in the question that is not known or cannot be.
pub fn search_serving(
    catalog: &Arc<Catalog>,
    parts: &[SearchServing],
    stop: &AtomicBool,
) -> Result<Found, Vec<Diagnostic>> {
    let mut finding = Finding::default();
    for part in parts {
        search_part(catalog, part, &mut finding, stop)?;
    }
    Ok(finding.done(Arc::clone(catalog)))
}

fn search_part(
    catalog: &Catalog,
    request: &SearchServing,
    finding: &mut Finding,
    stop: &AtomicBool,
) -> Result<(), Vec<Diagnostic>> {
    let Asked {
        transformer,
        mut question,
        assumptions,
    } = Asked::of(catalog, &request.model, &request.workload, &request.engine)?;
    let (hardware, options, promises) = (&request.hardware, &request.search, &request.promises);
    question.context_ranks = options.context_ranks;
    let rented = match &request.rent {
        Some(rent) => Some(Instances::rented(catalog, rent, &hardware.hosts)?),
        None => None,
    };
    let selection = select(catalog, hardware, rented.as_ref())?;
    let inventory = rented.as_ref().map_or_else(
        || Inventory::of(catalog),
        |rented| rented.inventory(catalog),
    );
    let space = Space::available(&inventory, &selection, &assumptions);
    let policy = match (options.each_batch_up_to, options.batches_that_share) {
        (Some(most), _) => BatchPolicy::Each(most),
        (None, Some(users)) => BatchPolicy::SharesOf(users),
        (None, None) if options.exhaustive => BatchPolicy::LargestOfEach,
        (None, None) => BatchPolicy::Largest,
    };
    let goal = Goal {
        tokens_per_second_per_user: promises.tokens_per_second_per_user,
        prefill: promises.prefill_seconds.map(Seconds),
        batch: request.layout.batch,
        in_flight: request.layout.in_flight,
        policy,
        latency: promises.latencies(request.load.as_ref(), request.scheduler)?,
    };
    let demand = Demand {
        users: promises.users,
        tokens_per_second: promises.tokens_per_second,
        redundancy: promises.redundancy,
        builds: options.builds,
        speed: options.each_batch_up_to.is_some() || options.batches_that_share.is_some(),
        aim: options.aim,
    };
    let found = search(
        &transformer,
        &question,
        &space,
        &goal,
        &demand,
        options.max_accelerators,
        options.price_cap_usd.map(MicroUsd::from_usd),
        &assumptions,
        stop,
    );
    let reduces_over_pcie = space.systems.iter().any(System::reduces_over_pcie);
    let part = Part {
        model: request.model.name.clone(),
        draft: request.model.draft.clone(),
        has_engine: request.engine.name.is_some(),
        transformer,
        question,
        assumptions: assumptions.clone(),
    };
    finding.take(part, &found, reduces_over_pcie, options.hourly);
    Ok(())
}
