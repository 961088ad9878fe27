//! Purchases of one kind of row: exact, without a solver.
//!
//! They give a solver a purchase to begin with, cross-check it, and are the builds that a plan
//! shows beside its own.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::limits::{Broken, Limits, possible};
use super::rows::{Resources, Rows, SystemNames};
use crate::hardware::Owned;
use crate::quantity::{Exact, Quotient};

/// What is best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Objective {
    /// Least price.
    Cheapest,
    /// Most tokens per second.
    Throughput,
    /// Least dollars per token.
    CostPerToken,
    /// Fastest slowest user.
    Latency,
}

/// Copies of one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Alone {
    /// The row.
    pub row: u32,
    /// How many.
    pub count: u64,
}

/// A build beside the chosen one: copies of one row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Build {
    /// The row.
    pub row: u32,
    /// How many.
    pub count: u64,
    /// The limits that it breaks.
    pub broken: Vec<Broken>,
}

/// Beyond a 32-bit count nobody builds.
const MOST_COPIES: u64 = u32::MAX as u64;

/// By what purchases are ordered, the best first: the objective, price, $/Mtok, power.
type Rank = (Option<First>, Exact, Quotient, Exact);

/// The objective's own figure, such that less is better.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum First {
    Most(Reverse<Exact>),
    Least(Quotient),
}

impl Rows {
    /// The best purchase of one kind of row among `rows`, if any does alone; ties go to the price,
    /// $/Mtok, power, then the name.
    pub fn best_alone(
        &self,
        rows: impl Fn(usize) -> bool,
        limits: &Limits,
        objective: Objective,
    ) -> Option<Alone> {
        let needs = limits.needs(self);
        let mut best: Option<(Rank, Alone)> = None;
        for row in self.by_name(rows) {
            let Some(mut count) = limits.enough(self, row) else {
                continue;
            };
            if objective == Objective::Throughput {
                count = count.max(possible(&needs, row).unwrap_or(0));
            }
            let alone = Alone {
                row: u32::try_from(row).unwrap_or(u32::MAX),
                count,
            };
            if count > MOST_COPIES {
                continue;
            }
            let counts = [(alone.row, alone.count)];
            if !limits.broken_of(&needs, self, &counts).is_empty() {
                continue;
            }
            let rank = self.rank(row, count, objective);
            if best.as_ref().is_none_or(|(least, _)| rank < *least) {
                best = Some((rank, alone));
            }
        }
        best.map(|(_, alone)| alone)
    }

    /// The cheapest build of one kind of row for each hardware, those that break limits too: at
    /// most `most` of them, by price, then $/Mtok, power and name.
    pub fn builds(&self, rows: impl Fn(usize) -> bool, limits: &Limits, most: usize) -> Vec<Build> {
        let needs = limits.needs(self);
        let mut best: BTreeMap<SystemNames, (Rank, usize, Alone)> = BTreeMap::new();
        for row in self.by_name(rows) {
            let enough = limits.enough(self, row);
            let Some(count) = enough.filter(|count| *count <= MOST_COPIES) else {
                continue;
            };
            let rank = self.rank(row, count, Objective::Cheapest);
            let whole = self.system(row).times(count);
            if best.get(&whole).is_none_or(|(least, ..)| rank < *least) {
                let alone = Alone {
                    row: u32::try_from(row).unwrap_or(u32::MAX),
                    count,
                };
                best.insert(whole, (rank, row, alone));
            }
        }
        let mut builds: Vec<_> = best.into_values().collect();
        builds.sort_by(|(one, row, _), (other, other_row, _)| {
            let places = || self.places[*row].cmp(&self.places[*other_row]);
            one.cmp(other).then_with(places)
        });
        let told = builds.into_iter().map(|(_, _, alone)| Build {
            row: alone.row,
            count: alone.count,
            broken: limits.broken_of(&needs, self, &[(alone.row, alone.count)]),
        });
        // Nobody has more than there is.
        let is_there = |build: &Build| {
            let mut groups = build.broken.iter().map(|broken| &broken.group);
            !groups.any(|group| group.starts_with(Resources::OWNED))
        };
        told.filter(is_there).take(most).collect()
    }

    fn rank(&self, row: usize, count: u64, objective: Objective) -> Rank {
        let columns = &self.columns;
        let times = |figure: Exact| &figure * &Exact::from(count);
        // Of copies of one row, dollars per token are those of the row.
        let per_token = || {
            Quotient(
                Exact::of(columns.usd_per_hour[row]),
                Exact::of(columns.tokens_per_second[row]),
            )
        };
        let first = match objective {
            Objective::Cheapest => None,
            Objective::CostPerToken => Some(First::Least(per_token())),
            Objective::Throughput => {
                let tokens = times(Exact::of(columns.tokens_per_second[row]));
                Some(First::Most(Reverse(tokens)))
            }
            Objective::Latency => {
                let speed = Exact::of(columns.tokens_per_second_per_user[row]);
                Some(First::Most(Reverse(speed)))
            }
        };
        (
            first,
            times(Exact::from(columns.price_micro_usd[row])),
            per_token(),
            times(Exact::of(columns.power_watts[row])),
        )
    }
}

impl SystemNames {
    /// Hardware of a whole build: what is counted is multiplied.
    fn times(&self, count: u64) -> Self {
        let times = |number: u32| {
            let all = u64::from(number).saturating_mul(count);
            u32::try_from(all).unwrap_or(u32::MAX)
        };
        Self {
            accelerators: times(self.accelerators),
            hosts: times(self.hosts),
            owned: Owned {
                accelerators: times(self.owned.accelerators),
                hosts: times(self.owned.hosts),
            },
            ..self.clone()
        }
    }
}
