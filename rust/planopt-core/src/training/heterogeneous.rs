//! One job over several kinds of accelerator: at the pace of the slowest kind, or with stages of
//! a pipeline balanced to the speed of what they run on. Formulas: `docs/reference/training.md`,
//! section 14.

use super::evaluate::{
    TrainingEvaluation, TrainingHardware, candidate, checkpoint, recomputed_flop_ratio,
};
use super::job::Job;
use super::run::{AtWork, Failures};
use super::step::{micro_batch, step_over};
use crate::compute::training::{Candidate, PricedModel};
use crate::memory::stage_memory;
use crate::parallel::{Groups, Layout, Rejection, Stage};
use crate::quantity::{Bytes, real};

/// So many accelerators of one kind.
#[derive(Clone, Copy)]
pub struct Share<'a> {
    /// What they are.
    pub hardware: TrainingHardware<'a>,
    /// How many.
    pub accelerators: u32,
}

impl Share<'_> {
    fn at_work(&self) -> AtWork {
        AtWork::on(self.hardware.system, self.accelerators)
    }

    fn hosts(&self) -> u32 {
        self.at_work().hosts
    }
}

/// A job whose stages have layers by the speed of what they run on.
#[derive(Clone, Debug)]
pub struct Balanced {
    /// The share that each stage is of, as an index into the shares.
    pub shares: Vec<usize>,
    /// Layers of each stage.
    pub layers: Vec<u32>,
    /// What comes of it.
    pub evaluation: TrainingEvaluation,
}

impl Job<'_> {
    /// A job whose every step waits for the slowest kind: the evaluations are, for each share (one
    /// at least), those of the whole job on such accelerators alone.
    pub fn at_the_slowest(
        &self,
        shares: &[Share],
        evaluations: &[TrainingEvaluation],
    ) -> TrainingEvaluation {
        let slowest = evaluations.iter().fold(&evaluations[0], later);
        let tightest = evaluations.iter().fold(&evaluations[0], fuller);
        TrainingEvaluation {
            memory: tightest.memory,
            capacity: tightest.capacity,
            failures: self.failures(shares, slowest.failures.checkpoint),
            ..*slowest
        }
    }

    fn failures(&self, shares: &[Share], checkpoint: Bytes) -> Failures {
        let kinds: Vec<AtWork> = shares.iter().map(Share::at_work).collect();
        Failures::of_kinds(&kinds, checkpoint, self.training)
    }

    /// Whole stages on one kind of accelerator each, the kind with the most memory first, as the
    /// first stages hold the most micro-batches; layers are partitioned so that the slowest stage is as
    /// fast as can be.
    ///
    /// # Errors
    ///
    /// Why that cannot be laid out.
    pub fn balanced(&self, shares: &[Share]) -> Result<Balanced, Rejection> {
        let layout = self.layout;
        let per_stage = layout.tp * layout.dp * layout.cp;
        for share in shares {
            if !share.accelerators.is_multiple_of(per_stage)
                || !layout.schedule.in_one_line()
                || layout.vpp > 1
            {
                return Err(Rejection::Balance {
                    accelerators: share.accelerators,
                    per_stage,
                    vpp: layout.vpp,
                });
            }
        }
        let mut order: Vec<usize> = (0..shares.len()).collect();
        let memory = |share: usize| shares[share].hardware.system.accelerator.memory.0;
        order.sort_by(|a, b| memory(*b).total_cmp(&memory(*a)));
        let of_stages: Vec<usize> = order
            .into_iter()
            .flat_map(|share| {
                let stages = shares[share].accelerators / per_stage;
                (0..stages).map(move |_| share)
            })
            .collect();
        let priced = self.priced(shares, per_stage)?;
        let hosts = shares.iter().map(Share::hosts).sum();
        let candidates: Vec<Candidate> = shares
            .iter()
            .zip(&priced)
            .map(|(share, (priced, groups))| Candidate {
                hosts,
                ..candidate(self, &share.hardware, priced, groups, &[])
            })
            .collect();
        let asked: Vec<(&Candidate, Bytes)> = of_stages
            .iter()
            .map(|&share| {
                let memory = shares[share].hardware.system.accelerator.memory;
                (&candidates[share], memory * self.training.usable_fraction)
            })
            .collect();
        let layers = self.partition(&asked);
        let stages = self.stages(&layers);
        Ok(Balanced {
            evaluation: self.over(shares, &asked, &stages),
            shares: of_stages,
            layers,
        })
    }

    fn priced(
        &self,
        shares: &[Share],
        per_stage: u32,
    ) -> Result<Vec<(PricedModel, Groups)>, Rejection> {
        let price = |share: &Share| {
            let hardware = &share.hardware;
            let own = Layout {
                pp: share.accelerators / per_stage,
                ..*self.layout
            };
            let groups = Groups::placed(&own, hardware.fabric, hardware.system.slots)?
                .across_hosts(self.layout, hardware.fabric, hardware.system.slots);
            if groups.unconnected {
                let hosts = shares.iter().map(Share::hosts).sum();
                return Err(Rejection::Network { hosts });
            }
            let priced = PricedModel::new(
                self.transformer,
                self.recipe,
                self.layout,
                hardware.rates,
                &groups,
                self.training,
            );
            Ok((priced, groups))
        };
        shares.iter().map(price).collect()
    }

    /// Layers of each stage: one each, then one after another to the stage that is fastest with
    /// it, as long as it holds them. As no stage gets faster by a layer more, no other partition of
    /// equal layers has a faster slowest stage.
    fn partition(&self, asked: &[(&Candidate, Bytes)]) -> Vec<u32> {
        let stages = asked.len();
        let mut layers = vec![1_u32; stages];
        let micro_batches = f64::from(self.layout.micro_batches(self.recipe));
        let next = |stage: usize, layers: u32| {
            let (candidate, capacity) = asked[stage];
            let grown = self.of_mean_layers(stage, stages, layers + 1);
            let needed = stage_memory(candidate, &grown).with(micro_batches).total();
            (needed > capacity, micro_batch(candidate, &grown).total().0)
        };
        let mut grown: Vec<(bool, f64)> = (0..stages).map(|stage| next(stage, 1)).collect();
        for _ in stages..self.transformer.layers.len() {
            // Where no stage holds one more the fastest takes it, and the answer says so.
            let fastest = grown
                .iter()
                .enumerate()
                .min_by(|(_, a), (_, b)| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
            let Some((stage, _)) = fastest else {
                break;
            };
            layers[stage] += 1;
            grown[stage] = next(stage, layers[stage]);
        }
        layers
    }

    /// A stage of so many layers of the model's mean kind.
    fn of_mean_layers(&self, stage: usize, stages: usize, layers: u32) -> Stage {
        let mut mean = self.stage(0..self.transformer.layers.len(), stage, stages);
        let kinds = self.transformer.blocks.len();
        let share = f64::from(layers) / real(self.transformer.layers.len() as u64);
        for count in &mut mean.layers[..kinds] {
            *count *= share;
        }
        mean
    }

    /// The stages with the layers partitioned to them, in the model's order.
    fn stages(&self, layers: &[u32]) -> Vec<Stage> {
        let mut start = 0;
        let mut assigned = Vec::with_capacity(layers.len());
        for (stage, &own) in layers.iter().enumerate() {
            let end = start + own as usize;
            assigned.push(self.stage(start..end, stage, layers.len()));
            start = end;
        }
        assigned
    }

    fn stage(&self, layers: std::ops::Range<usize>, stage: usize, stages: usize) -> Stage {
        let kinds = self.transformer.blocks.len();
        let last = stage + 1 == stages;
        let mut counts = vec![0.0; kinds + 1];
        for &kind in &self.transformer.layers[layers] {
            counts[kind] += 1.0;
        }
        if last {
            counts[kinds] = f64::from(self.recipe.mtp_modules);
        }
        Stage {
            layers: counts,
            first: stage == 0,
            last,
            count: 1.0,
            index: u32::try_from(stage).unwrap_or(u32::MAX),
        }
    }

    fn over(
        &self,
        shares: &[Share],
        asked: &[(&Candidate, Bytes)],
        stages: &[Stage],
    ) -> TrainingEvaluation {
        let (first, _) = asked[0];
        let whole = Candidate { stages, ..*first };
        let micro_batches = f64::from(self.layout.micro_batches(self.recipe));
        let step = step_over(
            &whole,
            asked.iter().map(|(candidate, _)| *candidate).zip(stages),
        );
        let recomputed_flop_ratio = recomputed_flop_ratio(&whole);
        let failures = self.failures(shares, checkpoint(&whole));
        let on = |place: usize| TrainingEvaluation {
            memory: stage_memory(asked[place].0, &stages[place]).with(micro_batches),
            capacity: asked[place].1,
            // Whose hosts the stages are in is not known here.
            host_share: None,
            step,
            failures,
            recomputed_flop_ratio,
        };
        let each: Vec<TrainingEvaluation> = (0..stages.len()).map(on).collect();
        *each.iter().fold(&each[0], fuller)
    }
}

/// The one whose step takes longer; of equals the first.
fn later<'e>(one: &'e TrainingEvaluation, other: &'e TrainingEvaluation) -> &'e TrainingEvaluation {
    if other.step.total() > one.step.total() {
        other
    } else {
        one
    }
}

/// The one whose memory is fuller; of equals the first.
fn fuller<'e>(
    one: &'e TrainingEvaluation,
    other: &'e TrainingEvaluation,
) -> &'e TrainingEvaluation {
    let fill = |of: &TrainingEvaluation| of.memory.total() / of.capacity;
    if fill(other) > fill(one) { other } else { one }
}
