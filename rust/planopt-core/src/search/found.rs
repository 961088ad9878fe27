//! What a search for units finds: those that meet the goal, how many do not, and how close they
//! come.

use super::columns::{ClusterColumns, UnitColumns};
use super::serving::{Nearest, Tally};
use super::training::TrainingTally;
use serde::Serialize;

/// What a search found.
#[derive(Clone, Debug, Serialize)]
pub struct SearchAnswer {
    /// The units.
    pub units: UnitColumns,
    /// Candidates in the space.
    pub covered: u64,
    /// Candidates whose speed was computed.
    pub evaluated: u64,
    /// Why others were rejected.
    pub rejected: Tally,
    /// How close they came.
    pub nearest: Nearest,
    /// Whether any unit was beyond the cap on prices.
    pub is_cut_by_price: bool,
    /// Whether any host of the space has accelerators that all-reduce over its PCIe.
    pub reduces_over_pcie: bool,
    /// Whether it was stopped before its end.
    pub interrupted: bool,
    /// Format of the weights that it was about.
    pub weights: &'static str,
    /// Format of the KV cache.
    pub kv: &'static str,
}

/// What a search for clusters found.
#[derive(Clone, Debug, Serialize)]
pub struct ClusterAnswer {
    /// The best cluster of each accelerator, host and network.
    pub clusters: ClusterColumns,
    /// Candidates in the space.
    pub covered: u64,
    /// Candidates whose memory and step were computed.
    pub evaluated: u64,
    /// Why others were rejected.
    pub rejected: TrainingTally,
    /// Smallest ratio of memory needed to memory there, of those that do not fit.
    pub memory_ratio: Option<f64>,
    /// Whether it was stopped before its end.
    pub interrupted: bool,
}
