//! The number formats chosen for a model.

use super::Format;

/// Formats of a candidate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Formats {
    /// Of the quantised weights.
    pub weights: Format,
    /// Of the KV cache.
    pub kv: Format,
    /// What a checkpoint has of its own.
    pub stored: Stored,
}

/// Bytes per element in a checkpoint, where they are not those of its format: of groups of another
/// size, of a mixture of widths, or of a head that is quantised, too.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stored {
    /// Of the quantised weights.
    pub weights: Option<f64>,
    /// Of the head.
    pub head: Option<f64>,
}

impl Formats {
    /// Formats that a checkpoint has as they are.
    pub fn new(weights: Format, kv: Format) -> Self {
        Self {
            weights,
            kv,
            stored: Stored::default(),
        }
    }

    /// Bytes per element of activations, and of parameters that are never quantised.
    pub fn activation_bytes(self) -> f64 {
        match self.weights {
            Format::Fp32 => Format::Fp32.bytes_per_element(),
            _ => Format::Bf16.bytes_per_element(),
        }
    }

    /// Bytes per element of the inputs of quantised products, as they are sent to them.
    pub fn product_input_bytes(self) -> f64 {
        match self.weights {
            Format::Fp8 | Format::Nvfp4 | Format::Int8 => self.weights.bytes_per_element(),
            Format::W4a8 | Format::Fp8Sparse => Format::Fp8.bytes_per_element(),
            _ => self.activation_bytes(),
        }
    }
}
