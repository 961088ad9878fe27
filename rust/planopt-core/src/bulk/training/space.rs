//! Which training candidates there are.

use super::axes::{
    AXES, CONTEXT, DATA, Digits, EXPERT, MICRO_BATCH, PIPELINE, PLATFORM, Pipeline, ROUNDS, TENSOR,
    TrainingAxes,
};
use super::grid::Grid;
use super::levels::{Keys, Levels};
use super::platform::{ClusterTerms, Platform};
use super::subject::TrainingSubject;
use crate::bulk::radix::Part;
use crate::bulk::sink::Rejected;
use crate::compute::training::model_flops_per_token;
use crate::hardware::System;
use crate::parallel::Layout;
use crate::quantity::Bytes;
use rayon::prelude::*;
use std::hint::black_box;

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

/// A space of training candidates, each known by its index.
#[derive(Clone, Debug)]
pub struct TrainingSpace<'s, 'a> {
    pub(super) grid: Grid<'s, 'a>,
    /// Micro-batches of each round, by pipeline.
    pub(super) steps: Vec<Steps>,
    pub(super) flops_per_token: f64,
    check_axes: Part<AXES, 6>,
    /// Which of a platform's clusters each layout needs, or why there is none.
    checked: Vec<Result<u32, Rejected>>,
    pub(super) levels: Levels,
}

impl<'s, 'a> TrainingSpace<'s, 'a> {
    /// Prepares all that rows share.
    pub fn new(subject: TrainingSubject<'s>, axes: TrainingAxes, systems: &[System<'a>]) -> Self {
        let steps = |line: &Pipeline| Steps::new(line.pp, &axes.rounds);
        let steps = axes.pipeline.iter().map(steps).collect();
        let (transformer, recipe) = (subject.transformer, subject.recipe);
        let flops_per_token = model_flops_per_token(transformer, recipe, subject.convention);
        let grid = Grid::new(subject, axes, systems);
        let check = [PLATFORM, TENSOR, CONTEXT, EXPERT, PIPELINE, DATA];
        let mut space = Self {
            steps,
            flops_per_token,
            check_axes: Part::of(&grid.radix, check),
            checked: Vec::new(),
            levels: Levels::by(&grid.radix),
            grid,
        };
        space.check();
        space.levels = space.levels.of_all(&space.grid);
        space
    }

    /// Candidates of a row.
    pub fn row_length(&self) -> u64 {
        self.grid.axes.rounds.len() as u64
    }

    /// The platform and the layout of a candidate, with the batch of its step.
    pub fn candidate(&self, index: u64) -> (&Platform<'a>, Layout, u32) {
        let digits = self.grid.radix.digits(index);
        let layout = self.grid.axes.layout(&digits);
        let micro_batches = self.grid.axes.rounds[digits[ROUNDS]] * layout.pp;
        let batch = micro_batches * layout.batch * layout.dp;
        (&self.grid.platforms[digits[PLATFORM]], layout, batch)
    }

    /// Where what a row is put together of is.
    #[inline]
    pub(super) fn address(&self, index: u64) -> Address {
        let digits = self.grid.radix.digits(index);
        Address {
            digits,
            checked: usize::try_from(self.check_axes.index(&digits)).unwrap_or(usize::MAX),
            keys: self.levels.keys(&digits),
        }
    }

    /// The cluster that a row runs on, or why it does not.
    #[inline]
    pub(super) fn cluster(&self, row: &Address) -> Result<&ClusterTerms, Rejected> {
        let size = self.checked.get(row.checked).copied();
        let size = size.unwrap_or(Err(Rejected::Layout))?;
        let clusters = &self.grid.platforms[row.digits[PLATFORM]].clusters;
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
        let sequences =
            self.grid.axes.data[digits[DATA]] * self.grid.axes.micro_batch[digits[MICRO_BATCH]];
        f64::from(sequences) * f64::from(self.grid.subject.recipe.seq_len)
    }

    /// Checks each way to lay out on each platform once, and makes the clusters that are needed.
    fn check(&mut self) {
        let layouts: Vec<Result<u32, Rejected>> = (0..self.check_axes.count())
            .map(|index| {
                self.grid
                    .accelerators(&self.grid.axes.layout(&self.check_axes.digits(index)))
            })
            .collect();
        let mut sizes: Vec<u32> = layouts.iter().filter_map(|size| size.ok()).collect();
        sizes.sort_unstable();
        sizes.dedup();
        if let Some(checkpoints) = self.checkpoints() {
            let subject = &self.grid.subject;
            self.grid.platforms.par_iter_mut().for_each(|platform| {
                let cluster = |&size: &u32| platform.cluster(subject, size, checkpoints);
                platform.clusters = sizes.iter().map(cluster).collect();
            });
        }
        self.checked = layouts
            .into_par_iter()
            .enumerate()
            .map(|(index, accelerators)| {
                let accelerators = accelerators?;
                let size = sizes.partition_point(|other| *other < accelerators);
                let digits = self.check_axes.digits(index as u64);
                let platform = &self.grid.platforms[digits[PLATFORM]];
                let cluster = platform.clusters.get(size).and_then(Option::as_ref);
                platform.check(&self.grid.axes.layout(&digits), cluster)?;
                u32::try_from(size).map_err(|_| Rejected::Accelerators)
            })
            .collect();
    }

    /// What a checkpoint writes of the model on one stage, and on several.
    fn checkpoints(&self) -> Option<[Bytes; 2]> {
        // It is the model's, whatever it is priced on.
        let priced = self.grid.priced.iter().flatten().next()?;
        let once = priced.checkpoint;
        Some([once, once + priced.tied_checkpoint])
    }
}
