//! What is trained.

use super::axes::Pipeline;
use crate::catalog::{Assumptions, TrainingAssumptions};
use crate::load::training::{FlopsConvention, Recipe};
use crate::parallel::{Layout, Stage, partition_model};
use crate::transformer::Transformer;

/// What all candidates of a space share.
#[derive(Clone, Copy, Debug)]
pub struct TrainingSubject<'s> {
    /// The model.
    pub transformer: &'s Transformer,
    /// How it is trained; its batch is an axis.
    pub recipe: &'s Recipe,
    /// Which arithmetic counts.
    pub convention: FlopsConvention,
    /// Tokens of the whole run.
    pub tokens: f64,
    /// Assumptions.
    pub assumptions: &'s Assumptions,
    /// Those of training.
    pub training: &'s TrainingAssumptions,
}

impl TrainingSubject<'_> {
    /// Stages of a pipeline; none where there are more of them than layers.
    pub(super) fn partition(&self, line: &Pipeline) -> Vec<Stage> {
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
        match layout.check_trained(self.transformer, &recipe) {
            Ok(()) => partition_model(self.transformer, self.recipe, pp, vpp),
            Err(_) => Vec::new(),
        }
    }
}
