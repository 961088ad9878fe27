//! Clusters that were found, and how many were looked at.

use crate::hardware::Hardware;
use crate::parallel::{Layout, Rejection};
use crate::quantity::{MicroUsd, Seconds, Watts};
use serde::Serialize;

/// A cluster with the layout that finishes first on it.
#[derive(Clone, Copy, Debug)]
pub struct FoundCluster<'a> {
    /// What it is made of.
    pub hardware: Hardware<'a>,
    /// How the run is divided.
    pub layout: Layout,
    /// Hosts.
    pub hosts: u32,
    /// Accelerators that come with them.
    pub accelerators: u32,
    /// The run, failures included.
    pub run: Seconds,
    /// Tokens per second, failures included.
    pub tokens_per_second: f64,
    /// Its price.
    pub price: MicroUsd,
    /// Draw at work.
    pub power: Watts,
    /// Rack units.
    pub rack_units: f64,
    /// Purchase written off, electricity and hosting.
    pub usd_per_hour: f64,
}

/// How many candidates were rejected, by reason.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct TrainingTally {
    /// The accelerator does not compute in that precision.
    pub precision: u64,
    /// A tensor-parallel group does not fill hosts.
    pub placement: u64,
    /// No switches of the network join so many NICs.
    pub network: u64,
    /// Does not fit in memory.
    pub memory: u64,
    /// Fails before it makes headway.
    pub failures: u64,
    /// Finishes too late, or later than a cluster that is known.
    pub deadline: u64,
    /// Another layout finishes earlier on the same cluster.
    pub slower: u64,
    /// Draws too much, takes too much space, or more than is in stock.
    pub limits: u64,
    /// Dearer than what may be spent, or than a cluster of the same accelerators that does it.
    pub price: u64,
}

/// What the search found.
#[derive(Clone, Debug, Default)]
pub struct TrainingSearchResult<'a> {
    /// The best cluster of each accelerator, host and network.
    pub clusters: Vec<FoundCluster<'a>>,
    /// Candidates in the space.
    pub covered: u64,
    /// Candidates whose memory and step were computed.
    pub evaluated: u64,
    /// Why others were rejected.
    pub rejected: TrainingTally,
    /// Smallest ratio of memory needed to memory there, of those that do not fit.
    pub memory_ratio: Option<f64>,
    /// Whether the search was told to stop.
    pub interrupted: bool,
}

impl TrainingSearchResult<'_> {
    pub(crate) fn absorb(&mut self, other: Self) {
        self.clusters.extend(other.clusters);
        self.covered += other.covered;
        self.evaluated += other.evaluated;
        let (mine, theirs) = (&mut self.rejected, other.rejected);
        mine.precision += theirs.precision;
        mine.placement += theirs.placement;
        mine.network += theirs.network;
        mine.memory += theirs.memory;
        mine.failures += theirs.failures;
        mine.deadline += theirs.deadline;
        mine.slower += theirs.slower;
        mine.limits += theirs.limits;
        mine.price += theirs.price;
        if let Some(ratio) = other.memory_ratio {
            self.note_memory(ratio);
        }
        self.interrupted |= other.interrupted;
    }

    fn note_memory(&mut self, ratio: f64) {
        self.memory_ratio = Some(self.memory_ratio.map_or(ratio, |best| best.min(ratio)));
    }

    pub(crate) fn reject(&mut self, rejection: &Rejection, count: u64) {
        match rejection {
            Rejection::Memory {
                needed_bytes,
                capacity_bytes,
                ..
            } => {
                self.rejected.memory += count;
                self.note_memory(needed_bytes / capacity_bytes);
            }
            Rejection::Failures { .. } => self.rejected.failures += count,
            Rejection::Network { .. } => self.rejected.network += count,
            _ => self.rejected.placement += count,
        }
    }
}
