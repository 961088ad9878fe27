//! A question as it is told.

use super::market::Assumed;
use serde::Serialize;
use serde_json::{Map, Value};

/// A question with what was assumed of it.
#[derive(Debug, Serialize)]
pub(super) struct Question<Q> {
    /// As a plan records it.
    #[serde(flatten)]
    pub(super) recorded: Map<String, Value>,
    /// As a door of the core takes it.
    pub(super) asked: Q,
    pub(super) assumed: Vec<Assumed>,
}
