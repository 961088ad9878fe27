//! Memory that is not weights or KV cache.

use crate::quantity::{Bytes, BytesPerSecond};

/// Memory that is not weights or KV cache.
#[derive(Clone, Copy, Debug, Default)]
pub struct MemoryAssumptions {
    /// Share of an accelerator's memory that the engine may plan with.
    pub usable_fraction: f64,
    /// The same where memory is shared with the processor.
    pub unified_usable_fraction: f64,
    /// Context, kernels and allocator of an accelerator working alone.
    pub overhead: Bytes,
    /// The same with communication buffers, in a group of two or more.
    pub overhead_group: Bytes,
    /// Tokens of a KV cache page.
    pub page_tokens: u32,
    /// Tokens of the largest step, for which the activation workspace is sized.
    pub workspace_tokens: u32,
    /// Whether each token of the largest step has its input and its logits, and nothing else has a
    /// workspace: the compute buffer of ggml's graphs.
    pub step_logits: bool,
    /// Whether scores of attention are never written, where such a graph is held.
    pub flash_attention: bool,
    /// How many inputs of a step are held besides in a group, so that steps follow each other.
    pub input_copies: u32,
    /// A disk that hosts are bought with for KV caches.
    pub cache_disk: Bytes,
    /// What is read from it.
    pub cache_disk_bandwidth: BytesPerSecond,
    /// Bandwidth of an accelerator's share of its host's front-end ports, over which stores are read.
    pub front_end_bandwidth: BytesPerSecond,
}
