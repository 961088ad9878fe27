//! What no two pools are better than: of each size the rate that no layout exceeds, on hosts that
//! nothing joins.
//!
//! Of the cheapest, the least price of so many replicas of one size to read and so many of one to
//! answer; of the fastest, the most requests that so many accelerators read and answer.

use super::found::{PoolsAim, PoolsRequest};
use super::side::Bound;
use crate::bill::{Cluster, HostSet, Packed, filled, packed};
use crate::hardware::System;
use crate::quantity::MicroUsd;
use crate::search::serving::latency::{BEYOND, whole};
use std::collections::BTreeMap;

/// Accelerators beyond which nobody buys a pool: replicas that answer next to nothing in time would
/// have to be more than can be counted.
const MOST_ACCELERATORS: u32 = 1 << 24;

/// Rounding of a rate that is divided into replicas.
const ROUNDING: f64 = 1e-9;

/// What no two pools that were looked at are better than.
pub(super) struct Best<'r> {
    request: &'r PoolsRequest<'r>,
    /// Requests per second that are asked for at least; 0 where that is not known.
    rate: f64,
    together: Option<MicroUsd>,
    /// The least prices of the pools of requests that are read, and answered.
    apart: [Option<MicroUsd>; 2],
    /// Sizes of a replica with the rate that none of it exceeds, on any kind of hardware.
    sizes: [BTreeMap<u32, f64>; 2],
}

impl<'r> Best<'r> {
    pub(super) fn of(request: &'r PoolsRequest<'r>) -> Self {
        Self {
            request,
            rate: rate(request).unwrap_or(0.0),
            together: None,
            apart: [None; 2],
            sizes: [BTreeMap::new(), BTreeMap::new()],
        }
    }

    /// Looks at what stands on a kind of hardware, alone and with those before it.
    pub(super) fn add(&mut self, system: &System, of_pools: &[Vec<Bound>; 2]) {
        for (sizes, bounds) in self.sizes.iter_mut().zip(of_pools) {
            for bound in bounds {
                let most = sizes.entry(bound.placement.accelerators()).or_default();
                *most = most.max(bound.rate);
            }
        }
        self.price(system, of_pools);
    }

    fn price(&mut self, system: &System, of_pools: &[Vec<Bound>; 2]) {
        let rate = self.rate;
        let enough = |bound: &Bound| {
            let replicas = whole((rate / bound.rate - ROUNDING).ceil()).max(1);
            let accelerators = bound.placement.accelerators().checked_mul(replicas)?;
            (accelerators <= MOST_ACCELERATORS).then_some((bound.placement, replicas))
        };
        let less = |known: &mut Option<MicroUsd>, price: Option<MicroUsd>| {
            *known = known.iter().copied().chain(price).min();
        };
        for (apart, bounds) in self.apart.iter_mut().zip(of_pools) {
            for (placement, replicas) in bounds.iter().filter_map(enough) {
                let hosts = filled(placement, replicas).0;
                let accelerators = placement.accelerators() * replicas;
                let of_pool = Packed {
                    hosts,
                    accelerators,
                };
                less(apart, price(system, of_pool));
            }
        }
        let [prefill, decode] = of_pools;
        for first in prefill.iter().filter_map(enough) {
            for second in decode.iter().filter_map(enough) {
                less(&mut self.together, price(system, packed(first, second)));
            }
        }
    }

    /// Dollars or tokens per second, by what is asked for; none where that is not known.
    pub(super) fn value(self) -> Option<f64> {
        let demand = self.request.demand;
        match demand.aim {
            PoolsAim::Cheapest => {
                let [prefill, decode] = self.apart;
                let apart = prefill.zip(decode).map(|(one, other)| one + other);
                let least = self.together.into_iter().chain(apart).min();
                // None that costs more than is allowed was looked at.
                least
                    .into_iter()
                    .chain(demand.price)
                    .min()
                    .map(MicroUsd::usd)
            }
            PoolsAim::Throughput => {
                Some(self.fastest(demand.accelerators?) * self.request.goal.output)
            }
            PoolsAim::CostPerToken => None,
        }
    }

    /// The most requests per second of both pools on so many accelerators.
    fn fastest(&self, accelerators: u32) -> f64 {
        let [prefill, decode] = &self.sizes;
        let mut most = 0.0_f64;
        for (&of_one, &reads) in prefill {
            for (&of_other, &answers) in decode {
                for replicas in 1..=accelerators / of_one {
                    let left = (accelerators - replicas * of_one) / of_other;
                    let matched = f64::from(replicas) * reads;
                    most = most.max(matched.min(f64::from(left) * answers));
                }
            }
        }
        most
    }
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

/// What accelerators and hosts cost with what stands around them, joined by nothing.
fn price(system: &System, packed: Packed) -> Option<MicroUsd> {
    let set = HostSet {
        hosts: packed.hosts,
        ..HostSet::of(system, packed.accelerators, 0)
    };
    Cluster::unjoined(set).price()
}
