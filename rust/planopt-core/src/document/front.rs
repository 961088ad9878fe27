//! Figures of a front.

use serde::Serialize;
use serde_json::{Map, Value};

/// The front of a part of a space.
#[derive(Clone, Debug, Serialize)]
pub struct FrontAnswer {
    /// Candidates on it, the cheapest first: place, what it is, all figures.
    pub rows: Vec<Map<String, Value>>,
    /// Candidates of the part: evaluated, rejected and pruned together.
    pub covered: u64,
    /// Candidates that work, every figure of which was computed.
    pub evaluated: u64,
    /// Candidates that do not work.
    pub rejected: u64,
    /// The same by reason.
    pub rejected_by: Vec<(&'static str, u64)>,
    /// Candidates passed over because a bound showed that they cannot matter.
    pub pruned: u64,
    /// Of all figures of all that were evaluated.
    pub checksum: String,
    /// Wall time.
    pub seconds: f64,
    /// Whether it was stopped before its end.
    pub interrupted: bool,
}
