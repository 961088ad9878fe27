//! The cheapest way to cover one demand in one period, at given prices.
//!
//! A demand is a load duration curve: *steps*, the highest first, each to be met when `losses` of
//! the largest losses at work have happened. *Kept* copies are at work in all steps, *rented* ones
//! are paid for in each step by itself. It is the pricing problem of the column generation of
//! `planopt fleet`: prices are those of the hardware, of which no more is asked here.
//!
//! For each loss that may be the largest of the kept copies (a *class*), kept copies are added kind
//! by kind, the best value first; of sums, those stay that no other one beats in supply and cost. A
//! sum goes as soon as what is missing, bought in fractions from the kinds to come or rented, makes
//! it no cheaper than the best cover so far. To each sum the cheapest rent of each step is added,
//! looked up in the sums of rented copies.
//!
//! *Every* cover below a price is found by the same bound, but no sum beats another: what is dearer
//! at these prices may use less of what is scarce. Only a cover that takes no less of any hardware
//! and no less rent than another one is left out.

use std::collections::BTreeMap;

use crate::quantity::real;

/// Sums of kept copies beyond which a search is given up, with a bound that holds.
const MOST_SUMS: usize = 200_000;

/// Room for rounding in bounds that are worked out in floating point.
const SAFETY: f64 = 1.0 - 1e-9;

/// One kind of copies that can help to cover a demand.
#[derive(Clone, Debug)]
pub struct Way {
    /// Hardware; ways of one kit that are kept draw on the same copies.
    pub kit: u32,
    /// What a copy gives; more than 0.
    pub supply: u64,
    /// What a failure takes.
    pub loss: u64,
    /// Most copies.
    pub most: u32,
    /// Price of a copy: one for all steps if it is kept, or one for each step.
    pub price: Price,
}

/// What a copy costs.
#[derive(Clone, Debug)]
pub enum Price {
    /// Kept in all steps.
    Kept(u64),
    /// Rented in each step by itself.
    Rented(Vec<u64>),
}

/// Copies that cover a demand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cover {
    /// Kept copies, by the place of their way.
    pub kept: Vec<(usize, u32)>,
    /// Rented copies, by the place of their way and by step.
    pub rented: Vec<(usize, usize, u32)>,
}

/// What a search came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cheapest {
    /// No cover costs less.
    pub bound: u64,
    /// The cheapest that costs less than what was known.
    pub cover: Option<Cover>,
}

/// Finds the cheapest cover that costs less than `below`.
///
/// # Panics
///
/// If a rented way has another number of prices than there are steps.
pub fn cheapest_cover(steps: &[u64], losses: u64, ways: &[Way], below: u64) -> Cheapest {
    let mut search = Search::new(steps, losses, ways, below);
    let mut bound = u64::MAX;
    for class in 0..search.classes.len() {
        bound = bound.min(search.cover_with(class));
    }
    Cheapest {
        bound: search.best.min(bound),
        cover: search.cover,
    }
}

/// Finds all covers that cost less than `below`, but for those that another one beats in whatever
/// they take; none if they are more than can be looked at.
///
/// Of each step but the first, rent is the cheapest.
///
/// # Panics
///
/// If a rented way has another number of prices than there are steps.
#[must_use]
pub fn every_cover(steps: &[u64], losses: u64, ways: &[Way], below: u64) -> Option<Vec<Cover>> {
    let search = Search::new(steps, losses, ways, below);
    let mut every = Every {
        search: &search,
        found: BTreeMap::new(),
        looks: MOST_SUMS,
    };
    for class in 0..search.classes.len() {
        every.cover_with(class)?;
    }
    Some(every.unbeaten())
}

/// A sum of copies of some ways.
#[derive(Clone, Debug, Default)]
struct Sum {
    supply: u64,
    cost: u64,
    copies: Vec<(usize, u32)>,
}

struct Search<'a> {
    steps: &'a [u64],
    ways: &'a [Way],
    /// What failures take, ascending: the losses that may be the largest.
    classes: Vec<u64>,
    /// By class and step, sums of rented copies that lose no more: supply and cost ascend.
    rents: Vec<Vec<Vec<Sum>>>,
    /// Least rent of a unit of supply in each step.
    rent_ratios: Vec<f64>,
    losses: u64,
    best: u64,
    cover: Option<Cover>,
}

impl<'a> Search<'a> {
    fn new(steps: &'a [u64], losses: u64, ways: &'a [Way], below: u64) -> Self {
        let mut classes: Vec<u64> = ways.iter().map(|way| losses * way.loss).collect();
        classes.sort_unstable();
        classes.dedup();
        let mut search = Self {
            steps,
            ways,
            classes,
            rents: Vec::new(),
            rent_ratios: Vec::new(),
            losses,
            best: below,
            cover: None,
        };
        search.rents = (0..search.classes.len())
            .map(|class| {
                (0..steps.len())
                    .map(|step| search.rented_sums(class, step))
                    .collect()
            })
            .collect();
        search.rent_ratios = (0..steps.len())
            .map(|step| {
                let ratios = ways.iter().filter_map(|way| match &way.price {
                    Price::Rented(prices) => Some(ratio(prices[step], way.supply)),
                    Price::Kept(_) => None,
                });
                ratios.fold(f64::INFINITY, f64::min)
            })
            .collect();
        search
    }

    /// Places and prices of ways that lose no more than a class; of one kit, those that no other
    /// way of it beats in supply and price.
    fn within(&self, class: usize, price: impl Fn(&Way) -> Option<u64>) -> Vec<(usize, u64)> {
        let allowed: Vec<(usize, u64)> = self
            .ways
            .iter()
            .enumerate()
            .filter(|(_, way)| self.losses * way.loss <= self.classes[class])
            .filter_map(|(place, way)| price(way).map(|price| (place, price)))
            .collect();
        let beaten = |&(place, price): &(usize, u64)| {
            let way = &self.ways[place];
            allowed.iter().any(|&(other, cost)| {
                let rival = &self.ways[other];
                let as_good = cost <= price && rival.supply >= way.supply;
                let better = cost < price || rival.supply > way.supply || other < place;
                rival.kit == way.kit && other != place && as_good && better
            })
        };
        let mut kept: Vec<_> = allowed
            .iter()
            .filter(|each| !beaten(each))
            .copied()
            .collect();
        kept.sort_by(|one, other| {
            let [one, other] = [one, other].map(|each| self.value(Some(each)));
            one.total_cmp(&other)
        });
        kept
    }

    /// What a unit of supply costs of a way at a price; beyond all that there are, no price.
    fn value(&self, way: Option<&(usize, u64)>) -> f64 {
        way.map_or(f64::INFINITY, |&(place, price)| {
            ratio(price, self.ways[place].supply)
        })
    }

    fn rented_sums(&self, class: usize, step: usize) -> Vec<Sum> {
        let top = self.steps[step] + self.classes[class];
        let mut sums = vec![Sum::default()];
        for (place, price) in self.rented(class, step) {
            let more = added(&sums, place, &self.ways[place], price, top, |_| true);
            sums = unbeaten(sums, more);
        }
        sums
    }

    fn kept(&self, class: usize) -> Vec<(usize, u64)> {
        self.within(class, |way| match way.price {
            Price::Kept(price) => Some(price),
            Price::Rented(_) => None,
        })
    }

    fn rented(&self, class: usize, step: usize) -> Vec<(usize, u64)> {
        self.within(class, |way| match &way.price {
            Price::Rented(prices) => Some(prices[step]),
            Price::Kept(_) => None,
        })
    }

    /// Supply beyond which no more is of use.
    fn top(&self, class: usize) -> u64 {
        self.steps
            .first()
            .map_or(0, |&peak| peak + self.classes[class])
    }

    /// Looks for covers whose kept copies lose no more than a class; returns a bound of them.
    fn cover_with(&mut self, class: usize) -> u64 {
        let (top, kept) = (self.top(class), self.kept(class));
        let mut sums = vec![Sum::default()];
        self.complete(class, &sums[0]);
        for (at, &(place, price)) in kept.iter().enumerate() {
            let [here, next] = [at, at + 1].map(|at| self.value(kept.get(at)));
            let worthwhile = |sum: &Sum| self.least(class, sum, here.min(next)) < self.best;
            let more = added(&sums, place, &self.ways[place], price, top, worthwhile);
            sums = unbeaten(sums, more);
            for sum in &sums {
                self.complete(class, sum);
            }
            sums.retain(|sum| self.least(class, sum, next) < self.best);
            if sums.len() > MOST_SUMS {
                return self.least(class, &Sum::default(), self.value(kept.first()));
            }
        }
        self.best
    }

    /// What no cover with these kept copies costs less than, if more of them cost `kept_ratio` for
    /// each unit of supply.
    fn least(&self, class: usize, sum: &Sum, kept_ratio: f64) -> u64 {
        let there = sum.supply;
        let needs = self
            .steps
            .iter()
            .map(|&demand| (demand + self.classes[class]).saturating_sub(there))
            .map(real);
        // A sum of convex pieces: its least value is at one of their corners.
        let with = |kept: f64| {
            let paid = if kept > 0.0 { kept * kept_ratio } else { 0.0 };
            let rents = needs.clone().zip(&self.rent_ratios);
            paid + rents
                .filter(|&(need, _)| need > kept)
                .map(|(need, &rent)| (need - kept) * rent)
                .sum::<f64>()
        };
        let least = needs.clone().map(with).fold(with(0.0), f64::min);
        sum.cost.saturating_add(rounded_down(least * SAFETY))
    }

    /// Adds the cheapest rent of each step to kept copies, and keeps the cover if it is the best.
    fn complete(&mut self, class: usize, sum: &Sum) {
        let mut cost = sum.cost;
        let mut chosen: Vec<&Sum> = Vec::with_capacity(self.steps.len());
        for step in 0..self.steps.len() {
            let Some(rent) = self.rent(class, step, sum.supply) else {
                return;
            };
            cost = cost.saturating_add(rent.cost);
            if cost >= self.best {
                return;
            }
            chosen.push(rent);
        }
        let rented = chosen.iter().enumerate().flat_map(|(step, rent)| {
            rent.copies
                .iter()
                .map(move |&(place, copies)| (place, step, copies))
        });
        let cover = Cover {
            kept: sum.copies.clone(),
            rented: rented.collect(),
        };
        self.best = cost;
        self.cover = Some(cover);
    }

    /// The cheapest rented copies that make up what is missing in a step.
    fn rent(&self, class: usize, step: usize, supply: u64) -> Option<&Sum> {
        (class..self.classes.len())
            .filter_map(|largest| {
                let need = (self.steps[step] + self.classes[largest]).saturating_sub(supply);
                let sums = &self.rents[largest][step];
                sums.get(sums.partition_point(|sum| sum.supply < need))
            })
            .min_by_key(|sum| sum.cost)
    }
}

/// What tells covers apart: kept copies, and rented ones at the peak.
type Copies = (Vec<(usize, u32)>, Vec<(usize, u32)>);

/// All covers that cost less than what is asked for.
struct Every<'a> {
    search: &'a Search<'a>,
    /// Rent of the other steps, and their copies.
    found: BTreeMap<Copies, (u64, Vec<&'a Sum>)>,
    /// Sums that may still be looked at.
    looks: usize,
}

impl Every<'_> {
    fn cover_with(&mut self, class: usize) -> Option<()> {
        let peaks: Vec<Vec<Sum>> = (class..self.search.classes.len())
            .map(|largest| self.peak_rents(largest))
            .collect::<Option<_>>()?;
        let kept = self.search.kept(class);
        self.extend(class, &peaks, &kept, Sum::default())
    }

    /// All sums of rented copies at the peak.
    fn peak_rents(&mut self, class: usize) -> Option<Vec<Sum>> {
        let (search, top) = (self.search, self.search.top(class));
        let mut sums = vec![Sum::default()];
        for (place, price) in search.rented(class, 0) {
            let worthwhile = |sum: &Sum| sum.cost < search.best;
            let more = added(&sums, place, &search.ways[place], price, top, worthwhile);
            self.looks = self.looks.checked_sub(more.len())?;
            sums.extend(more);
        }
        Some(sums)
    }

    /// Adds copies of the ways to come; tells whether all could be looked at.
    fn extend(
        &mut self,
        class: usize,
        peaks: &[Vec<Sum>],
        ways: &[(usize, u64)],
        sum: Sum,
    ) -> Option<()> {
        self.looks = self.looks.checked_sub(1)?;
        let search = self.search;
        let Some((&(place, price), rest)) = ways
            .split_first()
            .filter(|_| sum.supply < search.top(class))
        else {
            self.complete(class, peaks, &sum);
            return Some(());
        };
        let next = search.value(rest.first());
        let is_open = |sum: &Sum| search.least(class, sum, next) < search.best;
        if is_open(&sum) {
            self.extend(class, peaks, rest, sum.clone())?;
        }
        let (way, here) = (&search.ways[place], search.value(ways.first()));
        let worthwhile = |sum: &Sum| search.least(class, sum, here) < search.best;
        let more = added(&[sum], place, way, price, search.top(class), worthwhile);
        for sum in more.into_iter().filter(is_open) {
            self.extend(class, peaks, rest, sum)?;
        }
        Some(())
    }

    /// Adds to kept copies each rent of the peak with none too many.
    fn complete(&mut self, class: usize, peaks: &[Vec<Sum>], sum: &Sum) {
        let search = self.search;
        let Some(others) = (1..search.steps.len())
            .map(|step| search.rent(class, step, sum.supply))
            .collect::<Option<Vec<_>>>()
        else {
            return;
        };
        let rent: u64 = others.iter().map(|rent| rent.cost).sum();
        for (largest, sums) in (class..).zip(peaks) {
            let need = search.top(largest).saturating_sub(sum.supply);
            let enough = |peak: &&Sum| {
                let spare = peak.supply.checked_sub(need);
                let least = peak
                    .copies
                    .iter()
                    .map(|&(place, _)| search.ways[place].supply);
                spare.is_some_and(|spare| least.min().is_none_or(|least| spare < least))
            };
            for peak in sums.iter().filter(enough) {
                if sum.cost.saturating_add(rent).saturating_add(peak.cost) < search.best {
                    let copies = (sum.copies.clone(), peak.copies.clone());
                    let known = self.found.entry(copies).or_insert((rent, others.clone()));
                    if rent < known.0 {
                        *known = (rent, others.clone());
                    }
                }
            }
        }
    }

    /// Covers than which no other one takes less or as much of all hardware and rent.
    fn unbeaten(&self) -> Vec<Cover> {
        let ways = &self.search.ways;
        let first_of = |place: usize| ways.iter().position(|way| way.kit == ways[place].kit);
        let kits: Vec<usize> = (0..ways.len()).filter_map(first_of).collect();
        let takes = |(kept, peak): &Copies| {
            let mut of_kit = vec![0; 2 * ways.len()];
            for &(place, copies) in kept {
                of_kit[kits[place]] += copies;
            }
            for &(place, copies) in peak {
                of_kit[ways.len() + kits[place]] += copies;
            }
            of_kit
        };
        let all: Vec<_> = self
            .found
            .iter()
            .map(|(copies, (rent, others))| (takes(copies), *rent, copies, others))
            .collect();
        // Those that take fewer copies in all come first: none is beaten by a later one.
        let mut order: Vec<usize> = (0..all.len()).collect();
        order.sort_by_key(|&at| (all[at].0.iter().sum::<u32>(), all[at].1));
        let mut kept: Vec<usize> = Vec::new();
        for at in order {
            let (of_kit, rent, ..) = &all[at];
            let beats = |other: &usize| {
                let (less, cheaper, ..) = &all[*other];
                cheaper <= rent && less.iter().zip(of_kit).all(|(less, more)| less <= more)
            };
            if !kept.iter().any(beats) {
                kept.push(at);
            }
        }
        kept.into_iter()
            .map(|at| {
                let (.., (copies, peak), others) = &all[at];
                let at_peak = peak.iter().map(|&(place, copies)| (place, 0, copies));
                let later = others.iter().enumerate().flat_map(|(step, rent)| {
                    let rented = rent.copies.iter();
                    rented.map(move |&(place, copies)| (place, step + 1, copies))
                });
                Cover {
                    kept: copies.clone(),
                    rented: at_peak.chain(later).collect(),
                }
            })
            .collect()
    }
}

fn ratio(price: u64, supply: u64) -> f64 {
    real(price) / real(supply)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a bound is positive, and what exceeds the type is as large as can be"
)]
fn rounded_down(bound: f64) -> u64 {
    bound as u64
}

/// Sums with copies of one more way, as long as they lack something and are worthwhile.
fn added(
    sums: &[Sum],
    place: usize,
    way: &Way,
    price: u64,
    top: u64,
    worthwhile: impl Fn(&Sum) -> bool,
) -> Vec<Sum> {
    let mut more = Vec::new();
    for sum in sums {
        let mut next = sum.clone();
        next.copies.push((place, 0));
        for copies in 1..=way.most {
            if next.supply >= top {
                break;
            }
            next.supply += way.supply;
            next.cost = next.cost.saturating_add(price);
            if let Some(last) = next.copies.last_mut() {
                last.1 = copies;
            }
            // Then neither are more copies of it.
            if !worthwhile(&next) {
                break;
            }
            more.push(next.clone());
        }
    }
    more
}

/// Of all sums those that no other one beats, by supply.
fn unbeaten(mut sums: Vec<Sum>, more: Vec<Sum>) -> Vec<Sum> {
    sums.extend(more);
    sums.sort_by(|one, other| (other.supply, one.cost).cmp(&(one.supply, other.cost)));
    let mut least = u64::MAX;
    sums.retain(|sum| {
        let cheaper = sum.cost < least;
        least = least.min(sum.cost);
        cheaper
    });
    sums.reverse();
    sums
}

#[cfg(test)]
mod tests {
    use super::{Cheapest, Cover, Price, Way, cheapest_cover, every_cover};

    const NO_LIMIT: u64 = u64::MAX;

    fn kept(kit: u32, supply: u64, loss: u64, price: u64, most: u32) -> Way {
        Way {
            kit,
            supply,
            loss,
            most,
            price: Price::Kept(price),
        }
    }

    fn rented(kit: u32, supply: u64, prices: &[u64]) -> Way {
        Way {
            kit,
            supply,
            loss: supply,
            most: 9,
            price: Price::Rented(prices.to_vec()),
        }
    }

    #[test]
    fn a_few_large_and_many_small_ones_are_put_together() {
        let ways = [kept(0, 10, 10, 90, 9), kept(1, 3, 3, 30, 9)];
        let found = cheapest_cover(&[16], 0, &ways, NO_LIMIT);
        assert_eq!(found.bound, 150);
        let cover = found.cover.unwrap_or_default();
        assert_eq!(cover.kept, [(0, 1), (1, 2)]);
    }

    #[test]
    fn what_may_fail_is_there_once_more() {
        let ways = [kept(0, 10, 10, 90, 9), kept(1, 5, 5, 50, 9)];
        // Three small ones leave 10 when one fails; a large one takes all 10 with it.
        assert_eq!(cheapest_cover(&[10], 1, &ways, NO_LIMIT).bound, 150);
    }

    #[test]
    fn peaks_are_rented_and_the_base_is_kept() {
        let ways = [kept(0, 10, 0, 100, 9), rented(1, 10, &[20, 90])];
        let found = cheapest_cover(&[30, 10], 0, &ways, NO_LIMIT);
        assert_eq!(found.bound, 140);
        let cover = found.cover.unwrap_or_default();
        assert_eq!((cover.kept, cover.rented), (vec![(0, 1)], vec![(1, 0, 2)]));
    }

    #[test]
    fn every_cover_is_there_unless_it_takes_more_than_another() {
        let ways = [kept(0, 6, 0, 100, 9), rented(1, 14, &[20, 90])];
        let found = every_cover(&[20, 10], 0, &ways, 400).unwrap_or_default();
        let told: Vec<_> = found
            .iter()
            .map(|each| (each.kept.len(), each.rented.clone()))
            .collect();
        let peak_and_later = vec![(1, 0, 1), (1, 1, 1)];
        assert_eq!(told.len(), 3);
        assert!(told.contains(&(0, vec![(1, 0, 2), (1, 1, 1)])));
        assert!(told.contains(&(1, peak_and_later)));
        // Two kept copies take more of them, but no rent after the peak; three take more.
        assert!(told.contains(&(1, vec![(1, 0, 1)])));
        assert_eq!(
            every_cover(&[20, 10], 0, &ways, 131).map(|all| all.len()),
            Some(1)
        );
        assert_eq!(
            every_cover(&[20, 10], 0, &ways, 130).map(|all| all.len()),
            Some(0)
        );
    }

    #[test]
    fn nothing_is_found_where_nothing_is_cheaper_or_enough() {
        let ways = [kept(0, 10, 0, 100, 2)];
        let nothing = |bound| Cheapest { bound, cover: None };
        assert_eq!(cheapest_cover(&[20], 0, &ways, 200), nothing(200));
        assert_eq!(cheapest_cover(&[21], 0, &ways, 900), nothing(900));
    }

    #[test]
    fn layouts_of_one_kit_draw_on_the_same_copies() {
        let ways = [kept(0, 10, 4, 100, 2), kept(0, 9, 3, 100, 2)];
        assert_eq!(cheapest_cover(&[25], 0, &ways, NO_LIMIT).cover, None);
        let cover = Cover {
            kept: vec![(1, 2)],
            rented: vec![],
        };
        assert_eq!(cheapest_cover(&[15], 1, &ways, NO_LIMIT).cover, Some(cover));
    }
}
