//! What a purchase of rows becomes: models on hardware, with bills, totals and intervals.

mod purchase;
mod serving;
mod training;

use serde::Serialize;

pub use self::purchase::{ForUsers, LayOut, Purchase};
use crate::diagnostic::Diagnostic;
use crate::plan::{Build, TrainingBuild};
use crate::search::{Found, Work};

/// Purchases, laid out.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum LaidOut {
    /// Models that are served.
    Serving(Vec<Build>),
    /// Runs of training.
    Training(Vec<TrainingBuild>),
}

/// Lays purchases out.
///
/// # Errors
///
/// Hardware that is gone, which cannot be while a handle keeps its catalog.
pub fn lay_out(found: &Found, request: &LayOut) -> Result<LaidOut, Vec<Diagnostic>> {
    match &found.work {
        Work::Serving(parts) => serving::builds(found, parts, request).map(LaidOut::Serving),
        Work::Training(run) => training::builds(found, run, request).map(LaidOut::Training),
    }
}
