//! Rates that messages reach.

use crate::catalog::declared::{choice, maybe, or, same, table, unread};
use crate::catalog::fields::{Fields, share};
use crate::quantity::{Bytes, Seconds};

/// How the time of an all-reduce is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AllReduceAlgorithm {
    /// The faster of ring and, over a scale-up link, one-shot.
    Ring,
    /// The seed article's: the payload crosses the slowest link once.
    Transfer,
}

const ALL_REDUCE: &[(&str, AllReduceAlgorithm)] = &[
    ("ring", AllReduceAlgorithm::Ring),
    ("transfer", AllReduceAlgorithm::Transfer),
];

/// What a pipeline stage sends across hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HopPayload {
    /// Every tensor-parallel rank sends the whole activation.
    Full,
    /// Each rank sends its share, gathered again on the other side (vLLM, Megatron).
    Scattered,
}

const HOP_PAYLOAD: &[(&str, HopPayload)] = &[
    ("full", HopPayload::Full),
    ("scattered", HopPayload::Scattered),
];

table! {
    /// Rates that messages reach over a scale-up link.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct ScaleUpAssumptions {
        /// Share of the bandwidth that a ring reaches at low latency: a flag beside every few bytes
        /// (NCCL's LL128).
        pub efficiency: f64 as "scale_up_efficiency" = share,
        /// Share that ranks reach which read each other's memory, if it is another: no flags, and no
        /// copies from rank to rank.
        pub direct_efficiency: Option<f64> = maybe(share),
        /// Latency of a step of a ring.
        pub latency: Seconds as "scale_up_latency" = Fields::quantity,
        /// Start of a ring, besides its steps.
        pub overhead: Seconds as "collective_overhead" = or(Seconds::ZERO, Fields::quantity),
        /// Latency of an all-reduce in which every rank reads all others.
        pub one_shot_latency: Seconds = Fields::quantity,
        /// Of one in which every rank reduces its share and reads those of the others.
        pub two_shot_latency: Option<Seconds> = maybe(Fields::quantity),
        /// Payloads that are too large for both: what ranks register with their peers.
        pub direct_limit: Option<Bytes> = maybe(Fields::positive),
        /// Large messages: the latency of a whole ring in chunks, and the share of the bandwidth.
        pub bulk: Option<(Seconds, f64)> as "bulk_latency" = bulk,
    }
}

fn bulk(fields: &mut Fields<'_>, key: &'static str) -> Option<(Seconds, f64)> {
    let latency = fields.optional(key, Fields::quantity);
    latency.zip(fields.optional("bulk_efficiency", share))
}

impl ScaleUpAssumptions {
    /// The same bandwidth, and a latency of every message in place of what was measured.
    #[must_use]
    pub fn with_latency(self, latency: Seconds) -> Self {
        Self {
            latency,
            overhead: Seconds::ZERO,
            one_shot_latency: latency,
            two_shot_latency: None,
            bulk: None,
            ..self
        }
    }
}

table! {
    /// Rates that messages reach.
    #[derive(Clone, Copy, Debug)]
    pub struct CommunicationAssumptions {
        /// How an all-reduce is counted.
        pub all_reduce: AllReduceAlgorithm = choice(ALL_REDUCE),
        /// Collectives over a scale-up link.
        pub scale_up: ScaleUpAssumptions = same,
        /// Start of a ring over PCIe, besides its steps.
        pub pcie_overhead: Seconds = or(Seconds::ZERO, Fields::quantity),
        /// Share of a PCIe link's bandwidth.
        pub pcie_efficiency: f64 = share,
        /// Latency of a step over PCIe with peer-to-peer.
        pub pcie_latency: Seconds = Fields::quantity,
        /// The same through host memory.
        pub pcie_host_latency: Seconds = Fields::quantity,
        /// Share of a network's line rate over TCP.
        pub tcp_efficiency: f64 = share,
        /// Latency of a message over TCP.
        pub tcp_latency: Seconds = Fields::quantity,
        /// Share of a network's line rate over RDMA.
        pub rdma_efficiency: f64 = share,
        /// Latency of a message over RDMA.
        pub rdma_latency: Seconds = Fields::quantity,
        /// What a stage sends across hosts.
        pub hop_payload: HopPayload = choice(HOP_PAYLOAD),
        /// Whether the last stage sends as much back to the first.
        pub return_hop: bool = Fields::flag,
        /// What an engine needs to pass a micro-batch on, besides its message.
        pub hop_overhead: Seconds = unread(Seconds::ZERO),
    }
}
