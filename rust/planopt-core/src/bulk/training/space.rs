//! Which training candidates there are.

use super::axes::{
    AXES, CONTEXT, DATA, Digits, EXPERT, MICRO_BATCH, PIPELINE, PLATFORM, Pipeline, ROUNDS, TENSOR,
    TrainingAxes,
};
use super::levels::{Keys, Levels, with_experts_dealt};
use super::platform::{ClusterTerms, Platform};
use super::subject::TrainingSubject;
use crate::bulk::radix::{Part, Radix};
use crate::bulk::sink::Rejected;
use crate::catalog::Network;
use crate::compute::training::{PricedModel, model_flops_per_token};
use crate::hardware::{Fit, NetworkLine};
use crate::load::training::Recipe;
use crate::parallel::training::Layout;
use crate::parallel::{Groups, Stage, deal_model};
use crate::quantity::Bytes;
use rayon::prelude::*;
use std::hint::black_box;

impl TrainingSubject<'_> {
    /// Stages of a pipeline; none where there are more of them than layers.
    fn deal(&self, line: &Pipeline) -> Vec<Stage> {
        let &Pipeline { pp, vpp, schedule } = line;
        let layout = Layout {
            pp,
            vpp,
            schedule,
            ..Layout::SINGLE
        };
        let recipe = Recipe {
            global_batch: pp,
            ..*self.recipe
        };
        match layout.check(self.transformer, &recipe) {
            Ok(()) => deal_model(self.transformer, self.recipe, pp, vpp),
            Err(_) => Vec::new(),
        }
    }
}

/// Micro-batches of steps of so many rounds.
#[derive(Clone, Debug)]
pub(super) struct Steps {
    pub(super) micro_batches: Vec<f64>,
    pub(super) inverse: Vec<f64>,
}

impl Steps {
    fn new(pp: u32, rounds: &[u32]) -> Self {
        let micro_batches: Vec<f64> = rounds.iter().map(|&round| f64::from(round * pp)).collect();
        let inverse = micro_batches.iter().map(|batches| 1.0 / batches).collect();
        Self {
            micro_batches,
            inverse,
        }
    }
}

/// A row: a value of each axis but the last, and where what it is put together of is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Address {
    pub(super) digits: Digits,
    checked: usize,
    pub(super) keys: Keys,
}

/// A space of training candidates, each known by its place.
#[derive(Clone, Debug)]
pub struct TrainingSpace<'s, 'a> {
    /// What all candidates share.
    pub subject: TrainingSubject<'s>,
    /// Values of the axes.
    pub axes: TrainingAxes,
    /// Hardware: the slowest axis.
    pub platforms: Vec<Platform<'a>>,
    pub(super) radix: Radix<AXES>,
    /// Kinds of stages of each pipeline.
    pub(super) stages: Vec<Vec<Stage>>,
    /// Micro-batches of each round, by pipeline.
    pub(super) steps: Vec<Steps>,
    pub(super) flops_per_token: f64,
    check_axes: Part<AXES, 6>,
    /// Which of a platform's clusters each layout needs, or why there is none.
    checked: Vec<Result<u32, Rejected>>,
    block_axes: Part<AXES, 5>,
    /// Costs of one micro-batch, on each platform that computes in this format.
    priced: Vec<Option<PricedModel>>,
    pub(super) levels: Levels,
}

impl<'s, 'a> TrainingSpace<'s, 'a> {
    /// Prepares all that rows share.
    pub fn new(
        subject: TrainingSubject<'s>,
        axes: TrainingAxes,
        hardware: &[(Fit<'a>, Option<(&'a Network, NetworkLine)>)],
    ) -> Self {
        let radix = Radix::new(axes.sizes(hardware.len()));
        let block = [PLATFORM, TENSOR, CONTEXT, EXPERT, MICRO_BATCH];
        let check = [PLATFORM, TENSOR, CONTEXT, EXPERT, PIPELINE, DATA];
        let (transformer, recipe) = (subject.transformer, subject.recipe);
        let mut space = Self {
            stages: axes
                .pipeline
                .iter()
                .map(|line| subject.deal(line))
                .collect(),
            steps: axes
                .pipeline
                .iter()
                .map(|line| Steps::new(line.pp, &axes.rounds))
                .collect(),
            flops_per_token: model_flops_per_token(transformer, recipe, subject.convention),
            platforms: hardware
                .iter()
                .map(|(fit, network)| Platform::new(&subject, *fit, *network))
                .collect(),
            check_axes: Part::of(&radix, check),
            checked: Vec::new(),
            block_axes: Part::of(&radix, block),
            priced: Vec::new(),
            levels: Levels::by(&radix),
            radix,
            subject,
            axes,
        };
        space.priced = (0..space.block_axes.count())
            .into_par_iter()
            .map(|place| space.price(&space.block_axes.digits(place)))
            .collect();
        space.check();
        space.levels = space.levels.of_all(&space);
        space
    }

    /// Candidates of a row.
    pub fn row_length(&self) -> u64 {
        self.axes.rounds.len() as u64
    }

    /// The platform and the layout of a candidate, with the batch of its step.
    pub fn candidate(&self, place: u64) -> (&Platform<'a>, Layout, u32) {
        let digits = self.radix.digits(place);
        let layout = self.axes.layout(&digits);
        let micro_batches = self.axes.rounds[digits[ROUNDS]] * layout.pp;
        let batch = micro_batches * layout.micro_batch * layout.dp;
        (&self.platforms[digits[PLATFORM]], layout, batch)
    }

    /// Where what a row is put together of is.
    #[inline]
    pub(super) fn address(&self, place: u64) -> Address {
        let digits = self.radix.digits(place);
        Address {
            digits,
            checked: usize::try_from(self.check_axes.place(&digits)).unwrap_or(usize::MAX),
            keys: self.levels.keys(&digits),
        }
    }

    /// The cluster that a row runs on, or why it does not.
    #[inline]
    pub(super) fn cluster(&self, row: &Address) -> Result<&ClusterTerms, Rejected> {
        let size = self.checked.get(row.checked).copied();
        let size = size.unwrap_or(Err(Rejected::Layout))?;
        let clusters = &self.platforms[row.digits[PLATFORM]].clusters;
        let cluster = clusters.get(size as usize).and_then(Option::as_ref);
        cluster.ok_or(Rejected::Network)
    }

    /// Brings near what some rows are put together of.
    pub(super) fn fetch(&self, rows: &[Address]) {
        let checked = rows.iter().map(|row| self.checked.get(row.checked));
        black_box(
            checked
                .filter(|known| known.is_some_and(Result::is_ok))
                .count(),
        );
        self.levels.fetch(rows.iter().map(|row| &row.keys));
        let clusters = rows.iter().map(|row| self.cluster(row));
        black_box(
            clusters
                .flatten()
                .map(|cluster| cluster.price_usd)
                .sum::<f64>(),
        );
    }

    /// Tokens of one micro-batch on all pipelines.
    pub(super) fn tokens_per_micro_batch(&self, digits: &Digits) -> f64 {
        let sequences = self.axes.data[digits[DATA]] * self.axes.micro_batch[digits[MICRO_BATCH]];
        f64::from(sequences) * f64::from(self.subject.recipe.seq_len)
    }

    /// Costs of one micro-batch on a platform, if it computes in the format.
    pub(super) fn priced(&self, platform: usize, digits: &Digits) -> Option<&PricedModel> {
        let mut digits = *digits;
        digits[PLATFORM] = platform;
        let place = usize::try_from(self.block_axes.place(&digits)).ok()?;
        self.priced.get(place)?.as_ref()
    }

    /// Costs of one micro-batch; they depend on the axes of a block alone.
    fn price(&self, digits: &Digits) -> Option<PricedModel> {
        let platform = &self.platforms[digits[PLATFORM]];
        let rates = platform.rates.as_ref()?;
        let layout = Layout {
            pp: 1,
            vpp: 1,
            ..with_experts_dealt(self.axes.layout(digits))
        };
        Some(PricedModel::new(
            self.subject.transformer,
            self.subject.recipe,
            &layout,
            rates,
            &Groups::new(&layout, &platform.fabric, platform.fit.slots),
            self.subject.training,
        ))
    }

    /// Checks each way to lay out on each platform once, and makes the clusters that are needed.
    fn check(&mut self) {
        let layouts: Vec<Result<u32, Rejected>> = (0..self.check_axes.count())
            .map(|place| self.accelerators(&self.axes.layout(&self.check_axes.digits(place))))
            .collect();
        let mut sizes: Vec<u32> = layouts.iter().filter_map(|size| size.ok()).collect();
        sizes.sort_unstable();
        sizes.dedup();
        if let Some(checkpoints) = self.checkpoints() {
            let subject = &self.subject;
            self.platforms.par_iter_mut().for_each(|platform| {
                let cluster = |&size: &u32| platform.cluster(subject, size, checkpoints);
                platform.clusters = sizes.iter().map(cluster).collect();
            });
        }
        self.checked = layouts
            .into_par_iter()
            .enumerate()
            .map(|(place, accelerators)| {
                let accelerators = accelerators?;
                let size = sizes.partition_point(|other| *other < accelerators);
                let digits = self.check_axes.digits(place as u64);
                let platform = &self.platforms[digits[PLATFORM]];
                let cluster = platform.clusters.get(size).and_then(Option::as_ref);
                platform.check(&self.axes.layout(&digits), cluster)?;
                u32::try_from(size).map_err(|_| Rejected::Accelerators)
            })
            .collect();
    }

    /// Accelerators of a layout, if the model can be divided so: the batch of a step is whole
    /// rounds of any size.
    pub(super) fn accelerators(&self, layout: &Layout) -> Result<u32, Rejected> {
        let recipe = Recipe {
            global_batch: layout.dp * layout.micro_batch * layout.pp,
            ..*self.subject.recipe
        };
        let checked = layout.check(self.subject.transformer, &recipe);
        checked.map_err(|_| Rejected::Layout)?;
        let accelerators = layout.accelerators();
        if accelerators > self.axes.most_accelerators {
            return Err(Rejected::Accelerators);
        }
        Ok(accelerators)
    }

    /// What a checkpoint writes of the model on one stage, and on several.
    fn checkpoints(&self) -> Option<[Bytes; 2]> {
        // It is the model's, whatever it is priced on.
        let priced = self.priced.iter().flatten().next()?;
        let once = priced.checkpoint;
        Some([once, once + priced.tied_checkpoint])
    }
}
