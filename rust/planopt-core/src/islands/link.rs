//! The way of an island to the Internet, and what an exchange of all islands takes over it.

use crate::hardware::{Fabric, Line};
use crate::parallel::{Groups, Layout};
use crate::quantity::{Bytes, BytesPerSecond, Seconds};
use serde::Serialize;

/// Payload of a TCP segment: an Ethernet frame of 1500 bytes less 40 of headers (RFC 879).
const SEGMENT: Bytes = Bytes(1460.0);

/// How islands exchange what they have learnt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Topology {
    /// Each sends to its neighbour, around a ring: data parallelism's own all-reduce.
    Ring,
    /// In pairs, halves of halves: up a binomial tree and down again.
    Tree,
    /// All send to one of them, which sends back.
    Hub,
}

impl Topology {
    /// Each.
    pub const ALL: [Self; 3] = [Self::Ring, Self::Tree, Self::Hub];
}

/// The line of an island, each direction for itself.
#[derive(Clone, Copy, Debug)]
pub struct Uplink {
    /// What it sends, as reached.
    pub up: Line,
    /// What it takes in the meantime.
    pub down: BytesPerSecond,
}

impl Uplink {
    /// A line of which packets are lost at the rate `loss`, which the window of each of its TCP
    /// connections recovers from: `sqrt(3/2) MSS / (RTT sqrt(loss))` a connection (Mathis et al.,
    /// "The macroscopic behavior of the TCP congestion avoidance algorithm", 1997).
    #[must_use]
    pub fn new(up: Line, down: BytesPerSecond, loss: f64, connections: f64) -> Self {
        let trip = up.latency * 2.0;
        // Nothing lost, or no way to go: no limit.
        let most = BytesPerSecond(SEGMENT.0 / trip.0 * (1.5 / loss).sqrt() * connections);
        Self {
            up: Line {
                bandwidth: up.bandwidth.min(most),
                ..up
            },
            down: down.min(most),
        }
    }

    /// The slower direction, which whoever sends and takes at once goes by.
    fn both_ways(&self) -> Line {
        Line {
            bandwidth: self.up.bandwidth.min(self.down),
            ..self.up
        }
    }

    /// The way from here to a machine with another line: each end has half of the latency.
    pub fn to(&self, other: &Self) -> Line {
        Line {
            bandwidth: self.up.bandwidth.min(other.down),
            latency: (self.up.latency + other.up.latency) * 0.5,
            ..self.up
        }
    }

    /// One message from here to another island with the same line.
    pub fn send(&self, payload: Bytes) -> Seconds {
        self.both_ways().message(payload)
    }

    /// All-reduce of `payload` among `islands` like this one. The ring is that of data-parallel
    /// ranks on `fabric`, whose network this line then is; the tree that of Thakur, Rabenseifner and
    /// Gropp ("Optimization of collective communication operations in MPICH", 2005).
    pub fn all_reduce(
        &self,
        topology: Topology,
        payload: Bytes,
        islands: u32,
        fabric: &Fabric,
    ) -> Seconds {
        if islands <= 1 {
            return Seconds::ZERO;
        }
        let others = f64::from(islands - 1);
        match topology {
            Topology::Ring => {
                let ranks = Layout {
                    dp: islands,
                    ..Layout::SINGLE
                };
                let fabric = fabric.apart(self.both_ways());
                Groups::new(&ranks, &fabric, 1).shard.all_reduce(payload)
            }
            Topology::Tree => self.send(payload) * (2.0 * f64::from(islands).log2().ceil()),
            Topology::Hub => {
                let ways = [self.down, self.up.bandwidth].map(|way| payload * others / way);
                ways[0] + ways[1] + self.up.latency * 2.0
            }
        }
    }
}
