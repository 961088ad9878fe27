//! The search for two pools: replicas that read prompts, and others that answer them.
//!
//! Rates are matched: so many replicas of each that neither waits for the other. What is found is
//! the best of the pairs that were asked about, not proven to be the best of all; formulas in
//! `docs/reference/serving.md`, section 8.

mod cluster;
mod pair;
mod side;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;

pub use self::cluster::PoolCluster;
use self::pair::Pair;
use self::side::{Ground, Role, Side};
use super::connection::Joined;
use super::latency::LatencyGoal;
use super::layout::{Layout, Prepared};
use super::space::{Fit, Space};
use super::units::connects;
use crate::catalog::Assumptions;
use crate::communication::NetworkLine;
use crate::compute::Rates;
use crate::placement::Placement;
use crate::quantity::{Bytes, MicroUsd};
use crate::serving::Question;
use crate::serving::engine::Transfer;
use crate::serving::pools::prompt_cache;
use crate::transformer::Transformer;

/// What two pools are to be best at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PoolsAim {
    /// Least price for the demand.
    Cheapest,
    /// Most requests within the limits.
    Throughput,
    /// Fewest dollars per token.
    CostPerToken,
}

/// What two pools must supply, and stay within.
#[derive(Clone, Debug)]
pub struct PoolsDemand {
    /// What they are best at.
    pub aim: PoolsAim,
    /// Requests per second.
    pub requests_per_second: f64,
    /// Users of whom each waits for his answer, where no rate is asked for.
    pub users: u32,
    /// Accelerators bought, at most.
    pub accelerators: Option<u32>,
    /// Price, at most.
    pub price: Option<MicroUsd>,
    /// Draw in watts, at most.
    pub power_watts: Option<f64>,
    /// Rack units, at most.
    pub rack_units: Option<f64>,
    /// Accelerators in stock, by id.
    pub stock: BTreeMap<String, u32>,
}

/// A question, shared by all that work on it.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'q> {
    /// Model.
    pub transformer: &'q Transformer,
    /// What is served.
    pub question: &'q Question,
    /// Latencies promised.
    pub goal: &'q LatencyGoal,
    /// What must be supplied.
    pub demand: &'q PoolsDemand,
    /// Assumptions.
    pub assumptions: &'q Assumptions,
    /// Accelerators of a replica, at most.
    pub accelerators: u32,
    /// Told to stop.
    pub stop: &'q AtomicBool,
}

/// One pool of what was found.
#[derive(Clone, Copy, Debug)]
pub struct FoundPool<'a> {
    /// Accelerator in its host.
    pub fit: Fit<'a>,
    /// Layout of a replica.
    pub layout: Layout,
    /// Where a replica sits.
    pub placement: Placement,
    /// Replicas.
    pub replicas: u32,
    /// Requests per second that they carry in time together.
    pub requests_per_second: f64,
    /// Sequences of a micro-batch at the rate of both pools.
    pub batch: u32,
}

/// Two pools with what joins them.
#[derive(Clone, Debug)]
pub struct FoundPools<'a> {
    /// Reads prompts.
    pub prefill: FoundPool<'a>,
    /// Answers.
    pub decode: FoundPool<'a>,
    /// Network between hosts; none inside of one.
    pub network: Option<Joined<'a>>,
    /// How the cache of a prompt gets across.
    pub transfer: Transfer,
    /// KV cache of a prompt.
    pub cache: Bytes,
    /// What is bought.
    pub cluster: PoolCluster<'a>,
    /// Price of it.
    pub price: MicroUsd,
    /// Requests per second of both.
    pub requests_per_second: f64,
    /// Users who keep them so busy, each waiting for his answer.
    pub users: u32,
    /// The less the better.
    score: [f64; 3],
}

/// What a search for two pools found.
#[derive(Clone, Debug, Default)]
pub struct PoolsResult<'a> {
    /// The best pair; none if there is none.
    pub best: Option<FoundPools<'a>>,
    /// Layouts of a pool that the closed form was asked about.
    pub sides: usize,
    /// Pairs of them that were matched.
    pub pairs: usize,
}

/// Kinds of hardware that are paired with other kinds.
const PAIRED_KINDS: usize = 4;
/// Networks that are asked about: the fastest of those worth it.
const MOST_NETWORKS: usize = 6;

/// The layouts of both pools on one kind of hardware.
struct Kind<'a> {
    fit: Fit<'a>,
    cache: Bytes,
    prefill: Vec<Side<'a>>,
    decode: Vec<Side<'a>>,
}

impl Kind<'_> {
    fn is_like(&self, other: &Self) -> bool {
        same_hardware(&self.fit, &other.fit)
    }
}

fn same_hardware(one: &Fit, other: &Fit) -> bool {
    one.accelerator.id == other.accelerator.id && one.host.id == other.host.id
}

/// Finds the best two pools in `space`.
pub fn search_pools<'a>(asked: &Asked, space: &Space<'a>) -> PoolsResult<'a> {
    let context_ranks = asked.question.context_ranks(asked.assumptions);
    let layouts = Layout::all(asked.transformer, asked.accelerators, context_ranks);
    let prepared: Vec<(Fit<'a>, Prepared)> = space
        .fits
        .iter()
        .filter(|fit| fit.host.rent.is_none())
        .filter_map(|fit| {
            let prepared = Prepared::new(
                asked.transformer,
                asked.question,
                fit.accelerator,
                asked.assumptions,
                &layouts,
            );
            Some((*fit, prepared.ok()?))
        })
        .collect();
    let kinds = |network: Option<Joined<'a>>| -> Vec<Kind<'a>> {
        prepared
            .par_iter()
            .filter(|(fit, _)| {
                network.is_none_or(|(network, line)| {
                    line.nics_per_host <= fit.host.room_for(network) && connects(fit.host, network)
                })
            })
            .filter_map(|(fit, prepared)| kind(asked, &layouts, *fit, network, prepared))
            .collect()
    };
    let alone = kinds(None);
    let mut result = PoolsResult::default();
    matched(asked, None, &alone, &[], &mut result);
    for joined in worth_joining(&space.networks, &space.fits) {
        if asked.stop.load(Ordering::Relaxed) {
            break;
        }
        let mut spread = kinds(Some(joined));
        for kind in &mut spread {
            // Prompts are read by more replicas, not by larger ones, wherever one host holds one.
            if alone
                .iter()
                .any(|other| other.is_like(kind) && !other.prefill.is_empty())
            {
                kind.prefill.clear();
            }
        }
        matched(asked, Some(joined), &alone, &spread, &mut result);
    }
    result
}

/// The networks of which no other one is both faster and cheaper, to any host.
fn worth_joining<'a>(networks: &[Joined<'a>], fits: &[Fit<'a>]) -> Vec<Joined<'a>> {
    let bandwidth = |line: &NetworkLine| line.rate.0 * f64::from(line.nics_per_host);
    let fewest_bought = |(network, line): &Joined| {
        let hosts = fits.iter().map(|fit| fit.host);
        let bought = hosts.map(|host| host.connecting(network, line.nics_per_host).nics);
        bought.min().unwrap_or(line.nics_per_host)
    };
    let price = |(network, line): &Joined, nics: u32| {
        let nic = network.nic.price.map_or(f64::INFINITY, MicroUsd::usd);
        let cable = network
            .cable
            .as_ref()
            .map_or(0.0, |cable| cable.price.usd());
        let port = network
            .switches
            .iter()
            .filter_map(|switch| Some(switch.price?.usd() / f64::from(switch.ports)))
            .fold(f64::INFINITY, f64::min);
        let port = if port.is_finite() { port } else { 0.0 };
        f64::from(nics) * nic + f64::from(line.nics_per_host) * (cable + port)
    };
    let mut worth: Vec<Joined<'a>> = networks
        .iter()
        .filter(|one| {
            !networks.iter().any(|other| {
                bandwidth(&other.1) >= bandwidth(&one.1)
                    && price(other, other.1.nics_per_host) < price(one, fewest_bought(one))
                    && other.1.rdma >= one.1.rdma
            })
        })
        .copied()
        .collect();
    worth.sort_by(|one, other| bandwidth(&other.1).total_cmp(&bandwidth(&one.1)));
    worth.truncate(MOST_NETWORKS);
    worth
}

fn kind<'a>(
    asked: &Asked,
    layouts: &[Layout],
    fit: Fit<'a>,
    network: Option<Joined<'a>>,
    prepared: &Prepared,
) -> Option<Kind<'a>> {
    let formats = asked.question.formats;
    let rates = Rates::of(fit.accelerator, formats.weights, asked.assumptions)?;
    let ground = Ground {
        asked,
        layouts,
        fit,
        network,
        prepared,
    };
    let page = asked.assumptions.memory.page_tokens;
    Some(Kind {
        fit,
        cache: prompt_cache(
            asked.transformer,
            formats,
            &rates,
            asked.question.prompt,
            page,
        ),
        prefill: ground.sides(Role::Prefill),
        decode: ground.sides(Role::Decode),
    })
}

/// Pairs the pools of hosts on one network, or inside of one host.
fn matched<'a>(
    asked: &Asked,
    network: Option<Joined<'a>>,
    alone: &[Kind<'a>],
    spread: &[Kind<'a>],
    result: &mut PoolsResult<'a>,
) {
    let fits_network = |fit: &Fit| {
        network.is_none_or(|(network, line)| {
            line.nics_per_host <= fit.host.room_for(network) && connects(fit.host, network)
        })
    };
    let kinds: Vec<&Kind> = alone
        .iter()
        .chain(spread)
        .filter(|kind| fits_network(&kind.fit))
        .collect();
    for kind in &kinds {
        result.sides += kind.prefill.len() + kind.decode.len();
    }
    let few = kinds.len() <= PAIRED_KINDS * 2;
    let found: Vec<(usize, Option<FoundPools<'a>>)> = kinds
        .par_iter()
        .map(|prefill| {
            let mut pairs = 0;
            let mut best: Option<FoundPools<'a>> = None;
            for decode in &kinds {
                let alike = same_hardware(&prefill.fit, &decode.fit);
                if !(alike || (few && network.is_some())) {
                    continue;
                }
                for one in &prefill.prefill {
                    let mut known = None;
                    for other in &decode.decode {
                        pairs += 1;
                        let pair = Pair {
                            asked,
                            network,
                            prefill: one,
                            decode: other,
                            cache: prefill.cache,
                            alike,
                        };
                        best = better(best, pair.best(&mut known));
                    }
                }
            }
            (pairs, best)
        })
        .collect();
    for (pairs, best) in found {
        result.pairs += pairs;
        result.best = better(result.best.take(), best);
    }
}

fn better<'a>(
    one: Option<FoundPools<'a>>,
    other: Option<FoundPools<'a>>,
) -> Option<FoundPools<'a>> {
    match (one, other) {
        (Some(one), Some(other)) => Some(if other.score < one.score { other } else { one }),
        (one, other) => one.or(other),
    }
}
