//! Why something cannot be, as documents tell it.

use crate::parallel::Rejection;
use serde::Serialize;
use std::collections::BTreeMap;

/// A rejection with its sentence.
#[derive(Clone, Debug, Serialize)]
pub struct RejectionAnswer {
    /// Short name.
    pub code: &'static str,
    /// The sentence, with the numbers.
    pub message: String,
    /// The numbers by name.
    pub numbers: BTreeMap<String, serde_json::Value>,
}

impl From<&Rejection> for RejectionAnswer {
    fn from(rejection: &Rejection) -> Self {
        let numbers = match serde_json::to_value(rejection) {
            Ok(serde_json::Value::Object(numbers)) => numbers.into_iter().collect(),
            _ => BTreeMap::new(),
        };
        Self {
            code: rejection.code(),
            message: rejection.to_string(),
            numbers,
        }
    }
}
