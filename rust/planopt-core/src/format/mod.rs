//! Number formats.

mod choice;

pub use self::choice::{Formats, Stored};

/// Number format of weights, activations or the KV cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// 32-bit IEEE float.
    Fp32,
    /// 16-bit brain float.
    Bf16,
    /// 16-bit IEEE float.
    Fp16,
    /// 8-bit float (e4m3), with its scales in the noise: one scale per 128 x 128 block or coarser.
    Fp8,
    /// 8-bit integer.
    Int8,
    /// 4-bit integer in groups of 128 with a 16-bit scale and a 4-bit zero (GPTQ, AWQ).
    Int4,
    /// OCP microscaling 4-bit float: groups of 32 with an 8-bit scale.
    Mxfp4,
    /// NVIDIA 4-bit float: groups of 16 with an 8-bit scale.
    Nvfp4,
    /// [`Self::Int4`] weights with 8-bit activations: products in 8 bits (`QServe`, arXiv
    /// 2405.04532).
    W4a8,
    /// llama.cpp's blocks of 32 4-bit integers with a 16-bit scale.
    #[serde(rename = "q4_0")]
    Q40,
    /// llama.cpp's mixture of superblocks of 4.5 bits, and of 6.5625 in the value and down products
    /// of half of the layers: 4.8 bits a weight of the layers of `LLaMA` models.
    #[serde(rename = "q4_k_m")]
    Q4Km,
    /// [`Self::Fp8`] of which two of every four are kept, each with two bits of where it was
    /// (NVIDIA, "Accelerating Inference with Sparsity Using the NVIDIA Ampere Architecture").
    #[serde(rename = "fp8-2:4")]
    Fp8Sparse,
}

impl Format {
    /// Whether weights in it are smaller than activations, and become such in the product.
    pub fn is_quantised(self) -> bool {
        !matches!(self, Self::Fp32 | Self::Bf16 | Self::Fp16)
    }

    /// Whether only the weights are in it, and become 16 bits wide in the product.
    pub fn is_weight_only(self) -> bool {
        matches!(self, Self::Int4 | Self::Mxfp4 | Self::Q40 | Self::Q4Km)
    }

    /// Every format, in the order that messages list them.
    pub const ALL: [Self; 12] = [
        Self::Fp32,
        Self::Bf16,
        Self::Fp16,
        Self::Fp8,
        Self::Int8,
        Self::Int4,
        Self::Mxfp4,
        Self::Nvfp4,
        Self::W4a8,
        Self::Q40,
        Self::Q4Km,
        Self::Fp8Sparse,
    ];

    /// The name used in catalogs, flags and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fp32 => "fp32",
            Self::Bf16 => "bf16",
            Self::Fp16 => "fp16",
            Self::Fp8 => "fp8",
            Self::Int8 => "int8",
            Self::Int4 => "int4",
            Self::Mxfp4 => "mxfp4",
            Self::Nvfp4 => "nvfp4",
            Self::W4a8 => "w4a8",
            Self::Q40 => "q4_0",
            Self::Q4Km => "q4_k_m",
            Self::Fp8Sparse => "fp8-2:4",
        }
    }

    /// The format of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }

    /// Storage of one element, with the scales of its group.
    pub fn bytes_per_element(self) -> f64 {
        match self {
            Self::Fp32 => 4.0,
            Self::Bf16 | Self::Fp16 => 2.0,
            Self::Fp8 | Self::Int8 => 1.0,
            // (4 bits + (16 + 4) bits / 128) / 8
            Self::Int4 | Self::W4a8 => 0.519_531_25,
            // (4 bits + 8 bits / 32) / 8
            Self::Mxfp4 => 0.531_25,
            // (4 bits + 8 bits / 16) / 8
            // and (4 bits + 16 bits / 32) / 8
            Self::Nvfp4 | Self::Q40 => 0.562_5,
            // 4.8 bits / 8
            Self::Q4Km => 0.6,
            // (2 x 8 bits + 2 x 2 bits) / 4 / 8
            Self::Fp8Sparse => 0.625,
        }
    }

    /// Storage of one element of the embedding and of the head, where the format is one of whole
    /// files that has them quantised, too.
    pub fn ends(self) -> Option<Ends> {
        // llama.cpp, `llama_tensor_get_type`: the embedding in blocks of 4.5 bits as the layers are,
        // the head (or the matrix that is both) in q6_K, blocks of 6.5625.
        matches!(self, Self::Q40 | Self::Q4Km).then_some(Ends {
            embedding: 0.562_5,
            head: 0.820_312_5,
        })
    }
}

/// Bytes per element of the matrices before the layers and behind them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ends {
    /// Of the embedding, unless it is the head's matrix, too.
    pub embedding: f64,
    /// Of the head.
    pub head: f64,
}
