//! How an engine puts steps together.

use serde::{Deserialize, Serialize};

/// Who goes first where a step has no room for all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// Every decoding sequence gets its token, and prompts are read in what is left of the token
    /// budget: mixed steps (Sarathi-Serve, arXiv 2403.02310; vLLM V1).
    #[default]
    DecodeFirst,
    /// Prompts that can be read are read, and nobody decodes meanwhile (vLLM V0).
    PrefillFirst,
}
