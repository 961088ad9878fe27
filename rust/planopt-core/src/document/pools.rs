//! Two pools: what they cost and give, and what their join carries.

use super::bill::BomLine;
use super::serving::{Candidate, Evaluation};
use crate::cost::Cost;
use crate::serving::engine::Transfer;
use serde::Serialize;

/// One pool.
#[derive(Clone, Debug, Serialize)]
pub struct PoolAnswer {
    /// How a replica is spread.
    pub candidate: Candidate,
    /// Host id.
    pub host: String,
    /// Hosts of one replica.
    pub hosts: u32,
    /// Replicas.
    pub replicas: u32,
    /// Requests per second that all replicas carry in time.
    pub requests_per_second: f64,
    /// Of one replica, alone with its part.
    pub evaluation: Evaluation,
}

/// How the cache of a prompt gets from one pool to the other.
#[derive(Clone, Debug, Serialize)]
pub struct TransferAnswer {
    /// Network id; none inside of a host.
    pub network: Option<String>,
    /// KV cache of a prompt.
    pub bytes: f64,
    /// Until it has arrived, behind no other.
    pub seconds: f64,
    /// Before the first byte.
    pub latency_seconds: f64,
    /// Per token of a prompt.
    pub seconds_per_token: f64,
}

/// Two pools with what is bought for them.
#[derive(Clone, Debug, Serialize)]
pub struct PoolsAnswer {
    /// Reads prompts.
    pub prefill: PoolAnswer,
    /// Answers.
    pub decode: PoolAnswer,
    /// The way between them.
    pub transfer: TransferAnswer,
    /// NICs of a host.
    pub nics_per_host: u32,
    /// Hosts of both.
    pub hosts: u32,
    /// Accelerators bought.
    pub accelerators: u32,
    /// Switch id.
    pub switch: Option<String>,
    /// Switches.
    pub switch_count: u32,
    /// Requests per second.
    pub requests_per_second: f64,
    /// Output tokens per second.
    pub tokens_per_second: f64,
    /// Users who keep both so busy.
    pub users: u32,
    /// Money.
    pub cost: Cost,
    /// Draw at work.
    pub power_watts: f64,
    /// Parts.
    pub bill_of_materials: Vec<BomLine>,
}

impl TransferAnswer {
    pub(crate) fn new(
        transfer: Transfer,
        network: Option<String>,
        bytes: f64,
        prompt: f64,
    ) -> Self {
        let Transfer {
            latency_seconds,
            seconds_per_token,
        } = transfer;
        Self {
            network,
            bytes,
            seconds: latency_seconds + seconds_per_token * prompt,
            latency_seconds,
            seconds_per_token,
        }
    }
}
