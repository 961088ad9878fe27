//! Where weights rest that accelerators do not hold.

use crate::load::serving::{Offload, Question};
use serde::{Deserialize, Serialize};

/// Layers whose weights rest in the host.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct OffloadRequest {
    /// How many of each stage; as few as fit where none are given.
    pub layers: Option<u32>,
    /// `host` for its memory, or `disk`.
    #[serde(default = "in_memory")]
    pub to: String,
}

fn in_memory() -> String {
    "host".to_owned()
}

/// The question with so many layers in the host.
pub(super) fn with_layers(question: Question, layers: Option<u32>) -> Question {
    let offload = question.offload.zip(layers);
    Question {
        offload: offload.map(|(offload, layers)| Offload { layers, ..offload }),
        ..question
    }
}
