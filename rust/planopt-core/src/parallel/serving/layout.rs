//! A layout: a replica on hardware, prepared so that a batch is cheap to ask about.

use crate::load::serving::Overlap;
use crate::parallel::degrees::Degrees;
use crate::parallel::placement::Placement;
use crate::parallel::rejection::Rejection;
use crate::transformer::Transformer;
use serde::Deserialize;

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
                vpp: None,
                layers,
            });
        }
        let experts = transformer.experts().unwrap_or(1);
        let ranks = self.degrees.expert_ranks();
        if ep == 0 || !ranks.is_multiple_of(ep) || !experts.is_multiple_of(u64::from(ep)) {
            return Err(Rejection::Experts {
                ep,
                ranks: Some(ranks),
                experts,
            });
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
        Placement::new(self.degrees, self.pp, slots).ok_or(Rejection::Placement {
            tp,
            dp: Some(dp),
            slots,
        })
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

/// What of a layout is decided already.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Pins {
    /// Tensor-parallel degree.
    pub tp: Option<u32>,
    /// Context-parallel degree.
    pub cp: Option<u32>,
    /// Attention data-parallel degree.
    pub dp: Option<u32>,
    /// Expert-parallel degree.
    pub ep: Option<u32>,
    /// Pipeline stages.
    pub pp: Option<u32>,
    /// Sequences of a micro-batch.
    pub batch: Option<u32>,
    /// Micro-batches in flight.
    pub in_flight: Option<u32>,
    /// Replicas of a unit.
    pub replicas: Option<u32>,
}

impl Pins {
    /// Whether a layout is as decided.
    pub fn allows(self, layout: Layout) -> bool {
        let given = |asked: Option<u32>, degree| asked.is_none_or(|asked| asked == degree);
        let degrees = layout.degrees;
        given(self.tp, degrees.tp)
            && given(self.cp, degrees.cp)
            && given(self.dp, degrees.dp)
            && given(self.ep, degrees.ep)
            && given(self.pp, layout.pp)
    }

    /// The smallest micro-batches that carry `users` on `replicas`, as many in flight as there
    /// are stages, but no more than there are users for.
    pub fn batching(self, users: u64, replicas: u32, pp: u32, overlap: Overlap) -> Batching {
        let resident = if overlap == Overlap::TwoBatch { 2 } else { 1 };
        let of_replica = users.div_ceil(u64::from(replicas) * resident).max(1);
        let of_replica = u32::try_from(of_replica).unwrap_or(u32::MAX);
        let in_flight = self.in_flight.unwrap_or_else(|| pp.min(of_replica));
        let batch = self.batch.unwrap_or_else(|| of_replica.div_ceil(in_flight));
        Batching { batch, in_flight }
    }
}
