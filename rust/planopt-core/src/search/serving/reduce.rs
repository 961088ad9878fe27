//! Which of the units found can matter to a purchase, and which to its reader.
//!
//! A unit that copies of another one of the same accelerator replace without loss is in no best
//! purchase: the proof is in `super::undominated`, and holds for `k` copies as for one,
//! since everything that a purchase adds up is `k` times as much. It may still be one of the next-best builds that a plan shows, so the cheapest
//! builds of different hardware stay as well.

use super::found::FoundUnit;
use super::latency::whole;
use crate::hardware::Owned;
use crate::quantity::{MicroUsd, real};
use crate::search::redundancy::{Redundancy, Standing};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// What a whole purchase must supply.
#[derive(Clone, Copy, Debug, Default)]
pub struct Demand {
    /// Users at the same time.
    pub users: u64,
    /// Tokens per second of all.
    pub tokens_per_second: f64,
    /// What may fail.
    pub redundancy: Redundancy,
    /// Builds of different hardware to keep.
    pub builds: usize,
    /// Whether speed beyond the target counts for anything.
    pub speed: bool,
    /// What alone is sought, where nothing but a budget limits the purchase: what cannot be as good
    /// at it as copies of another unit is not looked at.
    pub aim: Option<Aim>,
    /// Whether every unit is kept, whatever beats or replaces it.
    pub every: bool,
}

/// What a purchase is best at, where nothing but a budget limits it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Aim {
    /// Fewest dollars per token.
    CostPerToken,
    /// Most tokens per second of each user.
    Latency,
    /// Least price of what is demanded.
    Price,
    /// Fewest dollars an hour of what is demanded.
    Hour,
}

impl Aim {
    /// What copies of a unit are at it, as many as are demanded: the less the better.
    pub(super) fn of(self, unit: &FoundUnit, demand: &Demand) -> f64 {
        let all = || real(copies(unit, demand));
        match self {
            Self::CostPerToken => unit.usd_per_hour / unit.tokens_per_second,
            Self::Latency => -unit.tokens_per_second_per_user,
            Self::Price => unit.price.usd() * all(),
            Self::Hour => unit.usd_per_hour * all(),
        }
    }

    /// Whether it is about what is demanded: a mix of units may then be better at it than copies of one.
    pub(super) fn is_demanded(self) -> bool {
        matches!(self, Self::Price | Self::Hour)
    }
}

/// Keeps the units that no other one replaces, and the cheapest builds; by price.
pub(crate) fn reduce<'a>(mut units: Vec<FoundUnit<'a>>, demand: &Demand) -> Vec<FoundUnit<'a>> {
    if demand.every {
        return units;
    }
    units.sort_by(by_needs);
    let mut places: BTreeSet<usize> = match demand.aim {
        Some(aim) if !aim.is_demanded() => best_of_each_accelerator(&units, aim, demand),
        _ => unreplaced(&units, demand),
    };
    let builds: BTreeSet<usize> = cheapest_builds(&units, demand).into_iter().collect();
    places.extend(&builds);
    let kept = places.into_iter().map(|place| {
        let mut unit = units[place];
        unit.is_build = builds.contains(&place);
        unit
    });
    kept.collect()
}

/// Places of the units that no other one replaces, in their own order.
pub(crate) fn undominated(units: &[FoundUnit], redundancy: Redundancy) -> Vec<usize> {
    let mut order: Vec<usize> = (0..units.len()).collect();
    order.sort_by(|&one, &other| by_needs(&units[one], &units[other]));
    let sorted: Vec<FoundUnit> = order.iter().map(|&place| units[place]).collect();
    let demand = Demand {
        redundancy,
        ..Demand::default()
    };
    let kept = unreplaced(&sorted, &demand);
    let mut places: Vec<usize> = kept.into_iter().map(|place| order[place]).collect();
    places.sort_unstable();
    places
}

fn unreplaced(units: &[FoundUnit], demand: &Demand) -> BTreeSet<usize> {
    let speed = demand.speed;
    let worths: Vec<Worth> = units.iter().map(|unit| Worth::of(unit, speed)).collect();
    let mut kept = KeptBySpeed::new(&worths);
    let mut places = BTreeSet::new();
    for (place, unit) in units.iter().enumerate() {
        let worth = worths[place];
        if !kept.any(&worth, |other| replaces(&units[other], unit, demand)) {
            kept.push(worth, place);
            places.insert(place);
        }
    }
    places
}

/// What a unit gives for a dollar, and its speed where that counts. Copies that cost no more than
/// another unit, and give no less, are worth no less: most pairs need no closer look.
#[derive(Clone, Copy, Debug)]
struct Worth {
    tokens: f64,
    users: f64,
    speed: f64,
}

impl Worth {
    const LEAST: Self = Self {
        tokens: 0.0,
        users: 0.0,
        speed: 0.0,
    };

    fn of(unit: &FoundUnit, speed: bool) -> Self {
        let price = unit.price.usd();
        Self {
            tokens: unit.tokens_per_second / price,
            users: real(unit.users) / price,
            speed: if speed {
                unit.tokens_per_second_per_user
            } else {
                0.0
            },
        }
    }

    fn no_less_than(&self, other: &Self) -> bool {
        const BELOW_ROUNDING: f64 = 1.0 - 1e-9;
        self.speed >= other.speed
            && self.tokens >= other.tokens * BELOW_ROUNDING
            && self.users >= other.users * BELOW_ROUNDING
    }

    fn most(self, other: Self) -> Self {
        Self {
            tokens: self.tokens.max(other.tokens),
            users: self.users.max(other.users),
            speed: self.speed.max(other.speed),
        }
    }
}

/// Units that are kept, in bands of speed: what is little faster than a unit is the likeliest to
/// replace it, since whatever is much faster gives less for a dollar.
struct KeptBySpeed {
    /// Slowest speed of each band, ascending.
    bounds: Vec<f64>,
    bands: Vec<Band>,
}

struct Band {
    /// The most of each figure in it.
    most: Worth,
    kept: Vec<(Worth, usize)>,
}

impl KeptBySpeed {
    /// About the square root of the units that one host keeps, some tens of thousands.
    const BANDS: usize = 256;

    fn new(worths: &[Worth]) -> Self {
        let mut speeds: Vec<f64> = worths.iter().map(|worth| worth.speed).collect();
        speeds.sort_unstable_by(f64::total_cmp);
        let of_one = speeds.len().div_ceil(Self::BANDS).max(1);
        let mut bounds: Vec<f64> = speeds.chunks(of_one).map(|band| band[0]).collect();
        bounds.dedup();
        let empty = || Band {
            most: Worth::LEAST,
            kept: Vec::new(),
        };
        let bands = std::iter::repeat_with(empty).take(bounds.len()).collect();
        Self { bounds, bands }
    }

    fn band(&self, speed: f64) -> usize {
        let slower = self.bounds.partition_point(|&bound| bound <= speed);
        slower.saturating_sub(1)
    }

    fn push(&mut self, worth: Worth, place: usize) {
        let band = self.band(worth.speed);
        let band = &mut self.bands[band];
        band.most = band.most.most(worth);
        band.kept.push((worth, place));
    }

    /// Whether `holds` of any unit that is worth no less.
    fn any(&self, worth: &Worth, holds: impl Fn(usize) -> bool) -> bool {
        self.bands[self.band(worth.speed)..]
            .iter()
            .filter(|band| band.most.no_less_than(worth))
            .flat_map(|band| &band.kept)
            .any(|(other, place)| other.no_less_than(worth) && holds(*place))
    }
}

fn best_of_each_accelerator(units: &[FoundUnit], aim: Aim, demand: &Demand) -> BTreeSet<usize> {
    let mut best: BTreeMap<&str, usize> = BTreeMap::new();
    for (place, unit) in units.iter().enumerate() {
        let kept = best
            .entry(&unit.unit.hardware.accelerator.id)
            .or_insert(place);
        if aim.of(unit, demand) < aim.of(&units[*kept], demand) {
            *kept = place;
        }
    }
    best.into_values().collect()
}

/// Less of what is paid for first, more of what it gives next: what replaces comes before.
fn by_needs(one: &FoundUnit, other: &FoundUnit) -> Ordering {
    one.price
        .cmp(&other.price)
        .then(one.usd_per_hour.total_cmp(&other.usd_per_hour))
        .then(one.power.0.total_cmp(&other.power.0))
        .then(other.tokens_per_second.total_cmp(&one.tokens_per_second))
        .then(other.users.cmp(&one.users))
}

/// Whether copies of `one` need no more of anything than `other` and give no less of everything.
fn replaces(one: &FoundUnit, other: &FoundUnit, demand: &Demand) -> bool {
    let slower = one.tokens_per_second_per_user < other.tokens_per_second_per_user;
    let is_same = one.unit.hardware.accelerator.id == other.unit.hardware.accelerator.id;
    if !is_same || (demand.speed && slower) {
        return false;
    }
    let copies = copies_giving(one, other);
    let times = f64::from(copies);
    u64::from(copies) <= MOST_COPIES
        && needs_no_more_owned(one, other, copies)
        && loses_no_more(one, other, times, demand.redundancy)
        && one.price * copies <= other.price
        && one.usd_per_hour * times <= other.usd_per_hour
        && one.power * times <= other.power
        && one.rack_units * times <= other.rack_units
        && u64::from(one.unit.accelerators_bought()) * u64::from(copies)
            <= u64::from(other.unit.accelerators_bought())
}

/// Whether copies of `one` fall into no fewer parts that fail one at a time.
fn loses_no_more(one: &FoundUnit, other: &FoundUnit, times: f64, redundancy: Redundancy) -> bool {
    let in_parts = |found: &FoundUnit| Standing::from(&found.unit).in_parts(redundancy);
    let mut parts = in_parts(one).into_iter().zip(in_parts(other));
    parts.all(|(mine, theirs)| mine * times >= theirs)
}

/// Whether copies of `one` take no more of what is there already.
fn needs_no_more_owned(one: &FoundUnit, other: &FoundUnit, copies: u32) -> bool {
    let (mine, theirs) = (one.unit.owned(), other.unit.owned());
    let hosts = [one, other].map(|found| &found.unit.hardware.host.id);
    mine.times_within(copies, theirs) && (mine.hosts == 0 || hosts[0] == hosts[1])
}

/// More copies than anybody would compare; it keeps the products within their types.
const MOST_COPIES: u64 = 1 << 16;

/// The fewest copies of `one` that give no less users, replicas and tokens than `other`.
fn copies_giving(one: &FoundUnit, other: &FoundUnit) -> u32 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a ratio of positive numbers; what saturates is not a replacement"
    )]
    let for_tokens = (other.tokens_per_second / one.tokens_per_second).ceil() as u32;
    let for_users = other.users.div_ceil(one.users.max(1));
    let for_replicas = other.unit.replicas.div_ceil(one.unit.replicas.max(1));
    u32::try_from(for_users)
        .unwrap_or(u32::MAX)
        .max(for_replicas)
        .max(for_tokens)
}

/// What a build is told by: its accelerator, whether it is rented, and what of it is there already.
type Kind<'u> = (&'u str, bool, Owned);

/// The cheapest way of meeting the demand with copies of one unit, of each kind: of hosts, networks
/// and layouts the cheapest.
fn cheapest_builds(units: &[FoundUnit], demand: &Demand) -> Vec<usize> {
    let mut builds: Vec<(MicroUsd, f64, Kind, usize)> = units
        .iter()
        .enumerate()
        .map(|(place, unit)| {
            let copies = copies(unit, demand);
            let price = MicroUsd(unit.price.0.saturating_mul(copies.cast_signed()));
            let per_token = unit.usd_per_hour / unit.tokens_per_second;
            (price, per_token, kind(unit), place)
        })
        .collect();
    builds.sort_by(|one, other| {
        one.0
            .cmp(&other.0)
            .then(one.1.total_cmp(&other.1))
            .then(one.2.cmp(&other.2))
    });
    let mut seen = BTreeSet::new();
    builds
        .into_iter()
        .filter(|(_, _, kind, _)| seen.insert(*kind))
        .map(|(_, _, _, place)| place)
        .take(demand.builds)
        .collect()
}

/// Copies of one unit that meet the demand alone; beyond a 32-bit count nobody builds.
fn copies(unit: &FoundUnit, demand: &Demand) -> u64 {
    let carrying = |parts: u32| {
        let of_part = (unit.users / u64::from(parts)).max(1);
        let tokens_of_part = unit.tokens_per_second / f64::from(parts);
        let for_tokens = u64::from(whole((demand.tokens_per_second / tokens_of_part).ceil()));
        Some(demand.users.div_ceil(of_part).max(for_tokens))
    };
    let copies = demand.redundancy.copies((&unit.unit).into(), carrying);
    let most = u64::from(u32::MAX);
    copies.map_or(most, |copies| copies.clamp(1, most))
}

fn kind<'u>(found: &FoundUnit<'u>) -> Kind<'u> {
    let hardware = &found.unit.hardware;
    let is_rented = hardware.host.rent.is_some();
    (&hardware.accelerator.id, is_rented, found.unit.owned())
}
