//! A line, and what a ring over it takes.

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
