//! Options of an engine.

use super::router::Routing;
use crate::catalog::{KvConnector, Policy};
use serde::{Deserialize, Serialize};

/// What a sequence gets of the KV cache when it is admitted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KvPolicy {
    /// Pages for its prompt; if pages run out later, the latest sequence gives all of its back
    /// and is read again.
    #[default]
    Preempt,
    /// Pages for its prompt and all of its output, so that nobody is ever preempted.
    Reserve,
}

/// What is asked of an engine; what is not comes from the assumptions and the memory.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct EngineOptions {
    /// Tokens of a step, of each attention data-parallel and each context-parallel rank.
    pub token_budget: Option<u32>,
    /// Sequences of a micro-batch.
    pub max_sequences: Option<u32>,
    /// Tokens that the KV cache holds.
    pub kv_tokens: Option<u64>,
    /// Who goes first.
    pub policy: Option<Policy>,
    /// How the cache is allocated.
    pub kv_policy: KvPolicy,
    /// Steps that only decode from one look at what has arrived to the next.
    pub receive_interval: Option<u32>,
    /// Steps that prompts wait at most while others decode, to be read together.
    pub batch_wait_steps: Option<u32>,
    /// Share of a step's tokens that ends that wait.
    pub batch_wait_share: Option<f64>,
    /// Memory of each host for caches that accelerators give up, in bytes.
    pub host_cache_bytes: Option<f64>,
    /// The same that each host is bought with beside its own.
    pub extra_memory_bytes: Option<f64>,
    /// Disks that each host is bought with for the same.
    pub cache_disks: Option<u32>,
    /// Whether the disks of all hosts are one store.
    pub shared_store: bool,
    /// What keeps these caches.
    pub kv_connector: Option<KvConnector>,
    /// Who gets which turn of a session.
    pub router: Option<Routing>,
    /// What a token in an engine counts beside one that has to be read.
    pub router_load_weight: Option<f64>,
}
