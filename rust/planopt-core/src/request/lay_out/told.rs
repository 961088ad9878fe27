//! What a plan records of an answer.

use serde::Serialize;
use serde_json::Value;

/// What is known of it.
pub(super) fn told(answer: &impl Serialize) -> Value {
    let mut told = serde_json::to_value(answer).unwrap_or_default();
    if let Some(fields) = told.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
    told
}
