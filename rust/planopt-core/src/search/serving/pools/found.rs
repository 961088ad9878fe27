//! What is asked of two pools, and what was found.

use crate::bill::Cluster;
use crate::bill::HostSet;
use crate::catalog::Assumptions;
use crate::hardware::{Connection, System};
use crate::load::Load;
use crate::load::serving::Question;
use crate::parallel::{Layout, Placement};
use crate::quantity::{Bytes, MicroUsd};
use crate::search::cluster_limits::ClusterLimits;
use crate::search::serving::goal::LatencyGoal;
use crate::serving::engine::Transfer;
use crate::transformer::Transformer;
use std::sync::atomic::{AtomicBool, Ordering};

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
    /// What they may not exceed.
    pub limits: ClusterLimits,
}

/// A question, shared by all that work on it.
#[derive(Clone, Copy, Debug)]
pub struct PoolsRequest<'q> {
    /// Model.
    pub transformer: &'q Transformer,
    /// What is served.
    pub question: &'q Question,
    /// Latencies promised.
    pub goal: &'q LatencyGoal,
    /// What arrives.
    pub load: &'q Load,
    /// What two pools are to beat, where one is known: dollars, or tokens per second.
    pub beats: Option<f64>,
    /// What must be supplied.
    pub demand: &'q PoolsDemand,
    /// Assumptions.
    pub assumptions: &'q Assumptions,
    /// Accelerators of a replica, at most.
    pub accelerators: u32,
    /// Told to stop.
    pub stop: &'q AtomicBool,
}

impl PoolsRequest<'_> {
    /// Whether it was told to stop.
    pub(super) fn is_over(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Whether the machines of a replica alone are within the price.
    pub(super) fn affords(&self, system: &System, accelerators: u32) -> bool {
        let machines = HostSet::of(system, accelerators, 0).price();
        let most = self.demand.limits.price();
        most.is_none_or(|most| machines.is_some_and(|price| price <= most))
    }
}

/// One pool of what was found.
#[derive(Clone, Copy, Debug)]
pub struct FoundPool<'a> {
    /// Accelerator in its host.
    pub system: System<'a>,
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
    pub network: Option<Connection<'a>>,
    /// How the cache of a prompt gets across.
    pub transfer: Transfer,
    /// KV cache of a prompt.
    pub cache: Bytes,
    /// What is bought.
    pub cluster: Cluster<'a>,
    /// Price of it.
    pub price: MicroUsd,
    /// Requests per second of both.
    pub requests_per_second: f64,
    /// Users who keep them so busy, each waiting for his answer.
    pub users: u32,
    /// The less the better.
    pub(crate) score: [f64; 3],
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
    /// Whether that is what runs have left of those that may be cheaper still.
    pub is_left: bool,
    /// What none is better than: dollars that all cost at least, or tokens per second that none exceeds.
    pub bound: Option<f64>,
    /// Dollars that all cost at least that runs show to hold.
    pub shown: Option<f64>,
}

pub(crate) fn better<'a>(
    one: Option<FoundPools<'a>>,
    other: Option<FoundPools<'a>>,
) -> Option<FoundPools<'a>> {
    match (one, other) {
        (Some(one), Some(other)) => Some(if other.score < one.score { other } else { one }),
        (one, other) => one.or(other),
    }
}
