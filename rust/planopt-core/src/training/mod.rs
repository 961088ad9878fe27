//! Training: memory of the fullest accelerator, time of a step, and the whole run with its
//! failures, energy and money. Formulas and their sources: `docs/reference/training.md`.
//!
//! The evaluation has two levels. [`PricedModel`] holds what depends only on the model, the
//! accelerator and how a layer is divided; [`evaluate`] puts its layers into stages, micro-batches
//! and data-parallel groups without allocating, so that a search can ask about millions.

mod attention;
pub mod bounds;
mod candidate;
mod cluster;
mod collectives;
mod deal;
mod evaluate;
mod flops;
mod hold;
mod layer;
mod memory;
mod mixed;
mod mixed_cluster;
mod operation;
mod priced;
mod rejection;
mod run;
mod scan;
mod step;

pub use candidate::{
    Adapters, ContextParallel, Layout, Optimizer, Precision, Recipe, Recompute, Schedule, Sharding,
};
pub use cluster::{Cluster, Switching};
pub use collectives::{Group, Groups};
pub use deal::deal_model;
pub(crate) use evaluate::{LEAST_GOODPUT, Question};
pub use evaluate::{TrainingEvaluation, TrainingHardware, evaluate};
pub use flops::{FlopsConvention, model_flops_per_token};
pub use layer::LayerCost;
pub use memory::TrainingMemory;
pub use mixed::{Balanced, Job, Share};
pub use mixed_cluster::MixedCluster;
pub use priced::PricedModel;
pub use rejection::Rejection;
pub use run::{AtWork, Failures, failure_interval};
pub(crate) use step::straggling;
pub use step::{StageParts, StepTime};

#[cfg(test)]
mod tests;
