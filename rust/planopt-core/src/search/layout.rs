//! A layout: a replica on hardware, prepared so that a batch is cheap to ask about.

use std::collections::BTreeMap;

use crate::catalog::{Accelerator, Assumptions};
use crate::compute::{Rank, Rates};
use crate::placement::Placement;
use crate::serving::{Question, Rejection};
use crate::stages::{Stage, deal};
use crate::transformer::Transformer;

/// How a replica is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Layout {
    /// Tensor-parallel degree.
    pub tp: u32,
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
        if self.tp == 0 || !transformer.heads.is_multiple_of(u64::from(self.tp)) {
            return Err(Rejection::Heads {
                tp: self.tp,
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
        Ok(())
    }

    /// Where it sits in hosts of `slots`.
    ///
    /// # Errors
    ///
    /// The rejection, if a tensor-parallel group would span hosts unevenly.
    pub fn place(self, slots: u32) -> Result<Placement, Rejection> {
        Placement::new(self.tp, self.pp, slots).ok_or(Rejection::Placement { tp: self.tp, slots })
    }

    /// Every layout of at most `accelerators`.
    pub fn all(transformer: &Transformer, accelerators: u32) -> Vec<Self> {
        let mut layouts = Vec::new();
        for tp in 1..=accelerators {
            for pp in 1..=accelerators / tp {
                let layout = Self { tp, pp };
                if layout.check(transformer).is_ok() {
                    layouts.push(layout);
                }
            }
        }
        layouts
    }
}

/// A model dealt to stages and priced on the ranks of one accelerator: shared by all layouts.
#[derive(Debug)]
pub struct Prepared {
    ranks: BTreeMap<u32, Rank>,
}

impl Prepared {
    /// Prices the model for every tensor-parallel degree among `layouts`; the accelerator must
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
            ranks
                .entry(layout.tp)
                .or_insert_with(|| Rank::new(transformer, question.formats, &rates, layout.tp));
        }
        Ok(Self { ranks })
    }

    /// The rank of a degree it was prepared for.
    pub fn rank(&self, tp: u32) -> Option<&Rank> {
        self.ranks.get(&tp)
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
