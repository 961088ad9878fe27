//! A layout of each pool, and the numbers of replicas that match their rates.

use super::found::{FoundPool, FoundPools, PoolsAim, PoolsRequest, better};
use super::side;
use super::side::Side;
use crate::bill::{Cluster, HostSet, Packed, packed};
use crate::cost::of_purchase;
use crate::hardware::{Connection, System};
use crate::load::{Arrivals, Start};
use crate::parallel::Placement;
use crate::quantity::{Bytes, Watts, real};
use crate::search::serving::latency::whole;
use crate::serving::engine::Transfer;
use crate::serving::{End, transfer};

/// Replicas of a pool, at most.
const MOST_REPLICAS: u32 = 256;

/// Ways that differ by no more of their time are as long as each other.
const ALIKE: f64 = 1e-6;

/// Share of the time that the line between pools may be busy.
const BUSIEST_LINE: f64 = 0.8;

/// A layout of each pool.
pub(super) struct Pair<'p, 'a> {
    pub(super) request: &'p PoolsRequest<'p>,
    pub(super) network: Option<Connection<'a>>,
    pub(super) prefill: &'p Side<'a>,
    pub(super) decode: &'p Side<'a>,
    pub(super) cache: Bytes,
    /// Whether both stand on the same hardware.
    pub(super) alike: bool,
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
    pub(super) fn best(&self, known: &mut Option<(f64, f64)>) -> Option<FoundPools<'a>> {
        let carried = self.carried(known)?;
        match self.request.demand.aim {
            PoolsAim::Cheapest => {
                let (x, y) = self.for_demand(carried)?;
                self.found(carried, x, y)
            }
            PoolsAim::Throughput | PoolsAim::CostPerToken => self.most(carried),
        }
    }

    /// Whether it costs more than may be spent, or than what is `known`, even if no replica carried less
    /// than it can.
    pub(super) fn is_too_dear(&self, known: Option<&FoundPools>) -> bool {
        let demand = self.request.demand;
        let rate = demand.requests_per_second;
        if demand.aim != PoolsAim::Cheapest || rate <= 0.0 {
            return false;
        }
        let fewest = |side: &Side| whole((rate / side.bound).ceil());
        let (x, y) = (fewest(self.prefill), fewest(self.decode));
        if x.max(y) > MOST_REPLICAS {
            return true;
        }
        let price = self.cluster(x, y).and_then(|cluster| cluster.price());
        let most = [demand.limits.price(), known.map(|known| known.price)];
        price.is_some_and(|price| most.into_iter().flatten().any(|most| price > most))
    }

    /// So many replicas of each, at the rate at which they are asked.
    pub(super) fn of_many(&self, x: u32, y: u32) -> Option<FoundPools<'a>> {
        let PoolsRequest { demand, goal, .. } = self.request;
        let (reading, answering) = (f64::from(x), f64::from(y));
        let transfer = self.way()?;
        let of = |rate: f64| Carried {
            prefill: rate / reading,
            decode: rate / answering,
            transfer,
        };
        let rate = if demand.requests_per_second > 0.0 {
            demand.requests_per_second
        } else {
            let behind = (goal.output - 1.0).max(0.0);
            let turn = goal.ttft.unwrap_or(0.0) + behind * goal.tpot.unwrap_or(0.0);
            let slowest = of(f64::from(demand.users) / turn.max(f64::MIN_POSITIVE));
            self.asked(self.first_token(slowest, slowest.prefill), answering)
        };
        self.found(of(rate), x, y)
    }

    /// What replicas carry; `known` is for how long a cache is on its way and at what rate prompts
    /// are then read in time, for those that follow.
    fn carried(&self, known: &mut Option<(f64, f64)>) -> Option<Carried> {
        let PoolsRequest { goal, question, .. } = self.request;
        let transfer = self.way()?;
        let busy = transfer.seconds_per_token * real(question.prompt);
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

    fn way(&self) -> Option<Transfer> {
        let ends = [self.prefill, self.decode].map(|side| (side.system, side.placement));
        way(self.request, self.network, &ends, self.cache)
    }

    /// Seconds until the first token, on average.
    fn first_token(&self, carried: Carried, rate: f64) -> f64 {
        let first = self.prefill.estimator.at(&side::poisson(rate), 1.0);
        let Transfer {
            latency_seconds,
            seconds_per_token,
        } = carried.transfer;
        let sent = seconds_per_token * self.request.goal.traffic.mean_prompt();
        first.ttft_mean() + latency_seconds + sent
    }

    /// Replicas of each pool that carry what is asked for.
    fn for_demand(&self, carried: Carried) -> Option<(u32, u32)> {
        let demand = self.request.demand;
        let (rate, decode_replicas) = if demand.requests_per_second > 0.0 {
            let rate = demand.requests_per_second;
            (rate, whole((rate / carried.decode).ceil()))
        } else {
            let first = self.first_token(carried, carried.prefill);
            let users = f64::from(demand.users);
            let decode_replicas = whole((users / self.users(carried, first)).ceil());
            let rate = self.asked(first, f64::from(decode_replicas));
            (rate, decode_replicas)
        };
        let prefill_replicas = whole((rate / carried.prefill).ceil());
        (prefill_replicas.max(decode_replicas) <= MOST_REPLICAS)
            .then_some((prefill_replicas, decode_replicas))
    }

    /// Requests per second of users who wait for their answers from so many replicas, and so long for
    /// the first token.
    fn asked(&self, first_token: f64, replicas: f64) -> f64 {
        let asking = Arrivals::Closed {
            users: self.request.demand.users,
            think_seconds: first_token,
            start: Start::Spread,
        };
        let of_one = self.decode.estimator.at(&asking, replicas);
        of_one.requests_per_second * replicas
    }

    /// Users that keep one decode replica as busy as it may be (Little).
    fn users(&self, carried: Carried, first_token: f64) -> f64 {
        let behind = (self.request.goal.output - 1.0).max(0.0);
        let tokens = self
            .decode
            .estimator
            .at(&side::poisson(carried.decode), 1.0);
        carried.decode * (first_token + behind * tokens.tpot_mean())
    }

    /// The numbers of replicas that are best within the limits.
    fn most(&self, carried: Carried) -> Option<FoundPools<'a>> {
        let mut best = None;
        let limit = self.request.demand.accelerators.unwrap_or(u32::MAX);
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
        let demand = self.request.demand;
        let cluster = self.cluster(x, y)?;
        let bought = cluster.accelerators();
        let in_stock = demand.limits.stock.iter().all(|(id, &stock)| {
            let sets = cluster.sets().iter();
            let of_it = sets.filter(|set| set.hardware.accelerator.model_id() == id.as_str());
            of_it.map(HostSet::accelerators_bought).sum::<u32>() <= stock
        });
        let price = cluster.price()?;
        let power = cluster
            .power(self.request.assumptions)
            .unwrap_or(Watts::ZERO);
        let within = in_stock
            && demand.accelerators.is_none_or(|most| bought <= most)
            && demand.limits.price().is_none_or(|most| price <= most)
            && demand.limits.hosts(power, cluster.rack_units());
        if !within {
            return None;
        }
        let rates = (
            f64::from(x) * carried.prefill,
            f64::from(y) * carried.decode,
        );
        let rate = rates.0.min(rates.1);
        let tokens = rate * self.request.goal.output;
        let cost = of_purchase(
            price.usd(),
            power,
            cluster.rack_units(),
            tokens,
            &self.request.assumptions.cost,
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
            system: side.system,
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

    fn cluster(&self, x: u32, y: u32) -> Option<Cluster<'a>> {
        let (prefill, decode) = (self.prefill, self.decode);
        let (reading, answering) = ((prefill.placement, x), (decode.placement, y));
        let over =
            |side: &Side<'a>, packed: Packed| packed.in_hosts(&side.system.over(self.network));
        let sets = if self.alike {
            vec![over(prefill, packed(reading, answering))]
        } else {
            let alone = [(prefill, reading), (decode, answering)];
            alone
                .map(|(side, some)| over(side, Packed::alone(some)))
                .to_vec()
        };
        let hosts: u32 = sets.iter().map(|set| set.hosts).sum();
        // Inside of one host there is no network, and nothing to join without several.
        if (hosts == 1) != self.network.is_none() {
            return None;
        }
        Cluster::of(sets)
    }
}

/// How the cache of a prompt gets from one pool to the other, if it does.
pub(super) fn way<'a>(
    request: &PoolsRequest,
    network: Option<Connection<'a>>,
    ends: &[(System<'a>, Placement); 2],
    cache: Bytes,
) -> Option<Transfer> {
    let fabrics = ends.map(|(system, _)| system.over(network).fabric(request.assumptions));
    let [from, to] = [0, 1].map(|end| End {
        fabric: &fabrics[end],
        placement: ends[end].1,
    });
    let neighbours = network.is_none().then_some(from.placement.slots);
    transfer(from, to, neighbours, cache, real(request.question.prompt))
}
