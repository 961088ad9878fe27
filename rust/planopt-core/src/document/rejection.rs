//! Why something cannot be, as documents tell it.

use crate::parallel::serving::Rejection;
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
    pub numbers: BTreeMap<&'static str, serde_json::Value>,
}

pub(crate) fn rejection(rejection: &Rejection) -> RejectionAnswer {
    RejectionAnswer {
        code: rejection.code(),
        message: rejection.to_string(),
        numbers: rejection.numbers().into_iter().collect(),
    }
}
