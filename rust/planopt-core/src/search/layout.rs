//! A layout: a replica on hardware, prepared so that a batch is cheap to ask about.

use std::collections::BTreeMap;

use crate::catalog::{Accelerator, Assumptions};
use crate::compute::{Rank, RankDraft, Rates};
use crate::degrees::Degrees;
use crate::placement::Placement;
use crate::serving::{Question, Rejection};
use crate::stages::{Stage, deal};
use crate::transformer::Transformer;

/// How a replica is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Layout {
    /// How the ranks of a stage divide it.
    pub degrees: Degrees,
    /// Pipeline stages.
    pub pp: u32,
}

impl Layout {
    /// Whether the model can be divided so.
    ///
    /// # Errors
    ///
    /// The rejection, if it cannot.
    pub fn check(self, transformer: &Transformer) -> Result<(), Rejection> {
        let Degrees { tp, ep, .. } = self.degrees;
        if tp == 0 || !transformer.heads.is_multiple_of(u64::from(tp)) {
            return Err(Rejection::Heads {
                tp,
                heads: transformer.heads,
            });
        }
        let layers = transformer.layers.len() as u64;
        if self.pp == 0 || u64::from(self.pp) > layers {
            return Err(Rejection::Layers {
                pp: self.pp,
                layers,
            });
        }
        let experts = transformer.experts().unwrap_or(1);
        let ranks = self.degrees.expert_ranks();
        if ep == 0 || !ranks.is_multiple_of(ep) || !experts.is_multiple_of(u64::from(ep)) {
            return Err(Rejection::Experts { ep, ranks, experts });
        }
        Ok(())
    }

    /// Where it sits in hosts of `slots`.
    ///
    /// # Errors
    ///
    /// The rejection, if the ranks of a stage would span hosts unevenly.
    pub fn place(self, slots: u32) -> Result<Placement, Rejection> {
        let Degrees { tp, dp, .. } = self.degrees;
        Placement::new(self.degrees, self.pp, slots).ok_or(Rejection::Placement { tp, dp, slots })
    }

    /// Every layout of at most `accelerators` that is worth a look: each tensor-parallel degree; of
    /// a choice of experts also each with all of them dealt out, and attention data parallel then.
    /// Contexts are whole, or divided among each power of two up to `context_ranks`.
    pub fn all(transformer: &Transformer, accelerators: u32, context_ranks: u32) -> Vec<Self> {
        let is_choice = transformer.experts().is_some();
        // A state goes from token to token.
        let context_ranks = if transformer.has_state_space() {
            1
        } else {
            context_ranks
        };
        let mut layouts = Vec::new();
        for tp in 1..=accelerators {
            let groups = if is_choice { accelerators / tp } else { 1 };
            for dp in 1..=groups {
                let dealt = Degrees {
                    dp,
                    ep: tp * dp,
                    ..Degrees::tensor(tp)
                };
                let whole = (dp == 1).then_some(Degrees::tensor(tp));
                let dealt = (is_choice && dealt.ranks() > 1).then_some(dealt);
                for degrees in whole.into_iter().chain(dealt) {
                    let divided = Self::divided(degrees, context_ranks);
                    layouts.extend(
                        divided
                            .flat_map(|degrees| Self::staged(degrees, transformer, accelerators)),
                    );
                }
            }
        }
        layouts
    }

    /// The same degrees with whole contexts, and with those that so many ranks divide. Groups with
    /// sequences of their own have whole contexts.
    fn divided(degrees: Degrees, context_ranks: u32) -> impl Iterator<Item = Degrees> {
        let most = if degrees.dp == 1 { context_ranks } else { 1 };
        (0..u32::BITS)
            .map(|power| 1 << power)
            .take_while(move |&cp| cp <= most.max(1))
            .map(move |cp| Degrees { cp, ..degrees })
    }

    /// The layouts of a stage, by the number of stages.
    fn staged(degrees: Degrees, transformer: &Transformer, accelerators: u32) -> Vec<Self> {
        (1..=accelerators / degrees.ranks())
            .map(|pp| Self { degrees, pp })
            .filter(|layout| layout.check(transformer).is_ok())
            .collect()
    }
}

/// A model dealt to stages and priced on the ranks of one accelerator: shared by all layouts.
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
        let rates = Rates::of(accelerator, weights, assumptions).ok_or(Rejection::Format {
            weights: weights.name(),
        })?;
        let mut ranks = BTreeMap::new();
        for layout in layouts {
            ranks.entry(layout.degrees).or_insert_with(|| {
                let (formats, degrees) = (question.formats, layout.degrees);
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

/// The stages of every pipeline length up to `longest`; index 0 is one stage.
pub(crate) fn stages(transformer: &Transformer, longest: u32) -> Vec<Vec<Stage>> {
    let kinds = transformer.blocks.len();
    let longest = longest.min(u32::try_from(transformer.layers.len()).unwrap_or(u32::MAX));
    (1..=longest)
        .map(|pp| deal(&transformer.layers, kinds, pp))
        .collect()
}
