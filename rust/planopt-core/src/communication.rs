//! Time of messages between the ranks of a replica. Formulas: `docs/reference/model.md`, section 4.
//!
//! Ring all-reduce: Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms", 2009; bus
//! bandwidth as nccl-tests defines it.

use crate::catalog::{
    Accelerator, AllReduceAlgorithm, Assumptions, BusBandwidth, HopPayload, PeerToPeer, ScaleUp,
};
use crate::compute::{Exchange, share_met};
use crate::placement::Placement;
use crate::quantity::{Bytes, BytesPerSecond, Seconds};

/// Times that an all-reduce sends its payload around a ring.
pub(crate) const ALL_REDUCE: f64 = 2.0;

/// A line as a message meets it: bandwidth as reached and latency.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    /// Bandwidth, one direction.
    pub bandwidth: BytesPerSecond,
    /// Latency of one message, or of one step of a ring.
    pub latency: Seconds,
    /// Start of a ring, besides its steps.
    pub overhead: Seconds,
    /// A ring of large messages in chunks: its latency as a whole, and its bandwidth.
    pub bulk: Option<(Seconds, BytesPerSecond)>,
}

impl Line {
    /// Time of one message of `payload`.
    pub fn message(self, payload: Bytes) -> Seconds {
        self.latency + payload / self.bandwidth
    }

    /// The seed article's collective: the payload crosses the line once.
    fn transfer(self, payload: Bytes) -> Seconds {
        self.latency.max(payload / self.bandwidth)
    }

    /// Ring of `n` ranks that sends `payload` around so many times: twice for an all-reduce, once
    /// for a reduce-scatter or an all-gather.
    pub(crate) fn ring(self, n: u32, rounds: f64, payload: Bytes) -> Seconds {
        if n <= 1 {
            return Seconds::ZERO;
        }
        let steps = rounds * f64::from(n - 1);
        let sent = payload * (steps / f64::from(n));
        let at_once = self.overhead + self.latency * steps + sent / self.bandwidth;
        self.bulk.map_or(at_once, |(latency, bandwidth)| {
            at_once.min(latency * (rounds / ALL_REDUCE) + sent / bandwidth)
        })
    }
}

/// What ranks reach that read each other's memory over a scale-up link.
#[derive(Clone, Copy, Debug)]
struct Direct {
    bandwidth: BytesPerSecond,
    /// Of an all-reduce in one shot, in which each reads all of the others.
    one_shot: Seconds,
    /// Of one in two, in which each reduces its share and reads those of the others.
    two_shot: Option<Seconds>,
    /// Payloads that are too large for both.
    limit: Option<Bytes>,
}

impl Direct {
    /// The faster way among `ranks`, if there is any for so large a payload.
    fn all_reduce(self, ranks: u32, payload: Bytes) -> Option<Seconds> {
        if self.limit.is_some_and(|limit| payload >= limit) {
            return None;
        }
        let others = f64::from(ranks - 1);
        let whole = self.one_shot + payload * others / self.bandwidth;
        let shares = payload * (ALL_REDUCE * others / f64::from(ranks)) / self.bandwidth;
        Some(
            self.two_shot
                .map_or(whole, |latency| whole.min(latency + shares)),
        )
    }
}

/// The links of a replica, as reached under the assumptions.
#[derive(Clone, Copy, Debug)]
pub struct Fabric {
    algorithm: AllReduceAlgorithm,
    all_reduce_share: f64,
    hop_payload: HopPayload,
    return_hop: bool,
    hop_overhead: Seconds,
    /// All-reduces in which ranks read each other.
    direct: Direct,
    scale_up: Option<(Line, u32)>,
    pcie: Line,
    all_reduce_bus: Option<BusBandwidth>,
    network: Option<Line>,
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

/// A network as its parts give it.
#[derive(Clone, Copy, Debug)]
pub struct NetworkLine {
    /// Line rate of one NIC port.
    pub rate: BytesPerSecond,
    /// Latency of the link and of a switch.
    pub latency: Seconds,
    /// Remote direct memory access rather than TCP.
    pub rdma: bool,
    /// NICs of a host.
    pub nics_per_host: u32,
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
            all_reduce_share: reached.all_reduce_share,
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
        }
    }

    /// Whether hosts are connected.
    pub fn has_network(&self) -> bool {
        self.network.is_some()
    }

    /// How an all-reduce is counted.
    pub(crate) fn algorithm(&self) -> AllReduceAlgorithm {
        self.algorithm
    }

    /// Accelerators that the scale-up link joins.
    pub(crate) fn scale_up_domain(&self) -> Option<u32> {
        self.scale_up.map(|(_, domain)| domain)
    }

    /// The scale-up line of each accelerator, where `ranks` neighbours are all on it.
    pub(crate) fn scale_up_line(&self, ranks: u32) -> Option<Line> {
        self.scale_up_for(ranks)
    }

    /// The line between an accelerator and its host.
    pub(crate) fn host_line(&self) -> Line {
        self.pcie
    }

    /// The network of one host, all of its NICs together.
    pub(crate) fn network_line(&self) -> Option<Line> {
        self.network
    }

    /// The line of `members` of `ranks` neighbours: scale-up where it joins all of the neighbours,
    /// else PCIe as a collective of so many meets it.
    pub(crate) fn local_line(&self, ranks: u32, members: u32) -> Line {
        self.scale_up_for(ranks)
            .unwrap_or_else(|| self.pcie_bus(members))
    }

    /// The scale-up line, where `ranks` fit its domain.
    fn scale_up_for(&self, ranks: u32) -> Option<Line> {
        self.scale_up
            .filter(|(_, domain)| ranks <= *domain)
            .map(|(line, _)| line)
    }

    /// All-reduce among `ranks` of one host or one scale-up domain.
    fn local_all_reduce(&self, ranks: u32, payload: Bytes) -> Seconds {
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
    fn local_ring(&self, ranks: u32, payload: Bytes) -> Seconds {
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

    /// All-reduce of `payload` over the tensor-parallel group of `placement`.
    pub fn all_reduce(&self, placement: Placement, payload: Bytes) -> Seconds {
        self.tensor_all_reduce(placement, payload) * self.all_reduce_share
    }

    fn tensor_all_reduce(&self, placement: Placement, payload: Bytes) -> Seconds {
        let tp = placement.degrees.tp;
        if self.scale_up_for(tp).is_some() || tp <= placement.slots {
            return self.local_all_reduce(tp, payload);
        }
        // Across hosts the local part is a reduce-scatter and an all-gather: a ring.
        let local = self.local_ring(placement.local_ranks(), payload);
        let Some(network) = self.network else {
            return local;
        };
        match self.algorithm {
            AllReduceAlgorithm::Transfer => local.max(network.transfer(payload)),
            AllReduceAlgorithm::Ring => {
                local + network.ring(placement.hosts_per_group(), ALL_REDUCE, payload)
            }
        }
    }

    /// All-to-all that brings `tokens` of each attention data-parallel rank to the ranks of their
    /// experts, or back: to each rank once, whatever the experts it has of a token, and across hosts
    /// to each host once (as `DeepEP` does), while inside of hosts it is passed on.
    pub fn exchange(&self, placement: Placement, exchange: &Exchange, tokens: f64) -> Seconds {
        let degrees = placement.degrees;
        let ranks = degrees.ranks();
        if ranks <= 1 {
            return Seconds::ZERO;
        }
        let sent_by_rank = Bytes(tokens * exchange.bytes_per_token / f64::from(degrees.tp));
        let others = |all: u32| f64::from(all - 1) / f64::from(all);
        let copies = f64::from(ranks) * share_met(f64::from(degrees.ep), 1.0, exchange.active);
        let local = |neighbours: u32| {
            let line = self.neighbour_line(neighbours);
            line.message(sent_by_rank * copies * others(neighbours))
        };
        let hosts = placement.hosts_per_stage();
        if hosts == 1 || self.scale_up_for(ranks).is_some() {
            return local(ranks);
        }
        let Some(network) = self.network else {
            return Seconds::ZERO;
        };
        let host_parts = f64::from(degrees.ep.min(hosts));
        let host_copies = f64::from(hosts) * share_met(host_parts, 1.0, exchange.active);
        let sent_by_host = sent_by_rank * f64::from(placement.slots);
        let across = network.message(sent_by_host * host_copies * others(hosts));
        if placement.slots == 1 {
            across
        } else {
            across.max(local(placement.slots))
        }
    }

    /// The line on which each of `ranks` of one host or scale-up domain sends to all others at once.
    fn neighbour_line(&self, ranks: u32) -> Line {
        match self.scale_up_for(ranks) {
            Some(line) => Line {
                latency: self.direct.one_shot,
                ..line
            },
            None => self.pcie_bus(ranks),
        }
    }

    /// All hops of one micro-batch through the stages, `payload` being its activations.
    pub fn hops(&self, placement: Placement, payload: Bytes) -> Seconds {
        if placement.pp <= 1 {
            return Seconds::ZERO;
        }
        let crossing = self.crossing_hop(placement, payload);
        let inside = self
            .scale_up_for(placement.accelerators_per_host())
            .unwrap_or(self.pcie)
            .message(payload);
        let crossings = placement.crossing_hops();
        let insides = placement.pp - 1 - crossings;
        let overheads = self.hop_overhead * f64::from(placement.pp - 1);
        let mut total = crossing * f64::from(crossings) + inside * f64::from(insides) + overheads;
        if self.return_hop {
            total += if placement.hosts > 1 {
                crossing
            } else {
                inside
            };
        }
        total
    }

    fn crossing_hop(&self, placement: Placement, payload: Bytes) -> Seconds {
        if let Some(line) = self.scale_up_for(placement.accelerators()) {
            return line.message(payload);
        }
        let Some(network) = self.network else {
            return Seconds::ZERO;
        };
        let local_ranks = f64::from(placement.local_stage_ranks());
        let sent_by_host = match self.hop_payload {
            HopPayload::Full => payload * local_ranks,
            HopPayload::Scattered => payload * (local_ranks / f64::from(placement.degrees.tp)),
        };
        network.message(sent_by_host)
    }
}
