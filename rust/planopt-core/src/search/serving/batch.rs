//! Which batches of a layout are worth considering.
//!
//! Memory grows with the batch, and so does the step, while the step per sequence falls: the
//! smooth efficiency sees to that (`docs/reference/model.md`, section 3). So among the batches that
//! meet the target the largest has the most users and the most throughput, and it is found by
//! bisection instead of by trying them all.

use super::goal::{BatchPolicy, Goal};
use crate::parallel::Batching;
use crate::serving::Replica;
use std::collections::BTreeSet;

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
    let (smallest, capacity) = room(replica, goal, in_flight, None, count)?;
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
        let decode = replica.decode(Batching { batch, in_flight });
        decode.tokens_per_second_per_user
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
            BatchPolicy::LargestOfEach => {
                let fast = (smallest + 1..=capacity).filter(|&batch| speed(batch) >= target);
                vec![fast.max().unwrap_or(smallest)]
            }
            BatchPolicy::Each(most) => std::iter::once(smallest)
                .chain((smallest + 1..=capacity.min(most)).filter(|&batch| speed(batch) >= target))
                .collect(),
            BatchPolicy::SharesOf(users) => {
                // Beside other units, as many users as it can have.
                let most = bisect(smallest, capacity, |batch| speed(batch) >= target);
                let mut batches = shares(users, in_flight);
                batches.retain(|batch| (smallest..=most).contains(batch));
                batches.insert(most);
                batches.into_iter().collect()
            }
        })
    };
    count.evaluated += evaluated;
    found
}

/// The smallest batch that is asked for and the largest that fits, which may be `known`.
pub(super) fn room(
    replica: &Replica,
    goal: &Goal,
    in_flight: u32,
    known: Option<u32>,
    count: &mut Count,
) -> Result<(u32, u32), Miss> {
    let memory = |batch| replica.memory(Batching { batch, in_flight });
    let smallest = goal.batch.unwrap_or(1);
    let least = memory(smallest);
    if !least.fits() {
        count.covered += 1;
        return Err(Miss::Memory(least.total / least.capacity));
    }
    let fits = |batch| memory(batch).fits();
    let capacity = goal.batch.or(known);
    let capacity = capacity.unwrap_or_else(|| largest(smallest, fits));
    count.covered += u64::from(capacity - smallest) + 1;
    Ok((smallest, capacity))
}

/// The batches of `in_flight` micro-batches with which 1, 2, 3 ... replicas serve `users`, each
/// once: there are about twice as many as the root of `users`.
fn shares(users: u64, in_flight: u32) -> BTreeSet<u32> {
    let mut batches = BTreeSet::new();
    let mut replicas = 1;
    while replicas <= users {
        let of_one = users.div_ceil(replicas);
        let batch = of_one.div_ceil(u64::from(in_flight));
        batches.insert(u32::try_from(batch).unwrap_or(u32::MAX));
        if of_one == 1 {
            break;
        }
        // The fewest replicas that leave each of them with fewer users than that.
        replicas = users.div_ceil(of_one - 1);
    }
    batches
}

/// The largest batch from `known` on for which `holds` does, which is monotone.
pub(crate) fn largest(known: u32, holds: impl Fn(u32) -> bool) -> u32 {
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

#[cfg(test)]
mod tests {
    use super::shares;

    #[test]
    fn users_are_shared_evenly_among_any_number_of_replicas() {
        // 10 users on 1, 2, 3 ... replicas: 10, 5, 4, 3 (on 4), 2 (on 5) and 1 each.
        assert_eq!(
            shares(10, 1).into_iter().collect::<Vec<_>>(),
            [1, 2, 3, 4, 5, 10]
        );
        // Two micro-batches in flight: 5, 3 (of 5 users), 2 (of 4 and of 3) and 1.
        assert_eq!(shares(10, 2).into_iter().collect::<Vec<_>>(), [1, 2, 3, 5]);
    }

    #[test]
    fn every_share_is_found() {
        for users in 1..200u64 {
            for in_flight in 1..5 {
                let each = (1..=users)
                    .map(|replicas| users.div_ceil(replicas).div_ceil(u64::from(in_flight)));
                let each: std::collections::BTreeSet<u32> = each
                    .map(|batch| u32::try_from(batch).expect("small"))
                    .collect();
                assert_eq!(shares(users, in_flight), each, "{users} users");
            }
        }
    }
}
