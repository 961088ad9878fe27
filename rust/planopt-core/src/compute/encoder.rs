//! An encoder of images in front of a model: it takes patches and gives tokens of a prompt.
//! Formulas: `docs/reference/serving.md`, section 12.

use super::operation::price_of_encoder;
use super::rank::Rank;
use super::rates::{Formats, Rates};
use crate::degrees::Degrees;
use crate::quantity::Bytes;

/// What encodes the images of a prompt.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Encoder {
    /// Parameters, of which each patch meets all.
    pub parameters: f64,
    /// Patches for each token of a prompt, whether from an image or not.
    pub patches_per_token: f64,
}

impl Rank {
    /// The same with an encoder in front of the first layer, divided among the ranks of a
    /// tensor-parallel group.
    #[must_use]
    pub fn with_encoder(
        mut self,
        encoder: Option<Encoder>,
        formats: Formats,
        rates: &Rates,
        degrees: Degrees,
    ) -> Self {
        if let Some(encoder) = encoder {
            let parameters = encoder.parameters / f64::from(degrees.tp);
            let entry = &mut self.embedding;
            entry.weights += Bytes(parameters * formats.activation_bytes());
            let patches = encoder.patches_per_token;
            entry
                .operations
                .push(price_of_encoder(parameters * patches, rates));
        }
        self
    }
}
