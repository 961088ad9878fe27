//! Time of messages between the ranks of a replica. Formulas: `docs/reference/model.md`, section 4.
//!
//! Ring all-reduce: Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms", 2009; bus
//! bandwidth as nccl-tests defines it.

use super::line::{ALL_REDUCE, Direct, Leaves, Line, NetworkLine};
use crate::catalog::{
    Accelerator, AllReduceAlgorithm, Assumptions, BusBandwidth, HopPayload, PeerToPeer, ScaleUp,
};
use crate::quantity::{Bytes, BytesPerSecond, Seconds};

/// The links of a replica, as reached under the assumptions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fabric {
    pub(crate) algorithm: AllReduceAlgorithm,
    pub(crate) hop_payload: HopPayload,
    pub(crate) return_hop: bool,
    pub(crate) hop_overhead: Seconds,
    /// All-reduces in which ranks read each other.
    direct: Direct,
    scale_up: Option<(Line, u32)>,
    pub(crate) pcie: Line,
    all_reduce_bus: Option<BusBandwidth>,
    pub(crate) network: Option<Line>,
    leaves: Option<Leaves>,
    /// Share of an accelerator of its host's front-end ports; 0 of what stands in no rack and has none.
    pub(crate) front_end: BytesPerSecond,
}

/// The links that a replica's hardware has, before efficiencies.
#[derive(Clone, Copy, Debug)]
pub struct Links<'a> {
    /// Link to its peers, in place of the accelerator's own.
    pub scale_up: Option<&'a ScaleUp>,
    /// The slower of the host's slot and the accelerator's own PCIe link.
    pub pcie: BytesPerSecond,
    /// All-reduce over PCIe in this host, of the class that the assumptions name.
    pub all_reduce_bus: Option<BusBandwidth>,
    /// Network between hosts.
    pub network: Option<NetworkLine>,
}

impl Fabric {
    /// Applies the efficiencies and latencies of the assumptions.
    pub fn new(accelerator: &Accelerator, links: &Links, assumptions: &Assumptions) -> Self {
        let reached = &assumptions.communication;
        let pcie_latency = match accelerator.peer_to_peer {
            PeerToPeer::Yes => reached.pcie_latency,
            PeerToPeer::No | PeerToPeer::NvlinkOnly => reached.pcie_host_latency,
        };
        let network = links.network.map(|network| {
            let (efficiency, latency) = if network.rdma {
                (reached.rdma_efficiency, reached.rdma_latency)
            } else {
                (reached.tcp_efficiency, reached.tcp_latency)
            };
            Line {
                bandwidth: network.rate * efficiency * f64::from(network.nics_per_host),
                latency: latency + network.latency,
                overhead: Seconds::ZERO,
                bulk: None,
            }
        });
        let over_link = links
            .scale_up
            .map_or(reached.scale_up, |link| assumptions.scale_up_of(&link.name));
        let link_bandwidth = links
            .scale_up
            .map_or(BytesPerSecond(0.0), |link| link.bandwidth);
        Self {
            algorithm: reached.all_reduce,
            hop_payload: reached.hop_payload,
            return_hop: reached.return_hop,
            hop_overhead: reached.hop_overhead,
            direct: Direct {
                bandwidth: link_bandwidth
                    * over_link.direct_efficiency.unwrap_or(over_link.efficiency),
                one_shot: over_link.one_shot_latency,
                two_shot: over_link.two_shot_latency,
                limit: over_link.direct_limit,
            },
            scale_up: links.scale_up.map(|link| {
                let line = Line {
                    bandwidth: link.bandwidth * over_link.efficiency,
                    latency: over_link.latency,
                    overhead: over_link.overhead,
                    bulk: over_link
                        .bulk
                        .map(|(latency, efficiency)| (latency, link.bandwidth * efficiency)),
                };
                (line, link.domain)
            }),
            pcie: Line {
                bandwidth: links.pcie * reached.pcie_efficiency,
                latency: pcie_latency,
                overhead: reached.pcie_overhead,
                bulk: None,
            },
            all_reduce_bus: links.all_reduce_bus,
            network,
            leaves: links.network.and_then(|network| network.leaves),
            front_end: BytesPerSecond::ZERO,
        }
    }

    /// The same among machines that nothing but a line of their own connects.
    #[must_use]
    pub(crate) fn apart(&self, line: Line) -> Self {
        Self {
            network: Some(line),
            leaves: None,
            scale_up: None,
            ..*self
        }
    }

    /// How an all-reduce is counted.
    #[inline]
    pub(crate) fn algorithm(&self) -> AllReduceAlgorithm {
        self.algorithm
    }

    /// Accelerators that the scale-up link joins.
    pub(crate) fn scale_up_domain(&self) -> Option<u32> {
        self.scale_up.map(|(_, domain)| domain)
    }

    /// The scale-up line of each accelerator, where `ranks` neighbours are all on it.
    #[inline]
    pub(crate) fn scale_up_line(&self, ranks: u32) -> Option<Line> {
        self.scale_up_for(ranks)
    }

    /// The line between an accelerator and its host.
    #[inline]
    pub(crate) fn host_line(&self) -> Line {
        self.pcie
    }

    /// The network of one host, all of its NICs together.
    #[inline]
    pub(crate) fn network_line(&self) -> Option<Line> {
        self.network
    }

    /// Leaves whose uplinks so many hosts wait for.
    pub(crate) fn leaves_of(&self, hosts: u32) -> Option<Leaves> {
        self.leaves
            .filter(|leaves| hosts > leaves.hosts_of_a_switch)
    }

    /// The network from one leaf to another.
    pub(crate) fn between_leaves(&self) -> Option<Line> {
        let uplinks = self.leaves.map_or(1.0, |leaves| leaves.oversubscription);
        self.network.map(|line| Line {
            bandwidth: line.bandwidth / uplinks,
            ..line
        })
    }

    /// The line of `members` of `ranks` neighbours: scale-up where it joins all of the neighbours,
    /// else PCIe as a collective of so many meets it.
    #[inline]
    pub(crate) fn local_line(&self, ranks: u32, members: u32) -> Line {
        self.scale_up_for(ranks)
            .unwrap_or_else(|| self.pcie_bus(members))
    }

    /// The scale-up line, where `ranks` fit its domain.
    #[inline]
    pub(crate) fn scale_up_for(&self, ranks: u32) -> Option<Line> {
        self.scale_up
            .filter(|(_, domain)| ranks <= *domain)
            .map(|(line, _)| line)
    }

    /// All-reduce among `ranks` of one host or one scale-up domain.
    #[inline]
    pub(crate) fn local_all_reduce(&self, ranks: u32, payload: Bytes) -> Seconds {
        let ring = self.local_ring(ranks, payload);
        match (self.algorithm, self.scale_up_for(ranks)) {
            (AllReduceAlgorithm::Ring, Some(_)) if ranks > 1 => {
                let direct = self.direct.all_reduce(ranks, payload);
                direct.map_or(ring, |direct| direct.min(ring))
            }
            _ => ring,
        }
    }

    /// Ring (or, for the seed article, transfer) among `ranks` of one host or scale-up domain.
    #[inline]
    pub(crate) fn local_ring(&self, ranks: u32, payload: Bytes) -> Seconds {
        if ranks <= 1 {
            return Seconds::ZERO;
        }
        let scale_up = self.scale_up_for(ranks);
        if self.algorithm == AllReduceAlgorithm::Transfer {
            return scale_up.unwrap_or(self.pcie).transfer(payload);
        }
        scale_up
            .unwrap_or_else(|| self.pcie_bus(ranks))
            .ring(ranks, ALL_REDUCE, payload)
    }

    /// PCIe as an all-reduce among `ranks` meets it.
    fn pcie_bus(&self, ranks: u32) -> Line {
        let bus = self
            .all_reduce_bus
            .map_or(self.pcie.bandwidth, |bus| match ranks {
                2 => bus.group_2,
                3 | 4 => bus.group_4,
                _ => bus.group_8,
            });
        Line {
            bandwidth: bus.min(self.pcie.bandwidth),
            ..self.pcie
        }
    }

    /// The line on which each of `ranks` of one host or scale-up domain sends to all others at once.
    #[inline]
    pub(crate) fn neighbour_line(&self, ranks: u32) -> Line {
        match self.scale_up_for(ranks) {
            Some(line) => Line {
                latency: self.direct.one_shot,
                ..line
            },
            None => self.pcie_bus(ranks),
        }
    }
}
