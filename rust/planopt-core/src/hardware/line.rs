//! A line, and what a ring over it takes.

use crate::catalog::Network;
use crate::quantity::{Bytes, BytesPerSecond, Seconds};

/// Times that an all-reduce sends its payload around a ring.
pub(crate) const ALL_REDUCE: f64 = 2.0;

/// A line as a message meets it: bandwidth as reached and latency.
#[derive(Clone, Copy, Debug, PartialEq)]
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
    #[inline]
    pub fn message(self, payload: Bytes) -> Seconds {
        self.latency + payload / self.bandwidth
    }

    /// The seed article's collective: the payload crosses the line once.
    #[inline]
    pub(crate) fn transfer(self, payload: Bytes) -> Seconds {
        self.latency.max(payload / self.bandwidth)
    }

    /// Ring of `n` ranks that sends `payload` around so many times: twice for an all-reduce, once
    /// for a reduce-scatter or an all-gather.
    #[inline]
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
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Direct {
    pub(crate) bandwidth: BytesPerSecond,
    /// Of an all-reduce in one shot, in which each reads all of the others.
    pub(crate) one_shot: Seconds,
    /// Of one in two, in which each reduces its share and reads those of the others.
    pub(crate) two_shot: Option<Seconds>,
    /// Payloads that are too large for both.
    pub(crate) limit: Option<Bytes>,
}

impl Direct {
    /// The faster way among `ranks`, if there is any for so large a payload.
    #[inline]
    pub(crate) fn all_reduce(self, ranks: u32, payload: Bytes) -> Option<Seconds> {
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

/// Leaves of a rail-optimised tree that have more ports to hosts than uplinks: each joins one NIC of
/// each of its hosts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Leaves {
    /// Hosts that need none of them: one switch joins all of their NICs.
    pub hosts_of_a_switch: u32,
    /// Hosts of a leaf, at least.
    pub hosts: f64,
    /// Ports to hosts for one uplink.
    pub oversubscription: f64,
}

impl Leaves {
    /// Those of a network that has fewer uplinks, of the smallest of its switches.
    pub(super) fn of(network: &Network, nics_per_host: u32) -> Option<Self> {
        if network.oversubscription <= 1 {
            return None;
        }
        let ports = network.switches.iter().map(|switch| switch.ports).min()?;
        Some(Self {
            hosts_of_a_switch: ports / nics_per_host.max(1),
            // No leaf has more ports up than down.
            hosts: f64::from(ports / 2),
            oversubscription: f64::from(network.oversubscription),
        })
    }

    /// Share of a NIC's rate that is left to neighbours among `domains` that stand evenly in so many
    /// hosts, one that goes to the next and one that goes to all. Past the end of a leaf go as many
    /// streams as neighbours are hosts apart, over `hosts / oversubscription` uplinks.
    pub(crate) fn left(&self, hosts: f64, domains: f64) -> [f64; 2] {
        if hosts <= self.hosts || domains <= 1.0 {
            return [1.0; 2];
        }
        let apart = (hosts / domains).min(self.hosts);
        let near = self.hosts / apart;
        let far = (domains - near) / (domains - 1.0);
        let uplinks = 1.0 / self.oversubscription;
        [uplinks * near, uplinks / far].map(|left| left.min(1.0))
    }
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
    /// Leaves with fewer uplinks than ports to hosts.
    pub leaves: Option<Leaves>,
}

#[cfg(test)]
mod tests {
    use super::Leaves;

    /// Leaves of 64 hosts and 16 uplinks, in 256 hosts. Of a ring of all of them one stream passes
    /// the end of a leaf; of one of every 64th host each does, and so does all that each sends. Of
    /// what all send to all, 192 of 255 parts leave the leaf.
    #[test]
    fn uplinks_are_shared_by_what_passes_the_end_of_a_leaf() {
        let leaves = Leaves {
            hosts_of_a_switch: 128,
            hosts: 64.0,
            oversubscription: 4.0,
        };
        let close = |[one, other]: [f64; 2], [next, all]: [f64; 2]| {
            assert!((one - next).abs() < 1e-12 && (other - all).abs() < 1e-12);
        };
        close(leaves.left(64.0, 64.0), [1.0, 1.0]);
        close(leaves.left(256.0, 256.0), [1.0, 255.0 / 192.0 / 4.0]);
        close(leaves.left(256.0, 8.0), [0.5, 7.0 / 6.0 / 4.0]);
        close(leaves.left(256.0, 4.0), [0.25, 0.25]);
    }
}
