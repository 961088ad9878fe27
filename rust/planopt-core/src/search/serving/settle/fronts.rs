//! The cheapest purchase of columns that carry a demand together: exact, and without a solver.
//!
//! All sums of price and rate that no cheaper sum reaches, made by merging a list with itself,
//! shifted by one more copy, column by column. Sums that cannot become cheaper than a purchase that
//! is known are dropped: what is missing costs no less than by the cheapest rate of all.

use crate::quantity::real;
use std::collections::BTreeMap;

/// A column: so much money for so much rate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    /// Place in the caller's list.
    pub(crate) place: usize,
    /// In millionths of a dollar.
    pub(crate) price: i64,
    /// Of the demand's unit.
    pub(crate) rate: f64,
    /// Parts that share it and fail one at a time; infinitely many where nothing of it fails.
    pub(crate) parts: f64,
}

impl Column {
    /// What each of its parts carries.
    fn of_part(&self) -> f64 {
        self.rate / self.parts
    }
}

/// First guess of the most that the best purchase costs, over the price of its rates: this share, or
/// half of the cheapest column; three times as much until one is found.
const ABOVE: f64 = 0.02;
const WIDER: f64 = 3.0;

/// A sum of columns: the last one that was added, and what it was added to.
#[derive(Clone, Copy)]
struct Sum {
    price: i64,
    rate: f64,
    column: usize,
    before: usize,
}

const NONE: usize = usize::MAX;

/// The cheapest purchase that carries `demand`, as counts by place, and its price; nothing if no
/// column carries anything, or if the best one is dearer than `most`.
#[expect(clippy::cast_precision_loss, reason = "prices stay below 2^53")]
pub(crate) fn cheapest(
    columns: &[Column],
    demand: f64,
    most: Option<i64>,
) -> Option<(BTreeMap<usize, u64>, i64)> {
    let columns = undominated(columns, demand, false);
    let least = |least: f64, column: &Column| least.min(column.price as f64 / column.rate);
    let per_rate = columns.iter().fold(f64::INFINITY, least);
    let cheapest = columns.iter().map(|column| column.price).min()?;
    let lowest = per_rate * demand;
    let mut above = (ABOVE * lowest).max(cheapest as f64 / 2.0);
    // Prices are whole: half of one is above what a price by its rates is rounded to.
    let limit = most.map_or(f64::INFINITY, |most| most as f64 + 0.5);
    loop {
        let top = (lowest + above).min(limit);
        if let Some(found) = within(&columns, demand, per_rate, top) {
            return Some(found);
        }
        if top >= limit {
            return None;
        }
        above *= WIDER;
    }
}

/// The cheapest purchase that carries `demand` with any `spare` parts gone. What is lost at worst is so
/// many times the rate of some part: each of these sizes is tried, and larger parts count as that
/// large. The largest is first: of small parts so many are needed that what is known soon rules them
/// out, and without that they would fill the memory.
pub(crate) fn cheapest_with_spare(
    columns: &[Column],
    demand: f64,
    spare: u64,
    mut most: Option<i64>,
) -> Option<(BTreeMap<usize, u64>, i64)> {
    if spare == 0 {
        return cheapest(columns, demand, most);
    }
    let columns = undominated(columns, demand, true);
    let mut sizes: Vec<f64> = columns.iter().map(Column::of_part).collect();
    sizes.sort_by(|one, other| other.total_cmp(one));
    sizes.dedup();
    let mut best = None;
    for size in sizes {
        let counted = |column: &Column| Column {
            rate: if column.parts.is_finite() {
                column.of_part().min(size) * column.parts
            } else {
                column.rate
            },
            ..*column
        };
        let columns: Vec<Column> = columns.iter().map(counted).collect();
        if let Some(found) = cheapest(&columns, demand + real(spare) * size, most) {
            most = Some(found.1 - 1);
            best = Some(found);
        }
    }
    best
}

/// The columns of which no copies of another one cost no more and carry as much, in as many parts
/// where some of these may fail.
fn undominated(columns: &[Column], demand: f64, may_fail: bool) -> Vec<Column> {
    let mut sorted: Vec<Column> = columns
        .iter()
        .filter(|column| column.rate > 0.0 && column.price > 0)
        .map(|column| {
            // What is beyond the demand is of no use.
            let parts = if may_fail { column.parts } else { 1.0 };
            Column {
                rate: column.rate.min(demand * parts),
                ..*column
            }
        })
        .collect();
    sorted.sort_by(|one, other| {
        let by_price = one.price.cmp(&other.price);
        let by_rate = other.rate.total_cmp(&one.rate);
        by_price.then(by_rate).then(one.place.cmp(&other.place))
    });
    let mut kept: Vec<Column> = Vec::new();
    for column in sorted {
        let replaces = |other: &Column| {
            let copies = real((column.price / other.price).unsigned_abs());
            let parts = copies * other.parts;
            copies * other.rate >= column.rate && (!may_fail || parts >= column.parts)
        };
        if !kept.iter().any(replaces) {
            kept.push(column);
        }
    }
    kept
}

#[expect(clippy::cast_precision_loss, reason = "prices stay below 2^53")]
fn within(
    columns: &[Column],
    demand: f64,
    per_rate: f64,
    top: f64,
) -> Option<(BTreeMap<usize, u64>, i64)> {
    let mut sums = vec![Sum {
        price: 0,
        rate: 0.0,
        column: NONE,
        before: NONE,
    }];
    // The front, as places among all sums, by price.
    let mut front = vec![0];
    let mut best: Option<usize> = None;
    for (at, column) in columns.iter().enumerate() {
        let mut merged: Vec<usize> = Vec::with_capacity(front.len() * 2);
        let (mut old, mut shifted) = (0, 0);
        let mut most = -1.0;
        loop {
            // The next sum by price: of the front, or of what is merged with one copy more.
            let next = merged.get(shifted).map(|&before| {
                let sum: Sum = sums[before];
                (sum.price + column.price, sum.rate + column.rate, before)
            });
            let place = match (front.get(old), next) {
                (Some(&place), Some((price, rate, _)))
                    if (sums[place].price, -sums[place].rate) <= (price, -rate) =>
                {
                    old += 1;
                    place
                }
                (Some(&place), None) => {
                    old += 1;
                    place
                }
                (_, Some((price, rate, before))) => {
                    shifted += 1;
                    let missing = (demand - rate).max(0.0);
                    let known = best.map_or(top, |best| sums[best].price as f64);
                    if rate <= most || price as f64 + per_rate * missing > known {
                        continue;
                    }
                    sums.push(Sum {
                        price,
                        rate,
                        column: at,
                        before,
                    });
                    sums.len() - 1
                }
                (None, None) => break,
            };
            let sum = sums[place];
            if sum.rate <= most {
                continue;
            }
            most = sum.rate;
            if sum.rate >= demand {
                if best.is_none_or(|best| sum.price < sums[best].price) {
                    best = Some(place);
                }
                continue;
            }
            merged.push(place);
        }
        front = merged;
    }
    let best = best?;
    let mut counts = BTreeMap::new();
    let mut at = best;
    while sums[at].column != NONE {
        *counts.entry(columns[sums[at].column].place).or_default() += 1;
        at = sums[at].before;
    }
    Some((counts, sums[best].price))
}

#[cfg(test)]
mod tests {
    use super::{Column, cheapest, cheapest_with_spare};
    use crate::quantity::real;
    use proptest::prelude::*;

    /// The least price of any counts, tried one after the other.
    fn brute(columns: &[Column], demand: f64) -> i64 {
        fn go(columns: &[Column], left: f64, spent: i64, best: &mut i64) {
            if left <= 0.0 {
                *best = (*best).min(spent);
                return;
            }
            let Some((first, others)) = columns.split_first() else {
                return;
            };
            let mut copies: i64 = 0;
            loop {
                let rate = real(copies.unsigned_abs()) * first.rate;
                let price = copies * first.price;
                if spent + price >= *best {
                    return;
                }
                go(others, left - rate, spent + price, best);
                if rate >= left {
                    return;
                }
                copies += 1;
            }
        }
        let mut best = i64::MAX;
        go(columns, demand, 0, &mut best);
        best
    }

    /// Every purchase of few enough copies, one after the other.
    fn least(
        columns: &[Column],
        counts: &mut Vec<u64>,
        spent: i64,
        best: &mut i64,
        holds: &dyn Fn(&[u64]) -> bool,
    ) {
        if spent >= *best {
            return;
        }
        if counts.len() == columns.len() {
            if holds(counts) {
                *best = spent;
            }
            return;
        }
        let price = columns[counts.len()].price;
        for copies in 0_u64.. {
            let spent = spent + copies.cast_signed() * price;
            if spent >= *best {
                return;
            }
            counts.push(copies);
            least(columns, counts, spent, best, holds);
            counts.pop();
        }
    }

    /// 66 times 7 / 3 * 3 is above 462 in doubles.
    #[test]
    fn a_purchase_may_cost_all_that_there_is() {
        let column = Column {
            place: 0,
            price: 7,
            rate: 3.0,
            parts: 1.0,
        };
        assert_eq!(
            cheapest(&[column], 198.0, Some(462)).map(|found| found.1),
            Some(462)
        );
        assert!(cheapest(&[column], 198.0, Some(461)).is_none());
    }

    proptest! {
        #[test]
        fn nothing_is_cheaper_than_the_cheapest(
            columns in prop::collection::vec((1_i64..60, 1_u32..80), 1..7),
            demand in 1_u32..300,
        ) {
            let columns: Vec<Column> = columns
                .iter()
                .enumerate()
                .map(|(place, (price, rate))| Column {
                    place,
                    price: *price,
                    rate: f64::from(*rate),
                    parts: 1.0,
                })
                .collect();
            let demand = f64::from(demand);
            let (counts, price) = cheapest(&columns, demand, None).expect("each carries something");
            let carried: f64 = counts.iter().map(|(at, n)| real(*n) * columns[*at].rate).sum();
            let paid: i64 = counts.iter().map(|(at, n)| n.cast_signed() * columns[*at].price).sum();
            prop_assert!(carried >= demand * (1.0 - 1e-9));
            prop_assert_eq!(paid, price);
            prop_assert_eq!(price, brute(&columns, demand));
            prop_assert!(cheapest(&columns, demand, Some(price - 1)).is_none());
            prop_assert!(cheapest(&columns, demand, Some(price)).is_some());
        }

        #[test]
        fn the_demand_is_carried_whichever_part_fails(
            columns in prop::collection::vec((1_i64..60, 0_u32..4, 1_u32..40), 1..5),
            demand in 1_u32..60,
            spare in 0_u64..2,
        ) {
            let demand = f64::from(demand);
            let columns: Vec<Column> = columns
                .iter()
                .enumerate()
                .map(|(place, (price, parts, of_one))| Column {
                    place,
                    price: *price,
                    rate: f64::from(of_one * parts.max(&1)),
                    // Nothing fails of what has none.
                    parts: if *parts == 0 { f64::INFINITY } else { f64::from(*parts) },
                })
                .collect();
            let left = |counts: &[u64]| {
                let used = || columns.iter().zip(counts).filter(|(_, n)| **n > 0);
                let all: f64 = used().map(|(column, n)| real(*n) * column.rate).sum();
                let largest = used().map(|(column, _)| column.of_part());
                all - real(spare) * largest.fold(0.0, f64::max)
            };
            let (counts, price) = cheapest_with_spare(&columns, demand, spare, None).expect("some");
            let found: Vec<u64> = (0..columns.len())
                .map(|place| counts.get(&place).copied().unwrap_or(0))
                .collect();
            prop_assert!(left(&found) >= demand * (1.0 - 1e-9));
            let mut best = price;
            least(&columns, &mut Vec::new(), 0, &mut best, &|counts| left(counts) >= demand);
            prop_assert_eq!(price, best);
        }
    }
}
