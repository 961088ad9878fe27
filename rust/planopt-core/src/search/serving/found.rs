//! Units that were found.

use super::batch::Miss;
use super::latency::Supply;
use crate::bill::Unit;
use crate::catalog::Assumptions;
use crate::cost::{of_purchase, of_rent};
use crate::load::serving::Overlap;
use crate::parallel::Batching;
use crate::quantity::{MicroUsd, Watts, real};
use crate::search::front::Gives;
use crate::search::result::{Nearest, SearchResult};

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

impl SearchResult<FoundUnit<'_>> {
    pub(super) fn miss(&mut self, miss: Miss) {
        let nearest = Nearest::default();
        let (rejected, nearest) = match miss {
            Miss::Memory(ratio) => (
                &mut self.rejected.memory,
                Nearest {
                    memory_ratio: Some(ratio),
                    ..nearest
                },
            ),
            Miss::Target(speed) => (
                &mut self.rejected.target,
                Nearest {
                    tokens_per_second_per_user: Some(speed),
                    ..nearest
                },
            ),
            Miss::Prefill(seconds) => (
                &mut self.rejected.ttft,
                Nearest {
                    prefill_seconds: Some(seconds),
                    ..nearest
                },
            ),
        };
        *rejected += 1;
        self.nearest.absorb(nearest);
    }
}
