//! Plans put together from evaluations: models on hardware, a bill with the sources of its prices,
//! totals, prediction intervals, and scenarios.

mod bill;
mod cluster;
mod deployment;
mod intervals;
pub mod scenarios;
pub mod serving;
pub mod training;
pub mod training_problem;

pub use self::bill::sourced;
pub use self::cluster::{TrainingBuild, TrainingDeployment};
pub use self::deployment::{Build, BuildCost, Deployment, Role};
pub use self::intervals::{Errors, MetricErrors, Predicted, STEPS_OF_SERVING, STEPS_OF_TRAINING};
