//! The job of a heterogeneous cluster.

use crate::catalog::{Assumptions, TrainingAssumptions};
use crate::load::training::Recipe;
use crate::parallel::Layout;
use crate::transformer::Transformer;

/// The job that all kinds of accelerator work on.
#[derive(Clone, Copy)]
pub struct Job<'a> {
    /// The model.
    pub transformer: &'a Transformer,
    /// What is trained.
    pub recipe: &'a Recipe,
    /// How it is divided over all accelerators.
    pub layout: &'a Layout,
    /// Assumptions.
    pub assumptions: &'a Assumptions,
    /// Those of training.
    pub training: &'a TrainingAssumptions,
}
