//! Memory of an accelerator: weights, KV cache, activations and what the engine takes besides.
//! Formulas: `docs/reference/model.md`, section 5.

use crate::catalog::{Accelerator, Assumptions};
use crate::compute::Rank;
use crate::parallel::Stage;
use crate::quantity::{Bytes, real};
use serde::Serialize;

/// Logits are sampled in 32 bits.
const LOGIT_BYTES: f64 = 4.0;

/// Memory of the fullest accelerator of a replica.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct ServingMemory {
    /// Parameters.
    #[serde(rename = "weights_bytes")]
    pub weights: Bytes,
    /// Keys and values of every sequence in flight.
    #[serde(rename = "kv_cache_bytes")]
    pub kv_cache: Bytes,
    /// Workspace of the largest step, and logits.
    #[serde(rename = "activations_bytes")]
    pub activations: Bytes,
    /// Contexts, kernels, communication buffers.
    #[serde(rename = "overhead_bytes")]
    pub overhead: Bytes,
    /// All of them.
    #[serde(rename = "total_bytes")]
    pub total: Bytes,
    /// What the engine may use.
    #[serde(rename = "capacity_bytes")]
    pub capacity: Bytes,
}

impl ServingMemory {
    /// Whether it fits.
    pub fn fits(&self) -> bool {
        self.total <= self.capacity
    }
}

/// Memory that an engine may plan with on `accelerator`.
pub fn capacity(accelerator: &Accelerator, assumptions: &Assumptions) -> Bytes {
    let memory = &assumptions.memory;
    let usable = if accelerator.unified_memory {
        memory.unified_usable_fraction
    } else {
        memory.usable_fraction
    };
    accelerator.memory * usable
}

/// Parts of a stage's memory that do not depend on the batch, and those that grow with it.
#[derive(Clone, Copy, Debug)]
pub struct StageMemory {
    pub(crate) weights: Bytes,
    pub(crate) kv_cache_per_sequence: Bytes,
    pub(crate) workspace: Bytes,
    pub(crate) logits_per_sequence: Bytes,
    pub(crate) overhead: Bytes,
}

impl StageMemory {
    /// Memory of one rank of `stage`, for sequences of `context` tokens.
    pub fn new(
        stage: &Stage,
        rank: &Rank,
        accelerators: u32,
        context: u64,
        assumptions: &Assumptions,
    ) -> Self {
        let memory = &assumptions.memory;
        let (mut widest, mut heads): (f64, f64) = (0.0, 0.0);
        let mut weights = Bytes::ZERO;
        let mut kv_cache_per_sequence = Bytes::ZERO;
        for (block, &layers) in rank.blocks.iter().zip(&stage.layers) {
            if layers > 0.0 {
                widest = widest.max(block.workspace_elements);
                heads = block
                    .caches
                    .iter()
                    .map(|own| own.heads)
                    .fold(heads, f64::max);
            }
            weights += (block.weights + block.adapters) * layers;
            kv_cache_per_sequence += block.kv_cache_bytes(context, memory.page_tokens) * layers;
        }
        if stage.first {
            weights += rank.embedding.weights;
        }
        if stage.last {
            weights += rank.head.weights;
            if !stage.first {
                weights += rank.tied_weights;
            }
        }
        let mut logits = if stage.last { rank.logits } else { 0.0 };
        if let (true, Some(draft)) = (stage.last, &rank.draft) {
            weights += draft.weights();
            kv_cache_per_sequence += draft.kv_cache_bytes(context, memory.page_tokens);
            logits *= 1.0 + draft.tokens;
        }
        let tokens = f64::from(memory.workspace_tokens);
        let mut workspace = tokens * rank.activation_bytes * widest;
        if memory.step_logits {
            let hidden = rank.hidden_bytes / rank.activation_bytes;
            let width = if stage.last {
                rank.logits + hidden
            } else {
                0.0
            };
            let copies = if accelerators > 1 {
                memory.input_copies
            } else {
                0
            };
            let copies = f64::from(copies);
            workspace = tokens * (width + copies * hidden) * LOGIT_BYTES;
            let scores = if memory.flash_attention { 0.0 } else { heads };
            logits = tokens * real(context) * (scores + copies);
        }
        Self {
            weights,
            kv_cache_per_sequence,
            workspace: Bytes(workspace),
            logits_per_sequence: Bytes(logits * LOGIT_BYTES),
            overhead: if accelerators > 1 {
                memory.overhead_group
            } else {
                memory.overhead
            },
        }
    }

    /// The same with `weights` offloaded.
    #[must_use]
    pub(crate) fn without(self, weights: Bytes) -> Self {
        Self {
            weights: self.weights - weights,
            ..self
        }
    }

    /// Sequences whose cache fits beside micro-batches of `batch`; 0 where even they do not.
    pub fn sequences(&self, batch: f64, capacity: Bytes) -> f64 {
        let taken = self.with(batch, 0.0, capacity).total;
        ((capacity - taken) / self.kv_cache_per_sequence).max(0.0)
    }

    /// All of it, with micro-batches of `batch` and `sequences` cached in all.
    pub(crate) fn total(&self, batch: f64, sequences: f64) -> Bytes {
        self.with(batch, sequences, Bytes::ZERO).total
    }

    /// With micro-batches of `batch`, `sequences` being cached in all.
    pub fn with(&self, batch: f64, sequences: f64, capacity: Bytes) -> ServingMemory {
        let kv_cache = self.kv_cache_per_sequence * sequences;
        let activations = self.workspace + self.logits_per_sequence * batch;
        ServingMemory {
            weights: self.weights,
            kv_cache,
            activations,
            overhead: self.overhead,
            total: self.weights + kv_cache + activations + self.overhead,
            capacity,
        }
    }
}
