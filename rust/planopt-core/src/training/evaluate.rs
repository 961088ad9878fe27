//! One candidate: checks, then memory and step from what is priced already.

use super::job::Job;
use super::run::{AtWork, Failures};
use super::step::{StepTime, step};
use crate::compute::training::{Candidate, PricedModel};
use crate::hardware::{Fabric, Rates, System};
use crate::memory::{TrainingMemory, stage_memory};
use crate::parallel::{Groups, Rejection, Stage};
use crate::quantity::{Bytes, real};

/// What a candidate runs on.
#[derive(Clone, Copy, Debug)]
pub struct TrainingHardware<'a> {
    /// Accelerators in their hosts.
    pub system: &'a System<'a>,
    /// Its rates in the precision of the recipe.
    pub rates: &'a Rates,
    /// Its links, as reached.
    pub fabric: &'a Fabric,
}

/// One candidate.
#[derive(Clone, Copy, Debug)]
pub struct TrainingEvaluation {
    /// Memory of the fullest accelerator.
    pub memory: TrainingMemory,
    /// What may be used of it.
    pub capacity: Bytes,
    /// What it may keep in the memory of its host, where that is known.
    pub host_share: Option<Bytes>,
    /// A step.
    pub step: StepTime,
    /// Failures and goodput.
    pub failures: Failures,
    /// Arithmetic as executed over arithmetic without recomputation.
    pub recomputed_flop_ratio: f64,
}

impl TrainingEvaluation {
    /// Why it does not work, if it does not.
    pub fn rejection(&self) -> Option<Rejection> {
        let needed = self.memory.total();
        if needed > self.capacity {
            return Some(Rejection::Memory {
                needed_bytes: needed.0,
                capacity_bytes: self.capacity.0,
                largest: Some(self.memory.largest()),
            });
        }
        if let Some(share) = self.host_share
            && self.memory.host > share
        {
            return Some(Rejection::HostMemory {
                needed_bytes: self.memory.host.0,
                memory_bytes: share.0,
            });
        }
        (self.failures.goodput < LEAST_GOODPUT).then_some(Rejection::Failures {
            interval_seconds: self.failures.interval.0,
            checkpoint_seconds: self.failures.checkpoint_seconds.0,
            restart_seconds: self.failures.restart.0,
            availability: self.failures.availability,
        })
    }
}

/// Below this share of useful time a run does not end in any sensible time.
pub(crate) const LEAST_GOODPUT: f64 = 1e-3;

impl Job<'_> {
    /// Evaluates a candidate that is checked, placed, priced and assigned to stages.
    pub fn evaluate(
        &self,
        hardware: &TrainingHardware,
        priced: &PricedModel,
        groups: &Groups,
        stages: &[Stage],
    ) -> TrainingEvaluation {
        let candidate = candidate(self, hardware, priced, groups, stages);
        let micro_batches = f64::from(self.layout.micro_batches(self.recipe));
        let mut memory = TrainingMemory::default();
        for stage in stages {
            let own = stage_memory(&candidate, stage).with(micro_batches);
            if own.total() > memory.total() {
                memory = own;
            }
        }
        let at_work = AtWork::on(hardware.system, self.layout.accelerators());
        TrainingEvaluation {
            memory,
            capacity: candidate.capacity,
            host_share: hardware
                .system
                .host_share(at_work.accelerators, self.assumptions),
            step: step(&candidate),
            failures: Failures::of_kinds(&[at_work], checkpoint(&candidate), self.training),
            recomputed_flop_ratio: recomputed_flop_ratio(&candidate),
        }
    }
}

/// Asks about a job on accelerators of one kind.
pub(crate) fn candidate<'a>(
    job: &Job<'a>,
    hardware: &TrainingHardware<'a>,
    priced: &'a PricedModel,
    groups: &'a Groups,
    stages: &'a [Stage],
) -> Candidate<'a> {
    let slots = hardware.system.slots;
    Candidate {
        priced,
        recipe: job.recipe,
        layout: job.layout,
        groups,
        stages,
        rates: hardware.rates,
        training: job.training,
        hop_payload: job.assumptions.communication.hop_payload,
        host_line: hardware.fabric.host_line(),
        host_memory: job.training.host_memory_bandwidth / f64::from(slots),
        hidden: real(job.transformer.hidden),
        hosts: job.layout.accelerators().div_ceil(slots),
        capacity: hardware.system.accelerator.memory * job.training.usable_fraction,
    }
}

/// What a checkpoint writes.
pub(crate) fn checkpoint(candidate: &Candidate) -> Bytes {
    if candidate.layout.pp > 1 {
        candidate.priced.checkpoint + candidate.priced.tied_checkpoint
    } else {
        candidate.priced.checkpoint
    }
}

/// Forward and backward with what is recomputed, over forward and backward.
pub(crate) fn recomputed_flop_ratio(candidate: &Candidate) -> f64 {
    let passes = candidate.recipe.passes();
    let (mut useful, mut recomputed) = (0.0, 0.0);
    for stage in candidate.stages {
        let layers: f64 = stage.layers.iter().sum();
        for (cost, &count) in candidate.priced.blocks.iter().zip(&stage.layers) {
            let count = count * stage.count;
            useful += passes * cost.forward_flop * count;
            recomputed += count * cost.recomputed(candidate.layout.recompute, layers).0.flop;
        }
    }
    useful +=
        passes * (candidate.priced.embedding.forward_flop + candidate.priced.head.forward_flop);
    if useful > 0.0 {
        1.0 + recomputed / useful
    } else {
        1.0
    }
}
