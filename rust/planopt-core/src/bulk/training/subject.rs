//! What is trained.

use crate::catalog::{Assumptions, TrainingAssumptions};
use crate::compute::training::FlopsConvention;
use crate::load::training::Recipe;
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
