//! A layout: a replica on hardware, prepared so that a batch is cheap to ask about.

use super::rejection::Rejection;
use crate::load::serving::Overlap;
use crate::parallel::degrees::Degrees;
use crate::parallel::placement::Placement;
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
}

/// What a pool does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Reads prompts and puts out the first token of each answer.
    Prefill,
    /// Puts out the others.
    Decode,
}

/// How many sequences circulate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batching {
    /// Sequences of a micro-batch.
    pub batch: u32,
    /// Micro-batches in the pipeline.
    pub in_flight: u32,
}

impl Batching {
    /// Users of one replica.
    pub fn users(self, overlap: Overlap) -> u64 {
        let resident = if overlap == Overlap::TwoBatch { 2 } else { 1 };
        u64::from(self.batch) * u64::from(self.in_flight) * resident
    }
}
