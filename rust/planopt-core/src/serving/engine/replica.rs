//! A replica of a model as an engine: its step times, and what its memory and the assumptions
//! leave it.

use super::limits::{BatchWait, CacheTier, EngineLimits};
use super::step::{StepSeconds, StepTime, StepWork};
use crate::catalog::Assumptions;
use crate::load::serving::Overlap;
use crate::load::{EngineOptions, Router};
use crate::quantity::{Bytes, BytesPerSecond};
use crate::serving::replica::Replica;

/// Step times of a replica.
#[derive(Clone, Copy, Debug)]
pub struct ReplicaSteps<'r, 'a> {
    /// The replica.
    pub replica: &'r Replica<'a>,
    /// Micro-batches that follow each other through its stages.
    pub in_flight: u32,
}

impl StepTime for ReplicaSteps<'_, '_> {
    fn seconds(&self, work: &StepWork) -> StepSeconds {
        let (latency, interval) = self
            .replica
            .micro_batch(work.step(), f64::from(self.in_flight));
        StepSeconds {
            latency: latency.0,
            interval: interval.0,
        }
    }
}

/// What a token in an engine counts beside one that has to be read, unless it is said: with less a
/// system prompt draws all to the replica that holds it, from 0.25 on sessions are torn from their
/// caches (24 loads on 2 to 32 replicas; docs/reference/serving.md, section 18).
const LOAD_WEIGHT: f64 = 0.05;

/// Limits of a replica as an engine.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "whole tokens, and a cast of what is too many gives the most there is"
)]
pub fn limits(
    options: &EngineOptions,
    replica: &Replica,
    in_flight: u32,
    overlap: Overlap,
    assumptions: &Assumptions,
) -> EngineLimits {
    let unlimited = EngineLimits::default();
    let of_step = Some(assumptions.memory.workspace_tokens).filter(|&tokens| tokens > 0);
    let usual = replica.step_limits();
    let token_budget = options.token_budget.or(usual.token_budget).or(of_step);
    let of_any = assumptions.engine.map(|engine| engine.max_sequences);
    let max_sequences = options.max_sequences.or(usual.max_sequences).or(of_any);
    let resident = match overlap {
        Overlap::None => 1,
        Overlap::TwoBatch => 2,
    };
    let kv_tokens = options.kv_tokens.unwrap_or_else(|| {
        let sequences = max_sequences.unwrap_or(1);
        replica.kv_capacity_tokens(sequences) as u64
    });
    let memory =
        options.host_cache_bytes.unwrap_or(0.0) + options.extra_memory_bytes.unwrap_or(0.0);
    let held = &assumptions.memory;
    let disks = f64::from(options.cache_disks.unwrap_or(0));
    let mut above = kv_tokens;
    let does = assumptions.host_cache(options.kv_connector);
    let front_end = replica.front_end().filter(|_| options.shared_store);
    let mut tier = |per_host: Bytes, bandwidth: Option<BytesPerSecond>, shared| {
        let (tokens, seconds_per_token) = replica.in_hosts(per_host, bandwidth);
        let tokens = tokens as u64 + if does.on_eviction { above } else { 0 };
        above = tokens;
        (per_host.0 > 0.0).then_some(CacheTier {
            tokens,
            seconds_per_token,
            does,
            shared,
        })
    };
    let disk_bandwidth = held.cache_disk_bandwidth * disks;
    let read = front_end.map_or(disk_bandwidth, |ports| disk_bandwidth.min(ports));
    let tiers = [
        tier(Bytes(memory), None, false),
        tier(held.cache_disk * disks, Some(read), front_end.is_some()),
    ];
    EngineLimits {
        token_budget: token_budget
            .unwrap_or(unlimited.token_budget)
            .max(1)
            .saturating_mul(replica.prompt_readers()),
        max_sequences: max_sequences.unwrap_or(unlimited.max_sequences).max(1),
        kv_tokens,
        tiers,
        page_tokens: assumptions.memory.page_tokens,
        micro_batches: in_flight.max(1) * resident,
        policy: options.policy.unwrap_or(assumptions.scheduling.policy),
        kv_policy: options.kv_policy,
        receive_interval: options.receive_interval.unwrap_or(1).max(1),
        batch_wait: BatchWait {
            steps: options.batch_wait_steps.unwrap_or(0),
            share: options.batch_wait_share.unwrap_or(1.0),
        },
        router: Router {
            routing: options.router.unwrap_or_default(),
            load_weight: options.router_load_weight.unwrap_or(LOAD_WEIGHT),
        },
    }
}
