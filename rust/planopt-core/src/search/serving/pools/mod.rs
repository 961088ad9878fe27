//! The search for two pools: replicas that read prompts, and others that answer them.
//!
//! Rates are matched: so many replicas of each that neither waits for the other. What is found is
//! the best of the pairs that were asked about; how much better any may be is said by rates that no
//! replica exceeds. Formulas in `docs/reference/serving.md`, section 8.

mod bound;
mod found;
mod late;
mod pair;
mod side;

pub use self::found::{FoundPool, FoundPools, PoolsAim, PoolsDemand, PoolsRequest, PoolsResult};

use self::found::better;
use self::pair::Pair;
use self::side::{Bound, Pool, PoolContext, Side};
use crate::hardware::{Connection, NetworkLine, Space, System};
use crate::quantity::{Bytes, MicroUsd};
use crate::search::serving::divisions::Divisions;
use crate::serving::Prepared;
use rayon::prelude::*;

/// Kinds of hardware that are paired with other kinds.
const PAIRED_KINDS: usize = 4;

/// Networks that are asked about: the fastest of those worth it.
const MOST_NETWORKS: usize = 6;

/// The layouts of both pools on one kind of hardware.
struct Kind<'p, 'a> {
    system: System<'a>,
    prepared: &'p Prepared,
    cache: Bytes,
    prefill: Vec<Side<'a>>,
    decode: Vec<Side<'a>>,
    /// What no replica of a layout exceeds, for prefill and for decode.
    bounds: [Vec<Bound>; 2],
}

impl Kind<'_, '_> {
    fn is_like(&self, other: &Self) -> bool {
        same_hardware(&self.system, &other.system)
    }
}

fn same_hardware(one: &System, other: &System) -> bool {
    one.accelerator.id == other.accelerator.id && one.host.id == other.host.id
}

/// Finds the best two pools in `space`.
pub fn search_pools<'a>(request: &PoolsRequest, space: &Space<'a>) -> PoolsResult<'a> {
    let PoolsRequest {
        transformer,
        question,
        accelerators,
        assumptions,
        ..
    } = *request;
    let divisions = &Divisions::of(transformer, question, accelerators, assumptions);
    let prepared: Vec<(System<'a>, Prepared)> = space
        .systems
        .iter()
        .filter(|system| system.host.rent.is_none() && request.affords(system, 1))
        .filter(|_| !request.is_over())
        .filter_map(|system| Some((*system, divisions.prepared(system.accelerator)?)))
        .collect();
    let kinds = |network: Option<Connection<'a>>| -> Vec<Kind<'_, 'a>> {
        prepared
            .par_iter()
            .filter(|(system, _)| network.is_none_or(|network| system.takes(&network)))
            .filter(|_| !request.is_over())
            .filter_map(|(system, prepared)| {
                kind(request, divisions, system.over(network), prepared)
            })
            .collect()
    };
    let alone = kinds(None);
    let mut result = PoolsResult::default();
    let mut bound = bound::Best::of(request, divisions, &space.networks);
    for kind in &alone {
        bound.add(&kind.system, kind.prepared, &kind.bounds);
    }
    matched(request, None, &alone, &[], &mut result);
    for joined in worth_joining(&space.networks, &space.systems) {
        if request.is_over() {
            break;
        }
        let mut spread = kinds(Some(joined));
        for kind in &mut spread {
            bound.add(&kind.system, kind.prepared, &kind.bounds);
            // Prompts are read by more replicas, not by larger ones, wherever one host holds one.
            if alone
                .iter()
                .any(|other| other.is_like(kind) && !other.prefill.is_empty())
            {
                kind.prefill.clear();
            }
        }
        matched(request, Some(joined), &alone, &spread, &mut result);
    }
    if !request.is_over() {
        let (value, shown, left) = bound.value();
        (result.bound, result.shown) = (value, shown);
        let known = result.best.as_ref().map(|best| best.price);
        if let Some(left) = left.filter(|left| known.is_none_or(|known| left.price < known)) {
            result.is_left = true;
            result.best = Some(left);
        }
    }
    result
}

/// The networks of which no other one is both faster and cheaper, to any host.
fn worth_joining<'a>(networks: &[Connection<'a>], systems: &[System<'a>]) -> Vec<Connection<'a>> {
    let bandwidth = |line: &NetworkLine| line.rate.0 * f64::from(line.nics_per_host);
    let fewest_bought = |(network, line): &Connection| {
        let hosts = systems.iter().map(|system| system.host);
        let bought = hosts.map(|host| host.connecting(network, line.nics_per_host).nics);
        bought.min().unwrap_or(line.nics_per_host)
    };
    let price = |(network, line): &Connection, nics: u32| {
        let nic = network.nic.price.map_or(f64::INFINITY, MicroUsd::usd);
        let cable = network
            .cable
            .as_ref()
            .and_then(|cable| cable.price)
            .map_or(0.0, MicroUsd::usd);
        let port = network
            .switches
            .iter()
            .filter_map(|switch| Some(switch.price?.usd() / f64::from(switch.ports)))
            .fold(f64::INFINITY, f64::min);
        let port = if port.is_finite() { port } else { 0.0 };
        f64::from(nics) * nic + f64::from(line.nics_per_host) * (cable + port)
    };
    let mut worth: Vec<Connection<'a>> = networks
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

fn kind<'p, 'a>(
    request: &PoolsRequest,
    divisions: &Divisions,
    system: System<'a>,
    prepared: &'p Prepared,
) -> Option<Kind<'p, 'a>> {
    let context = PoolContext {
        request,
        divisions,
        system,
        prepared,
    };
    let bounds = [Pool::Prefill, Pool::Decode].map(|pool| context.bounds(pool));
    Some(Kind {
        system,
        prepared,
        cache: context.cache()?,
        prefill: context.sides(Pool::Prefill, &bounds[0]),
        decode: context.sides(Pool::Decode, &bounds[1]),
        bounds,
    })
}

/// Pairs the pools of hosts on one network, or inside of one host.
fn matched<'a>(
    request: &PoolsRequest,
    network: Option<Connection<'a>>,
    alone: &[Kind<'_, 'a>],
    spread: &[Kind<'_, 'a>],
    result: &mut PoolsResult<'a>,
) {
    let takes_it = |system: &System| network.is_none_or(|network| system.takes(&network));
    let kinds: Vec<&Kind> = alone
        .iter()
        .chain(spread)
        .filter(|kind| takes_it(&kind.system))
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
                let alike = same_hardware(&prefill.system, &decode.system);
                if !(alike || (few && network.is_some())) {
                    continue;
                }
                for one in &prefill.prefill {
                    if request.is_over() {
                        break;
                    }
                    let mut known = None;
                    for other in &decode.decode {
                        pairs += 1;
                        let pair = Pair {
                            request,
                            network,
                            prefill: one,
                            decode: other,
                            cache: prefill.cache,
                            alike,
                        };
                        if !pair.is_too_dear(best.as_ref()) {
                            best = better(best, pair.best(&mut known));
                        }
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
