//! What evaluating a whole space came to.

use crate::bulk::Tally;
use crate::quantity::real;
use serde::Serialize;

/// What evaluating a space came to.
#[derive(Clone, Debug, Serialize)]
pub struct BenchAnswer {
    /// Candidates of the space, or of the part that was looked at.
    pub candidates: u64,
    /// Of them, those that work, all of whose figures were computed.
    pub evaluated: u64,
    /// Of them, those that do not.
    pub rejected: u64,
    /// The same by reason.
    pub rejected_by: Vec<(&'static str, u64)>,
    /// Wall time.
    pub seconds: f64,
    /// Candidates whose figures were computed, per second.
    pub candidates_per_second: f64,
    /// Of all figures, whatever the order.
    pub checksum: String,
}

impl BenchAnswer {
    pub(crate) fn new(tally: &Tally, seconds: f64) -> Self {
        Self {
            candidates: tally.evaluated + tally.all_rejected(),
            evaluated: tally.evaluated,
            rejected: tally.all_rejected(),
            rejected_by: tally.rejected_by(),
            seconds,
            candidates_per_second: real(tally.evaluated) / seconds,
            checksum: format!("{:016x}", tally.checksum.0),
        }
    }
}
