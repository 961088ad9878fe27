//! Every way to divide a model among accelerators.

use super::layouts::{all_layouts, context_ranks};
use crate::catalog::{Accelerator, Assumptions};
use crate::hardware::Fabric;
use crate::load::serving::Question;
use crate::parallel::{Layout, Placement, Stage, stages};
use crate::serving::{Prepared, Replica};
use crate::transformer::Transformer;

/// Every way to divide a model, with the stages that it falls into.
#[derive(Debug)]
pub(super) struct Divisions<'s> {
    transformer: &'s Transformer,
    question: &'s Question,
    assumptions: &'s Assumptions,
    layouts: Vec<Layout>,
    /// By their number, from one.
    stages: Vec<Vec<Stage>>,
}

impl<'s> Divisions<'s> {
    /// Among at most so many accelerators.
    pub(super) fn of(
        transformer: &'s Transformer,
        question: &'s Question,
        accelerators: u32,
        assumptions: &'s Assumptions,
    ) -> Self {
        let context_ranks = context_ranks(question, assumptions);
        Self {
            transformer,
            question,
            assumptions,
            layouts: all_layouts(transformer, accelerators, context_ranks),
            stages: stages(transformer, accelerators),
        }
    }

    pub(super) fn layouts(&self) -> &[Layout] {
        &self.layouts
    }

    /// The model priced on an accelerator, where that has a rate for its format.
    pub(super) fn prepared(&self, accelerator: &Accelerator) -> Option<Prepared> {
        let (model, layouts) = (self.transformer, &self.layouts);
        Prepared::new(model, self.question, accelerator, self.assumptions, layouts).ok()
    }

    /// A replica of a layout.
    pub(super) fn replica<'r>(
        &'r self,
        layout: Layout,
        placement: Placement,
        prepared: &'r Prepared,
        fabric: &'r Fabric,
        accelerator: &Accelerator,
    ) -> Option<Replica<'r>> {
        Some(Replica::new(
            prepared.rank(layout.degrees())?,
            self.stages.get(layout.pp as usize - 1)?,
            fabric,
            placement,
            self.question,
            accelerator,
            self.assumptions,
        ))
    }
}
