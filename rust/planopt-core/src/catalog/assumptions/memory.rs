//! Memory that is not weights or KV cache.

use crate::catalog::declared::{or, table};
use crate::catalog::fields::{Fields, share};
use crate::quantity::{Bytes, BytesPerSecond};

table! {
    /// Memory that is not weights or KV cache.
    #[derive(Clone, Copy, Debug, Default)]
    pub struct MemoryAssumptions {
        /// Share of an accelerator's memory that the engine may plan with.
        pub usable_fraction: f64 = share,
        /// The same where memory is shared with the processor.
        pub unified_usable_fraction: f64 = share,
        /// Context, kernels and allocator of an accelerator working alone.
        pub overhead: Bytes = Fields::quantity,
        /// The same with communication buffers, in a group of two or more.
        pub overhead_group: Bytes = Fields::quantity,
        /// Tokens of a KV cache page.
        pub page_tokens: u32 = Fields::positive,
        /// Tokens of the largest step, for which the activation workspace is sized.
        pub workspace_tokens: u32 = Fields::quantity,
        /// Whether each token of the largest step has its input and its logits, and nothing else has a
        /// workspace: the compute buffer of ggml's graphs.
        pub step_logits: bool = or(false, Fields::flag),
        /// Whether scores of attention are never written, where such a graph is held.
        pub flash_attention: bool = or(true, Fields::flag),
        /// How many inputs of a step are held besides in a group, so that steps follow each other.
        pub input_copies: u32 = or(0, Fields::positive),
        /// A disk that hosts are bought with for KV caches.
        pub cache_disk: Bytes = or(Bytes::ZERO, Fields::positive),
        /// What is read from it.
        pub cache_disk_bandwidth: BytesPerSecond = or(BytesPerSecond::ZERO, Fields::positive),
        /// Bandwidth of an accelerator's share of its host's front-end ports, over which stores are read.
        pub front_end_bandwidth: BytesPerSecond = or(BytesPerSecond::ZERO, Fields::positive),
    }
}
