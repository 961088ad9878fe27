//! Units that were found, how many were looked at, and the nearest that fell short.

use super::batch::Miss;
use super::latency::Supply;
use crate::bill::Unit;
use crate::catalog::Assumptions;
use crate::cost::{of_purchase, of_rent};
use crate::load::serving::Overlap;
use crate::parallel::Batching;
use crate::quantity::{MicroUsd, Watts, real};
use crate::search::front::Gives;
use serde::Serialize;

/// A unit with a batch that meets the goal.
#[derive(Clone, Copy, Debug)]
pub struct FoundUnit<'a> {
    /// What is bought.
    pub unit: Unit<'a>,
    /// The batch of each replica.
    pub batching: Batching,
    /// Users of the unit.
    pub users: u64,
    /// Tokens per second of each user.
    pub tokens_per_second_per_user: f64,
    /// Tokens per second of the unit.
    pub tokens_per_second: f64,
    /// Its price; of a rented one, that of an hour.
    pub price: MicroUsd,
    /// Draw at work.
    pub power: Watts,
    /// Rack units.
    pub rack_units: f64,
    /// Purchase written off, electricity and hosting.
    pub usd_per_hour: f64,
    /// Whether copies of it are one of the cheapest builds.
    pub is_build: bool,
}

impl<'a> FoundUnit<'a> {
    /// A unit whose replicas supply so much each.
    pub(super) fn supplying(
        supply: Supply,
        in_flight: u32,
        (unit, price): (Unit<'a>, MicroUsd),
        overlap: Overlap,
        assumptions: &Assumptions,
    ) -> Self {
        let batching = Batching {
            batch: supply.batch,
            in_flight,
        };
        let power = unit.power(assumptions).unwrap_or(Watts::ZERO);
        let rack_units = unit.rack_units();
        let rent = unit.hardware.host.rent;
        let goodput = rent.map_or(1.0, |rent| rent.goodput);
        let tokens_per_second = supply.tokens_per_second * f64::from(unit.replicas) * goodput;
        let cost = match rent {
            Some(rent) => of_rent(
                price.usd(),
                rent.paid(assumptions.cost.paid_on_demand()),
                tokens_per_second,
                assumptions.cost.duty,
            ),
            None => of_purchase(
                price.usd(),
                power,
                rack_units,
                tokens_per_second,
                &assumptions.cost,
            ),
        };
        Self {
            unit,
            batching,
            users: supply
                .sessions
                .map_or_else(|| batching.users(overlap), u64::from)
                * u64::from(unit.replicas),
            tokens_per_second_per_user: supply.tokens_per_second_per_user,
            tokens_per_second,
            price,
            power,
            rack_units,
            usd_per_hour: cost.usd_per_hour,
            is_build: false,
        }
    }

    /// Replicas of it that are there and at work, on average.
    pub(super) fn at_work(&self) -> f64 {
        let rent = self.unit.hardware.host.rent;
        f64::from(self.unit.replicas) * rent.map_or(1.0, |rent| rent.goodput)
    }

    /// What it gives; speed beyond the target counts only where it is asked for.
    pub(super) fn gives(&self, speed: bool) -> Gives {
        let users = real(self.users);
        let speed = if speed {
            self.tokens_per_second_per_user
        } else {
            0.0
        };
        Gives {
            figures: [users, self.tokens_per_second, speed],
            traits: [
                // A unit of more, smaller replicas loses less when one fails.
                f64::from(self.unit.replicas),
                // Of the same parts, those that only fill a board draw no power.
                -self.power.0,
            ],
        }
    }
}

/// How many candidates were rejected, by reason.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Tally {
    /// No rate for the format: one for each accelerator.
    pub format: u64,
    /// Does not fit in memory.
    pub memory: u64,
    /// Too slow.
    pub target: u64,
    /// Reads a prompt too slowly.
    pub ttft: u64,
    /// Beyond what may be spent.
    pub price: u64,
}

/// The closest that rejected candidates came.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Nearest {
    /// Smallest ratio of memory needed to memory there.
    pub memory_ratio: Option<f64>,
    /// Fastest speed of a user below the target.
    pub tokens_per_second_per_user: Option<f64>,
    /// Shortest prefill beyond the limit.
    pub prefill_seconds: Option<f64>,
}

impl Nearest {
    pub(crate) fn absorb(&mut self, other: Self) {
        let (mine, theirs) = (self, other);
        closer(&mut mine.memory_ratio, theirs.memory_ratio, f64::min);
        closer(
            &mut mine.tokens_per_second_per_user,
            theirs.tokens_per_second_per_user,
            f64::max,
        );
        closer(&mut mine.prefill_seconds, theirs.prefill_seconds, f64::min);
    }
}

/// What the search found.
#[derive(Clone, Debug, Default)]
pub struct SearchResult<'a> {
    /// The front of each bill of materials.
    pub units: Vec<FoundUnit<'a>>,
    /// Candidates in the space: each integer batch up to the memory's capacity.
    pub covered: u64,
    /// Candidates whose speed was computed.
    pub evaluated: u64,
    /// Why others were rejected.
    pub rejected: Tally,
    /// How close they came.
    pub nearest: Nearest,
    /// Whether any unit was beyond the cap on prices.
    pub is_cut_by_price: bool,
    /// Whether the search was told to stop.
    pub interrupted: bool,
}

impl SearchResult<'_> {
    pub(super) fn absorb(&mut self, other: Self) {
        self.units.extend(other.units);
        self.covered += other.covered;
        self.evaluated += other.evaluated;
        let (mine, theirs) = (&mut self.rejected, other.rejected);
        mine.format += theirs.format;
        mine.memory += theirs.memory;
        mine.target += theirs.target;
        mine.ttft += theirs.ttft;
        mine.price += theirs.price;
        self.nearest.absorb(other.nearest);
        self.is_cut_by_price |= other.is_cut_by_price;
        self.interrupted |= other.interrupted;
    }

    pub(super) fn miss(&mut self, miss: Miss) {
        match miss {
            Miss::Memory(ratio) => {
                self.rejected.memory += 1;
                closer(&mut self.nearest.memory_ratio, Some(ratio), f64::min);
            }
            Miss::Target(speed) => {
                self.rejected.target += 1;
                closer(
                    &mut self.nearest.tokens_per_second_per_user,
                    Some(speed),
                    f64::max,
                );
            }
            Miss::Prefill(seconds) => {
                self.rejected.ttft += 1;
                closer(&mut self.nearest.prefill_seconds, Some(seconds), f64::min);
            }
        }
    }
}

fn closer(mine: &mut Option<f64>, theirs: Option<f64>, better: fn(f64, f64) -> f64) {
    *mine = match (*mine, theirs) {
        (Some(one), Some(other)) => Some(better(one, other)),
        (one, other) => one.or(other),
    };
}
