//! The units that meet a goal.

use std::sync::atomic::AtomicBool;

use crate::ask::answer::{SearchAnswer, UnitColumns};
use crate::ask::rent::Instances;
use crate::ask::request::{LatencyRequest, SearchServing, unknown_name};
use crate::catalog::Catalog;
use crate::diagnostic::Diagnostic;
use crate::purchase::Unit;
use crate::quantity::{MicroUsd, Seconds};
use crate::search::{BatchPolicy, Demand, Fit, FoundUnit, Goal, Selection, Space, search};

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
        Some(rent) => Some(catalog.instances(rent, &request.hosts)?),
        None => None,
    };
    let selection = select(catalog, request, rented.as_ref())?;
    let shelf = rented
        .as_ref()
        .map_or_else(|| catalog.shelf(), |rented| rented.shelf(catalog));
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

/// What the question allows.
pub(super) fn select(
    catalog: &Catalog,
    request: &SearchServing,
    rented: Option<&Instances>,
) -> Result<Selection, Vec<Diagnostic>> {
    let mut selection = Selection {
        accelerators: request.accelerators.clone(),
        exclude: request.exclude.clone(),
        hosts: Vec::new(),
        networks: Vec::new(),
        within_host: request.within_host,
        datacenter: request.datacenter,
    };
    let Some(rented) = rented else {
        selection.hosts.clone_from(&request.hosts);
        selection.networks.clone_from(&request.networks);
        return known(catalog, selection);
    };
    // An instance brings its network, so that only the hosts are left to choose.
    let mut selection = known(catalog, selection)?;
    if let Some(id) = request.hosts.iter().find(|id| rented.host(id).is_none()) {
        let accepted = "ids of offers that the question leaves open".to_owned();
        return Err(vec![unknown_name("host", id, accepted)]);
    }
    selection.hosts.clone_from(&request.hosts);
    Ok(selection)
}

/// Checks that every id of a selection exists.
pub(in crate::ask) fn known(
    catalog: &Catalog,
    selection: Selection,
) -> Result<Selection, Vec<Diagnostic>> {
    let mut problems = Vec::new();
    for (option, ids) in [
        ("--accelerators", &selection.accelerators),
        ("--exclude", &selection.exclude),
    ] {
        let unknown = ids.iter().filter_map(|id| catalog.accelerator(id).err());
        problems.extend(unknown.map(|problem| problem.field(option)));
    }
    for id in &selection.hosts {
        problems.extend(
            catalog
                .host(id)
                .err()
                .map(|problem| problem.field("--host")),
        );
    }
    for id in &selection.networks {
        let unknown = catalog.network(id).err();
        problems.extend(unknown.map(|problem| problem.field("--network")));
    }
    if problems.is_empty() {
        Ok(selection)
    } else {
        Err(problems)
    }
}

impl UnitColumns {
    fn push(&mut self, found: &FoundUnit) {
        let unit = &found.unit;
        let network = unit.hardware.network;
        self.accelerator.push(unit.hardware.accelerator.id.clone());
        self.host.push(unit.hardware.host.id.clone());
        self.terms
            .push(unit.hardware.host.rent.map(|rent| rent.terms.name()));
        self.goodput
            .push(unit.hardware.host.rent.map_or(1.0, |rent| rent.goodput));
        self.network
            .push(network.map(|(network, _)| network.id.clone()));
        self.nics_per_host.push(network.map_or(0, |(_, nics)| nics));
        self.switch
            .push(unit.switch.map(|share| share.switch.id.clone()));
        self.switch_port_blocks.push(port_blocks(unit));
        self.hosts.push(unit.hosts());
        self.accelerators.push(unit.accelerators_bought());
        let degrees = unit.placement.degrees;
        self.tp.push(degrees.tp);
        self.cp.push(degrees.cp);
        self.dp.push(degrees.dp);
        self.ep.push(degrees.ep);
        self.pp.push(unit.placement.pp);
        self.batch.push(found.batching.batch);
        self.in_flight.push(found.batching.in_flight);
        self.replicas.push(unit.replicas);
        self.users.push(found.users);
        self.tokens_per_second_per_user
            .push(found.tokens_per_second_per_user);
        self.tokens_per_second.push(found.tokens_per_second);
        self.price_micro_usd.push(found.price.0);
        self.power_watts.push(found.power.0);
        self.rack_units.push(found.rack_units);
        self.usd_per_hour.push(found.usd_per_hour);
        self.is_build.push(found.is_build);
    }
}

pub(super) fn port_blocks(unit: &Unit) -> u32 {
    unit.switch
        .and_then(|share| share.blocks)
        .map_or(0, |(bought, _)| bought)
}
