//! What is served, apart from the hardware: lengths, formats, drafts, and how sequences circulate.

use crate::format::Formats;
use crate::quantity::{Bytes, BytesPerSecond};
use serde::{Deserialize, Serialize};

/// Whether communication hides behind the arithmetic of another batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Overlap {
    /// One after the other.
    #[default]
    None,
    /// Two batches are resident and take turns.
    TwoBatch,
}

impl Overlap {
    /// Batches resident for each that is stepped.
    pub fn batches(self) -> u32 {
        match self {
            Self::None => 1,
            Self::TwoBatch => 2,
        }
    }

    /// The same, as a factor of times.
    pub fn resident(self) -> f64 {
        f64::from(self.batches())
    }
}

/// How many tokens are drafted ahead of a check, and how often one is accepted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Speculation {
    /// Tokens drafted.
    pub tokens: u32,
    /// Chance that the model accepts one of them, whatever stands before it.
    pub acceptance: f64,
}

impl Speculation {
    /// Tokens that a check brings forward on average: those accepted before the first that is not,
    /// and the one that the model puts in its place (Leviathan et al., arXiv 2211.17192, eq. 1).
    pub fn tokens_per_check(self) -> f64 {
        let all = f64::from(self.tokens) + 1.0;
        if self.acceptance >= 1.0 {
            all
        } else {
            (1.0 - self.acceptance.powf(all)) / (1.0 - self.acceptance)
        }
    }
}

/// What is served, apart from the hardware and the batch.
#[derive(Clone, Copy, Debug)]
pub struct Question {
    /// Formats of weights and KV cache.
    pub formats: Formats,
    /// Tokens cached per sequence when speed is judged.
    pub context: u64,
    /// Tokens of a prompt.
    pub prompt: u64,
    /// Overlap of communication.
    pub overlap: Overlap,
    /// Speculative decoding, if any.
    pub speculation: Option<Speculation>,
    /// Layers whose weights rest in the host, if any.
    pub offload: Option<Offload>,
    /// Adapters that sequences choose from, if any.
    pub adapters: Option<Adapters>,
    /// What encodes the images of prompts, if any have some.
    pub encoder: Option<Encoder>,
    /// Ranks that a search may divide contexts among, where that is asked for.
    pub context_ranks: Option<u32>,
    /// Whether a search tries what can be computed, but nobody would run.
    pub allow_odd: bool,
}

impl Question {
    /// Tokens that a sequence gains in a step: more than one where some are drafted.
    pub fn tokens_per_step(&self) -> f64 {
        self.speculation.map_or(1.0, Speculation::tokens_per_check)
    }
}

/// Adapters that accelerators hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Adapters {
    /// How many.
    pub count: u32,
    /// Their rank: rows between their two matrices.
    pub rank: u32,
}

/// What encodes the images of a prompt.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Encoder {
    /// Parameters, of which each patch meets all.
    pub parameters: f64,
    /// Tokens of a prompt that come of it.
    pub tokens: u64,
    /// Patches that they are made of.
    pub patches: f64,
    /// Patches for each token of a prompt, whether from an image or not.
    pub patches_per_token: f64,
}

/// Layers of each stage that rest in a host, and how they come from there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Offload {
    /// How many of each stage, if it has as many.
    pub layers: u32,
    /// What the accelerators of a host read together.
    pub bandwidth: BytesPerSecond,
    /// Share of the work that transfers can hide behind.
    pub overlap: f64,
    /// Memory of the host that they take, as far as it may be planned with; none on disks.
    pub memory: Option<Bytes>,
}
