//! An encoder of images in front of a model: it takes patches and gives tokens of a prompt.
//! Formulas: `docs/reference/serving.md`, section 12.

use super::operation::price_of_encoder;
use super::rank::Rank;
use crate::format::Formats;
use crate::hardware::Rates;
use crate::load::serving::Encoder;
use crate::parallel::Degrees;
use crate::quantity::Bytes;

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
