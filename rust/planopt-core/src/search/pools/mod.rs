//! The search for two pools: replicas that read prompts, and others that answer them.
//!
//! Rates are matched: so many replicas of each that neither waits for the other. What is found is
//! the best of the pairs that were asked about, not proven to be the best of all; formulas in
//! `docs/reference/serving.md`, section 8.

mod cluster;
mod side;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;

pub use self::cluster::PoolCluster;
use self::cluster::{Hosts, filled, packed};
use self::side::{Ground, Joined, Role, Side};
use super::latency::LatencyGoal;
use super::layout::{Layout, Prepared};
use super::space::{Fit, Space};
use super::units::connects;
use crate::catalog::{Assumptions, Network};
use crate::communication::NetworkLine;
use crate::compute::Rates;
use crate::cost::of_purchase;
use crate::placement::Placement;
use crate::quantity::{Bytes, MicroUsd};
use crate::serving::Question;
use crate::serving::engine::{Arrivals, Transfer};
use crate::serving::pools::{End, prompt_cache, transfer};
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
/// Replicas of a pool, at most.
const MOST_REPLICAS: u32 = 256;
/// Ways that differ by no more of their time are as long as each other.
const ALIKE: f64 = 1e-6;
/// Share of the time that the line between pools may be busy.
const BUSIEST_LINE: f64 = 0.8;

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
    let layouts = Layout::all(asked.transformer, asked.accelerators);
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
                    line.nics_per_host <= fit.host.nics && connects(fit.host, network)
                })
            })
            .filter_map(|(fit, prepared)| kind(asked, &layouts, *fit, network, prepared))
            .collect()
    };
    let alone = kinds(None);
    let mut result = PoolsResult::default();
    matched(asked, None, &alone, &[], &mut result);
    for joined in worth_joining(&space.networks) {
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

/// The networks of which no other one is both faster and cheaper, to a host.
fn worth_joining<'a>(networks: &[Joined<'a>]) -> Vec<Joined<'a>> {
    let bandwidth = |line: &NetworkLine| line.rate.0 * f64::from(line.nics_per_host);
    let price = |(network, line): &Joined| {
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
        f64::from(line.nics_per_host) * (nic + cable + port)
    };
    let mut worth: Vec<Joined<'a>> = networks
        .iter()
        .filter(|one| {
            !networks.iter().any(|other| {
                bandwidth(&other.1) >= bandwidth(&one.1)
                    && price(other) < price(one)
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
            line.nics_per_host <= fit.host.nics && connects(fit.host, network)
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

/// A layout of each pool.
struct Pair<'p, 'a> {
    asked: &'p Asked<'p>,
    network: Option<Joined<'a>>,
    prefill: &'p Side<'a>,
    decode: &'p Side<'a>,
    cache: Bytes,
    alike: bool,
}

/// What a replica of each pool carries in time.
#[derive(Clone, Copy)]
struct Carried {
    prefill: f64,
    decode: f64,
    transfer: Transfer,
}

impl<'a> Pair<'_, 'a> {
    /// The best numbers of replicas, if any will do.
    fn best(&self, known: &mut Option<(f64, f64)>) -> Option<FoundPools<'a>> {
        let carried = self.carried(known)?;
        match self.asked.demand.aim {
            PoolsAim::Cheapest => {
                let (x, y) = self.for_demand(carried)?;
                self.found(carried, x, y)
            }
            PoolsAim::Throughput | PoolsAim::CostPerToken => self.most(carried),
        }
    }

    /// What replicas carry; `known` is for how long a cache is on its way and at what rate prompts
    /// are then read in time, for those that follow.
    fn carried(&self, known: &mut Option<(f64, f64)>) -> Option<Carried> {
        let Asked { goal, question, .. } = self.asked;
        let line = self.network.map(|(_, line)| line);
        let fabrics =
            [self.prefill, self.decode].map(|side| side.fit.fabric(line, self.asked.assumptions));
        let neighbours = self
            .network
            .is_none()
            .then_some(self.prefill.placement.slots);
        #[expect(clippy::cast_precision_loss, reason = "a prompt is far below 2^53")]
        let prompt = question.prompt as f64;
        let transfer = transfer(
            End {
                fabric: &fabrics[0],
                placement: self.prefill.placement,
            },
            End {
                fabric: &fabrics[1],
                placement: self.decode.placement,
            },
            neighbours,
            self.cache,
            prompt,
        )?;
        let busy = transfer.seconds_per_token * prompt;
        let across = |rate: f64| {
            // What is sent waits for what was sent before it (M/D/1).
            let share = (rate * busy).min(BUSIEST_LINE);
            transfer.latency_seconds + busy * (1.0 + share / 2.0 / (1.0 - share))
        };
        let prefill = match *known {
            Some((as_long, rate)) if (as_long - busy).abs() <= ALIKE * busy => rate,
            _ => self.prefill.rate(|side, rate| {
                rate * busy <= BUSIEST_LINE && side.reads_in_time(rate, goal, across(rate))
            }),
        };
        *known = Some((busy, prefill));
        (prefill > 0.0).then_some(Carried {
            prefill,
            decode: self.decode.bound,
            transfer,
        })
    }

    /// Seconds until the first token, on average.
    fn first_token(&self, carried: Carried, rate: f64) -> f64 {
        let first = self.prefill.estimator.at(&side::poisson(rate), 1.0);
        let Transfer {
            latency_seconds,
            seconds_per_token,
        } = carried.transfer;
        let sent = seconds_per_token * self.asked.goal.traffic.mean_prompt();
        first.ttft_mean() + latency_seconds + sent
    }

    /// Replicas of each pool that carry what is asked for.
    fn for_demand(&self, carried: Carried) -> Option<(u32, u32)> {
        let demand = self.asked.demand;
        let (rate, answering) = if demand.requests_per_second > 0.0 {
            let rate = demand.requests_per_second;
            (rate, whole((rate / carried.decode).ceil()))
        } else {
            let first = self.first_token(carried, carried.prefill);
            let users = f64::from(demand.users);
            let answering = whole((users / self.users(carried, first)).ceil());
            let asking = Arrivals::Closed {
                users: demand.users,
                think_seconds: first,
            };
            let of_one = self.decode.estimator.at(&asking, f64::from(answering));
            (of_one.requests_per_second * f64::from(answering), answering)
        };
        let reading = whole((rate / carried.prefill).ceil());
        (reading.max(answering) <= MOST_REPLICAS).then_some((reading, answering))
    }

    /// Users that keep one answering replica as busy as it may be (Little).
    fn users(&self, carried: Carried, first_token: f64) -> f64 {
        let behind = (self.asked.goal.output - 1.0).max(0.0);
        let tokens = self
            .decode
            .estimator
            .at(&side::poisson(carried.decode), 1.0);
        carried.decode * (first_token + behind * tokens.tpot_mean())
    }

    /// The numbers of replicas that are best within the limits.
    fn most(&self, carried: Carried) -> Option<FoundPools<'a>> {
        let mut best = None;
        let limit = self.asked.demand.accelerators.unwrap_or(u32::MAX);
        let (a, b) = (self.prefill.accelerators(), self.decode.accelerators());
        for x in 1..=MOST_REPLICAS {
            let left = limit.saturating_sub(a.saturating_mul(x)) / b;
            if left == 0 {
                break;
            }
            let even = whole((f64::from(x) * carried.prefill / carried.decode).ceil());
            let mut y = even.min(left).min(MOST_REPLICAS);
            let mut found = self.found(carried, x, y);
            while found.is_none() && y > 1 {
                y -= 1;
                found = self.found(carried, x, y);
            }
            let fewer = (y > 1 && found.is_some()).then(|| self.found(carried, x, y - 1));
            if found.is_none() {
                break;
            }
            best = better(best, better(found, fewer.flatten()));
            if y < even && x > 1 {
                // More that read help nobody where fewer than would do can answer.
                break;
            }
        }
        best
    }

    /// So many replicas of each, if that is within the limits.
    fn found(&self, carried: Carried, x: u32, y: u32) -> Option<FoundPools<'a>> {
        let demand = self.asked.demand;
        let cluster = self.cluster(x, y)?;
        let bought: u32 = cluster.accelerators().map(|(_, count)| count).sum();
        let in_stock = cluster
            .accelerators()
            .all(|(id, count)| demand.stock.get(id).is_none_or(|&stock| count <= stock));
        let price = cluster.price()?;
        let power = cluster.power(self.asked.assumptions);
        let within = in_stock
            && demand.accelerators.is_none_or(|most| bought <= most)
            && demand.price.is_none_or(|most| price <= most)
            && demand.power_watts.is_none_or(|most| power.0 <= most)
            && demand
                .rack_units
                .is_none_or(|most| cluster.rack_units() <= most);
        if !within {
            return None;
        }
        let rates = (
            f64::from(x) * carried.prefill,
            f64::from(y) * carried.decode,
        );
        let rate = rates.0.min(rates.1);
        let tokens = rate * self.asked.goal.output;
        let cost = of_purchase(
            price.usd(),
            power,
            cluster.rack_units(),
            tokens,
            &self.asked.assumptions.cost,
        );
        let score = match demand.aim {
            PoolsAim::Cheapest => [price.usd(), cost.usd_per_million_tokens, -tokens],
            PoolsAim::Throughput => [-tokens, price.usd(), power.0],
            PoolsAim::CostPerToken => [cost.usd_per_million_tokens, price.usd(), power.0],
        };
        let of_prefill = rate / f64::from(x);
        let first = self.first_token(carried, of_prefill);
        let at_rate = Carried {
            decode: rate / f64::from(y),
            ..carried
        };
        let users = self.users(at_rate, first) * f64::from(y);
        let pool = |side: &Side<'a>, replicas, requests_per_second, rate| FoundPool {
            fit: side.fit,
            layout: side.layout,
            placement: side.placement,
            replicas,
            requests_per_second,
            batch: side.batch(rate),
        };
        Some(FoundPools {
            prefill: pool(self.prefill, x, rates.0, of_prefill),
            decode: pool(self.decode, y, rates.1, at_rate.decode),
            network: self.network,
            transfer: carried.transfer,
            cache: self.cache,
            cluster,
            price,
            requests_per_second: rate,
            users: whole(users),
            score,
        })
    }

    fn cluster(&self, x: u32, y: u32) -> Option<PoolCluster<'a>> {
        let network: Option<(&Network, u32)> = self
            .network
            .map(|(network, line)| (network, line.nics_per_host));
        let (prefill, decode) = (self.prefill, self.decode);
        let kinds: Vec<(Fit<'a>, Hosts)> = if self.alike {
            let hosts = packed((prefill.placement, x), (decode.placement, y));
            vec![(prefill.fit, hosts)]
        } else {
            [(prefill, x), (decode, y)]
                .map(|(side, replicas)| {
                    let hosts = Hosts {
                        hosts: filled(side.placement, replicas).0,
                        accelerators: side.accelerators() * replicas,
                    };
                    (side.fit, hosts)
                })
                .to_vec()
        };
        let hosts: u32 = kinds.iter().map(|(_, hosts)| hosts.hosts).sum();
        // Inside of one host there is no network, and nothing to join without several.
        if (hosts == 1) != self.network.is_none() {
            return None;
        }
        PoolCluster::new(&kinds, network)
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a cast of what is too many gives the most there is"
)]
fn whole(count: f64) -> u32 {
    count.max(1.0) as u32
}
