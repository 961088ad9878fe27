//! Two pools: searched for, and their cache sent from one configuration to another.

use super::selection::select;
use super::serving::{EvaluateServing, SearchServing};
use crate::catalog::Catalog;
use crate::cost::of_purchase;
use crate::diagnostic;
use crate::diagnostic::Diagnostic;
use crate::diagnostic::option::wrong_option;
use crate::document::{BillAnswer, PoolAnswer, PoolsAnswer, PoolsSearchAnswer, TransferAnswer};
use crate::hardware::{Rates, Shelf, Space};
use crate::load::EngineOptions;
use crate::parallel::serving::Layout;
use crate::quantity::MicroUsd;
use crate::search::{Asked, FoundPools, PoolsAim, PoolsDemand, search_pools};
use crate::serving::engine::Transfer;
use crate::serving::{End, prompt_cache, transfer};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

/// A search for two pools.
#[derive(Clone, Debug, Deserialize)]
pub struct SearchPools {
    /// What is served, promised and left to choose from.
    #[serde(flatten)]
    pub search: SearchServing,
    /// What they are best at.
    pub pools_aim: PoolsAim,
    /// Requests per second, where a rate is asked for.
    #[serde(default)]
    pub requests_per_second: Option<f64>,
    /// Accelerators bought, at most.
    #[serde(default)]
    pub accelerators_in_all: Option<u32>,
    /// Purchase money.
    #[serde(default)]
    pub budget_usd: Option<f64>,
    /// Draw, at most.
    #[serde(default)]
    pub power_watts: Option<f64>,
    /// Rack units, at most.
    #[serde(default)]
    pub rack_units: Option<f64>,
    /// Accelerators in stock, by id.
    #[serde(default)]
    pub stock: BTreeMap<String, u32>,
}

/// Finds the best two pools.
///
/// # Errors
///
/// Everything in the question that is not known or cannot be, and a question that promises no
/// latencies.
pub fn find_pools(
    catalog: &Catalog,
    request: &SearchPools,
    stop: &AtomicBool,
) -> Result<PoolsSearchAnswer, Vec<Diagnostic>> {
    let search = &request.search;
    let transformer = search.serving.transformer(catalog)?;
    let question = search.serving.question(&transformer)?;
    let assumptions = search.serving.assumptions(catalog)?;
    let selection = select(catalog, search, None)?;
    let space = Space::available(&Shelf::of(catalog), &selection, &assumptions);
    let Some(latency) = &search.latency else {
        let accepted = "latencies at a percentile".to_owned();
        return Err(vec![wrong_option("ttft", "none".to_owned(), accepted)]);
    };
    let goal = latency.goal();
    let of_tokens = search.tokens_per_second / goal.output;
    let demand = PoolsDemand {
        aim: request.pools_aim,
        requests_per_second: request.requests_per_second.unwrap_or(of_tokens),
        users: u32::try_from(search.users).unwrap_or(u32::MAX),
        accelerators: request.accelerators_in_all,
        price: request.budget_usd.map(MicroUsd::from_usd),
        power_watts: request.power_watts,
        rack_units: request.rack_units,
        stock: request.stock.clone(),
    };
    let asked = Asked {
        transformer: &transformer,
        question: &question,
        goal: &goal,
        demand: &demand,
        assumptions: &assumptions,
        accelerators: search.max_accelerators,
        stop,
    };
    let found = search_pools(&asked, &space);
    Ok(PoolsSearchAnswer {
        best: found.best.map(|best| answer(&best, &asked)),
        sides: found.sides,
        pairs: found.pairs,
        weights: question.formats.weights.name(),
        kv: question.formats.kv.name(),
    })
}

fn answer(found: &FoundPools, asked: &Asked) -> PoolsAnswer {
    let cluster = &found.cluster;
    let tokens_per_second = found.requests_per_second * asked.goal.output;
    let power = cluster.power(asked.assumptions);
    let bill = cluster.bill_of_materials().unwrap_or_default();
    #[expect(clippy::cast_precision_loss, reason = "a prompt is far below 2^53")]
    let prompt = asked.question.prompt as f64;
    PoolsAnswer {
        prefill: PoolAnswer::from(&found.prefill),
        decode: PoolAnswer::from(&found.decode),
        transfer: TransferAnswer::new(
            found.transfer,
            found.network.map(|(network, _)| network.id.clone()),
            found.cache.0,
            prompt,
        ),
        nics_per_host: found.network.map_or(0, |(_, line)| line.nics_per_host),
        hosts: cluster.hosts(),
        accelerators: cluster.accelerators().map(|(_, count)| count).sum(),
        switch: cluster.switching.map(|all| all.switch.id.clone()),
        switch_count: cluster.switching.map_or(0, |all| all.count),
        requests_per_second: found.requests_per_second,
        tokens_per_second,
        users: found.users,
        cost: of_purchase(
            found.price.usd(),
            power,
            cluster.rack_units(),
            tokens_per_second,
            &asked.assumptions.cost,
        ),
        power_watts: power.0,
        rack_units: cluster.rack_units(),
        bill_of_materials: bill.iter().map(BillAnswer::from).collect(),
    }
}

/// How the cache of a prompt gets from the replicas of one configuration to those of another: inside
/// of a host where all of them fit one of the same kind, else over the network of the first.
///
/// # Errors
///
/// Names that are not known, layouts that cannot be laid out, and pools that nothing joins.
pub(super) fn transfer_between(
    catalog: &Catalog,
    from: &EvaluateServing,
    to: &DecodePool,
) -> Result<TransferAnswer, Vec<Diagnostic>> {
    let to = &to.configuration;
    let transformer = from.serving.transformer(catalog)?;
    let question = from.serving.question(&transformer)?;
    let assumptions = from.serving.assumptions(catalog)?;
    let line = from.network_line(catalog)?;
    let benches = [from.bench(catalog)?, to.bench(catalog)?];
    let unknown = |option: &str, accepted: &str| {
        vec![wrong_option(option, "this".to_owned(), accepted.to_owned())]
    };
    let mut ends = Vec::new();
    for (bench, request) in benches.iter().zip([from, to]) {
        let fit = bench.fit(catalog, &assumptions)?;
        let layout = Layout {
            degrees: request.degrees(),
            pp: request.pp,
        };
        let placement = layout
            .place(fit.slots)
            .map_err(|_| unknown("tp", "ranks that fill whole hosts"))?;
        let fabric = fit.fabric(line.map(|(_, line)| line), &assumptions);
        ends.push((fit, placement, fabric));
    }
    let [(one, sent, sending), (other, got, getting)] = &ends[..] else {
        return Err(unknown("accelerator", "two pools"));
    };
    let used = from.accelerators() * from.replicas + to.accelerators() * to.replicas;
    let same = from.accelerator == to.accelerator && one.host.id == other.host.id;
    let neighbours = (same && used <= one.host.slots).then_some(one.host.slots);
    let formats = question.formats;
    let rates = Rates::of(one.accelerator, formats.weights, &assumptions)
        .ok_or_else(|| unknown("weights", "a format that the accelerator computes in"))?;
    let page = assumptions.memory.page_tokens;
    let cache = prompt_cache(&transformer, formats, &rates, question.prompt, page);
    #[expect(clippy::cast_precision_loss, reason = "a prompt is far below 2^53")]
    let prompt = question.prompt as f64;
    let found = transfer(
        End {
            fabric: sending,
            placement: *sent,
        },
        End {
            fabric: getting,
            placement: *got,
        },
        neighbours,
        cache,
        prompt,
    );
    let network = line.map(|(network, _)| network.id.clone());
    let network = network.filter(|_| neighbours.is_none());
    found
        .map(|found| TransferAnswer::new(found, network, cache.0, prompt))
        .ok_or_else(|| {
            let message = "nothing joins the hosts of the two pools";
            let accepted = "--network NAME between them, or a --host that holds both";
            vec![
                Diagnostic::new(diagnostic::OPTION_OUT_OF_RANGE, message)
                    .field("--network")
                    .accepted(accepted),
            ]
        })
}

/// The replicas that answer what others have read.
#[derive(Clone, Debug, Deserialize)]
pub struct DecodePool {
    /// Their configuration.
    #[serde(flatten)]
    pub configuration: EvaluateServing,
    /// What is asked of the engine.
    #[serde(default)]
    pub engine: EngineOptions,
    /// How caches get there; worked out from the hardware where it is not given.
    #[serde(default)]
    pub transfer: Option<Transfer>,
}
