//! What a search found, as columns.

use super::training::FoundCluster;
use crate::parallel::{ContextParallel, Recompute, Zero};
use serde::Serialize;

/// The clusters found, as columns of one length.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ClusterColumns {
    /// Accelerator ids.
    pub accelerator: Vec<String>,
    /// Host ids.
    pub host: Vec<String>,
    /// Terms of instances that are rented; their prices are those of an hour.
    pub terms: Vec<Option<String>>,
    /// Network ids.
    pub network: Vec<Option<String>>,
    /// NICs of a host.
    pub nics_per_host: Vec<u32>,
    /// Hosts.
    pub hosts: Vec<u32>,
    /// Accelerators that come with them.
    pub accelerators: Vec<u32>,
    /// Tensor-parallel degree.
    pub tp: Vec<u32>,
    /// Whether activations are divided by sequence.
    pub sequence_parallel: Vec<bool>,
    /// Pipeline stages.
    pub pp: Vec<u32>,
    /// Chunks of a stage.
    pub vpp: Vec<u32>,
    /// Data-parallel degree.
    pub dp: Vec<u32>,
    /// Context-parallel degree.
    pub cp: Vec<u32>,
    /// How context-parallel ranks meet; none where there is one.
    pub context_parallel: Vec<Option<ContextParallel>>,
    /// Expert-parallel degree.
    pub ep: Vec<u32>,
    /// Sequences of a micro-batch.
    pub micro_batch: Vec<u32>,
    /// What is recomputed.
    pub recompute: Vec<Recompute>,
    /// What data-parallel ranks divide.
    pub shard: Vec<Zero>,
    /// Ranks that divide it among each other; none for all.
    pub shard_group: Vec<Option<u32>>,
    /// The run, failures included.
    pub run_seconds: Vec<f64>,
    /// Tokens per second, failures included.
    pub tokens_per_second: Vec<f64>,
    /// Price, in micro-dollars.
    pub price_micro_usd: Vec<i64>,
    /// Draw at work.
    pub power_watts: Vec<f64>,
    /// Rack units.
    pub rack_units: Vec<f64>,
    /// Written off, electricity and hosting.
    pub usd_per_hour: Vec<f64>,
}

impl ClusterColumns {
    pub(crate) fn push(&mut self, found: &FoundCluster) {
        let (hardware, layout) = (&found.hardware, &found.layout);
        self.accelerator.push(hardware.accelerator.id.clone());
        self.host.push(hardware.host.id.clone());
        self.terms
            .push(hardware.host.rent.map(|rent| rent.terms.name()));
        self.network
            .push(hardware.network.map(|(network, _)| network.id.clone()));
        self.nics_per_host
            .push(hardware.network.map_or(0, |(_, nics)| nics));
        self.hosts.push(found.hosts);
        self.accelerators.push(found.accelerators);
        self.tp.push(layout.tp);
        self.sequence_parallel.push(layout.sequence_parallel);
        self.pp.push(layout.pp);
        self.vpp.push(layout.vpp);
        self.dp.push(layout.dp);
        self.cp.push(layout.cp);
        self.context_parallel
            .push((layout.cp > 1).then_some(layout.context_parallel));
        self.ep.push(layout.ep);
        self.micro_batch.push(layout.batch);
        self.recompute.push(layout.recompute);
        self.shard.push(layout.zero);
        self.shard_group.push(layout.shard_group);
        self.run_seconds.push(found.run.0);
        self.tokens_per_second.push(found.tokens_per_second);
        self.price_micro_usd.push(found.price.0);
        self.power_watts.push(found.power.0);
        self.rack_units.push(found.rack_units);
        self.usd_per_hour.push(found.usd_per_hour);
    }
}
