//! A round: inner steps of each island, and what all then exchange.

use super::link::{Topology, Uplink};
use crate::hardware::Fabric;
use crate::quantity::{Bytes, Seconds};
use serde::Serialize;

/// What a round is made of.
#[derive(Clone, Copy, Debug)]
pub struct RoundTerms {
    /// An inner step, in which each island works as long.
    pub step: Seconds,
    /// Inner steps of a round (`H` of `DiLoCo`, Douillard et al., arXiv 2311.08105).
    pub inner_steps: u32,
    /// Islands.
    pub islands: u32,
    /// What is exchanged: a difference of each parameter, in as many bits as are sent.
    pub payload: Bytes,
    /// Messages that it is sent in.
    pub pieces: f64,
    /// Share of the inner steps that it hides behind: none where the islands wait, all where it
    /// streams (Douillard et al., arXiv 2501.18512).
    pub overlap: f64,
}

/// A round.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Round {
    /// How it is exchanged.
    pub topology: Topology,
    /// Inner steps.
    #[serde(rename = "inner_seconds")]
    pub inner: Seconds,
    /// The exchange.
    #[serde(rename = "exchange_seconds")]
    pub exchange: Seconds,
    /// All of it.
    #[serde(rename = "round_seconds")]
    pub total: Seconds,
}

impl Round {
    /// The same with everything so many times longer.
    #[must_use]
    pub fn times(self, longer: f64) -> Self {
        Self {
            inner: self.inner * longer,
            exchange: self.exchange * longer,
            total: self.total * longer,
            ..self
        }
    }
}

impl RoundTerms {
    /// The round over the topology that is fastest.
    pub fn round(&self, uplink: &Uplink, fabric: &Fabric) -> Round {
        let rounds = Topology::ALL.map(|topology| self.round_over(topology, uplink, fabric));
        let [first, others @ ..] = rounds;
        let faster = |one: Round, other: Round| if other.total < one.total { other } else { one };
        others.into_iter().fold(first, faster)
    }

    /// The round over one topology.
    pub fn round_over(&self, topology: Topology, uplink: &Uplink, fabric: &Fabric) -> Round {
        let inner = self.step * f64::from(self.inner_steps);
        let piece = self.payload / self.pieces;
        let exchange = uplink.all_reduce(topology, piece, self.islands, fabric) * self.pieces;
        let exposed = (exchange - inner * self.overlap).max(Seconds::ZERO);
        Round {
            topology,
            inner,
            exchange,
            total: inner + exposed,
        }
    }
}
