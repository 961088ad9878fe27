//! What is trained, and in which formats.

use crate::format::Format;
use serde::{Deserialize, Serialize};

/// One product forward, two backward.
pub(crate) const PASSES: f64 = 3.0;

/// One of those backward where weights are frozen.
const FROZEN_PASSES: f64 = 2.0;

/// Arithmetic of the products.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// bf16 with 32-bit master weights.
    #[default]
    Bf16,
    /// fp16 with 32-bit master weights.
    Fp16,
    /// fp8 products on bf16 weights with 32-bit master weights.
    Fp8,
    /// 4-bit products in blocks of 16 with a scale each, on bf16 weights with 32-bit master
    /// weights.
    Nvfp4,
    /// 32 bits throughout.
    Fp32,
}

impl Precision {
    /// The format whose rates and bytes the products have.
    pub fn format(self) -> Format {
        match self {
            Self::Bf16 => Format::Bf16,
            Self::Fp16 => Format::Fp16,
            Self::Fp8 => Format::Fp8,
            Self::Nvfp4 => Format::Nvfp4,
            Self::Fp32 => Format::Fp32,
        }
    }

    /// Bytes per element of activations that are no inputs of fp8 products.
    pub fn activation_bytes(self) -> f64 {
        match self {
            Self::Fp32 => Format::Fp32.bytes_per_element(),
            Self::Bf16 | Self::Fp16 | Self::Fp8 | Self::Nvfp4 => Format::Bf16.bytes_per_element(),
        }
    }

    /// Whether products read copies of their inputs in fewer bits.
    pub fn casts(self) -> bool {
        matches!(self, Self::Fp8 | Self::Nvfp4)
    }
}

/// Rule that turns gradients into new weights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Optimizer {
    /// Two 32-bit moments.
    #[default]
    Adam,
    /// Two bf16 moments (`DeepSeek-V3`, arXiv 2412.19437, section 3.3).
    Adam16bit,
    /// Two 8-bit moments in blocks (Dettmers et al., arXiv 2110.02861).
    Adam8bit,
    /// One 32-bit momentum.
    Sgd,
    /// A second moment per row and per column (Shazeer and Stern, arXiv 1804.04235).
    Adafactor,
    /// One 32-bit momentum, orthogonalised, for matrices of layers; Adam for the rest.
    Muon,
}

/// Low-rank adapters on a frozen model (Hu et al., arXiv 2106.09685; `QLoRA`: arXiv 2305.14314).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Adapters {
    /// Rank.
    pub rank: u32,
    /// Format of the frozen weights.
    pub frozen: Format,
    /// Products that have one.
    pub modules: AdaptedModules,
}

/// Products of layers that have adapters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AdaptedModules {
    /// All of them.
    #[default]
    All,
    /// Those of attention.
    Attention,
}

/// What is trained: the same for every layout of a search.
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a choice of its own, named as frameworks name it"
)]
pub struct Recipe {
    /// Arithmetic of the products.
    pub precision: Precision,
    /// Format that gradients are summed and reduced in.
    pub gradients: Format,
    /// Optimizer.
    pub optimizer: Optimizer,
    /// Weights are kept in 32 bits too; without them moments are in the weights' own format.
    pub master_weights: bool,
    /// Pieces in which the head and the loss go through the tokens of a micro-batch.
    pub loss_chunks: u32,
    /// Adapters, where the model itself is frozen.
    pub adapters: Option<Adapters>,
    /// Attention that never stores its probabilities.
    pub flash_attention: bool,
    /// Dropout behind attention, its output and the feed-forward part.
    pub dropout: bool,
    /// Tokens look back only.
    pub causal: bool,
    /// Modules of multi-token prediction behind the last layer.
    pub mtp_modules: u32,
    /// Tokens of a sequence.
    pub seq_len: u32,
    /// Sequences of a step.
    pub global_batch: u32,
}

impl Recipe {
    /// Products forward and backward for each one forward.
    pub(crate) fn passes(&self) -> f64 {
        if self.adapters.is_some() {
            FROZEN_PASSES
        } else {
            PASSES
        }
    }
}

/// Which arithmetic counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FlopsConvention {
    /// Products, and attention to every token of the sequence (arXiv 2204.02311, appendix B;
    /// Megatron-LM).
    Full,
    /// Products, and attention to the tokens before.
    Causal,
    /// Six (four where weights are frozen) for each parameter and token, of so many parameters, or of the model's active ones
    /// (Kaplan et al., arXiv 2001.08361).
    SixPerParameter(Option<f64>),
}

impl FlopsConvention {
    /// The name used in questions and answers.
    pub fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Causal => "causal",
            Self::SixPerParameter(_) => "6nd",
        }
    }
}

/// How much is trained, and how its arithmetic is counted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    /// Tokens of the whole run, where they are given.
    pub(crate) tokens: Option<f64>,
    /// Which arithmetic counts as the model's.
    pub(crate) convention: FlopsConvention,
    /// Model FLOPs utilisation in place of the computed one.
    pub(crate) mfu: Option<f64>,
}
