//! The search for clusters that train a model: every accelerator, host, network, number of
//! accelerators and layout.
//!
//! With accelerator, host and network fixed, price, power and space grow with the number of
//! hosts. So clusters are looked at from the smallest: the first that finishes in time is the
//! cheapest of its kind. Most candidates go by a bound: a step is never shorter than its
//! arithmetic, divided evenly.

mod found;
mod goal;
mod layouts;
mod prepared;
mod size;

pub use self::found::FoundCluster;
pub use self::goal::{Payment, TrainingAim, TrainingGoal, TrainingSearch};

use self::layouts::{Candidate, Layouts};
use self::prepared::{Priced, Subject};
use crate::cost::of_purchase;
use crate::hardware::{Connection, Rates, Space, System};
use crate::parallel::Layout;
use crate::quantity::{MicroUsd, Seconds};
use crate::search::alike::alike;
use crate::search::result::SearchResult;
use rayon::prelude::*;

impl TrainingSearch<'_> {
    /// Finds the best cluster of each accelerator, host and network of `space`. The result does
    /// not depend on the number of threads; it stops early, and says so, once its course is told to.
    pub fn search<'a>(&self, space: &Space<'a>) -> SearchResult<FoundCluster<'a>> {
        let most = self.goal.accelerators;
        let layouts = self.layouts(most);
        let alike = self.alike(&space.systems);
        self.course.begin(space.systems.len() as u64);
        let mut found: Vec<(usize, SearchResult<FoundCluster<'a>>)> = alike
            .into_par_iter()
            .flat_map_iter(|systems| self.search_alike(&systems, &space.networks, &layouts))
            .collect();
        found.sort_by_key(|(place, _)| *place);
        found.into_iter().map(|(_, one)| one).collect()
    }

    fn layouts(&self, accelerators: u32) -> Layouts {
        let odd = self.goal.allow_odd;
        Layouts::all(self.transformer, self.recipe, accelerators, odd)
    }

    /// Places of systems, those together on which every run takes as long: instances of one kind that
    /// many offer, say.
    fn alike<'p, 'a>(&self, systems: &'p [System<'a>]) -> Vec<Vec<(usize, &'p System<'a>)>> {
        alike(systems.iter().enumerate(), |(_, system)| {
            let accelerator: *const _ = system.accelerator;
            (accelerator, system.slots, system.fabric(self.assumptions))
        })
    }

    /// The layout whose run on so many accelerators of a system is shortest, and that run: whatever
    /// they cost, and whoever they belong to.
    pub fn fastest_on(&self, system: &System, accelerators: u32) -> Option<(Layout, Seconds)> {
        let format = self.recipe.precision.format();
        let rates = Rates::of(system.accelerator, format, self.assumptions)?;
        let layouts = self.layouts(accelerators);
        let mut subject = Subject::new(self, system, &rates, &layouts);
        let fabric = system.fabric(self.assumptions);
        let mut priced = Priced::new(&fabric, &layouts);
        let size = subject.size(accelerators)?;
        let mut result = SearchResult::default();
        subject.fastest(&mut priced, &size, Seconds(f64::INFINITY), &mut result)
    }

    /// Systems that are alike, each by its place.
    fn search_alike<'a>(
        &self,
        systems: &[(usize, &System<'a>)],
        networks: &[Connection<'a>],
        layouts: &Layouts,
    ) -> Vec<(usize, SearchResult<FoundCluster<'a>>)> {
        let (_, first) = systems[0];
        let format = self.recipe.precision.format();
        let Some(rates) = Rates::of(first.accelerator, format, self.assumptions) else {
            let candidates: u64 = layouts.candidates.iter().map(Candidate::count).sum();
            let mut refused = SearchResult::default();
            refused.covered += candidates;
            refused.rejected.precision += candidates;
            self.course.step(systems.len() as u64);
            let each = systems.iter().map(|(place, _)| (*place, refused.clone()));
            return each.collect();
        };
        let mut subject = Subject::new(self, first, &rates, layouts);
        let mut known = Vec::new();
        let each = systems.iter().map(|&(place, system)| {
            let result = self.search_system(&mut subject, &mut known, system, networks);
            self.course.step(1);
            (place, result)
        });
        each.collect()
    }

    /// One accelerator in one host, over each network: the fastest first, as what it reaches
    /// spares the others.
    fn search_system<'a>(
        &self,
        subject: &mut Subject<'_, 'a>,
        known: &mut Vec<Priced>,
        system: &System<'a>,
        networks: &[Connection<'a>],
    ) -> SearchResult<FoundCluster<'a>> {
        let mut result = SearchResult::default();
        let mut systems: Vec<System> = networks
            .iter()
            .filter(|connection| system.takes(connection))
            .map(|connection| system.over(Some(*connection)))
            .collect();
        systems.sort_by(|one, other| {
            let bandwidth = |system: &System| {
                let line = system.network.map(|(_, line)| line);
                line.map_or(0.0, |line| line.rate.0 * f64::from(line.nics_per_host))
            };
            bandwidth(other).total_cmp(&bandwidth(one))
        });
        systems.insert(0, *system);
        let mut best: Option<FoundCluster<'a>> = None;
        for system in systems {
            let fabric = system.fabric(self.assumptions);
            let place = known.iter().position(|priced| *priced.fabric() == fabric);
            let place = place.unwrap_or_else(|| {
                known.push(Priced::new(&fabric, subject.layouts));
                known.len() - 1
            });
            let priced = &mut known[place];
            if let Some(found) = self.search_network(subject, priced, &system, best, &mut result) {
                if best.is_none_or(|best| self.better(&found, &best)) {
                    best = Some(found);
                }
                result.found.push(found);
            }
        }
        result
    }

    /// The best cluster over one network, unless `known` is better than all of them.
    fn search_network<'a>(
        &self,
        subject: &mut Subject<'_, 'a>,
        priced: &mut Priced,
        system: &System<'a>,
        known: Option<FoundCluster<'a>>,
        result: &mut SearchResult<FoundCluster<'a>>,
    ) -> Option<FoundCluster<'a>> {
        let mut best: Option<FoundCluster<'a>> = None;
        let mut sizes = subject.sizes(system.network.is_some());
        if self.goal.aim == TrainingAim::Fastest {
            sizes.reverse();
        }
        for size in &sizes {
            if self.course.is_over() {
                result.interrupted = true;
                return best;
            }
            result.covered += size.count;
            let leader = best.or(known);
            let Some(bought) = self.buy(system, size, leader, result) else {
                continue;
            };
            let limit = self.latest(system, bought.price, best.or(known).as_ref());
            let Some((layout, run)) = subject.fastest(priced, size, limit, result) else {
                continue;
            };
            let found = self.cluster(&bought, layout, run);
            if best.is_none_or(|best| self.better(&found, &best)) {
                best = Some(found);
            }
        }
        best
    }

    /// A run longer than this is of no use on what has this price: the deadline, what is
    /// affordable, or what is reached already.
    fn latest(&self, system: &System, price: MicroUsd, known: Option<&FoundCluster>) -> Seconds {
        let goal = self.goal;
        let deadline = goal.time(system) / goal.slower(&system.accelerator.id);
        let affordable = goal.limits.price().map_or(deadline, |most| {
            deadline.min(goal.payment.longest(price, most.usd()))
        });
        match (goal.aim, known) {
            (_, None) => affordable,
            (TrainingAim::Fastest, Some(known)) => affordable.min(known.run),
            (TrainingAim::Cheapest, Some(known)) => {
                let dollars = self.dollars(known);
                affordable.min(goal.payment.longest(price, dollars))
            }
        }
    }

    fn dollars(&self, found: &FoundCluster) -> f64 {
        self.goal.payment.dollars(found.price, found.run)
    }

    fn better(&self, one: &FoundCluster, other: &FoundCluster) -> bool {
        let key = |found: &FoundCluster| match self.goal.aim {
            TrainingAim::Cheapest => (self.dollars(found), found.run.0),
            TrainingAim::Fastest => (found.run.0, self.dollars(found)),
        };
        key(one) < key(other)
    }

    fn cluster<'a>(
        &self,
        bought: &size::Bought<'a>,
        layout: Layout,
        run: Seconds,
    ) -> FoundCluster<'a> {
        let slower = self.goal.slower(&bought.hardware.accelerator.id);
        let tokens_per_second = self.goal.tokens / (run.0 * slower);
        let price = bought.price.usd();
        let usd_per_hour = match self.goal.payment {
            Payment::Hours => price,
            Payment::Purchase => {
                let (power, height) = (bought.power, bought.rack_units);
                let money = &self.assumptions.cost;
                of_purchase(price, power, height, tokens_per_second, money).usd_per_hour
            }
        };
        FoundCluster {
            hardware: bought.hardware,
            layout,
            hosts: bought.hosts,
            accelerators: bought.accelerators,
            run,
            tokens_per_second,
            price: bought.price,
            power: bought.power,
            rack_units: bought.rack_units,
            usd_per_hour,
        }
    }
}
