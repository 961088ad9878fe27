//! Number formats.

mod choice;
mod packed;

pub use self::choice::{Formats, Stored};
pub use self::packed::{Ends, Packed};

use serde::{Serialize, Serializer};

/// Number format of weights, activations or the KV cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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
    /// [`Self::Fp8`] of which two of every four are kept, each with two bits of where it was
    /// (NVIDIA, "Accelerating Inference with Sparsity Using the NVIDIA Ampere Architecture").
    Fp8Sparse,
    /// Weights alone, packed in one of the ways of `catalogs/formats.toml`.
    Packed(Packed),
}

impl Serialize for Format {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl Format {
    /// Whether weights in it are smaller than activations, and become such in the product.
    pub fn is_quantised(self) -> bool {
        !matches!(self, Self::Fp32 | Self::Bf16 | Self::Fp16)
    }

    /// Whether only the weights are in it, and become 16 bits wide in the product.
    pub fn is_weight_only(self) -> bool {
        matches!(self, Self::Int4 | Self::Mxfp4 | Self::Packed(_))
    }

    /// Formats that accelerators compute in, or that have curves of their own.
    const PLAIN: [Self; 10] = [
        Self::Fp32,
        Self::Bf16,
        Self::Fp16,
        Self::Fp8,
        Self::Int8,
        Self::Int4,
        Self::Mxfp4,
        Self::Nvfp4,
        Self::W4a8,
        Self::Fp8Sparse,
    ];

    /// Every format, in the order that messages list them.
    pub fn all() -> impl Iterator<Item = Self> + Clone {
        let packed = Packed::all().map(Self::Packed);
        Self::PLAIN.into_iter().chain(packed)
    }

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
            Self::Fp8Sparse => "fp8-2:4",
            Self::Packed(packed) => packed.name(),
        }
    }

    /// The format of that name, in capitals or not, or of what people call it.
    pub fn from_name(name: &str) -> Option<Self> {
        let name = packed::meant(name).unwrap_or(name);
        Self::all().find(|format| format.name().eq_ignore_ascii_case(name))
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
            Self::Nvfp4 => 0.562_5,
            // (2 x 8 bits + 2 x 2 bits) / 4 / 8
            Self::Fp8Sparse => 0.625,
            Self::Packed(packed) => packed.bytes(),
        }
    }

    /// Storage of one element of the embedding and of the head, where the format is one of whole
    /// files that has them quantised, too.
    pub fn ends(self) -> Option<Ends> {
        match self {
            Self::Packed(packed) => packed.ends(),
            _ => None,
        }
    }
}
