//! How a model is divided among accelerators: the same fields for serving and for training.

use super::choices::{ContextParallel, Recompute, Schedule, Zero};
use super::degrees::Degrees;
use super::placement::Placement;
use super::rejection::Rejection;
use crate::load::serving::Overlap;
use crate::load::training::Recipe;
use serde::{Deserialize, Serialize};

/// Declares a layout once: the counts that a question about serving may fix, which are 1 where
/// nothing is said of them, and the choices beside them.
macro_rules! layout {
    (
        counts { $($(#[$of_count:meta])* $count:ident;)+ }
        choices { $($(#[$of_choice:meta])* $choice:ident: $kind:ty = $usual:expr;)+ }
    ) => {
        /// How a model is divided, and how its sequences circulate. What serving or training does
        /// not know is as in [`Layout::SINGLE`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub struct Layout {
            $($(#[$of_count])* pub $count: u32,)+
            $($(#[$of_choice])* pub $choice: $kind,)+
        }

        impl Layout {
            /// One accelerator, nothing divided.
            pub const SINGLE: Self = Self { $($count: 1,)+ $($choice: $usual,)+ };
        }

        /// What of a served layout is decided already.
        #[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
        #[serde(deny_unknown_fields, default)]
        pub struct Pins { $($(#[$of_count])* pub $count: Option<u32>,)+ }

        /// All of a layout that serving knows.
        impl From<Layout> for Pins {
            fn from(layout: Layout) -> Self {
                Self { $($count: Some(layout.$count),)+ }
            }
        }

        impl Pins {
            /// Each count by its name.
            pub(crate) fn counts(self) -> impl Iterator<Item = (&'static str, Option<u32>)> {
                [$((stringify!($count), self.$count),)+].into_iter()
            }

            /// The same with 1 where nothing is said, but of what is in flight.
            pub(crate) fn over_one(self) -> Self {
                let whole = Self::from(self.over(Layout::SINGLE));
                Self { in_flight: self.in_flight, ..whole }
            }

            /// What is decided, and the rest of `layout`.
            fn over(self, layout: Layout) -> Layout {
                Layout { $($count: self.$count.unwrap_or(layout.$count),)+ ..layout }
            }
        }
    };
}

layout! {
    counts {
        /// Tensor-parallel degree.
        tp;
        /// Context-parallel degree.
        cp;
        /// Data-parallel degree: ranks with sequences of their own that hold the dense weights again.
        dp;
        /// Expert-parallel degree.
        ep;
        /// Pipeline stages.
        pp;
        /// Sequences of a micro-batch.
        batch;
        /// Micro-batches that are in the pipeline at once, where an engine holds as many.
        in_flight;
        /// Copies of all of it.
        replicas;
    }
    choices {
        /// Chunks of layers of one stage.
        vpp: u32 = 1;
        /// Order of micro-batches.
        schedule: Schedule = Schedule::OneForwardOneBackward;
        /// How context-parallel ranks meet.
        context_parallel: ContextParallel = ContextParallel::Ring;
        /// Activations between tensor-parallel products are divided by sequence.
        sequence_parallel: bool = false;
        /// Experts are not divided by tensor parallelism: its ranks hold experts of their own.
        whole_experts: bool = false;
        /// What is recomputed.
        recompute: Recompute = Recompute::None;
        /// What data-parallel ranks share.
        zero: Zero = Zero::None;
        /// Ranks that shard among each other; none for all.
        shard_group: Option<u32> = None;
        /// The optimizer's state rests in the host.
        offload_optimizer: bool = false;
        /// Activations rest in the host between forward and backward.
        offload_activations: bool = false;
    }
}

/// Searches hold one for each candidate, and bulk spaces make one for each row.
const _: () = assert!(size_of::<Layout>() <= 64);

impl Layout {
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

    /// Ranks of a stage among which whole experts can be assigned.
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
        u64::from(self.batch) * u64::from(self.in_flight) * u64::from(overlap.batches())
    }
}

impl Pins {
    /// The layout that is decided: what is not given is 1, and in flight is a micro-batch for each
    /// stage.
    pub fn layout(self) -> Layout {
        self.over(Layout {
            in_flight: self.pp.unwrap_or(1),
            ..Layout::SINGLE
        })
    }

    /// Whether a replica is divided as decided.
    pub fn allows(self, layout: Layout) -> bool {
        let decided = self.over(layout);
        (decided.degrees(), decided.pp) == (layout.degrees(), layout.pp)
    }

    /// The layout with the smallest micro-batches that carry `users` on its replicas, as many in
    /// flight as there are stages, but no more than there are users for.
    #[must_use]
    pub fn carrying(self, users: u64, layout: Layout, overlap: Overlap) -> Layout {
        let resident = u64::from(layout.replicas) * u64::from(overlap.batches());
        let of_replica = users.div_ceil(resident).max(1);
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

#[cfg(test)]
mod tests {
    use super::{Layout, Pins};
    use crate::load::serving::Overlap;

    const PINS: Pins = Pins {
        tp: Some(4),
        cp: None,
        dp: None,
        ep: None,
        pp: Some(3),
        batch: None,
        in_flight: None,
        replicas: None,
    };

    #[test]
    fn what_is_not_given_is_one_and_each_stage_has_a_micro_batch() {
        let given = Layout {
            tp: 4,
            pp: 3,
            in_flight: 3,
            ..Layout::SINGLE
        };
        assert_eq!(PINS.layout(), given);
        assert_eq!(Pins::from(given).layout(), given);
    }

    #[test]
    fn pins_allow_what_differs_in_nothing_that_they_say() {
        let divided = PINS.layout();
        assert!(PINS.allows(Layout { ep: 4, ..divided }));
        assert!(!PINS.allows(Layout { pp: 2, ..divided }));
        // How sequences circulate divides nothing.
        let batch = Some(7);
        assert!(Pins { batch, ..PINS }.allows(divided));
    }

    #[test]
    fn users_are_carried_by_the_smallest_micro_batches() {
        let laid = Layout {
            pp: 2,
            replicas: 3,
            ..Layout::SINGLE
        };
        let carried = |pins: Pins, overlap| {
            let layout = pins.carrying(20, laid, overlap);
            (layout.batch, layout.in_flight)
        };
        // 7 of 20 users on the fullest of three replicas, in two micro-batches.
        assert_eq!(carried(PINS, Overlap::None), (4, 2));
        // Two batches are resident for each.
        assert_eq!(carried(PINS, Overlap::TwoBatch), (2, 2));
        let one = Pins {
            in_flight: Some(1),
            ..PINS
        };
        assert_eq!(carried(one, Overlap::None), (7, 1));
    }
}
