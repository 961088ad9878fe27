//! How a model is divided among accelerators: the same fields for serving and for training.

use super::choices::{ContextParallel, Recompute, Schedule, Zero};
use super::degrees::Degrees;
use super::placement::Placement;
use super::rejection::Rejection;
use crate::load::serving::Overlap;
use crate::load::training::Recipe;
use serde::Deserialize;

/// How a model is divided, and how its sequences circulate. What serving or training does not know
/// is as in [`Layout::SINGLE`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a choice of its own, named as frameworks name it"
)]
pub struct Layout {
    /// Tensor-parallel degree.
    pub tp: u32,
    /// Context-parallel degree.
    pub cp: u32,
    /// Data-parallel degree: ranks with sequences of their own that hold the dense weights again.
    pub dp: u32,
    /// Expert-parallel degree.
    pub ep: u32,
    /// Pipeline stages.
    pub pp: u32,
    /// Chunks of layers of one stage.
    pub vpp: u32,
    /// Copies of all of it.
    pub replicas: u32,
    /// Sequences of a micro-batch.
    pub batch: u32,
    /// Micro-batches that are in the pipeline at once, where an engine holds as many.
    pub in_flight: u32,
    /// Order of micro-batches.
    pub schedule: Schedule,
    /// How context-parallel ranks meet.
    pub context_parallel: ContextParallel,
    /// Activations between tensor-parallel products are divided by sequence.
    pub sequence_parallel: bool,
    /// Experts are not divided by tensor parallelism: its ranks hold experts of their own.
    pub whole_experts: bool,
    /// What is recomputed.
    pub recompute: Recompute,
    /// What data-parallel ranks share.
    pub zero: Zero,
    /// Ranks that shard among each other; none for all.
    pub shard_group: Option<u32>,
    /// The optimizer's state rests in the host.
    pub offload_optimizer: bool,
    /// Activations rest in the host between forward and backward.
    pub offload_activations: bool,
}

/// Searches hold one for each candidate, and bulk spaces make one for each row.
const _: () = assert!(size_of::<Layout>() <= 64);

impl Layout {
    /// One accelerator, nothing divided.
    pub const SINGLE: Self = Self {
        tp: 1,
        cp: 1,
        dp: 1,
        ep: 1,
        pp: 1,
        vpp: 1,
        replicas: 1,
        batch: 1,
        in_flight: 1,
        schedule: Schedule::OneForwardOneBackward,
        context_parallel: ContextParallel::Ring,
        sequence_parallel: false,
        whole_experts: false,
        recompute: Recompute::None,
        zero: Zero::None,
        shard_group: None,
        offload_optimizer: false,
        offload_activations: false,
    };

    /// Stages that are divided so.
    pub const fn staged(degrees: Degrees, pp: u32) -> Self {
        let Degrees { tp, cp, dp, ep } = degrees;
        Self {
            tp,
            cp,
            dp,
            ep,
            pp,
            ..Self::SINGLE
        }
    }

    /// How the ranks of a stage divide it: all that the price of a rank in serving depends on.
    pub const fn degrees(&self) -> Degrees {
        Degrees {
            tp: self.tp,
            cp: self.cp,
            dp: self.dp,
            ep: self.ep,
        }
    }

    /// How many sequences circulate: all that a step of a replica depends on beside its degrees.
    pub const fn batching(&self) -> Batching {
        Batching {
            batch: self.batch,
            in_flight: self.in_flight,
        }
    }

    /// Accelerators of one copy.
    pub fn accelerators(&self) -> u32 {
        self.tp * self.pp * self.dp * self.cp
    }

    /// Where a replica sits in hosts of `slots`.
    ///
    /// # Errors
    ///
    /// The rejection, if the ranks of a stage would span hosts unevenly.
    pub fn place(&self, slots: u32) -> Result<Placement, Rejection> {
        Placement::new(self.degrees(), self.pp, slots).ok_or(Rejection::Placement {
            tp: self.tp,
            dp: Some(self.dp),
            slots,
        })
    }

    /// Ranks that hold the same dense weights and see other tokens.
    pub fn data_ranks(&self) -> u32 {
        self.dp * self.cp
    }

    /// Tensor-parallel degree of experts.
    pub fn expert_tp(&self) -> u32 {
        if self.whole_experts { 1 } else { self.tp }
    }

    /// Ranks of a stage among which whole experts can be dealt.
    pub fn expert_places(&self) -> u32 {
        self.data_ranks() * (self.tp / self.expert_tp())
    }

    /// Ranks that hold the same experts.
    pub fn expert_replicas(&self) -> u32 {
        self.expert_places() / self.ep
    }

    /// Micro-batches of a step on each pipeline.
    pub fn micro_batches(&self, recipe: &Recipe) -> u32 {
        recipe.global_batch / (self.dp * self.batch)
    }

    /// Tokens of a micro-batch on one rank.
    pub fn tokens(&self, recipe: &Recipe) -> f64 {
        f64::from(self.batch) * f64::from(recipe.seq_len) / f64::from(self.cp)
    }

    /// Share of a tensor between tensor-parallel products that a rank holds.
    pub fn stream_share(&self) -> f64 {
        if self.sequence_parallel {
            1.0 / f64::from(self.tp)
        } else {
            1.0
        }
    }
}

/// How many sequences circulate in a replica that is laid out: what it is asked about.
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

/// What of a served layout is decided already.
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

/// All of a layout that serving knows.
impl From<Layout> for Pins {
    fn from(layout: Layout) -> Self {
        Self {
            tp: Some(layout.tp),
            cp: Some(layout.cp),
            dp: Some(layout.dp),
            ep: Some(layout.ep),
            pp: Some(layout.pp),
            batch: Some(layout.batch),
            in_flight: Some(layout.in_flight),
            replicas: Some(layout.replicas),
        }
    }
}

impl Pins {
    /// The layout that is decided: what is not given is 1, and in flight is a micro-batch for each
    /// stage.
    pub fn layout(self) -> Layout {
        let pp = self.pp.unwrap_or(1);
        Layout {
            tp: self.tp.unwrap_or(1),
            cp: self.cp.unwrap_or(1),
            dp: self.dp.unwrap_or(1),
            ep: self.ep.unwrap_or(1),
            pp,
            batch: self.batch.unwrap_or(1),
            in_flight: self.in_flight.unwrap_or(pp),
            replicas: self.replicas.unwrap_or(1),
            ..Layout::SINGLE
        }
    }

    /// Whether a replica is divided as decided.
    pub fn allows(self, layout: Layout) -> bool {
        let given = |asked: Option<u32>, degree| asked.is_none_or(|asked| asked == degree);
        given(self.tp, layout.tp)
            && given(self.cp, layout.cp)
            && given(self.dp, layout.dp)
            && given(self.ep, layout.ep)
            && given(self.pp, layout.pp)
    }

    /// The layout with the smallest micro-batches that carry `users` on its replicas, as many in
    /// flight as there are stages, but no more than there are users for.
    #[must_use]
    pub fn carrying(self, users: u64, layout: Layout, overlap: Overlap) -> Layout {
        let resident = if overlap == Overlap::TwoBatch { 2 } else { 1 };
        let of_replica = users.div_ceil(u64::from(layout.replicas) * resident).max(1);
        let of_replica = u32::try_from(of_replica).unwrap_or(u32::MAX);
        let in_flight = self.in_flight.unwrap_or_else(|| layout.pp.min(of_replica));
        let batch = self.batch.unwrap_or_else(|| of_replica.div_ceil(in_flight));
        Layout {
            batch,
            in_flight,
            ..layout
        }
    }
}
