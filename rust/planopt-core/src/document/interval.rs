//! Prediction intervals.

use serde::Serialize;

/// What a figure is expected to lie in.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// From.
    pub low: f64,
    /// To.
    pub high: f64,
    /// Share of measurements that it is to cover.
    pub level: f64,
    /// No measurement is of this hardware and this kind of model.
    pub extrapolated: bool,
}

/// Intervals by figure, in the order in which they are told.
pub type Intervals = serde_json::Map<String, serde_json::Value>;
