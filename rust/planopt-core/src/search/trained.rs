//! The run that a search for training is about.

use crate::catalog::TrainingAssumptions;
use crate::load::training::{Recipe, Run};
use crate::transformer::Transformer;

/// A run of training, and how it is laid out on each cluster.
#[derive(Clone, Debug)]
pub struct Trained {
    /// The model, as it was asked for.
    pub model: String,
    /// The model as a list of operations.
    pub transformer: Transformer,
    /// How it is trained.
    pub recipe: Recipe,
    /// The framework, where it is named.
    pub framework: Option<String>,
    /// How much is trained.
    pub(crate) run: Run,
    /// Whether it runs on what is rented.
    pub rented: bool,
    /// What is assumed of runs.
    pub training: TrainingAssumptions,
    /// The run on each row, failures included.
    pub run_seconds: Vec<f64>,
}
