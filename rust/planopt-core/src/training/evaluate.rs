//! One candidate: checks, then memory and step from what is priced already.

use super::candidate::{Layout, Recipe, Recompute, Schedule};
use super::collectives::Groups;
use super::memory::TrainingMemory;
use super::mixed::Job;
use super::priced::PricedModel;
use super::rejection::Rejection;
use super::run::Failures;
use super::step::StepTime;
use crate::catalog::{Accelerator, Assumptions, HopPayload, TrainingAssumptions};
use crate::communication::{Fabric, Line};
use crate::compute::{Rates, real};
use crate::quantity::{Bytes, BytesPerSecond};
use crate::stages::Stage;
use crate::transformer::{Transformer, Work};

/// What a candidate runs on.
#[derive(Clone, Copy, Debug)]
pub struct TrainingHardware<'a> {
    /// Accelerator.
    pub accelerator: &'a Accelerator,
    /// Its rates in the precision of the recipe.
    pub rates: &'a Rates,
    /// Links.
    pub fabric: &'a Fabric,
    /// Accelerators of a host.
    pub slots: u32,
}

/// One candidate.
#[derive(Clone, Copy, Debug)]
pub struct TrainingEvaluation {
    /// Memory of the fullest accelerator.
    pub memory: TrainingMemory,
    /// What may be used of it.
    pub capacity: Bytes,
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
                largest: self.memory.largest(),
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

/// A candidate with everything it is evaluated from.
#[derive(Clone, Copy)]
pub(crate) struct Question<'a> {
    pub(super) priced: &'a PricedModel,
    pub(super) recipe: &'a Recipe,
    pub(super) layout: &'a Layout,
    pub(super) groups: &'a Groups,
    pub(crate) stages: &'a [Stage],
    pub(super) rates: &'a Rates,
    pub(super) training: &'a TrainingAssumptions,
    pub(super) hop_payload: HopPayload,
    pub(super) host_line: Line,
    /// Share of the host's memory bandwidth that one accelerator's optimizer has.
    pub(super) host_memory: BytesPerSecond,
    pub(super) hidden: f64,
    pub(super) hosts: u32,
    /// Memory of an accelerator that training may take.
    pub(super) capacity: Bytes,
}

impl Layout {
    /// Whether the model can be divided so; where it can be placed is [`Layout::place`].
    ///
    /// # Errors
    ///
    /// The first reason why not.
    pub fn check(&self, transformer: &Transformer, recipe: &Recipe) -> Result<(), Rejection> {
        let (tp, pp, vpp, cp, ep) = (self.tp, self.pp, self.vpp, self.cp, self.ep);
        if !transformer.heads.is_multiple_of(u64::from(tp)) {
            let heads = transformer.heads;
            return Err(Rejection::Heads { tp, heads });
        }
        let layers = transformer.layers.len() as u64;
        let chunks = u64::from(pp) * u64::from(vpp);
        // Embedding and head may have the first and the last chunk to themselves.
        if u64::from(pp) > layers || (vpp > 1 && chunks > layers + 2) {
            return Err(Rejection::Layers { pp, vpp, layers });
        }
        let step = self.dp * self.micro_batch;
        if recipe.global_batch == 0 || !recipe.global_batch.is_multiple_of(step) {
            return Err(Rejection::GlobalBatch {
                global_batch: recipe.global_batch,
                dp: self.dp,
                micro_batch: self.micro_batch,
            });
        }
        let micro_batches = self.micro_batches(recipe);
        let interleaved = self.schedule == Schedule::Interleaved;
        if vpp > 1 && !(interleaved && pp > 1 && micro_batches.is_multiple_of(pp)) {
            return Err(Rejection::Interleave {
                pp,
                vpp,
                micro_batches,
            });
        }
        self.check_experts(transformer)?;
        self.check_context(transformer, recipe)?;
        let replicas = self.replicas();
        if !self.expert_places().is_multiple_of(ep) {
            return Err(Rejection::ExpertRanks {
                ep,
                dp: self.dp,
                cp,
            });
        }
        match self.shard_group {
            Some(shard_group) if !replicas.is_multiple_of(shard_group) => {
                Err(Rejection::ShardGroup {
                    shard_group,
                    replicas,
                })
            }
            _ => Ok(()),
        }
    }

    fn check_experts(&self, transformer: &Transformer) -> Result<(), Rejection> {
        let ep = self.ep;
        let choices = transformer
            .operations()
            .filter_map(|operation| match operation.work {
                Work::MatMul { experts, .. } if experts > 1 => Some(experts),
                _ => None,
            });
        match choices.min() {
            Some(experts) if !experts.is_multiple_of(u64::from(ep)) => {
                Err(Rejection::Experts { ep, experts })
            }
            None if ep > 1 => Err(Rejection::Experts { ep, experts: 1 }),
            _ => Ok(()),
        }
    }

    fn check_context(&self, transformer: &Transformer, recipe: &Recipe) -> Result<(), Rejection> {
        let cp = u64::from(self.cp);
        let divides = |of, count: u64| {
            if count.is_multiple_of(cp) {
                Ok(())
            } else {
                let cp = self.cp;
                Err(Rejection::Context { cp, of, count })
            }
        };
        divides("tokens of a sequence", u64::from(recipe.seq_len))?;
        if self.context == super::ContextParallel::AllToAll {
            let heads = transformer.heads / u64::from(self.tp);
            divides("attention heads of a rank", heads)?;
        }
        Ok(())
    }

    /// Lays the groups onto hosts of `slots`.
    ///
    /// # Errors
    ///
    /// A tensor-parallel group that would span hosts unevenly, or hosts without a network.
    pub fn place(&self, fabric: &Fabric, slots: u32) -> Result<Groups, Rejection> {
        let tp = self.tp;
        if !tp.is_multiple_of(slots) && !slots.is_multiple_of(tp) {
            return Err(Rejection::Placement { tp, slots });
        }
        let groups = Groups::new(self, fabric, slots);
        if groups.unconnected {
            let hosts = self.accelerators().div_ceil(slots);
            return Err(Rejection::Network { hosts });
        }
        Ok(groups)
    }
}

/// Evaluates a candidate that is checked, placed, priced and dealt to stages.
#[expect(
    clippy::too_many_arguments,
    reason = "what a search prepares apart, each for many candidates"
)]
pub fn evaluate(
    transformer: &Transformer,
    priced: &PricedModel,
    recipe: &Recipe,
    layout: &Layout,
    groups: &Groups,
    stages: &[Stage],
    hardware: &TrainingHardware,
    assumptions: &Assumptions,
    training: &TrainingAssumptions,
) -> TrainingEvaluation {
    let job = Job {
        transformer,
        recipe,
        layout,
        assumptions,
        training,
    };
    let question = Question::new(&job, hardware, priced, groups, stages);
    let micro_batches = f64::from(layout.micro_batches(recipe));
    let mut memory = TrainingMemory::default();
    for stage in stages {
        let own = question.memory(stage).with(micro_batches);
        if own.total() > memory.total() {
            memory = own;
        }
    }
    let (accelerators, hosts) = (layout.accelerators(), question.hosts);
    TrainingEvaluation {
        memory,
        capacity: question.capacity,
        step: question.step(),
        failures: Failures::of_cluster(accelerators, hosts, question.checkpoint(), training),
        recomputed_flop_ratio: question.recomputed_flop_ratio(),
    }
}

impl<'a> Question<'a> {
    /// Asks about a job on accelerators of one kind.
    pub(crate) fn new(
        job: &Job<'a>,
        hardware: &TrainingHardware<'a>,
        priced: &'a PricedModel,
        groups: &'a Groups,
        stages: &'a [Stage],
    ) -> Self {
        let slots = hardware.slots;
        Self {
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
            capacity: hardware.accelerator.memory * job.training.usable_fraction,
        }
    }
}

impl Question<'_> {
    /// What a checkpoint writes.
    pub(super) fn checkpoint(&self) -> Bytes {
        if self.layout.pp > 1 {
            self.priced.checkpoint + self.priced.tied_checkpoint
        } else {
            self.priced.checkpoint
        }
    }

    /// Forward and backward with what is done again, over forward and backward.
    pub(super) fn recomputed_flop_ratio(&self) -> f64 {
        let passes = self.recipe.passes();
        let (mut useful, mut again) = (0.0, 0.0);
        for stage in self.stages {
            let layers: f64 = stage.layers.iter().sum();
            for (cost, &count) in self.priced.blocks.iter().zip(&stage.layers) {
                let count = count * stage.count;
                useful += passes * cost.forward_flop * count;
                again += count
                    * match self.layout.recompute {
                        Recompute::None => 0.0,
                        Recompute::Selective => cost.core_flop,
                        Recompute::Full | Recompute::Block(_) => cost.forward_flop,
                        Recompute::Layers(some) => {
                            cost.forward_flop * (f64::from(some) / layers).min(1.0)
                        }
                    };
            }
        }
        useful += passes * (self.priced.embedding.forward_flop + self.priced.head.forward_flop);
        if useful > 0.0 {
            1.0 + again / useful
        } else {
            1.0
        }
    }
}
