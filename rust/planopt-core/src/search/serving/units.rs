//! The units that meet a goal: the front of each bill of materials.

use super::batch::{Count, Miss, batches};
use super::connection::{Placed, of_equal_lines};
use super::divisions::Divisions;
use super::found::FoundUnit;
use super::goal::Goal;
use super::kept::{KeptLine, KeptPart};
use super::latency::{Most, Supply, supply};
use super::layouts::placed;
use super::reduce::{Aim, Demand, reduce};
use crate::bill::Unit;
use crate::catalog::{Assumptions, SwitchSale};
use crate::course::Course;
use crate::hardware::{Connection, Fabric, Hardware, Space, System};
use crate::load::serving::Question;
use crate::parallel::{Batching, Layout, Placement};
use crate::quantity::{MicroUsd, Watts};
use crate::search::front::Front;
use crate::search::result::SearchResult;
use crate::serving::{Prepared, Replica};
use crate::transformer::Transformer;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// What a search is about, shared by all its tasks.
pub(super) struct Task<'s> {
    pub(super) question: &'s Question,
    pub(super) assumptions: &'s Assumptions,
    pub(super) goal: &'s Goal,
    pub(super) demand: &'s Demand,
    pub(super) divisions: &'s Divisions<'s>,
    pub(super) price_cap: Option<MicroUsd>,
    pub(super) kept: &'s KeptPart,
    pub(super) course: &'s Course,
}

/// A layout that can be had, the units of it in each listing, and what it cannot supply more than,
/// where that is known.
pub(super) struct Candidate<'r, 'a> {
    pub(super) replica: Replica<'r>,
    pub(super) layout: Layout,
    pub(super) placement: Placement,
    pub(super) in_flight: u32,
    pub(super) affordable: Vec<Vec<(Unit<'a>, MicroUsd)>>,
    pub(super) most: Option<Most>,
}

/// Units within the cap, and whether there are some but all are dearer.
type Priced<'a> = (Vec<(Unit<'a>, MicroUsd)>, bool);

/// Units of one hardware with their prices, by the hosts and accelerators of a replica: whoever
/// buys does not ask how these are divided.
pub(super) struct Prices<'a> {
    hardware: Hardware<'a>,
    known: BTreeMap<(u32, u32), Priced<'a>>,
    /// The fewest of which a replica is too dear: so is one of more of both.
    too_dear: (u32, u32),
    /// Hosts that a replica can stand in.
    most_hosts: u32,
}

impl<'a> Prices<'a> {
    pub(super) fn of(hardware: Hardware<'a>, sale: SwitchSale) -> Self {
        Self {
            hardware,
            known: BTreeMap::new(),
            too_dear: (u32::MAX, u32::MAX),
            most_hosts: Unit::most_hosts(hardware, sale),
        }
    }
}

/// Finds the units of `space` that meet `goal`, at most `accelerators` to a replica and none
/// dearer than `price_cap`. The result does not depend on the number of threads, nor on what is `kept`
/// of such a question; it stops early, and says so, once `course` is told to.
#[expect(
    clippy::too_many_arguments,
    reason = "the question in its parts; each has its own owner"
)]
pub fn search<'a>(
    transformer: &Transformer,
    question: &Question,
    space: &Space<'a>,
    goal: &Goal,
    demand: &Demand,
    accelerators: u32,
    price_cap: Option<MicroUsd>,
    assumptions: &Assumptions,
    kept: &KeptPart,
    course: &Course,
) -> SearchResult<FoundUnit<'a>> {
    let task = Task {
        question,
        assumptions,
        goal,
        demand,
        divisions: &Divisions::of(transformer, question, accelerators, assumptions),
        price_cap,
        kept,
        course,
    };
    course.begin(space.systems.len() as u64);
    if demand.aim.is_some_and(Aim::is_demanded) && goal.latency.is_some() {
        return task.best_first(space);
    }
    let found: Vec<SearchResult<FoundUnit<'a>>> = space
        .systems
        .par_iter()
        .map(|system| task.search_system(system, &space.networks))
        .inspect(|_| course.step(1))
        .collect();
    found.into_iter().collect()
}

/// What makes two units of one accelerator, host and network the same purchase.
type Purchase = (u32, u32, Option<(usize, Option<(u32, u32)>)>);

/// The front of each purchase.
type Fronts<'a> = BTreeMap<Purchase, Front<FoundUnit<'a>>>;

/// Where hosts of one kind are bought with one network, and the best of what was found there.
pub(super) struct Listing<'a> {
    place: usize,
    pub(super) prices: Prices<'a>,
    fronts: Fronts<'a>,
    pub(super) result: SearchResult<FoundUnit<'a>>,
}

impl<'a> Listing<'a> {
    /// What was found, and the units that none beats.
    pub(super) fn told(self, speed: bool) -> (usize, SearchResult<FoundUnit<'a>>) {
        let mut result = self.result;
        for front in self.fronts.into_values() {
            let units = front.into_unbeaten(|unit| unit.gives(speed));
            result.found.extend(units);
        }
        (self.place, result)
    }
}

impl Task<'_> {
    /// All layouts on one accelerator in one host.
    fn search_system<'a>(
        &self,
        system: &System<'a>,
        networks: &[Connection<'a>],
    ) -> SearchResult<FoundUnit<'a>> {
        let mut result = SearchResult::default();
        if self.course.is_over() {
            result.interrupted = true;
            return result;
        }
        let Some(prepared) = self.divisions.prepared(system.accelerator) else {
            result.covered += 1;
            result.rejected.format += 1;
            return result;
        };
        let mut found: Vec<_> = self
            .lines(system, networks)
            .into_par_iter()
            .flat_map(|alike| self.search_line(&alike, &prepared))
            .collect();
        found.sort_by_key(|(place, _)| *place);
        for (_, one) in found {
            result.absorb(one);
        }
        // What is on no front of one host is on none of all: fewer to carry on.
        result.found = reduce(result.found, self.demand);
        result
    }

    /// A host alone and over each network that it takes, those of one line together.
    pub(super) fn lines<'a>(
        &self,
        system: &System<'a>,
        networks: &[Connection<'a>],
    ) -> Vec<Vec<Placed<'a>>> {
        let over = networks
            .iter()
            .filter(|connection| system.takes(connection))
            .map(|connection| system.over(Some(*connection)));
        let each = std::iter::once(*system).chain(over).flat_map(|system| {
            let all = match system.network {
                None => system.owned.within(system.slots, 1),
                Some(_) => system.owned,
            };
            all.parts().map(move |owned| System { owned, ..system })
        });
        of_equal_lines(each, self.assumptions)
    }

    /// Where hosts of one line are bought, with nothing found yet.
    pub(super) fn listings<'a>(&self, alike: &[Placed<'a>]) -> Vec<Listing<'a>> {
        let of = |&(place, ref system): &Placed<'a>| Listing {
            place,
            prices: Prices::of(system.parts(), self.assumptions.switch_sale),
            fronts: Fronts::new(),
            result: SearchResult::default(),
        };
        alike.iter().map(of).collect()
    }

    pub(super) fn layouts(&self) -> &[Layout] {
        self.divisions.layouts()
    }

    /// The layouts that can be had on a system, of those that anything is `affordable` of.
    pub(super) fn candidates<'r, 'a>(
        &'r self,
        system: &System<'a>,
        fabric: &'r Fabric,
        prepared: &'r Prepared,
        kept: &KeptLine,
        mut affordable: impl FnMut(Placement) -> Vec<Vec<(Unit<'a>, MicroUsd)>>,
    ) -> Vec<Candidate<'r, 'a>> {
        let mut candidates = Vec::new();
        for &layout in self.layouts() {
            if self.course.is_over() {
                break;
            }
            let found = self.candidate(layout, system, fabric, prepared, &mut affordable);
            let Some(candidate) = found else {
                continue;
            };
            let most = self.most_of(&candidate, kept);
            candidates.push(Candidate { most, ..candidate });
        }
        candidates
    }

    /// A layout on a system, if it can be had there and anything is `affordable` of it.
    pub(super) fn candidate<'r, 'a>(
        &'r self,
        layout: Layout,
        system: &System<'a>,
        fabric: &'r Fabric,
        prepared: &'r Prepared,
        mut affordable: impl FnMut(Placement) -> Vec<Vec<(Unit<'a>, MicroUsd)>>,
    ) -> Option<Candidate<'r, 'a>> {
        let placement = placed(layout, system, self.question)?;
        let affordable = affordable(placement);
        if affordable.iter().all(Vec::is_empty) {
            return None;
        }
        let replica =
            self.divisions
                .replica(layout, placement, prepared, fabric, system.accelerator)?;
        Some(Candidate {
            replica,
            layout,
            placement,
            in_flight: self.goal.in_flight.unwrap_or(layout.pp),
            affordable,
            most: None,
        })
    }

    /// What a layout cannot supply more than, worked out once.
    pub(super) fn most_of(&self, candidate: &Candidate, kept: &KeptLine) -> Option<Most> {
        let &Candidate {
            layout, placement, ..
        } = candidate;
        kept.most(layout, placement, || {
            self.most(&candidate.replica, candidate.in_flight)
        })
    }

    /// All layouts on one accelerator in one host, in one host alone or over networks of one line.
    fn search_line<'a>(
        &self,
        alike: &[Placed<'a>],
        prepared: &Prepared,
    ) -> Vec<(usize, SearchResult<FoundUnit<'a>>)> {
        let Some((_, system)) = alike.first() else {
            return Vec::new();
        };
        let fabric = system.fabric(self.assumptions);
        let mut listings = self.listings(alike);
        let kept = self.kept.line(&system.accelerator.id, &fabric);
        let mut candidates = self.candidates(system, &fabric, prepared, &kept, |placement| {
            self.affordable_in(&mut listings, placement)
        });
        // Those that may supply most come first: the others are then seen to be beaten.
        candidates.sort_by(|one, other| {
            let tokens = |each: &Candidate| each.most.map_or(0.0, |most| most.tokens_per_second);
            tokens(other).total_cmp(&tokens(one))
        });
        for candidate in candidates {
            if self.course.is_over() {
                break;
            }
            self.supply_to(&mut listings, &candidate, &kept);
        }
        for listing in &mut listings {
            listing.result.interrupted = self.course.is_over();
        }
        let speed = self.demand.speed;
        let told = listings.into_iter().map(|listing| listing.told(speed));
        told.collect()
    }

    /// Offers what a replica supplies to each listing, unless all have better; what the best of its units
    /// is at what alone is sought.
    pub(super) fn supply_to<'a>(
        &self,
        listings: &mut [Listing<'a>],
        candidate: &Candidate<'_, 'a>,
        kept: &KeptLine,
    ) -> f64 {
        let mut best = f64::INFINITY;
        let &Candidate {
            in_flight,
            ref affordable,
            most,
            ..
        } = candidate;
        let open: Vec<usize> = (0..listings.len())
            .filter(|&listing| !affordable[listing].is_empty())
            .filter(|&listing| {
                let Listing { fronts, result, .. } = &mut listings[listing];
                let beaten = most
                    .filter(|_| !self.demand.every)
                    .filter(|&most| self.is_beaten(most, in_flight, &affordable[listing], fronts));
                if let Some(most) = beaten {
                    result.covered += u64::from(most.capacity);
                }
                beaten.is_none()
            })
            .collect();
        let Some(&first) = open.first() else {
            return best;
        };
        let (found, count) = self.supplies(candidate, kept);
        listings[first].result.evaluated += count.evaluated;
        for listing in open {
            let Listing { fronts, result, .. } = &mut listings[listing];
            result.covered += count.covered;
            match &found {
                Err(miss) => result.miss(*miss),
                Ok(found) => {
                    for &supply in found {
                        let units = self.supplying(supply, in_flight, &affordable[listing]);
                        let units = units.inspect(|unit| {
                            let aim = self.demand.aim;
                            let of_unit = aim.map(|aim| aim.of(unit, self.demand));
                            best = best.min(of_unit.unwrap_or(f64::INFINITY));
                        });
                        if self.demand.every {
                            result.found.extend(units);
                        } else {
                            self.offer(units, fronts);
                        }
                    }
                }
            }
        }
        best
    }

    /// What a replica supplies: at the batches of the goal, or within its latencies.
    fn supplies(
        &self,
        candidate: &Candidate<'_, '_>,
        kept: &KeptLine,
    ) -> (Result<Vec<Supply>, Miss>, Count) {
        let &Candidate {
            ref replica,
            layout,
            placement,
            in_flight,
            most,
            ..
        } = candidate;
        let Some(latency) = &self.goal.latency else {
            let mut count = Count::default();
            let found = batches(replica, self.goal, in_flight, &mut count).map(|found| {
                let each = found.into_iter();
                each.map(|batch| Supply::at_full_context(replica, batch, in_flight))
                    .collect()
            });
            return (found, count);
        };
        let (found, count) = kept.supplied(layout, placement, || {
            let mut count = Count::default();
            let (goal, assumptions) = (self.goal, self.assumptions);
            let found = supply(
                replica,
                goal,
                latency,
                in_flight,
                most,
                assumptions,
                &mut count,
            );
            (found, count)
        });
        (found.map(|found| vec![found]), count)
    }

    /// What a replica cannot supply more than, where latencies are judged and the batch is open.
    fn most(&self, replica: &Replica, in_flight: u32) -> Option<Most> {
        let latency = self.goal.latency.as_ref()?;
        if self.goal.batch.is_some() || self.demand.speed {
            return None;
        }
        Most::of(replica, latency, in_flight, self.assumptions)
    }

    /// Whether all units of a replica are beaten by others of the same parts, whatever it supplies.
    fn is_beaten(
        &self,
        most: Most,
        in_flight: u32,
        units: &[(Unit, MicroUsd)],
        fronts: &Fronts,
    ) -> bool {
        let batching = Batching {
            batch: most.batch,
            in_flight,
        };
        let users = batching.users(self.question.overlap);
        units.iter().all(|(unit, _)| {
            let Some(front) = fronts.get(&purchase_of(unit)) else {
                return false;
            };
            let goodput = unit.hardware.host.rent.map_or(1.0, |rent| rent.goodput);
            let tokens = most.tokens_per_second * f64::from(unit.replicas) * goodput;
            let power = unit.power(self.assumptions).unwrap_or(Watts::ZERO);
            front.members().iter().any(|other| {
                other.users >= users * u64::from(unit.replicas)
                    && other.tokens_per_second >= tokens
                    && other.unit.replicas >= unit.replicas
                    && other.power <= power
            })
        })
    }

    /// The units of a placement whose price is within the cap.
    pub(super) fn affordable<'a>(
        &self,
        prices: &mut Prices<'a>,
        placement: Placement,
        result: &mut SearchResult<FoundUnit<'a>>,
    ) -> Vec<(Unit<'a>, MicroUsd)> {
        let (hardware, sale) = (prices.hardware, self.assumptions.switch_sale);
        let bought = (placement.hosts, placement.accelerators());
        let is_beyond = bought.0 >= prices.too_dear.0 && bought.1 >= prices.too_dear.1;
        let known = if is_beyond {
            &(Vec::new(), placement.hosts <= prices.most_hosts)
        } else {
            let too_dear = &mut prices.too_dear;
            prices.known.entry(bought).or_insert_with(|| {
                let (mut affordable, mut is_cut) = (Vec::new(), false);
                Unit::all(hardware, placement, sale, |unit| {
                    let price = unit.price();
                    let cap = self.price_cap;
                    let within = price.filter(|price| cap.is_none_or(|cap| *price <= cap));
                    let Some(price) = within else {
                        is_cut |= price.is_some();
                        return ControlFlow::Break(());
                    };
                    affordable.push((unit, price));
                    ControlFlow::Continue(())
                });
                result.is_cut_by_price |= is_cut;
                let is_too_dear = is_cut && affordable.is_empty();
                if is_too_dear && hardware.owned.is_none() {
                    *too_dear = bought;
                }
                (affordable, is_too_dear)
            })
        };
        let (affordable, is_too_dear) = known;
        if *is_too_dear {
            result.covered += 1;
            result.rejected.price += 1;
        }
        let of_placement = |&(unit, price)| (Unit { placement, ..unit }, price);
        affordable.iter().map(of_placement).collect()
    }

    /// The same of each listing.
    pub(super) fn affordable_in<'a>(
        &self,
        listings: &mut [Listing<'a>],
        placement: Placement,
    ) -> Vec<Vec<(Unit<'a>, MicroUsd)>> {
        let each = listings.iter_mut();
        each.map(|listing| self.affordable(&mut listing.prices, placement, &mut listing.result))
            .collect()
    }

    /// Units whose replicas supply so much each.
    pub(super) fn supplying<'a>(
        &self,
        supply: Supply,
        in_flight: u32,
        units: &[(Unit<'a>, MicroUsd)],
    ) -> impl Iterator<Item = FoundUnit<'a>> {
        let overlap = self.question.overlap;
        let units = units.iter();
        units.map(move |&unit| {
            FoundUnit::supplying(supply, in_flight, unit, overlap, self.assumptions)
        })
    }

    /// Puts units on the front of their bill of materials.
    fn offer<'a>(&self, units: impl Iterator<Item = FoundUnit<'a>>, fronts: &mut Fronts<'a>) {
        for found in units {
            let front = fronts.entry(purchase_of(&found.unit)).or_default();
            front.offer(found, |unit| unit.gives(self.demand.speed));
        }
    }
}

/// What of a unit decides its bill of materials, within one accelerator, host and network.
fn purchase_of(unit: &Unit) -> Purchase {
    let switch = unit.switch.map(|share| {
        let place = unit.hardware.network.and_then(|(network, _)| {
            network
                .switches
                .iter()
                .position(|switch| switch.id == share.switch.id)
        });
        (place.unwrap_or_default(), share.blocks)
    });
    (unit.hosts(), unit.accelerators_bought(), switch)
}
