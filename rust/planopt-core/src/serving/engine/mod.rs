//! An engine under load: requests arrive, wait, are read in chunks and answered token by token.
//!
//! `load` says what arrives, `limits` what the engine may do, `step` how long a step takes,
//! `scheduler` who is in it, `simulate` runs all that event by event, and `report` adds up what
//! came of it. Definitions: `docs/reference/serving.md`.

mod estimate;
mod lane;
mod limits;
mod load;
mod pages;
mod random;
mod replica;
mod report;
mod scheduler;
mod simulate;
mod step;
#[cfg(test)]
mod tests;

pub use estimate::{Estimate, Estimator, Quantiles, Traffic};
pub use limits::{EngineLimits, KvPolicy, Policy, Transfer};
pub use load::{Arrivals, Lengths, Load, Sizes};
pub use replica::{EngineOptions, ReplicaSteps};
pub use report::{Latency, LoadReport, Objectives};
pub use simulate::{Pool, Run, simulate, simulate_disaggregated};
pub use step::{AffineStep, StepSeconds, StepTime, StepWork};
