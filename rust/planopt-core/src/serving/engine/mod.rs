//! An engine under load: requests arrive, wait, are read in chunks and answered token by token.
//!
//! `load` says what arrives, `limits` what the engine may do, `step` how long a step takes,
//! `scheduler` who is in it, `simulate` runs all that event by event, and `report` adds up what
//! came of it. Definitions: `docs/reference/serving.md`.

mod ahead;
mod arrivals;
mod backlog;
mod beginning;
mod bound;
mod calendar;
mod draws;
mod estimate;
mod footprint;
mod limits;
mod micro_batch;
mod pages;
mod prefixes;
mod random;
mod remembered;
mod replica;
mod report;
mod reuse;
mod routing;
mod scheduler;
mod sessions;
mod simulate;
mod step;
mod table;
mod window;

pub use self::backlog::{alone_in_time, most_in_time};
pub use self::bound::{most_at_all, most_per_second};
pub(crate) use self::draws::long_prompt;
pub use self::estimate::{Estimate, Estimator, Quantiles, Traffic, of_sessions};
pub use self::footprint::Footprint;
pub use self::limits::{BatchWait, CacheTier, EngineLimits, TIERS, Transfer};
pub use self::prefixes::{Found, Prefixes, Stretch};
pub(crate) use self::random::Random;
pub use self::remembered::Remembered;
pub use self::replica::{ReplicaSteps, limits};
pub use self::report::{CONFIDENCE_95, Latency, LoadReport, Objectives, Share, SloViolation};
pub use self::reuse::Keeping;
pub use self::sessions::{SessionsKept, Turns};
pub use self::simulate::{Pool, Run, simulate, simulate_disaggregated};
pub use self::step::{AffineStep, StepSeconds, StepTime, StepWork};
pub use self::table::StepTable;

#[cfg(test)]
#[path = "../../../tests/unit/engine.rs"]
mod tests;
