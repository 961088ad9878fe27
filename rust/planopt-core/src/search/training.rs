//! The search for clusters that train a model: every accelerator, host, network, number of
//! accelerators and layout.
//!
//! With accelerator, host and network fixed, price, power and space grow with the number of
//! hosts. So clusters are looked at from the smallest: the first that finishes in time is the
//! cheapest of its kind. Most candidates go by a bound: a step is never shorter than its
//! arithmetic, divided evenly.

mod layouts;
mod prepared;
mod size;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use layouts::{Candidate, Layouts};
use prepared::{Priced, Subject};

use super::space::{Fit, Space};
use super::units::connects;
use crate::catalog::{Assumptions, Network, TrainingAssumptions};
use crate::communication::NetworkLine;
use crate::compute::Rates;
use crate::cost::of_purchase;
use crate::purchase::Hardware;
use crate::quantity::{MicroUsd, Seconds, Watts};
use crate::training::{Layout, Recipe, Rejection};
use crate::transformer::Transformer;

const SECONDS_PER_HOUR: f64 = 3600.0;

/// What is sought.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TrainingAim {
    /// The cheapest cluster that finishes in time.
    Cheapest,
    /// The one that finishes first.
    Fastest,
}

/// What a cluster may not exceed.
#[derive(Clone, Debug, Default)]
pub struct TrainingLimits {
    /// Accelerators at work.
    pub accelerators: u32,
    /// Purchase, or the whole of a rented run.
    pub price: Option<MicroUsd>,
    /// Draw at work.
    pub power: Option<Watts>,
    /// Rack units.
    pub rack_units: Option<f64>,
    /// Accelerators bought, by id.
    pub stock: BTreeMap<String, u32>,
}

/// What a cluster is for.
#[derive(Clone, Debug)]
pub struct TrainingGoal {
    /// Tokens of the run.
    pub tokens: f64,
    /// Time it may take, failures included.
    pub deadline: Option<Seconds>,
    /// What is sought.
    pub aim: TrainingAim,
    /// What is paid for.
    pub payment: Payment,
    /// What it may not exceed.
    pub limits: TrainingLimits,
}

/// What is paid for: the cluster, or the hours of the run on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payment {
    /// Bought.
    Purchase,
    /// Rented: prices are those of an hour.
    Hours,
}

impl Payment {
    /// Dollars that a run costs on what has this price.
    fn dollars(self, price: MicroUsd, run: Seconds) -> f64 {
        match self {
            Self::Purchase => price.usd(),
            Self::Hours => price.usd() * run.0 / SECONDS_PER_HOUR,
        }
    }

    /// The longest run that costs so many dollars.
    fn longest(self, price: MicroUsd, dollars: f64) -> Seconds {
        Seconds(match self {
            Self::Purchase => f64::INFINITY,
            Self::Hours => dollars / price.usd() * SECONDS_PER_HOUR,
        })
    }
}

/// A cluster with the layout that finishes first on it.
#[derive(Clone, Copy, Debug)]
pub struct FoundCluster<'a> {
    /// What it is made of.
    pub hardware: Hardware<'a>,
    /// How the run is divided.
    pub layout: Layout,
    /// Hosts.
    pub hosts: u32,
    /// Accelerators that come with them.
    pub accelerators: u32,
    /// The run, failures included.
    pub run: Seconds,
    /// Tokens per second, failures included.
    pub tokens_per_second: f64,
    /// Its price.
    pub price: MicroUsd,
    /// Draw at work.
    pub power: Watts,
    /// Rack units.
    pub rack_units: f64,
    /// Purchase written off, electricity and hosting.
    pub usd_per_hour: f64,
}

/// How many candidates were rejected, by reason.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct TrainingTally {
    /// The accelerator does not compute in that precision.
    pub precision: u64,
    /// A tensor-parallel group does not fill hosts.
    pub placement: u64,
    /// No switches of the network join so many NICs.
    pub network: u64,
    /// Does not fit in memory.
    pub memory: u64,
    /// Fails before it makes headway.
    pub failures: u64,
    /// Finishes too late, or later than a cluster that is known.
    pub deadline: u64,
    /// Another layout finishes earlier on the same cluster.
    pub slower: u64,
    /// Draws too much, takes too much space, or more than is in stock.
    pub limits: u64,
    /// Dearer than what may be spent, or than a cluster of the same accelerators that does it.
    pub price: u64,
}

/// What the search found.
#[derive(Clone, Debug, Default)]
pub struct TrainingSearchResult<'a> {
    /// The best cluster of each accelerator, host and network.
    pub clusters: Vec<FoundCluster<'a>>,
    /// Candidates in the space.
    pub covered: u64,
    /// Candidates whose memory and step were computed.
    pub evaluated: u64,
    /// Why others were rejected.
    pub rejected: TrainingTally,
    /// Smallest ratio of memory needed to memory there, of those that do not fit.
    pub memory_ratio: Option<f64>,
    /// Whether the search was told to stop.
    pub interrupted: bool,
}

impl TrainingSearchResult<'_> {
    fn absorb(&mut self, other: Self) {
        self.clusters.extend(other.clusters);
        self.covered += other.covered;
        self.evaluated += other.evaluated;
        let (mine, theirs) = (&mut self.rejected, other.rejected);
        mine.precision += theirs.precision;
        mine.placement += theirs.placement;
        mine.network += theirs.network;
        mine.memory += theirs.memory;
        mine.failures += theirs.failures;
        mine.deadline += theirs.deadline;
        mine.slower += theirs.slower;
        mine.limits += theirs.limits;
        mine.price += theirs.price;
        if let Some(ratio) = other.memory_ratio {
            self.note_memory(ratio);
        }
        self.interrupted |= other.interrupted;
    }

    fn note_memory(&mut self, ratio: f64) {
        self.memory_ratio = Some(self.memory_ratio.map_or(ratio, |best| best.min(ratio)));
    }

    fn reject(&mut self, rejection: &Rejection, count: u64) {
        match rejection {
            Rejection::Memory {
                needed_bytes,
                capacity_bytes,
                ..
            } => {
                self.rejected.memory += count;
                self.note_memory(needed_bytes / capacity_bytes);
            }
            Rejection::Failures { .. } => self.rejected.failures += count,
            Rejection::Network { .. } => self.rejected.network += count,
            _ => self.rejected.placement += count,
        }
    }
}

/// Everything that all tasks of a search share.
pub struct TrainingSearch<'s> {
    /// The model.
    pub transformer: &'s Transformer,
    /// How it is trained.
    pub recipe: &'s Recipe,
    /// What for.
    pub goal: &'s TrainingGoal,
    /// Assumptions.
    pub assumptions: &'s Assumptions,
    /// Those of training.
    pub training: &'s TrainingAssumptions,
    /// Set to stop early.
    pub stop: &'s AtomicBool,
}

impl TrainingSearch<'_> {
    /// Finds the best cluster of each accelerator, host and network of `space`. The result does
    /// not depend on the number of threads; it stops early, and says so, once `stop` is set.
    pub fn search<'a>(&self, space: &Space<'a>) -> TrainingSearchResult<'a> {
        let most = self.goal.limits.accelerators;
        let layouts = Layouts::all(self.transformer, self.recipe, most);
        let found: Vec<TrainingSearchResult<'a>> = space
            .fits
            .par_iter()
            .map(|fit| self.search_fit(fit, &space.networks, &layouts))
            .collect();
        found
            .into_iter()
            .fold(TrainingSearchResult::default(), |mut all, one| {
                all.absorb(one);
                all
            })
    }

    /// One accelerator in one host, over each network: the fastest first, as what it reaches
    /// spares the others.
    fn search_fit<'a>(
        &self,
        fit: &Fit<'a>,
        networks: &[(&'a Network, NetworkLine)],
        layouts: &Layouts,
    ) -> TrainingSearchResult<'a> {
        let mut result = TrainingSearchResult::default();
        let mut connections: Vec<Option<(&Network, NetworkLine)>> = networks
            .iter()
            .filter(|(network, line)| {
                connects(fit.host, network) && line.nics_per_host <= fit.host.room_for(network)
            })
            .map(|connection| Some(*connection))
            .collect();
        connections.sort_by(|one, other| {
            let bandwidth = |connection: &Option<(&Network, NetworkLine)>| {
                connection.map_or(0.0, |(_, line)| line.rate.0 * f64::from(line.nics_per_host))
            };
            bandwidth(other).total_cmp(&bandwidth(one))
        });
        connections.insert(0, None);
        let format = self.recipe.precision.format();
        let Some(rates) = Rates::of(fit.accelerator, format, self.assumptions) else {
            let candidates: u64 = layouts.candidates.iter().map(Candidate::count).sum();
            result.covered += candidates;
            result.rejected.precision += candidates;
            return result;
        };
        let mut subject = Subject::new(self, fit, &rates, layouts);
        let mut best: Option<FoundCluster<'a>> = None;
        for connection in connections {
            if let Some(found) = self.search_network(&mut subject, connection, best, &mut result) {
                if best.is_none_or(|best| self.better(&found, &best)) {
                    best = Some(found);
                }
                result.clusters.push(found);
            }
        }
        result
    }

    /// The best cluster over one network, unless `known` is better than all of them.
    fn search_network<'a>(
        &self,
        subject: &mut Subject<'_, 'a>,
        connection: Option<(&'a Network, NetworkLine)>,
        known: Option<FoundCluster<'a>>,
        result: &mut TrainingSearchResult<'a>,
    ) -> Option<FoundCluster<'a>> {
        let fabric = subject
            .fit
            .fabric(connection.map(|(_, line)| line), self.assumptions);
        let mut priced = Priced::new(&fabric, subject.layouts);
        let mut best: Option<FoundCluster<'a>> = None;
        let mut sizes = subject.sizes(connection.is_some());
        if self.goal.aim == TrainingAim::Fastest {
            sizes.reverse();
        }
        for size in &sizes {
            if self.stop.load(Ordering::Relaxed) {
                result.interrupted = true;
                return best;
            }
            result.covered += size.count;
            let leader = best.or(known);
            let Some(bought) = self.buy(subject.fit, connection, size, leader, result) else {
                continue;
            };
            let limit = self.latest(bought.price, best.or(known).as_ref());
            let Some((layout, run)) = subject.fastest(&mut priced, size, limit, result) else {
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
    fn latest(&self, price: MicroUsd, known: Option<&FoundCluster>) -> Seconds {
        let goal = self.goal;
        let deadline = goal.deadline.unwrap_or(Seconds(f64::INFINITY));
        let affordable = goal.limits.price.map_or(deadline, |most| {
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
        let tokens_per_second = self.goal.tokens / run.0;
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
