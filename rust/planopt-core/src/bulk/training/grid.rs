//! What rows of a space are worked out from: values of the axes, platforms, and what a micro-batch
//! costs on each.

use super::axes::{AXES, CONTEXT, Digits, EXPERT, MICRO_BATCH, PLATFORM, TENSOR, TrainingAxes};
use super::platform::Platform;
use super::subject::TrainingSubject;
use crate::bulk::radix::{Part, Radix};
use crate::bulk::sink::Rejected;
use crate::compute::training::PricedModel;
use crate::hardware::System;
use crate::load::training::Recipe;
use crate::parallel::{Groups, Layout, Stage};
use rayon::prelude::*;

/// Axes and platforms, with the costs of one micro-batch on each.
#[derive(Clone, Debug)]
pub(super) struct Grid<'s, 'a> {
    /// What all candidates share.
    pub(super) subject: TrainingSubject<'s>,
    /// Values of the axes.
    pub(super) axes: TrainingAxes,
    /// Hardware: the slowest axis.
    pub(super) platforms: Vec<Platform<'a>>,
    pub(super) radix: Radix<AXES>,
    /// Kinds of stages of each pipeline.
    pub(super) stages: Vec<Vec<Stage>>,
    block_axes: Part<AXES, 5>,
    /// Costs of one micro-batch, on each platform that computes in this format.
    pub(super) priced: Vec<Option<PricedModel>>,
}

impl<'s, 'a> Grid<'s, 'a> {
    pub(super) fn new(
        subject: TrainingSubject<'s>,
        axes: TrainingAxes,
        systems: &[System<'a>],
    ) -> Self {
        let radix = Radix::new(axes.sizes(systems.len()));
        let block = [PLATFORM, TENSOR, CONTEXT, EXPERT, MICRO_BATCH];
        let mut grid = Self {
            stages: axes
                .pipeline
                .iter()
                .map(|line| subject.partition(line))
                .collect(),
            platforms: systems
                .iter()
                .map(|system| Platform::new(&subject, *system))
                .collect(),
            block_axes: Part::of(&radix, block),
            priced: Vec::new(),
            radix,
            subject,
            axes,
        };
        grid.priced = (0..grid.block_axes.count())
            .into_par_iter()
            .map(|index| grid.price(&grid.block_axes.digits(index)))
            .collect();
        grid
    }

    /// Costs of one micro-batch on a platform, if it computes in the format.
    pub(super) fn priced(&self, platform: usize, digits: &Digits) -> Option<&PricedModel> {
        let mut digits = *digits;
        digits[PLATFORM] = platform;
        let index = usize::try_from(self.block_axes.index(&digits)).ok()?;
        self.priced.get(index)?.as_ref()
    }

    /// Costs of one micro-batch; they depend on the axes of a block alone.
    fn price(&self, digits: &Digits) -> Option<PricedModel> {
        let platform = &self.platforms[digits[PLATFORM]];
        let rates = platform.rates.as_ref()?;
        let layout = Layout {
            pp: 1,
            vpp: 1,
            ..with_experts_assigned(self.axes.layout(digits))
        };
        Some(PricedModel::new(
            self.subject.transformer,
            self.subject.recipe,
            &layout,
            rates,
            &Groups::new(&layout, &platform.fabric, platform.system.slots),
            self.subject.training,
        ))
    }

    /// Accelerators of a layout, if the model can be divided so: the batch of a step is whole
    /// rounds of any size.
    pub(super) fn accelerators(&self, layout: &Layout) -> Result<u32, Rejected> {
        let recipe = Recipe {
            global_batch: layout.dp * layout.batch * layout.pp,
            ..*self.subject.recipe
        };
        let checked = layout.check_trained(self.subject.transformer, &recipe);
        checked.map_err(|_| Rejected::Layout)?;
        let accelerators = layout.accelerators();
        if accelerators > self.axes.most_accelerators {
            return Err(Rejected::Accelerators);
        }
        Ok(accelerators)
    }
}

/// With enough replicas to assign the experts to; to one micro-batch more make no difference.
pub(super) fn with_experts_assigned(layout: Layout) -> Layout {
    Layout {
        dp: layout.ep,
        ..layout
    }
}
