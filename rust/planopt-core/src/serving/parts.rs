//! What the time of a step consists of.

use crate::quantity::Seconds;
use serde::Serialize;

/// Parts of a time that sum to it. What runs beside something else counts as far as it outlasts that:
/// of arithmetic and memory traffic the shorter one beside the longer, then messages beside both,
/// what comes from the host beside all of these, and last the launches of the host.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct TimeParts {
    /// Arithmetic.
    #[serde(rename = "compute_seconds")]
    pub compute: Seconds,
    /// Memory traffic.
    #[serde(rename = "memory_seconds")]
    pub memory: Seconds,
    /// All-reduces, exchanges and hops.
    #[serde(rename = "communication_seconds")]
    pub communication: Seconds,
    /// Reading weights that rest in the host.
    #[serde(rename = "offload_seconds")]
    pub offload: Seconds,
    /// Launching operations, and what an engine does between steps.
    #[serde(rename = "host_seconds")]
    pub host: Seconds,
}

impl TimeParts {
    /// All of it.
    pub fn total(&self) -> Seconds {
        self.compute + self.memory + self.communication + self.offload + self.host
    }

    /// The same, so many times longer.
    #[must_use]
    pub(super) fn times(&self, longer: f64) -> Self {
        let mut parts = Self::default();
        parts.add(self, longer);
        parts
    }

    /// The same `count` times, behind what there is.
    pub(super) fn add(&mut self, other: &Self, count: f64) {
        self.compute += other.compute * count;
        self.memory += other.memory * count;
        self.communication += other.communication * count;
        self.offload += other.offload * count;
        self.host += other.host * count;
    }
}
