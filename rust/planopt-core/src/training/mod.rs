//! Training: memory of the fullest accelerator, time of a step, and the whole run with its
//! failures, energy and money. Formulas and their sources: `docs/reference/training.md`.
//!
//! The evaluation has two levels. [`PricedModel`](crate::compute::training::PricedModel) holds what
//! depends only on the model, the accelerator and how a layer is divided; [`Job::evaluate`] puts its
//! layers into stages, micro-batches and data-parallel groups without allocating, so that a search
//! can ask about millions.

pub mod bounds;
mod evaluate;
mod heterogeneous;
mod job;
mod run;
mod step;

pub(crate) use self::evaluate::{LEAST_GOODPUT, candidate};
pub use self::evaluate::{TrainingEvaluation, TrainingHardware};
pub use self::heterogeneous::{Balanced, Share};
pub use self::job::Job;
pub use self::run::{AtWork, Failures};
pub(crate) use self::step::{Overlapping, following, micro_batch, straggling};
pub use self::step::{StageParts, StepTime};
