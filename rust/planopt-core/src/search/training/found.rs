//! Clusters that were found.

use crate::hardware::Hardware;
use crate::parallel::{Layout, Rejection};
use crate::quantity::{MicroUsd, Seconds, Watts};
use crate::search::result::{Nearest, SearchResult};

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

impl SearchResult<FoundCluster<'_>> {
    pub(crate) fn reject(&mut self, rejection: &Rejection, count: u64) {
        match rejection {
            Rejection::Memory {
                needed_bytes,
                capacity_bytes,
                ..
            } => {
                self.rejected.memory += count;
                self.nearest.absorb(Nearest {
                    memory_ratio: Some(needed_bytes / capacity_bytes),
                    ..Nearest::default()
                });
            }
            Rejection::Failures { .. } => self.rejected.failures += count,
            Rejection::Network { .. } => self.rejected.network += count,
            _ => self.rejected.placement += count,
        }
    }
}
