//! Ranks priced once for many layouts.

use crate::catalog::{Accelerator, Assumptions};
use crate::compute::{Rank, RankDraft};
use crate::hardware::Rates;
use crate::load::serving::Question;
use crate::parallel::{Degrees, Layout, Rejection};
use crate::transformer::Transformer;
use std::collections::BTreeMap;

/// A model partitioned to stages and priced on the ranks of one accelerator: shared by all layouts.
#[derive(Debug)]
pub struct Prepared {
    ranks: BTreeMap<Degrees, Rank>,
}

impl Prepared {
    /// Prices the model for all degrees among `layouts`; the accelerator must
    /// have a rate for the weights' format.
    ///
    /// # Errors
    ///
    /// The rejection, if it has none.
    pub fn new(
        transformer: &Transformer,
        question: &Question,
        accelerator: &Accelerator,
        assumptions: &Assumptions,
        layouts: &[Layout],
    ) -> Result<Self, Rejection> {
        let weights = question.formats.weights;
        let rates = Rates::of(accelerator, weights, assumptions).ok_or(Rejection::Weights {
            weights: weights.name(),
        })?;
        let mut ranks = BTreeMap::new();
        for layout in layouts {
            ranks.entry(layout.degrees()).or_insert_with(|| {
                let (formats, degrees) = (question.formats, layout.degrees());
                let draft = question.speculation.zip(transformer.drafter.as_ref());
                let draft = draft.map(|(speculation, drafter)| {
                    let tokens = speculation.tokens;
                    RankDraft::new(transformer, drafter, tokens, formats, &rates, degrees)
                });
                Rank::new(transformer, formats, &rates, degrees)
                    .with_draft(draft)
                    .with_adapters(question.adapters, transformer, formats, &rates, degrees)
                    .with_encoder(question.encoder, formats, &rates, degrees)
            });
        }
        Ok(Self { ranks })
    }

    /// The rank of degrees it was prepared for.
    pub fn rank(&self, degrees: Degrees) -> Option<&Rank> {
        self.ranks.get(&degrees)
    }
}
