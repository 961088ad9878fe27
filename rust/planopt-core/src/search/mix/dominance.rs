//! Templates that no best fleet needs.
//!
//! A *template* is one way of meeting a demand with copies of something that is bought, owned or
//! rented. Within a *pool* (one demand, one kind of accelerator, one way of acquiring it) template
//! `c` replaces `d` if `k` copies of `c` need no more of anything than one `d` and give no less,
//! `k` being `supply(d) / supply(c)` rounded up, and if no less is left of them after a failure:
//! `k supply(c) - loss(c) >= supply(d) - loss(d)`. (A host with more replicas loses more with them,
//! and is still better than one with fewer.)
//!
//! *No optimum is lost* where one failure must be borne, or none. Put `k` copies of `c` in place of
//! each `d`, in every period and hour. What is paid or limited does not rise, and since both draw on
//! one stock, neither does what is taken of it. Supply does not fall. If a copy of `c` fails, what is
//! left of it and the others that stand for one `d` is no less than what was left of that `d`, and
//! all else supplies no less than before; if anything else fails, what stands for `d` is no less than
//! `d`. So the demand is still met whatever fails. The same holds of the copies chosen for a demand
//! alone. The relation is transitive (`ceil(r s) <= ceil(r) ceil(s)`), and of templates that replace
//! each other the one that comes first is kept: so each template dropped is replaced by one that is
//! kept. (Where more failures must be borne they are counted at the largest loss, whatever it is of:
//! then the caller has to put templates of different losses into different pools.)
//!
//! Across pools nothing is dropped: where stock is short, the dear accelerator is useful. Where
//! hardware outlives the demand that it is bought for (several periods), a pool is one kit: another
//! kit could not take over what else the hardware is put to later.

use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Templates as columns; all figures are whole numbers of the caller's units.
#[derive(Clone, Copy, Debug)]
pub struct Templates<'a> {
    /// Demand, accelerator and way of acquiring, as one number.
    pub pool: &'a [u32],
    /// What a copy gives; more than 0.
    pub supply: &'a [u64],
    /// What a failure takes.
    pub loss: &'a [u64],
    /// What a copy needs, a column for each thing that is paid or limited.
    pub needs: &'a [Vec<u64>],
}

/// The places of the templates that no other one replaces, ascending.
///
/// # Panics
///
/// If the columns are of different lengths.
pub fn undominated(templates: &Templates<'_>) -> Vec<usize> {
    let mut pools: BTreeMap<u32, Vec<Template>> = BTreeMap::new();
    for (place, &pool) in templates.pool.iter().enumerate() {
        let template = Template {
            needs: templates.needs.iter().map(|need| need[place]).collect(),
            supply: templates.supply[place],
            loss: templates.loss[place],
            place,
        };
        pools.entry(pool).or_default().push(template);
    }
    let mut kept: Vec<usize> = pools.into_values().flat_map(front).collect();
    kept.sort_unstable();
    kept
}

struct Template {
    needs: Vec<u64>,
    supply: u64,
    loss: u64,
    place: usize,
}

/// Templates of one pool that none of the others replaces.
///
/// One that replaces another needs no more of anything, so it comes before it by needs; where needs
/// are equal, it gives more or loses less.
fn front(mut pool: Vec<Template>) -> Vec<usize> {
    pool.sort_unstable_by(|one, other| {
        let rest = |each: &Template| (Reverse(each.supply), each.loss, each.place);
        one.needs
            .cmp(&other.needs)
            .then_with(|| rest(one).cmp(&rest(other)))
    });
    let mut kept: Vec<&Template> = Vec::new();
    for template in &pool {
        if !kept.iter().any(|better| better.replaces(template)) {
            kept.push(template);
        }
    }
    kept.into_iter().map(|template| template.place).collect()
}

impl Template {
    fn replaces(&self, other: &Self) -> bool {
        let copies = other.supply.div_ceil(self.supply.max(1));
        let fits = |(&need, &room): (&u64, &u64)| {
            need.checked_mul(copies).is_some_and(|total| total <= room)
        };
        // Copies may fail together, so that more is lost than one of them supplies.
        let left = |supply: u64, loss: u64| i128::from(supply) - i128::from(loss);
        let no_less_left = copies
            .checked_mul(self.supply)
            .is_some_and(|supply| left(supply, self.loss) >= left(other.supply, other.loss));
        no_less_left && self.needs.iter().zip(&other.needs).all(fits)
    }
}

#[cfg(test)]
mod tests {
    use super::{Templates, undominated};

    fn kept(pool: &[u32], supply: &[u64], loss: &[u64], needs: &[Vec<u64>]) -> Vec<usize> {
        undominated(&Templates {
            pool,
            supply,
            loss,
            needs,
        })
    }

    #[test]
    fn two_small_ones_replace_a_large_one_that_needs_twice_as_much() {
        let needs = [vec![100, 200], vec![4, 8]];
        assert_eq!(kept(&[0, 0], &[5, 10], &[5, 10], &needs), [0]);
    }

    #[test]
    fn copies_are_whole() {
        let needs = [vec![100, 200]];
        assert_eq!(kept(&[0, 0], &[5, 11], &[5, 11], &needs), [0, 1]);
    }

    #[test]
    fn a_fuller_host_replaces_an_emptier_one_though_it_loses_more() {
        assert_eq!(kept(&[0, 0], &[9, 8], &[9, 8], &[vec![1, 1]]), [0]);
    }

    #[test]
    fn what_leaves_less_after_a_failure_replaces_nothing() {
        assert_eq!(kept(&[0, 0], &[9, 8], &[9, 4], &[vec![1, 1]]), [0, 1]);
    }

    #[test]
    fn more_lost_together_is_no_replacement_though_both_lose_more_than_they_give() {
        assert_eq!(kept(&[0, 0], &[9, 9], &[90, 18], &[vec![1, 2]]), [0, 1]);
    }

    #[test]
    fn nothing_is_dropped_across_pools() {
        assert_eq!(kept(&[0, 1], &[9, 1], &[1, 1], &[vec![1, 9]]), [0, 1]);
    }

    #[test]
    fn of_equals_the_first_stays() {
        assert_eq!(
            kept(&[0, 0, 0], &[7, 7, 7], &[7, 7, 7], &[vec![3, 3, 3]]),
            [0]
        );
    }

    #[test]
    fn figures_too_large_to_multiply_are_no_replacement() {
        let needs = [vec![u64::MAX / 2, u64::MAX]];
        assert_eq!(kept(&[0, 0], &[1, 3], &[1, 3], &needs), [0, 1]);
    }
}
