//! The loop that proves a plan: a bound, short simulations, and a final run.
//!
//! Each kind of replica has two rates: the largest that a simulation has shown to hold, and the
//! smallest that one has shown to violate the SLO, before that the most that no engine exceeds. A
//! purchase at the latter is cheaper than any plan that holds; one at the former is a plan. What the
//! cheaper one uses is looked at until the two meet. Estimates only say where to look first.

mod columns;
mod fronts;
mod judge;
mod kinds;
mod settling;

pub use self::columns::columns;
use self::fronts::{Column, cheapest_with_spare};
use self::judge::MOST_TOGETHER;
pub(super) use self::judge::{Verdict, look_of, shown};
pub use self::kinds::SettledPart;
use self::kinds::{Division, Kind, Kinds, NARROWED_AFTER, OfKind, rounded};
pub use self::settling::{Rated, Settling};
use super::found::FoundUnit;
use super::latency::whole;
use crate::quantity::{Exact, MicroUsd, real};
use crate::search::found::hour;
use crate::search::limits::Limits;
use crate::search::redundancy::Standing;
use crate::search::result::SearchResult;
use crate::search::serving::reduce::undominated;
use crate::serving::engine::{LoadReport, SessionsKept};
use rayon::prelude::*;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;

/// A purchase: how many of each unit, by place, and what it is worth: the less the better.
#[derive(Clone, Debug)]
pub struct Bought {
    /// How many of each.
    pub counts: BTreeMap<usize, u64>,
    /// Price, or what else is to be least.
    pub value: f64,
    /// No purchase is below it.
    pub bound: f64,
}

/// The best purchase of units, each with the place of its part.
pub(super) type Solver<'b> = dyn FnMut(&[(usize, FoundUnit<'_>)]) -> Option<Bought> + 'b;

/// Who finds the best purchase of units.
pub enum Buyer<'b> {
    /// The fronts of this module: the cheapest of what carries one demand.
    Fronts,
    /// A solver, which knows every limit.
    Solver(&'b mut Solver<'b>),
}

/// How a proof ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// Every better purchase has a rate that a run decided to violate the SLO, or one above the
    /// bound.
    Proven,
    /// Every better one has a rate that the longest look could not tell from one that violates it.
    Edge,
    /// The clock ended.
    Time,
    /// No purchase carries the load, whatever its rates within the bound.
    Nothing,
}

/// What is bought, and what is proven of it.
#[derive(Debug)]
pub struct Settled<'a> {
    /// How it ended.
    pub ended: Ended,
    /// What is bought; nothing where no purchase passed its final run.
    pub bought: Vec<Ran<'a>>,
    /// What the purchase is worth, in the unit of the objective: the less the better.
    pub value: Option<f64>,
    /// No purchase that holds is below it.
    pub bound: Option<f64>,
    /// Rates that runs decided to violate the SLO, of all kinds of which none above was bounded before.
    pub refused: Vec<Rated>,
    /// Millionths of a dollar that a unit of what is demanded costs at least, at rates not refused.
    pub least_per_demand: Option<f64>,
    /// Simulations, and their requests.
    pub simulations: u64,
    /// Requests of all of them.
    pub requests: u64,
    /// What was gathered.
    pub searched: Vec<SearchResult<FoundUnit<'a>>>,
}

/// Units that are bought, with their final run.
#[derive(Clone, Copy, Debug)]
pub struct Ran<'a> {
    /// Place of their part.
    pub part: usize,
    /// One of them.
    pub unit: FoundUnit<'a>,
    /// How many.
    pub count: u64,
    /// Users of all of them, where users wait for their answers.
    pub users: Option<u32>,
    /// What sessions keep on each, where these are who asks.
    pub kept: Option<SessionsKept>,
    /// What came of their share of the load.
    pub report: LoadReport,
}

/// Share of a value by which two purchases are as good as each other.
const AS_GOOD: f64 = 1e-9;

/// The same where rates themselves are sought, which are known no closer.
const RATES_AS_GOOD: f64 = 2e-3;

/// Divisions that are looked at at once, beside those of a purchase: always as many, so that what is
/// found is the same on any machine.
const AT_ONCE: usize = 8;

/// By how much dearer for what it supplies than a purchase a kind may be that is looked at closer with it:
/// what is not used of it may be next.
const NEARLY_AS_CHEAP: f64 = 1.5;

/// Halvings of the way from the rates that hold to those that are not refused.
const HALVINGS: usize = 20;

/// Purchases that are looked at closer, and that are run for as long as a plan needs, once the clock has
/// ended.
const LAST_TRIES: u32 = 2;

/// What has passed its final run.
type Passed<'a> = Option<(Bought, Vec<Ran<'a>>)>;

struct Loop<'l, 's, 'a> {
    parts: Vec<Kinds<'s, 'a>>,
    /// Place of the part of each kind.
    of_part: Vec<usize>,
    kinds: Vec<Kind>,
    units: Vec<OfKind<'a>>,
    /// Places of the kinds of each part that are divided alike.
    divisions: BTreeMap<(usize, Division), Vec<usize>>,
    settling: Settling<'s>,
    buyer: Buyer<'l>,
}

/// Which rate of each kind is counted with.
#[derive(Clone, Copy, PartialEq)]
enum At {
    /// What is shown to hold.
    Good,
    /// What is not refused.
    Worth,
    /// What no run decided to violate the SLO.
    NotViolating,
    /// So far from the first to the second.
    Between(f64),
}

/// Finds the best purchase that holds its promises when it is simulated, and proves what it can.
pub fn settle<'a>(
    parts: &[SettledPart<'_, 'a>],
    settling: Settling<'_>,
    buyer: Buyer<'_>,
) -> Settled<'a> {
    let mut all = Loop {
        parts: Vec::new(),
        of_part: Vec::new(),
        kinds: Vec::new(),
        units: Vec::new(),
        divisions: BTreeMap::new(),
        settling,
        buyer,
    };
    let limits = settling.limits;
    let are_all = !settling.most && limits.tokens_per_second <= 0.0;
    let users = are_all.then(|| real(limits.users));
    let mut searched = Vec::new();
    for &part in parts {
        let (of_part, kinds, units, result) = Kinds::of(part, users, settling);
        let before = all.kinds.len();
        for (place, kind) in kinds.iter().enumerate() {
            let alike = all.divisions.entry((all.parts.len(), kind.division()));
            alike.or_default().push(before + place);
        }
        all.units
            .extend(units.into_iter().map(|(kind, unit)| (before + kind, unit)));
        all.of_part.resize(before + kinds.len(), all.parts.len());
        all.kinds.extend(kinds);
        all.parts.push(of_part);
        searched.push(result);
    }
    let (ended, found, bound) = all.settled();
    // What nobody had the time to gather is in no bound.
    let is_whole = searched.iter().all(|result| !result.interrupted);
    let (ended, bound) = if is_whole {
        (ended, bound)
    } else {
        (Ended::Time, None)
    };
    let least_per_demand = all.least_per_demand();
    let refused = all.refused();
    let sum = |of: fn(&Kinds<'_, 'a>) -> u64| all.parts.iter().map(of).sum();
    let requests = sum(|part| part.judge.requests.load(Ordering::Relaxed));
    Settled {
        ended,
        value: found.as_ref().map(|(bought, _)| bought.value),
        bought: found.map(|(_, runs)| runs).unwrap_or_default(),
        bound,
        refused,
        least_per_demand,
        simulations: settling.course.so_far().0,
        requests,
        searched,
    }
}

impl<'a> Loop<'_, '_, 'a> {
    /// How it ended, what is bought with its final runs, and what none that holds is below.
    fn settled(&mut self) -> (Ended, Passed<'a>, Option<f64>) {
        let close = if self.settling.most {
            RATES_AS_GOOD
        } else {
            AS_GOOD
        };
        let meet = |high: &Bought, low: f64| high.value <= low + close * low.abs();
        if !matches!(self.buyer, Buyer::Fronts) {
            self.sharpen(&(0..self.kinds.len()).collect());
        }
        self.look_at_guess();
        let mut passed: Passed<'a> = None;
        while !self.settling.course.is_over() {
            let Some(low) = self.buy(At::Worth) else {
                // What short looks left open may carry it after all.
                match self.buy(At::NotViolating) {
                    // A solver whose time is over finds none, and proves nothing.
                    None if self.settling.course.is_over() => break,
                    None => return (Ended::Nothing, None, None),
                    Some(open) if self.sharpen_used(&open, None) || self.look_again(&open) => {
                        continue;
                    }
                    Some(_) => return (Ended::Edge, None, None),
                }
            };
            let high = self.buy(At::Good);
            if self.sharpen_used(&low, high.as_ref()) {
                continue;
            }
            if let Some(high) = &high {
                self.settling.course.narrow(high.value, low.bound);
            }
            let high = match high {
                Some(high) if meet(&high, low.bound) => high,
                high => {
                    self.look(&low, high.as_ref());
                    continue;
                }
            };
            if !is_of(passed.as_ref(), &high) {
                let Some(runs) = self.last(&high) else {
                    continue;
                };
                passed = Some((high.clone(), runs));
            }
            let open = self.buy(At::NotViolating);
            if open
                .as_ref()
                .is_some_and(|open| self.sharpen_used(open, Some(&high)))
            {
                continue;
            }
            let bound = open.as_ref().map_or(low.bound, |open| open.bound);
            if meet(&high, bound) {
                return (Ended::Proven, passed, Some(bound));
            }
            if !open.is_some_and(|open| self.look_again(&open)) {
                return (Ended::Edge, passed, Some(bound));
            }
        }
        // The clock ended: what holds is told, with its distance from what was not refused.
        let mut open = self.buy(At::NotViolating);
        for _ in 0..LAST_TRIES {
            // What was looked at roughly bounds it too, less closely.
            if !open
                .as_ref()
                .is_some_and(|open| self.sharpen_used(open, None))
            {
                break;
            }
            open = self.buy(At::NotViolating);
        }
        let bound = open.map(|open| open.bound);
        for _ in 0..LAST_TRIES {
            let Some(high) = self.buy(At::Good) else {
                break;
            };
            if is_of(passed.as_ref(), &high) {
                break;
            }
            if let Some(runs) = self.last(&high) {
                return (Ended::Time, Some((high, runs)), bound);
            }
        }
        (Ended::Time, passed, bound)
    }

    /// The rates that were decided to violate the SLO, each by a unit of its kind.
    fn refused(&self) -> Vec<Rated> {
        let mut told = BTreeSet::new();
        let mut refused = Vec::new();
        for (kind, unit) in &self.units {
            let bracket = &self.kinds[*kind].bracket;
            if bracket.violating <= bracket.fluid && told.insert(*kind) {
                refused.push(Rated::of(self.of_part[*kind], unit, bracket.violating));
            }
        }
        refused
    }

    /// Millionths of a dollar that a token per second costs at least where these are demanded, else a
    /// user, at the rates that are not refused: the dual value of the demand, limits left out.
    fn least_per_demand(&mut self) -> Option<f64> {
        loop {
            let units = 0..self.units.len();
            let each = units.filter_map(|place| Some((self.per_demand(place)?, place)));
            let (least, place) = each.min_by(|one, other| one.0.total_cmp(&other.0))?;
            if !self.kinds[self.units[place].0].is_rough() {
                return Some(least);
            }
            self.sharpen(&self.rough_below(NEARLY_AS_CHEAP * least));
        }
    }

    /// Millionths of a dollar of a unit for each token per second that it supplies at a rate that is not
    /// refused, where these are demanded, else for each user.
    fn per_demand(&self, place: usize) -> Option<f64> {
        let unit = self.unit(place, At::NotViolating);
        let supply = if self.settling.limits.tokens_per_second > 0.0 {
            unit.tokens_per_second
        } else {
            real(unit.users)
        };
        let price = real(self.price(&unit).0.unsigned_abs());
        (supply > 0.0 && price > 0.0).then_some(price / supply)
    }

    /// Kinds that were looked at roughly, of which a unit is no dearer than this for what it supplies.
    fn rough_below(&self, most: f64) -> BTreeSet<usize> {
        let units = self.units.iter().enumerate();
        let rough = units.filter(|(_, (kind, _))| self.kinds[*kind].is_rough());
        let cheap = rough.filter(|(place, _)| self.per_demand(*place).is_some_and(|it| it <= most));
        cheap.map(|(_, (kind, _))| *kind).collect()
    }

    /// Looks closer at kinds that a purchase uses and were looked at roughly, and at all that are nearly
    /// as cheap, or as cheap as the one that holds; whether it uses any.
    fn sharpen_used(&mut self, bought: &Bought, high: Option<&Bought>) -> bool {
        let used = bought.counts.keys().map(|place| self.units[*place].0);
        let used: BTreeSet<usize> = used.filter(|kind| self.kinds[*kind].is_rough()).collect();
        if used.is_empty() {
            return false;
        }
        let limits = self.settling.limits;
        let demand = if limits.tokens_per_second > 0.0 {
            limits.tokens_per_second
        } else {
            real(limits.users)
        };
        // What carries the last of a demand may be dear for what it supplies: the next one would be as dear.
        let of_used = bought.counts.keys().filter_map(|at| self.per_demand(*at));
        let dearest = of_used.fold(bought.value / demand, f64::max);
        let nearly = NEARLY_AS_CHEAP * dearest;
        let enough = high.map_or(nearly, |high| nearly.max(high.value / demand));
        let nearly = self.rough_below(enough);
        self.sharpen(&used.union(&nearly).copied().collect());
        true
    }

    /// Looks closer at some kinds, and tells them what has been shown of those that they are behind.
    fn sharpen(&mut self, wanted: &BTreeSet<usize>) {
        let (parts, of_part) = (&self.parts, &self.of_part);
        self.kinds
            .par_iter_mut()
            .enumerate()
            .filter(|(place, kind)| kind.is_rough() && wanted.contains(place))
            .for_each(|(place, kind)| parts[of_part[place]].sharpen(kind));
        // Whoever has only heard is behind one that was looked at.
        for kind in 0..self.kinds.len() {
            if self.kinds[kind].was_looked_at() {
                self.tell(kind, wanted.iter().copied());
            }
        }
    }

    /// Looks longer at what a purchase leaves open, and where no look is longer at the rates above it, of
    /// which it is soon known that they violate the SLO.
    fn look_again(&mut self, bought: &Bought) -> bool {
        if self.look_closer(bought) {
            return true;
        }
        let is_closed = self.is_closed();
        let used: BTreeSet<usize> = bought.counts.keys().map(|at| self.units[*at].0).collect();
        let (parts, of_part) = (&self.parts, &self.of_part);
        let looked = self
            .kinds
            .par_iter_mut()
            .enumerate()
            .filter(|(place, _)| used.contains(place))
            .filter_map(|(place, kind)| Some((place, kind.bracket.above_open(is_closed)?, kind)))
            .map(|(place, rate, kind)| parts[of_part[place]].decide(kind, rate))
            .count();
        for kind in used {
            self.tell_those_behind(kind);
        }
        looked > 0
    }

    /// Takes longer looks at the kinds of a purchase that shorter ones have left open, and at those that
    /// are divided alike, of which the fastest comes first; whether there are any.
    fn look_closer(&mut self, bought: &Bought) -> bool {
        let kinds = bought.counts.keys().map(|at| self.units[*at].0);
        let alike = kinds.map(|kind| (self.of_part[kind], self.kinds[kind].division()));
        let alike: BTreeSet<_> = alike.collect();
        let kinds = alike.iter().flat_map(|division| &self.divisions[division]);
        let closer = kinds.filter(|kind| self.kinds[**kind].bracket.look_closer());
        closer.count() > 0
    }

    /// Finds the rates of what an estimate would buy: what is soon known to hold says what need not be
    /// looked at.
    fn look_at_guess(&mut self) {
        let mut guessed: BTreeMap<usize, Option<f64>> = BTreeMap::new();
        for (kind, unit) in &self.units {
            let (part, layout) = (self.of_part[*kind], self.kinds[*kind].layout());
            let mut guesses = self.settling.guess.iter();
            if let Some(guess) = guesses.find(|guess| guess.names(part, unit, layout)) {
                guessed.insert(*kind, guess.rate);
            }
        }
        self.sharpen(&guessed.keys().copied().collect());
        let (parts, of_part) = (&self.parts, &self.of_part);
        self.kinds
            .par_iter_mut()
            .enumerate()
            .filter_map(|(place, kind)| Some((place, kind, *guessed.get(&place)?)))
            .for_each(|(place, kind, rate)| parts[of_part[place]].look_at_guess(kind, rate));
    }

    fn is_closed(&self) -> bool {
        self.parts
            .first()
            .is_some_and(|part| part.judge.is_closed())
    }

    fn rate(&self, kind: &Kind, at: At) -> f64 {
        let is_closed = self.is_closed();
        let (good, worth) = (kind.bracket.good, kind.bracket.worth(is_closed));
        match at {
            At::Good => good,
            At::Worth => worth.max(good),
            At::NotViolating => kind.bracket.not_violating(is_closed).max(good),
            At::Between(share) => {
                let rate = good + share * (worth.max(good) - good);
                if is_closed { rate.ceil() } else { rate }
            }
        }
    }

    fn unit(&self, place: usize, at: At) -> FoundUnit<'a> {
        let (kind, unit) = &self.units[place];
        let rate = self.rate(&self.kinds[*kind], at);
        self.parts[self.of_part[*kind]].supplying(&self.kinds[*kind], unit, rate)
    }

    /// What a unit costs, in the money that is asked about.
    fn price(&self, unit: &FoundUnit) -> MicroUsd {
        if self.settling.hourly {
            hour(unit.usd_per_hour)
        } else {
            unit.price
        }
    }

    /// The best purchase at some rates.
    fn buy(&mut self, at: At) -> Option<Bought> {
        let there: Vec<usize> = (0..self.units.len())
            .filter(|&place| self.rate(&self.kinds[self.units[place].0], at) > 0.0)
            .collect();
        if let Buyer::Fronts = self.buyer {
            let (counts, price) = self.cheapest(&there, at)?;
            let value = real(price.unsigned_abs());
            return Some(Bought {
                counts,
                value,
                bound: value,
            });
        }
        let units: Vec<_> = there.iter().map(|&place| self.unit(place, at)).collect();
        let units: Vec<_> = undominated(&units, self.settling.limits.redundancy)
            .into_iter()
            .map(|each| (there[each], units[each]))
            .collect();
        let parts: Vec<_> = units
            .iter()
            .map(|(place, unit)| (self.of_part[self.units[*place].0], *unit))
            .collect();
        let Buyer::Solver(solver) = &mut self.buyer else {
            return None;
        };
        let bought = solver(&parts)?;
        let counts = bought
            .counts
            .iter()
            .map(|(row, count)| (units[*row].0, *count));
        Some(Bought {
            counts: counts.collect(),
            ..bought
        })
    }

    /// The cheapest purchase of some units at some rates.
    fn cheapest(&self, there: &[usize], at: At) -> Option<(BTreeMap<usize, u64>, i64)> {
        let limits = self.settling.limits;
        let budget = limits.budget_micro_usd;
        let most = budget.and_then(|most| i64::try_from(most).ok());
        let for_tokens = limits.tokens_per_second > 0.0;
        let columns = there.iter().map(|&place| {
            let (kind, unit) = &self.units[place];
            let part = &self.parts[self.of_part[*kind]];
            let kind = &self.kinds[*kind];
            let (users, tokens) = part.supplied(kind, self.rate(kind, at));
            let standing = Standing::from(&unit.unit);
            let rate = if for_tokens {
                tokens * unit.at_work()
            } else {
                f64::from(users) * f64::from(unit.unit.replicas)
            };
            Column {
                place,
                price: self.price(unit).0,
                rate,
                parts: standing.fewest_parts(limits.redundancy),
            }
        });
        let columns: Vec<Column> = columns.collect();
        let demand = if for_tokens {
            limits.tokens_per_second
        } else {
            real(limits.users)
        };
        // A solver buys where more than one kind of failure is to be borne.
        let failing = limits.redundancy.failures().next();
        let losses = failing.map_or(0, |(_, losses)| losses);
        cheapest_with_spare(&columns, demand, losses, most)
    }

    /// Looks at the kinds of a purchase that nobody has shown to hold, at the least rates at which it
    /// is one and beats what is known.
    fn look(&mut self, low: &Bought, high: Option<&Bought>) {
        let share = self.least_share(low, high);
        let mut used: BTreeMap<usize, (f64, Option<f64>)> = BTreeMap::new();
        for place in low.counts.keys() {
            let kind = self.units[*place].0;
            // Where rates themselves are sought, what holds is soon known to hold more.
            let known = self.settling.most && self.kinds[kind].bracket.good > 0.0;
            let share = if known {
                f64::midpoint(share, 1.0)
            } else {
                share
            };
            let rate = self.rate(&self.kinds[kind], At::Between(share));
            let to_beat = high.and_then(|high| self.rate_to_beat(*place, high));
            let rate = match to_beat {
                // What would just do, and what would just be cheaper: between them most is learned.
                Some(to_beat) if self.kinds[kind].bracket.good <= 0.0 => {
                    rate.min((to_beat * rate).sqrt())
                }
                _ => rate,
            };
            if rate > self.kinds[kind].bracket.good {
                used.insert(kind, (rate, to_beat));
            }
        }
        let untried = high.map_or_else(Vec::new, |high| self.untried(high));
        for (kind, of_it) in untried {
            used.entry(kind).or_insert(of_it);
        }
        let is_closed = self.is_closed();
        let is_first = high.is_none();
        // Where rates themselves are sought none is asked for, and none lies well below it.
        let is_most = self.settling.most;
        let used: BTreeMap<usize, (f64, Option<f64>)> = used
            .into_iter()
            .map(|(kind, of_it)| (self.fastest_open(kind, of_it.0), of_it))
            .collect();
        let (parts, of_part) = (&self.parts, &self.of_part);
        let wanted: Vec<_> = self
            .kinds
            .iter_mut()
            .enumerate()
            .filter_map(|(place, kind)| Some((place, kind, *used.get(&place)?)))
            .collect();
        wanted
            .into_par_iter()
            .for_each(|(place, kind, (rate, to_beat))| {
                let part = &parts[of_part[place]];
                let is_new = kind.bracket.good <= 0.0 && kind.bracket.violations == 0;
                if is_new && (is_first || (is_most && part.may_carry(kind, rate))) {
                    part.narrow(kind, rate);
                }
                let asked = rounded(rate, is_closed);
                if asked > kind.bracket.good && asked <= kind.bracket.worth(is_closed) {
                    let rate = kind.bracket.sought(asked, is_closed);
                    if is_most {
                        part.decide(kind, rate);
                    } else {
                        part.look(kind, rate, to_beat);
                    }
                }
                if kind.bracket.violations == NARROWED_AFTER && kind.bracket.good > 0.0 {
                    part.narrow(kind, rate);
                }
            });
        for kind in used.into_keys() {
            self.tell_those_behind(kind);
        }
    }

    /// The fastest replica of the division of a kind of which it is not known whether it carries a
    /// rate: if that violates the SLO, so do all that are behind it.
    fn fastest_open(&self, kind: usize, rate: f64) -> usize {
        let is_closed = self.is_closed();
        let rate = rounded(rate, is_closed);
        let is_open = |other: &Kind| {
            let Kind { bracket, .. } = other;
            bracket.good < rate && rate <= bracket.worth(is_closed)
        };
        let division = self.divisions[&(self.of_part[kind], self.kinds[kind].division())].iter();
        division.fold(kind, |fastest, &other| {
            let (known, other_kind) = (&self.kinds[fastest], &self.kinds[other]);
            let is_ahead = known.is_behind(other_kind) && !other_kind.is_behind(known);
            if is_ahead && is_open(other_kind) {
                other
            } else {
                fastest
            }
        })
    }

    /// A rate at which a kind violates the SLO violates it with those that are behind it, whatever their
    /// accelerators, which put out no more; one that is left open is asked of none that are divided alike
    /// before longer looks are taken.
    fn tell_those_behind(&mut self, kind: usize) {
        self.tell(kind, 0..self.kinds.len());
    }

    fn tell(&mut self, kind: usize, others: impl Iterator<Item = usize>) {
        let (shown, heard) = (self.kinds[kind].bracket, self.kinds[kind].heard.clone());
        let (part, division) = (self.of_part[kind], self.kinds[kind].division());
        for other in others {
            let is_it = other == kind || self.of_part[other] != part;
            if !is_it && self.kinds[other].is_behind(&self.kinds[kind]) {
                let is_alike = self.kinds[other].division() == division;
                self.kinds[other].stay_behind(&shown, &heard, is_alike);
            }
        }
    }

    /// Kinds that nobody has looked at though copies of them alone might beat what is known, one of a
    /// division, with the most that they may carry and the rate that this takes: each has to be looked at
    /// before anything is proven. Those of which least is asked come first, and none with one that it is
    /// behind: what is refused of that is refused of both.
    fn untried(&mut self, high: &Bought) -> Vec<(usize, (f64, Option<f64>))> {
        let rough = self.may_beat(high).into_iter().map(|(_, kind, _)| kind);
        let rough: BTreeSet<usize> = rough.filter(|kind| self.kinds[*kind].is_rough()).collect();
        self.sharpen(&rough);
        let mut untried = BTreeMap::new();
        for of_kind in self.may_beat(high) {
            let division = (self.of_part[of_kind.1], self.kinds[of_kind.1].division());
            untried.entry(division).or_insert(of_kind);
        }
        let mut untried: Vec<_> = untried.into_values().collect();
        untried.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
        let mut some: Vec<(usize, (f64, Option<f64>))> = Vec::new();
        for (to_beat, kind, most) in untried {
            let ahead = |(other, _): &(usize, _)| {
                self.of_part[*other] == self.of_part[kind]
                    && self.kinds[kind].is_behind(&self.kinds[*other])
            };
            if !some.iter().any(ahead) {
                some.push((kind, (most, Some(to_beat))));
            }
            if some.len() == AT_ONCE {
                break;
            }
        }
        some
    }

    /// Kinds of which nothing is known though copies of a unit might beat a purchase: the rate that this
    /// takes, the kind, and the most that it may carry.
    fn may_beat(&self, high: &Bought) -> Vec<(f64, usize, f64)> {
        let is_closed = self.is_closed();
        let units = self.units.iter().enumerate();
        let some = units.filter_map(|(place, (kind, _))| {
            let bracket = &self.kinds[*kind].bracket;
            let most = bracket.worth(is_closed);
            let to_beat = self
                .rate_to_beat(place, high)
                .filter(|_| !bracket.is_known())?;
            (to_beat <= most).then_some((to_beat, *kind, most))
        });
        some.collect()
    }

    /// The rate at which copies of a unit are a purchase that is just cheaper than one that is known.
    fn rate_to_beat(&self, place: usize, high: &Bought) -> Option<f64> {
        let (kind, unit) = &self.units[place];
        let Buyer::Fronts = self.buyer else {
            return None;
        };
        let price = self.price(unit);
        let copies = ((high.value - 1.0) / real(price.0.unsigned_abs())).floor();
        let part = &self.parts[self.of_part[*kind]];
        let limits = self.settling.limits;
        let replicas = f64::from(unit.unit.replicas);
        let losses = limits.redundancy.failures().next();
        let of_part = replicas / Standing::from(&unit.unit).fewest_parts(limits.redundancy);
        let lost = losses.map_or(0.0, |(_, losses)| real(losses) * of_part);
        let left = (copies * replicas - lost).max(1.0);
        let of_copies = if limits.tokens_per_second > 0.0 {
            let (_, tokens) = part.supplied(&self.kinds[*kind], 1.0);
            let of_replica = tokens * unit.at_work() / replicas;
            limits.tokens_per_second * (1.0 + AS_GOOD) / (left * of_replica)
        } else {
            (real(limits.users) / left).ceil()
        };
        (copies >= 1.0).then_some(of_copies)
    }

    /// The least share of the way to the rates that are not refused, at which a purchase carries
    /// what is demanded and is better than the one that is known.
    fn least_share(&self, low: &Bought, high: Option<&Bought>) -> f64 {
        let limits = self.settling.limits;
        let enough = |share: f64| {
            let units = low.counts.iter();
            let units: Vec<(FoundUnit, u64)> = units
                .map(|(place, count)| (self.unit(*place, At::Between(share)), *count))
                .collect();
            let of_all = |(unit, count): &(FoundUnit, u64)| unit.tokens_per_second * real(*count);
            let all: f64 = units.iter().map(of_all).sum();
            let users = left_of(limits, real(limits.users), &units, |unit| real(unit.users));
            let asked = limits.tokens_per_second;
            let tokens = left_of(limits, asked, &units, |unit| unit.tokens_per_second);
            let better = match high {
                Some(high) if self.settling.most => -all < high.value,
                _ => true,
            };
            let demanded = limits.tokens_per_second * (1.0 + AS_GOOD);
            let has_tokens = limits.tokens_per_second <= 0.0 || tokens >= Exact::of(demanded);
            better && users >= Exact::from(limits.users) && has_tokens
        };
        let (mut least, mut most) = (0.0, 1.0);
        for _ in 0..HALVINGS {
            let middle = f64::midpoint(least, most);
            if enough(middle) {
                most = middle;
            } else {
                least = middle;
            }
        }
        // Where rates themselves are sought, and nothing is known, any is enough: half of the most.
        if self.settling.most && high.is_none() {
            f64::midpoint(most, 1.0)
        } else {
            most
        }
    }

    /// Runs what a purchase is made of for as long as a plan needs, each at its share of the load;
    /// what fails loses its rate.
    fn last(&mut self, bought: &Bought) -> Option<Vec<Ran<'a>>> {
        let share = self.share_of_load(bought);
        let is_closed = self.is_closed();
        let of_counts = bought.counts.iter();
        let units: Vec<_> = of_counts
            .map(|(place, count)| (self.units[*place].0, self.unit(*place, At::Good), *count))
            .collect();
        let (parts, of_part, kinds) = (&self.parts, &self.of_part, &self.kinds);
        let runs: Vec<(Verdict, Ran<'a>)> = units
            .into_par_iter()
            .map(|(kind, unit, count)| {
                let part = of_part[kind];
                let replicas = count.saturating_mul(u64::from(unit.unit.replicas));
                let replicas = u32::try_from(replicas).unwrap_or(u32::MAX);
                let is_alone = parts[part].judge.is_alone();
                let some = replicas.min(if is_alone { 1 } else { MOST_TOGETHER });
                let rate = share * kinds[kind].bracket.good;
                let rate = if is_closed { rate.ceil() } else { rate };
                let (verdict, report) = parts[part].last(&kinds[kind], some, rate);
                let ran = Ran {
                    part,
                    unit,
                    count,
                    users: is_closed.then(|| whole(rate * f64::from(replicas))),
                    kept: parts[part].kept(&kinds[kind], rate),
                    report: report.of(replicas, some),
                };
                (verdict, ran)
            })
            .collect();
        // Where turns go from one to another, what is late beside others may hold among more of its own.
        let is_mixed = runs.len() > 1 && !parts.iter().all(|part| part.judge.is_alone());
        let failed = runs.iter().zip(bought.counts.keys());
        for ((verdict, _), place) in failed {
            if *verdict != Verdict::Good {
                let bracket = &mut self.kinds[self.units[*place].0].bracket;
                let shown = if is_mixed { Verdict::Open } else { *verdict };
                bracket.refuse(share * bracket.good, shown);
            }
        }
        let held = runs.iter().all(|(verdict, _)| *verdict == Verdict::Good);
        let runs: Vec<Ran> = runs.into_iter().map(|(_, ran)| ran).collect();
        (held && self.puts_out(bought, &runs)).then_some(runs)
    }

    /// Whether users who wait for their answers get as many tokens in the final run as are demanded;
    /// where not, it is these that count from now on.
    fn puts_out(&mut self, bought: &Bought, runs: &[Ran]) -> bool {
        let limits = self.settling.limits;
        if !self.is_closed() || limits.tokens_per_second <= 0.0 {
            return true;
        }
        let of_replica = |ran: &Ran| {
            let many = u64::from(ran.unit.unit.replicas) * ran.count;
            (ran.report.tokens_per_second / real(many), many)
        };
        let there = runs.iter().map(|ran| {
            let tokens_per_second = of_replica(ran).0 * ran.unit.at_work();
            let unit = FoundUnit {
                tokens_per_second,
                ..ran.unit
            };
            (unit, ran.count)
        });
        let there: Vec<_> = there.collect();
        let asked = limits.tokens_per_second;
        let tokens = left_of(limits, asked, &there, |unit| unit.tokens_per_second);
        let is_enough = tokens >= Exact::of(asked);
        if !is_enough {
            for (ran, place) in runs.iter().zip(bought.counts.keys()) {
                let bracket = &mut self.kinds[self.units[*place].0].bracket;
                bracket.tokens = of_replica(ran).0;
            }
        }
        is_enough
    }

    /// The load as a share of what a purchase is shown to carry; with replicas down, or where all
    /// that there is is sought, or so many tokens of users who wait, that is all of it.
    fn share_of_load(&self, bought: &Bought) -> f64 {
        let limits = self.settling.limits;
        let of_tokens = self.is_closed() && limits.tokens_per_second > 0.0;
        if self.settling.most || limits.redundancy.is_some() || of_tokens {
            return 1.0;
        }
        let (mut tokens, mut users) = (0.0, 0.0);
        for (place, count) in &bought.counts {
            let unit = self.unit(*place, At::Good);
            tokens += unit.tokens_per_second * real(*count);
            users += real(unit.users * count);
        }
        let demanded = if limits.tokens_per_second > 0.0 {
            limits.tokens_per_second / tokens
        } else {
            real(limits.users) / users
        };
        demanded.min(1.0)
    }
}

/// Whether what has passed is this purchase.
fn is_of(passed: Option<&(Bought, Vec<Ran>)>, bought: &Bought) -> bool {
    passed.is_some_and(|(known, _)| known.counts == bought.counts)
}

/// What is left of units after the worst that may fail.
fn left_of(
    limits: &Limits,
    demand: f64,
    bought: &[(FoundUnit, u64)],
    gives: impl Fn(&FoundUnit) -> f64,
) -> Exact {
    let standing = |unit: &FoundUnit| Standing::from(&unit.unit);
    let of_part = |unit: &FoundUnit, parts| Exact::of(gives(unit) / f64::from(parts));
    let demand = Exact::of(demand);
    limits.redundancy.left(&demand, bought, standing, of_part)
}
