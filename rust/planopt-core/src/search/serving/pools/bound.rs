//! What no two pools are better than.
//!
//! Of the fastest, the most requests that so many accelerators read and answer at rates that no layout
//! of a size exceeds. Of the cheapest, the least price of so many replicas of one layout to read and so
//! many of one to answer. Where it is known what is to be beaten, those that cost less are tried from
//! the cheapest on (best first), until runs refuse all of them or leave one.

use super::found::{FoundPools, PoolsAim, PoolsRequest};
use super::late::Runs;
use super::pair::{Pair, way};
use super::side::{Bound, Pool, PoolContext};
use crate::bill::{Cluster, Packed, packed};
use crate::hardware::{Connection, System};
use crate::parallel::Placement;
use crate::quantity::MicroUsd;
use crate::search::serving::divisions::Divisions;
use crate::search::serving::latency::{BEYOND, whole};
use crate::search::serving::settle::Verdict;
use crate::serving::Prepared;
use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

/// Accelerators beyond which nobody buys a pool: replicas that answer next to nothing in time would
/// have to be more than can be counted.
const MOST_ACCELERATORS: u32 = 1 << 24;

/// Rounding of a rate that is divided into replicas.
const ROUNDING: f64 = 1e-9;

const POOLS: [Pool; 2] = [Pool::Prefill, Pool::Decode];

/// Layouts of one size, as replicas of one pool.
struct Size<'a> {
    placement: Placement,
    network: Option<Connection<'a>>,
    /// Each with the fewest replicas that may do, or do until a run has refused them.
    layouts: Vec<(Bound, u32)>,
    /// Replicas of layouts, by their places, that no run has refused in the kindest company.
    passed: BTreeSet<(usize, u32)>,
}

/// Accelerators in their hosts.
struct Family<'p, 'a> {
    system: System<'a>,
    prepared: &'p Prepared,
    sizes: [Vec<Size<'a>>; 2],
    /// What is known of the price of its hosts.
    prices: RefCell<BTreeMap<Packed, Option<MicroUsd>>>,
}

impl Family<'_, '_> {
    /// What hosts cost that nothing joins.
    fn price(&self, some: Packed) -> Option<MicroUsd> {
        let mut prices = self.prices.borrow_mut();
        let unjoined = || Cluster::unjoined(some.in_hosts(&self.system)).price();
        *prices.entry(some).or_insert_with(unjoined)
    }
}

/// So many replicas: the place of their family, of their size in that, and their number.
type Many = (usize, usize, u32);

/// Two pools by what they cost, and the number of what joins them among all that may, from the cheapest
/// on; 0 where they are priced as if nothing did.
type Priced = (MicroUsd, [Many; 2], usize);

/// What joins two pools, and what they cost then.
type Way<'a> = (MicroUsd, Option<Connection<'a>>);

/// What no two pools that were looked at are better than.
pub(super) struct Best<'r, 'p, 'a> {
    request: &'r PoolsRequest<'r>,
    divisions: &'p Divisions<'p>,
    networks: &'p [Connection<'a>],
    /// Requests per second that are asked for at least; 0 where that is not known.
    rate: f64,
    families: Vec<Family<'p, 'a>>,
}

impl<'r, 'p, 'a> Best<'r, 'p, 'a> {
    pub(super) fn of(
        request: &'r PoolsRequest<'r>,
        divisions: &'p Divisions<'p>,
        networks: &'p [Connection<'a>],
    ) -> Self {
        Self {
            request,
            divisions,
            networks,
            rate: rate(request).unwrap_or(0.0),
            families: Vec::new(),
        }
    }

    /// Looks at what stands on a kind of hardware: inside of one host whatever joins several.
    pub(super) fn add(
        &mut self,
        system: &System<'a>,
        prepared: &'p Prepared,
        of_pools: &[Vec<Bound>; 2],
    ) {
        let is_it = |family: &Family| {
            let other = &family.system;
            other.accelerator.id == system.accelerator.id && other.host.id == system.host.id
        };
        let known = self.families.iter().position(is_it).unwrap_or_else(|| {
            self.families.push(Family {
                system: system.over(None),
                prepared,
                sizes: [Vec::new(), Vec::new()],
                prices: RefCell::default(),
            });
            self.families.len() - 1
        });
        for (at, bounds) in of_pools.iter().enumerate() {
            let mut of_size: BTreeMap<(u32, u32), Vec<(Bound, u32)>> = BTreeMap::new();
            for bound in bounds {
                if system.network.is_some() && bound.placement.hosts < 2 {
                    continue;
                }
                let alike = of_size.entry(bound.size()).or_default();
                alike.push((*bound, self.fewest(bound)));
            }
            let sizes = of_size.into_values().map(|layouts| Size {
                placement: layouts[0].0.placement,
                network: system.network,
                layouts,
                passed: BTreeSet::new(),
            });
            self.families[known].sizes[at].extend(sizes);
        }
    }

    /// The fewest replicas of a layout that no rate forbids.
    fn fewest(&self, bound: &Bound) -> u32 {
        if self.rate <= bound.of_one {
            return 1;
        }
        let several = whole((self.rate / bound.rate - ROUNDING).ceil());
        if bound.of_one < bound.rate {
            several.max(2)
        } else {
            several
        }
    }

    /// Dollars or tokens per second, by what is asked for; none where that is not known. Of the cheapest
    /// what none costs less that runs show to hold, and the pair that costs it.
    pub(super) fn value(mut self) -> (Option<f64>, Option<f64>, Option<FoundPools<'a>>) {
        let demand = self.request.demand;
        match demand.aim {
            PoolsAim::Cheapest => {
                let (bound, shown, left) = self.cheapest();
                (bound.map(MicroUsd::usd), shown.map(MicroUsd::usd), left)
            }
            PoolsAim::Throughput => {
                let fastest = demand.accelerators.map(|most| self.fastest(most));
                (
                    fastest.map(|rate| rate * self.request.goal.output),
                    None,
                    None,
                )
            }
            PoolsAim::CostPerToken => (None, None, None),
        }
    }

    /// What no two pools cost less than, and none that runs show to hold; and those that cost that.
    fn cheapest(&mut self) -> (Option<MicroUsd>, Option<MicroUsd>, Option<FoundPools<'a>>) {
        let demand = self.request.demand;
        let beaten = self.request.beats.map(MicroUsd::from_usd);
        // None that costs more than is allowed was looked at.
        let most = beaten.into_iter().chain(demand.limits.price()).min();
        let mut pairs = self.pairs(most.map(|most| MicroUsd(most.0 - 1)), beaten.is_some());
        let Some(runs) = Runs::of(self.request).filter(|_| beaten.is_some()) else {
            let least = pairs.pop().map(|Reverse((price, ..))| price);
            let least = least.into_iter().chain(most).min();
            return (least, least, None);
        };
        let (mut seen, mut open) = (BTreeSet::new(), None);
        while let Some(Reverse((price, some, way))) = pairs.pop() {
            if self.request.is_over() {
                return (open.or(Some(price)), Some(price), None);
            }
            let (mut next, mut passing) = (some, [Vec::new(), Vec::new()]);
            for (at, pool) in POOLS.into_iter().enumerate() {
                next[at].2 = self.possible(at, some[at]);
                if next == some {
                    passing[at] = self.passing(pool, at, some[at], &runs);
                    next[at].2 = self.possible(at, some[at]);
                }
            }
            let mut others = vec![(next, 0)];
            if next == some {
                let ways = self.ways(some);
                others = vec![(some, way + 1)];
                if let Some((_, network)) = way.checked_sub(1).and_then(|at| ways.get(at)) {
                    let (left, is_open) = self.left(some, *network, &passing, &runs);
                    if left.is_some() || is_open {
                        open = open.or(Some(price));
                    }
                    if let Some(left) = left {
                        return (open, Some(price), self.laid_out(some, *network, left));
                    }
                    let [(one, size, x), (other, place, y)] = some;
                    others.push(([(one, size, x + 1), (other, place, y)], 0));
                    others.push(([(one, size, x), (other, place, y + 1)], 0));
                }
            }
            for (other, way) in others {
                let price = match way {
                    0 => self.unjoined(other),
                    _ => self.ways(other).get(way - 1).map(|way| way.0),
                };
                let dearer = price.filter(|price| most.is_none_or(|most| *price < most));
                if let Some(price) = dearer.filter(|_| seen.insert((other, way))) {
                    pairs.push(Reverse((price, other, way)));
                }
            }
        }
        (open.or(most), most, None)
    }

    /// Pairs of sizes by price, up to the most: all of them, or the cheapest alone.
    fn pairs(&self, mut most: Option<MicroUsd>, are_all: bool) -> BinaryHeap<Reverse<Priced>> {
        let fewest = |at: usize| {
            let families = self.families.iter().enumerate();
            let some = families.flat_map(move |(family, each)| {
                let sizes = 0..each.sizes[at].len();
                sizes.map(move |size| (family, size, self.possible(at, (family, size, 1))))
            });
            let priced = some.filter_map(|some| Some((self.alone(at, some)?, some)));
            let mut priced: Vec<_> = priced.collect();
            priced.sort();
            priced
        };
        let [reading, answering] = [fewest(0), fewest(1)];
        let mut pairs = BinaryHeap::new();
        for &(one, first) in &reading {
            for &(other, second) in &answering {
                if most.is_some_and(|most| one + other > most) && first.0 != second.0 {
                    // Those that share hosts may still cost less.
                    continue;
                }
                let Some(price) = self.unjoined([first, second]) else {
                    continue;
                };
                if most.is_none_or(|most| price <= most) {
                    pairs.push(Reverse((price, [first, second], 0)));
                    if !are_all {
                        most = Some(price);
                    }
                }
            }
        }
        pairs
    }

    /// At least so many replicas, and no fewer than may do of some layout.
    fn possible(&self, at: usize, (family, size, replicas): Many) -> u32 {
        let layouts = &self.families[family].sizes[at][size].layouts;
        let fewest = layouts.iter().map(|(_, fewest)| *fewest).min();
        fewest.unwrap_or(u32::MAX).max(replicas)
    }

    /// What a pool costs in hosts of its own that nothing joins.
    fn alone(&self, at: usize, some: Many) -> Option<MicroUsd> {
        self.families[some.0].price(Packed::alone(self.placed(at, some)?))
    }

    /// What two pools cost at least, in hosts that they share or of two kinds that nothing joins.
    fn unjoined(&self, [first, second]: [Many; 2]) -> Option<MicroUsd> {
        if first.0 != second.0 {
            return Some(self.alone(0, first)? + self.alone(1, second)?);
        }
        let family = &self.families[first.0];
        let (one, more) = (self.placed(0, first)?, self.placed(1, second)?);
        family.price(packed(one, more))
    }

    /// Where replicas stand, if they can be counted.
    fn placed(&self, at: usize, (family, size, replicas): Many) -> Option<(Placement, u32)> {
        let placement = self.families[family].sizes[at][size].placement;
        bought(placement, replicas)?;
        Some((placement, replicas))
    }

    /// What may join two pools, from the cheapest on: none that is slower than a cheaper one; within a
    /// host nothing.
    fn ways(&self, some: [Many; 2]) -> Vec<Way<'a>> {
        let mut ways = self.all_ways(some).unwrap_or_default();
        ways.sort_by_key(|way| way.0);
        let mut fastest = (0.0, false);
        ways.retain(|(_, network)| {
            let speed = network.map_or((f64::INFINITY, true), |(_, line)| {
                (line.rate.0 * f64::from(line.nics_per_host), line.rdma)
            });
            let is_faster = speed.0 > fastest.0 || (speed.1 && !fastest.1);
            fastest = (speed.0.max(fastest.0), speed.1 || fastest.1);
            is_faster
        });
        ways
    }

    fn all_ways(&self, [first, second]: [Many; 2]) -> Option<Vec<Way<'a>>> {
        let (family, other) = (&self.families[first.0], &self.families[second.0]);
        let (one, more) = (self.placed(0, first)?, self.placed(1, second)?);
        let own = [
            family.sizes[0][first.1].network,
            other.sizes[1][second.1].network,
        ];
        let parts = if first.0 == second.0 {
            vec![(family, packed(one, more))]
        } else {
            vec![(family, Packed::alone(one)), (other, Packed::alone(more))]
        };
        if let [(_, Packed { hosts: 1, .. })] = &parts[..] {
            return Some(vec![(family.price(parts[0].1)?, None)]);
        }
        let price = |network: Connection<'a>| {
            let sets = parts.iter();
            let sets = sets.map(|(own, packed)| packed.in_hosts(&own.system.over(Some(network))));
            let takes = parts
                .iter()
                .all(|(family, _)| family.system.takes(&network));
            // Replicas in several hosts stand on the network that joins all of them.
            let is_own = own.iter().flatten().all(|(own, line)| {
                own.id == network.0.id && line.nics_per_host == network.1.nics_per_host
            });
            let cluster = Cluster::of(sets.collect()).filter(|_| takes && is_own)?;
            Some((cluster.price()?, Some(network)))
        };
        Some(self.networks.iter().copied().filter_map(price).collect())
    }

    /// The layouts of so many replicas that keep their promise in the kindest company. Of those that a run
    /// refuses more are needed.
    fn passing(
        &mut self,
        pool: Pool,
        at: usize,
        (family, size, replicas): Many,
        runs: &Runs,
    ) -> Vec<usize> {
        let mut passing = Vec::new();
        let many = self.families[family].sizes[at][size].layouts.len();
        for place in 0..many {
            let of_size = &self.families[family].sizes[at][size];
            let (bound, fewest) = of_size.layouts[place];
            if fewest > replicas || self.request.is_over() {
                continue;
            }
            let passed = of_size.passed.range((place, 0)..=(place, replicas));
            let is_known = passed.count() > 0;
            let context = self.context(family, of_size.network);
            let fabric = context.system.fabric(self.request.assumptions);
            let replica = context.replica(bound.layout, bound.placement, &fabric);
            let is_refused = replica.filter(|_| !is_known).is_some_and(|replica| {
                let some = (&replica, bound.layout.pp);
                runs.with(pool, some, replicas, |some| runs.refuse(pool, some))
            });
            let of_size = &mut self.families[family].sizes[at][size];
            if is_refused {
                of_size.layouts[place].1 = replicas.saturating_add(1);
            } else {
                of_size.passed.insert((place, replicas));
                passing.push(place);
            }
        }
        passing
    }

    /// The first two of some layouts that runs show to hold over a network, and whether they leave others
    /// open.
    fn left(
        &self,
        [first, second]: [Many; 2],
        network: Option<Connection<'a>>,
        passing: &[Vec<usize>; 2],
        runs: &Runs,
    ) -> (Option<[Bound; 2]>, bool) {
        let of = |at: usize, some: Many| &self.families[some.0].sizes[at][some.1];
        let (one, other) = (of(0, first), of(1, second));
        let (front, back) = (
            self.context(first.0, network),
            self.context(second.0, network),
        );
        let fabrics = [&front, &back].map(|each| each.system.fabric(self.request.assumptions));
        let Some(cache) = front.cache() else {
            return (None, false);
        };
        let mut is_open = false;
        let reading = passing[0].iter().map(|&place| one.layouts[place].0);
        let mut pairs = reading.flat_map(|reads| {
            let answering = passing[1].iter().map(|&place| other.layouts[place].0);
            answering.map(move |answers| [reads, answers])
        });
        let left = pairs.find(|[reads, answers]| {
            let ends = [
                (front.system, reads.placement),
                (back.system, answers.placement),
            ];
            let Some(way) = way(self.request, network, &ends, cache) else {
                return false;
            };
            let busy = way.seconds_per_token * self.request.goal.traffic.mean_prompt();
            if self.rate / f64::from(first.2) * busy > BEYOND {
                return false;
            }
            let reading = front.replica(reads.layout, reads.placement, &fabrics[0]);
            let answering = back.replica(answers.layout, answers.placement, &fabrics[1]);
            let (Some(reading), Some(answering)) = (reading, answering) else {
                return false;
            };
            let (reading, answering) =
                ((&reading, reads.layout.pp), (&answering, answers.layout.pp));
            let verdict = runs.with(Pool::Prefill, reading, first.2, |reading| {
                runs.with(Pool::Decode, answering, second.2, |answering| {
                    runs.of_both(reading, way, answering)
                })
            });
            is_open |= verdict == Verdict::Open;
            verdict == Verdict::Good
        });
        (left, is_open)
    }

    /// Two pools as they are bought.
    fn laid_out(
        &self,
        [first, second]: [Many; 2],
        network: Option<Connection<'a>>,
        [reads, answers]: [Bound; 2],
    ) -> Option<FoundPools<'a>> {
        let reading = self.context(first.0, network);
        let answering = self.context(second.0, network);
        let pair = Pair {
            request: self.request,
            network,
            prefill: &reading.of_bound(Pool::Prefill, &reads)?,
            decode: &answering.of_bound(Pool::Decode, &answers)?,
            cache: reading.cache()?,
            alike: first.0 == second.0,
        };
        pair.of_many(first.2, second.2)
    }

    /// A family over a network.
    fn context(&self, family: usize, network: Option<Connection<'a>>) -> PoolContext<'_, 'a> {
        let family = &self.families[family];
        PoolContext {
            request: self.request,
            divisions: self.divisions,
            system: family.system.over(network),
            prepared: family.prepared,
        }
    }

    /// The most requests per second of both pools on so many accelerators.
    fn fastest(&self, accelerators: u32) -> f64 {
        let sizes = [0, 1].map(|at| {
            let sizes = self.families.iter().flat_map(|family| &family.sizes[at]);
            let mut most: BTreeMap<u32, (f64, f64)> = BTreeMap::new();
            for (bound, _) in sizes.flat_map(|size| &size.layouts) {
                let of_size = most.entry(bound.placement.accelerators()).or_default();
                of_size.0 = of_size.0.max(bound.of_one);
                of_size.1 = of_size.1.max(bound.rate);
            }
            most
        });
        let [prefill, decode] = &sizes;
        let mut most = 0.0_f64;
        for (&of_one, &(alone, reads)) in prefill {
            for (&of_other, &(_, answers)) in decode {
                for replicas in 1..=accelerators / of_one {
                    let left = (accelerators - replicas * of_one) / of_other;
                    let matched = if replicas == 1 {
                        alone
                    } else {
                        f64::from(replicas) * reads
                    };
                    most = most.max(matched.min(f64::from(left) * answers));
                }
            }
        }
        most
    }
}

/// Accelerators of so many replicas, if these can be counted.
fn bought(placement: Placement, replicas: u32) -> Option<u32> {
    let accelerators = placement.accelerators().checked_mul(replicas)?;
    (accelerators <= MOST_ACCELERATORS).then_some(accelerators)
}

/// Requests per second that are asked for. Of users who wait it is known where all that they wait for
/// is promised: then each asks again no later.
fn rate(request: &PoolsRequest) -> Option<f64> {
    let (demand, goal) = (request.demand, request.goal);
    if demand.requests_per_second > 0.0 {
        return Some(demand.requests_per_second);
    }
    if goal.at.may_be_below_mean() {
        return None;
    }
    let behind = (goal.output - 1.0).max(0.0);
    let turn = goal.ttft? + behind * goal.tpot?;
    Some(f64::from(demand.users) / (BEYOND * turn))
}
