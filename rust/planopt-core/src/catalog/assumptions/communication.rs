//! Rates that messages reach.

use crate::quantity::{Bytes, Seconds};

/// How the time of an all-reduce is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AllReduceAlgorithm {
    /// The faster of ring and, over a scale-up link, one-shot.
    Ring,
    /// The seed article's: the payload crosses the slowest link once.
    Transfer,
}

/// What a pipeline stage sends across hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HopPayload {
    /// Every tensor-parallel rank sends the whole activation.
    Full,
    /// Each rank sends its share, gathered again on the other side (vLLM, Megatron).
    Scattered,
}

/// Rates that messages reach over a scale-up link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScaleUpAssumptions {
    /// Share of the bandwidth that a ring reaches at low latency: a flag beside every few bytes
    /// (NCCL's LL128).
    pub efficiency: f64,
    /// Share that ranks reach which read each other's memory, if it is another: no flags, and no
    /// copies from rank to rank.
    pub direct_efficiency: Option<f64>,
    /// Latency of a step of a ring.
    pub latency: Seconds,
    /// Start of a ring, besides its steps.
    pub overhead: Seconds,
    /// Latency of an all-reduce in which every rank reads all others.
    pub one_shot_latency: Seconds,
    /// Of one in which every rank reduces its share and reads those of the others.
    pub two_shot_latency: Option<Seconds>,
    /// Payloads that are too large for both: what ranks register with their peers.
    pub direct_limit: Option<Bytes>,
    /// Large messages: the latency of a whole ring in chunks, and the share of the bandwidth.
    pub bulk: Option<(Seconds, f64)>,
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

/// Rates that messages reach.
#[derive(Clone, Copy, Debug)]
pub struct CommunicationAssumptions {
    /// How an all-reduce is counted.
    pub all_reduce: AllReduceAlgorithm,
    /// Collectives over a scale-up link.
    pub scale_up: ScaleUpAssumptions,
    /// Start of a ring over PCIe, besides its steps.
    pub pcie_overhead: Seconds,
    /// Share of a PCIe link's bandwidth.
    pub pcie_efficiency: f64,
    /// Latency of a step over PCIe with peer-to-peer.
    pub pcie_latency: Seconds,
    /// The same through host memory.
    pub pcie_host_latency: Seconds,
    /// Share of a network's line rate over TCP.
    pub tcp_efficiency: f64,
    /// Latency of a message over TCP.
    pub tcp_latency: Seconds,
    /// Share of a network's line rate over RDMA.
    pub rdma_efficiency: f64,
    /// Latency of a message over RDMA.
    pub rdma_latency: Seconds,
    /// What a stage sends across hosts.
    pub hop_payload: HopPayload,
    /// Whether the last stage sends as much back to the first.
    pub return_hop: bool,
    /// What an engine needs to pass a micro-batch on, besides its message.
    pub hop_overhead: Seconds,
}
