//! What an engine may do in a step, and how much it holds.

use crate::catalog::{HostCache, Policy};
use crate::load::{KvPolicy, Router};
use serde::Deserialize;

/// Limits of one engine: one replica of the model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EngineLimits {
    /// Tokens of a step of one micro-batch, of prompts and decoding sequences together.
    pub token_budget: u32,
    /// Sequences of one micro-batch, at most.
    pub max_sequences: u32,
    /// Tokens that the KV cache holds, of all micro-batches.
    pub kv_tokens: u64,
    /// Tokens of a page.
    pub page_tokens: u32,
    /// Micro-batches that are under way at the same time.
    pub micro_batches: u32,
    /// Who goes first.
    pub policy: Policy,
    /// How the KV cache is allocated.
    pub kv_policy: KvPolicy,
    /// Steps that only decode from one look at what has arrived to the next (`SGLang`'s
    /// `--scheduler-recv-interval`).
    pub receive_interval: u32,
    /// How long prompts wait for others.
    pub batch_wait: BatchWait,
    /// Where caches are kept that it gives up, the fastest first.
    pub tiers: [Option<CacheTier>; TIERS],
    /// What stands in front of engines like it.
    pub router: Router,
}

/// How long prompts wait while others decode, to be read together: `TensorRT-LLM`'s
/// `batch_wait_timeout_iters` and `batch_wait_max_tokens_ratio`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BatchWait {
    /// Steps, at most; 0 for not at all.
    pub steps: u32,
    /// Share of the tokens of a step: with as many there is nothing to wait for.
    pub share: f64,
}

/// Memories behind that of the accelerators: that of their hosts, and disks of these.
pub const TIERS: usize = 2;

/// A memory behind the KV cache of an engine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CacheTier {
    /// Tokens that it holds, with those that the ones before it hold too where it has a copy of these.
    pub tokens: u64,
    /// Seconds per token that is fetched, one prompt after the other.
    pub seconds_per_token: f64,
    /// What the engine does with it.
    pub does: HostCache,
    /// Whether it is one store of all replicas, of which each has a share of the tokens.
    pub shared: bool,
}

impl EngineLimits {
    /// Tokens that are kept at all.
    pub fn room(&self) -> u64 {
        let tiers = self.tiers.iter().flatten().map(|tier| tier.tokens);
        tiers.fold(self.kv_tokens, u64::max)
    }

    /// Whether what one of several such engines has left is found by all.
    pub fn shares(&self) -> bool {
        self.tiers.iter().flatten().any(|tier| tier.shared)
    }

    /// The same among so many: what they share is as large as all of their shares.
    #[must_use]
    pub fn of_all(mut self, replicas: u32) -> Self {
        for tier in self.tiers.iter_mut().flatten().filter(|tier| tier.shared) {
            tier.tokens *= u64::from(replicas);
        }
        self
    }
}

impl Default for EngineLimits {
    /// No limits but the policy's: the engine of the queueing theory.
    fn default() -> Self {
        Self {
            token_budget: u32::MAX,
            max_sequences: u32::MAX,
            kv_tokens: u64::from(u32::MAX),
            page_tokens: 16,
            micro_batches: 1,
            policy: Policy::default(),
            kv_policy: KvPolicy::default(),
            receive_interval: 1,
            batch_wait: BatchWait::default(),
            tiers: [None; TIERS],
            router: Router::default(),
        }
    }
}

/// How the cache of a prompt gets from the engine that read it to the one that answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transfer {
    /// Before the first byte.
    pub latency_seconds: f64,
    /// Per token of the prompt; a prefill engine sends one prompt after the other.
    pub seconds_per_token: f64,
}
