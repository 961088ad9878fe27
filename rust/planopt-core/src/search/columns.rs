//! What a search found, as columns.

use super::training::FoundCluster;
use crate::parallel::{ContextParallel, Recompute, Zero};
use serde::Serialize;

/// Declares columns once: the arrays, and what of a thing found goes into each.
macro_rules! columns {
    (
        $(#[$of_all:meta])* $columns:ident of $found:ident: $thing:ty;
        $($(#[$doc:meta])* $name:ident: $cell:ty = $value:expr;)+
    ) => {
        $(#[$of_all])*
        #[derive(Clone, Debug, Default, Serialize)]
        pub struct $columns { $($(#[$doc])* pub $name: Vec<$cell>,)+ }

        impl $columns {
            pub(crate) fn push(&mut self, $found: &$thing) {
                $(self.$name.push($value);)+
            }
        }
    };
}

columns! {
    /// The clusters found, as columns of one length.
    ClusterColumns of found: FoundCluster<'_>;

    /// Accelerator ids.
    accelerator: String = found.hardware.accelerator.id.clone();
    /// Host ids.
    host: String = found.hardware.host.id.clone();
    /// Terms of instances that are rented; their prices are those of an hour.
    terms: Option<String> = found.hardware.host.rent.map(|rent| rent.terms.name());
    /// Network ids.
    network: Option<String> = found.hardware.network.map(|(network, _)| network.id.clone());
    /// NICs of a host.
    nics_per_host: u32 = found.hardware.network.map_or(0, |(_, nics)| nics);
    /// Hosts.
    hosts: u32 = found.hosts;
    /// Accelerators that come with them.
    accelerators: u32 = found.accelerators;
    /// Tensor-parallel degree.
    tp: u32 = found.layout.tp;
    /// Whether activations are divided by sequence.
    sequence_parallel: bool = found.layout.sequence_parallel;
    /// Pipeline stages.
    pp: u32 = found.layout.pp;
    /// Chunks of a stage.
    vpp: u32 = found.layout.vpp;
    /// Data-parallel degree.
    dp: u32 = found.layout.dp;
    /// Context-parallel degree.
    cp: u32 = found.layout.cp;
    /// How context-parallel ranks meet; none where there is one.
    context_parallel: Option<ContextParallel> =
        (found.layout.cp > 1).then_some(found.layout.context_parallel);
    /// Expert-parallel degree.
    ep: u32 = found.layout.ep;
    /// Sequences of a micro-batch.
    micro_batch: u32 = found.layout.batch;
    /// What is recomputed.
    recompute: Recompute = found.layout.recompute;
    /// What data-parallel ranks divide.
    shard: Zero = found.layout.zero;
    /// Ranks that divide it among each other; none for all.
    shard_group: Option<u32> = found.layout.shard_group;
    /// The run, failures included.
    run_seconds: f64 = found.run.0;
    /// Tokens per second, failures included.
    tokens_per_second: f64 = found.tokens_per_second;
    /// Price, in micro-dollars.
    price_micro_usd: i64 = found.price.0;
    /// Draw at work.
    power_watts: f64 = found.power.0;
    /// Rack units.
    rack_units: f64 = found.rack_units;
    /// Written off, electricity and hosting.
    usd_per_hour: f64 = found.usd_per_hour;
}
