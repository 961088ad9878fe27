//! One unit in full: memory, times, bill of materials, cost.

use super::evaluation::ReplicaEvaluation;
use super::prepared::Prepared;
use super::replica::Replica;
use crate::catalog::Assumptions;
use crate::hardware::System;
use crate::load::serving::Question;
use crate::parallel::{Layout, Placement, Rejection, stages};
use crate::transformer::Transformer;

/// Prepares one layout and asks about it.
///
/// # Errors
///
/// The rejection, if the layout cannot even be laid out.
pub fn with_replica<T>(
    transformer: &Transformer,
    question: &Question,
    system: &System,
    layout: Layout,
    assumptions: &Assumptions,
    ask: impl FnOnce(&Replica, Placement) -> T,
) -> Result<T, Rejection> {
    layout.check_served(transformer)?;
    let placement = layout.place(system.slots)?;
    let domain = system.scale_up_domain();
    if placement.hosts > 1 && system.network.is_none() && placement.accelerators() > domain {
        return Err(Rejection::Network {
            hosts: placement.hosts,
        });
    }
    let layouts = [layout];
    let prepared = Prepared::new(
        transformer,
        question,
        system.accelerator,
        assumptions,
        &layouts,
    )?;
    let fabric = system.fabric(assumptions);
    let stages = stages(transformer, layout.pp);
    let (Some(rank), Some(stages)) = (prepared.rank(layout.degrees()), stages.last()) else {
        return Err(Rejection::Layers {
            pp: layout.pp,
            vpp: None,
            layers: transformer.layers.len() as u64,
        });
    };
    let replica = Replica::new(
        rank,
        stages,
        &fabric,
        placement,
        question,
        system.accelerator,
        assumptions,
    );
    Ok(ask(&replica, placement))
}

/// Evaluates one layout, whether or not it works.
///
/// # Errors
///
/// The rejection, if the layout cannot even be laid out.
pub fn evaluate_unit(
    transformer: &Transformer,
    question: &Question,
    system: &System,
    layout: Layout,
    assumptions: &Assumptions,
) -> Result<(Placement, ReplicaEvaluation), Rejection> {
    let batching = layout.batching();
    let evaluate = |replica: &Replica, placement| {
        let memory = replica.memory(batching);
        let mut rejections = Vec::new();
        if !memory.fits() {
            rejections.push(Rejection::Memory {
                needed_bytes: memory.total.0,
                capacity_bytes: memory.capacity.0,
                largest: None,
            });
        }
        let offloaded = replica.host_memory();
        let host_memory = question.offload.and_then(|offload| offload.memory);
        if let Some(there) = host_memory.filter(|there| offloaded > *there) {
            rejections.push(Rejection::HostMemory {
                needed_bytes: offloaded.0,
                memory_bytes: there.0,
            });
        }
        let evaluation = ReplicaEvaluation {
            rejections,
            memory,
            decode: replica.decode(batching),
            prefill: replica.prefill(),
            mixed: replica.mixed(batching),
            kv_capacity_tokens: replica.kv_capacity_tokens(layout.batch),
        };
        (placement, evaluation)
    };
    with_replica(transformer, question, system, layout, assumptions, evaluate)
}
