//! Which batches of a layout are worth considering.
//!
//! Memory grows with the batch, and so does the step, while the step per sequence falls: the
//! smooth efficiency sees to that (`docs/reference/model.md`, section 3). So among the batches that
//! meet the target the largest has the most users and the most throughput, and it is found by
//! bisection instead of by trying them all.

use crate::quantity::Seconds;
use crate::serving::{Batching, Replica};

/// What a layout must do for every user.
#[derive(Clone, Copy, Debug)]
pub struct Goal {
    /// Tokens per second of each user, at least.
    pub tokens_per_second_per_user: f64,
    /// Time to read a prompt alone, at most.
    pub prefill: Option<Seconds>,
    /// Batch, where it is given.
    pub batch: Option<u32>,
    /// Micro-batches in flight, where they are given; else one per stage.
    pub in_flight: Option<u32>,
    /// Which batches are kept.
    pub policy: BatchPolicy,
}

/// Which batches of a layout are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchPolicy {
    /// The largest that meets the goal.
    Largest,
    /// The largest that meets the goal, found by trying each: the check of [`Self::Largest`].
    LargestOfEach,
    /// Each that meets the goal, up to this many.
    Each(u32),
}

/// What became of the batches of a layout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Count {
    /// Batches that fit in memory, or 1 if none does.
    pub(crate) covered: u64,
    /// Of them, those whose speed was computed.
    pub(crate) evaluated: u64,
}

/// Why a layout has no batch to offer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Miss {
    /// Not even one sequence fits: bytes needed over capacity.
    Memory(f64),
    /// One sequence is too slow: its tokens per second.
    Target(f64),
    /// Reading a prompt alone takes this long.
    Prefill(f64),
}

/// Largest batch tried: no engine schedules more sequences in one step.
const LARGEST_BATCH: u32 = 1 << 16;

/// The batches of a layout that meet `goal`, in growing order.
pub(crate) fn batches(
    replica: &Replica,
    goal: &Goal,
    in_flight: u32,
    count: &mut Count,
) -> Result<Vec<u32>, Miss> {
    let batching = |batch| Batching { batch, in_flight };
    let fits = |batch| replica.memory(batching(batch)).fits();
    let smallest = goal.batch.unwrap_or(1);
    if !fits(smallest) {
        count.covered += 1;
        let memory = replica.memory(batching(smallest));
        return Err(Miss::Memory(memory.total / memory.capacity));
    }
    let capacity = if goal.batch.is_some() {
        smallest
    } else {
        largest(smallest, fits)
    };
    count.covered += u64::from(capacity - smallest) + 1;
    if let Some(limit) = goal.prefill {
        let seconds = replica.prefill().seconds;
        if seconds > limit {
            count.evaluated += 1;
            return Err(Miss::Prefill(seconds.0));
        }
    }
    let mut evaluated = 0;
    let mut speed = |batch| {
        evaluated += 1;
        replica.decode(batching(batch)).tokens_per_second_per_user
    };
    let target = goal.tokens_per_second_per_user;
    let slowest_allowed = speed(smallest);
    let found = if slowest_allowed < target {
        Err(Miss::Target(slowest_allowed))
    } else {
        Ok(match goal.policy {
            BatchPolicy::Largest => {
                vec![bisect(smallest, capacity, |batch| speed(batch) >= target)]
            }
            BatchPolicy::LargestOfEach => (smallest..=capacity)
                .filter(|&batch| speed(batch) >= target)
                .max()
                .into_iter()
                .collect(),
            BatchPolicy::Each(most) => (smallest..=capacity.min(most.max(smallest)))
                .filter(|&batch| speed(batch) >= target)
                .collect(),
        })
    };
    count.evaluated += evaluated;
    found
}

/// The largest batch from `known` on for which `holds` does, which is monotone.
fn largest(known: u32, holds: impl Fn(u32) -> bool) -> u32 {
    let mut beyond = known.saturating_mul(2);
    while beyond < LARGEST_BATCH && holds(beyond) {
        beyond = beyond.saturating_mul(2);
    }
    bisect(known, beyond.min(LARGEST_BATCH), holds)
}

/// The largest batch in `low..=high` for which `holds` does; it does for `low` and is monotone.
fn bisect(mut low: u32, mut high: u32, mut holds: impl FnMut(u32) -> bool) -> u32 {
    if low == high || holds(high) {
        return high;
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if holds(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}
