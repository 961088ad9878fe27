//! What collectives take on a placement.

use super::experts::distinct_share;
use super::placement::Placement;
use crate::catalog::{AllReduceAlgorithm, HopPayload};
use crate::hardware::{ALL_REDUCE, Fabric};
use crate::quantity::{Bytes, Seconds};

/// All-reduce of `payload` over the tensor-parallel group of `placement`.
pub fn all_reduce(fabric: &Fabric, placement: Placement, payload: Bytes) -> Seconds {
    let tp = placement.degrees.tp;
    if fabric.scale_up_for(tp).is_some() || tp <= placement.slots {
        return fabric.local_all_reduce(tp, payload);
    }
    // Across hosts the local part is a reduce-scatter and an all-gather: a ring.
    let local = fabric.local_ring(placement.local_ranks(), payload);
    let Some(network) = fabric.network else {
        return local;
    };
    match fabric.algorithm {
        AllReduceAlgorithm::Transfer => local.max(network.transfer(payload)),
        AllReduceAlgorithm::Ring => {
            local + network.ring(placement.hosts_per_group(), ALL_REDUCE, payload)
        }
    }
}

/// All-to-all that brings `tokens` of each attention data-parallel rank to the ranks of their
/// experts, or back: to each rank once, whatever the experts it has of a token, and across hosts
/// to each host once (as `DeepEP` does), while inside of hosts it is passed on.
pub fn all_to_all(
    fabric: &Fabric,
    placement: Placement,
    exchange: &Exchange,
    tokens: f64,
) -> Seconds {
    let degrees = placement.degrees;
    let ranks = degrees.ranks();
    if ranks <= 1 {
        return Seconds::ZERO;
    }
    let sent_by_rank = Bytes(tokens * exchange.bytes_per_token / f64::from(degrees.tp));
    let others = |all: u32| f64::from(all - 1) / f64::from(all);
    let copies = f64::from(ranks) * distinct_share(f64::from(degrees.ep), 1.0, exchange.active);
    let local = |neighbours: u32| {
        let line = fabric.neighbour_line(neighbours);
        line.message(sent_by_rank * copies * others(neighbours))
    };
    let hosts = placement.hosts_per_stage();
    if hosts == 1 || fabric.scale_up_for(ranks).is_some() {
        return local(ranks);
    }
    let Some(network) = fabric.network else {
        return Seconds::ZERO;
    };
    let host_parts = f64::from(degrees.ep.min(hosts));
    let host_copies = f64::from(hosts) * distinct_share(host_parts, 1.0, exchange.active);
    let sent_by_host = sent_by_rank * f64::from(placement.slots);
    let across = network.message(sent_by_host * host_copies * others(hosts));
    if placement.slots == 1 {
        across
    } else {
        across.max(local(placement.slots))
    }
}

/// All hops of one micro-batch through the stages, `payload` being its activations.
pub fn hops(fabric: &Fabric, placement: Placement, payload: Bytes) -> Seconds {
    if placement.pp <= 1 {
        return Seconds::ZERO;
    }
    let crossing = crossing_hop(fabric, placement, payload);
    let inside = fabric
        .scale_up_for(placement.accelerators_per_host())
        .unwrap_or(fabric.pcie)
        .message(payload);
    let crossings = placement.crossing_hops();
    let insides = placement.pp - 1 - crossings;
    let overheads = fabric.hop_overhead * f64::from(placement.pp - 1);
    let mut total = crossing * f64::from(crossings) + inside * f64::from(insides) + overheads;
    if fabric.return_hop {
        total += if placement.hosts > 1 {
            crossing
        } else {
            inside
        };
    }
    total
}

fn crossing_hop(fabric: &Fabric, placement: Placement, payload: Bytes) -> Seconds {
    if let Some(line) = fabric.scale_up_for(placement.accelerators()) {
        return line.message(payload);
    }
    let Some(network) = fabric.network else {
        return Seconds::ZERO;
    };
    let local_ranks = f64::from(placement.local_stage_ranks());
    let sent_by_host = match fabric.hop_payload {
        HopPayload::Full => payload * local_ranks,
        HopPayload::Scattered => payload * (local_ranks / f64::from(placement.degrees.tp)),
    };
    network.message(sent_by_host)
}

/// Tokens on their way to the ranks of their experts, or back from there.
#[derive(Clone, Copy, Debug)]
pub struct Exchange {
    /// Bytes of a token.
    pub bytes_per_token: f64,
    /// Experts that it goes to.
    pub active: f64,
}
