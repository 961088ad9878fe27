//! What a purchase must supply and what it must stay within: exact arithmetic, which answers of a
//! solver are checked against.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::redundancy::Redundancy;
use super::rows::{Resources, Rows};
use crate::quantity::Exact;

/// What a purchase must supply, and what it must stay within.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Users served at the same time.
    pub users: u64,
    /// Total throughput; 0 for none.
    pub tokens_per_second: f64,
    /// Price of all.
    pub budget_micro_usd: Option<i128>,
    /// Purchase money, where prices are those of an hour.
    pub capital_micro_usd: Option<i128>,
    /// Draw of all.
    pub power_watts: Option<f64>,
    /// Height of all.
    pub rack_units: Option<f64>,
    /// Accelerators bought.
    pub accelerators: Option<i128>,
    /// Accelerators that can be had, by id; those not named have no limit.
    pub stock: BTreeMap<String, i128>,
    /// Parts that are there already, by id: no more of them are free.
    pub owned: BTreeMap<String, i128>,
    /// What may fail with all that is asked still given.
    pub redundancy: Redundancy,
}

/// A number as it is kept: whole, or a figure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Number {
    /// Money, and what is counted.
    Whole(i64),
    /// What is measured.
    Figure(f64),
}

impl From<Number> for Exact {
    fn from(number: Number) -> Self {
        match number {
            Number::Whole(whole) => Self::from(whole),
            Number::Figure(figure) => Self::of(figure),
        }
    }
}

/// An upper limit, and what each row needs of it.
pub(crate) struct Need<'r> {
    /// Name, such as `budget` or `stock:rtx-4090`.
    pub(crate) group: String,
    pub(crate) limit: Exact,
    of: Of<'r>,
}

enum Of<'r> {
    Money(&'r [i64]),
    Figures(&'r [f64]),
    /// None where no row needs it.
    Resource(&'r Resources, Option<u32>),
}

impl Need<'_> {
    pub(crate) fn of(&self, row: usize) -> Number {
        match self.of {
            Of::Money(money) => Number::Whole(money[row]),
            Of::Figures(figures) => Number::Figure(figures[row]),
            Of::Resource(resources, place) => {
                Number::Whole(place.map_or(0, |place| resources.need(row, place)))
            }
        }
    }
}

/// A limit that a purchase breaks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Broken {
    /// Its name.
    pub group: String,
    /// By how much, in its own unit.
    pub by: Exact,
}

impl Limits {
    /// Whether one demand is all that decides which purchase is the cheapest: nothing but the budget
    /// limits it, and one kind of failure at most must leave that demand.
    pub(crate) fn carries_one_demand(&self) -> bool {
        let Self {
            users,
            tokens_per_second,
            budget_micro_usd: _,
            capital_micro_usd,
            power_watts,
            rack_units,
            accelerators,
            stock,
            owned,
            redundancy,
        } = self;
        // Whatever carries any load has a user.
        (*tokens_per_second <= 0.0 || *users <= 1)
            && redundancy.failures().count() <= 1
            && redundancy.loss <= 0.0
            && stock.is_empty()
            && owned.is_empty()
            && capital_micro_usd.is_none()
            && accelerators.is_none()
            && power_watts.is_none()
            && rack_units.is_none()
    }

    /// Upper limits that are set, each with what rows need of it.
    pub(crate) fn needs<'r>(&self, rows: &'r Rows) -> Vec<Need<'r>> {
        let columns = &rows.columns;
        let mut needs = Vec::new();
        let mut limited = |group: &str, limit: Option<Exact>, of: Of<'r>| {
            if let Some(limit) = limit {
                let group = group.to_owned();
                needs.push(Need { group, limit, of });
            }
        };
        let whole = |limit: Option<i128>| limit.map(Exact::from);
        let figure = |limit: Option<f64>| limit.map(Exact::of);
        let resource = |name: &str| Of::Resource(&rows.resources, rows.resources.place(name));
        let money = Of::Money(&columns.price_micro_usd);
        limited("budget", whole(self.budget_micro_usd), money);
        let money = Of::Money(&columns.capital_micro_usd);
        limited("purchase", whole(self.capital_micro_usd), money);
        let figures = Of::Figures(&columns.power_watts);
        limited("power", figure(self.power_watts), figures);
        let figures = Of::Figures(&columns.rack_units);
        limited("racks", figure(self.rack_units), figures);
        let all = Resources::ACCELERATORS;
        limited(all, whole(self.accelerators), resource(all));
        for (kind, parts) in [
            (Resources::STOCK, &self.stock),
            (Resources::OWNED, &self.owned),
        ] {
            for (name, most) in parts {
                let group = format!("{kind}{name}");
                limited(&group, Some(Exact::from(*most)), resource(&group));
            }
        }
        needs
    }

    /// The limits that a purchase breaks, and by how much: demands first, then what is scarce.
    pub fn broken(&self, rows: &Rows, counts: &[(u32, u64)]) -> Vec<Broken> {
        self.broken_of(&self.needs(rows), rows, counts)
    }

    pub(crate) fn broken_of(
        &self,
        needs: &[Need],
        rows: &Rows,
        counts: &[(u32, u64)],
    ) -> Vec<Broken> {
        let mut broken = Vec::new();
        let mut missing = |group: &str, by: Exact| {
            if by.is_positive() {
                let group = group.to_owned();
                broken.push(Broken { group, by });
            }
        };
        let of_part = |row: &u32, parts| Exact::from(rows.columns.part_users(*row as usize, parts));
        let standing = |row: &u32| rows.standing(*row as usize);
        let demand = Exact::from(self.users);
        let users = self.redundancy.left(&demand, counts, standing, of_part);
        missing("concurrency", &demand - &users);
        if self.tokens_per_second > 0.0 {
            let tokens = self.tokens_left(rows, counts);
            missing("throughput", &Exact::of(self.tokens_per_second) - &tokens);
        }
        for need in needs {
            let used = sum(counts, |row| Exact::from(need.of(row)));
            missing(&need.group, &used - &need.limit);
        }
        broken
    }

    /// Tokens per second that are left of a purchase after the worst that may fail.
    pub(crate) fn tokens_left(&self, rows: &Rows, counts: &[(u32, u64)]) -> Exact {
        let of_part = |row: &u32, parts| Exact::of(rows.columns.part_tokens(*row as usize, parts));
        let standing = |row: &u32| rows.standing(*row as usize);
        let demand = Exact::of(self.tokens_per_second);
        self.redundancy.left(&demand, counts, standing, of_part)
    }

    /// Copies of one row that meet the demands alone; none if that is beyond any count.
    pub(crate) fn enough(&self, rows: &Rows, row: usize) -> Option<u64> {
        let (columns, standing) = (&rows.columns, rows.standing(row));
        let demand = Exact::of(self.tokens_per_second);
        let for_users = self.redundancy.copies(standing, |parts| {
            Some(self.users.div_ceil(columns.part_users(row, parts).max(1)))
        });
        let for_tokens = self.redundancy.copies(standing, |parts| {
            demand.times_at_least(&Exact::of(columns.part_tokens(row, parts)))
        });
        Some(for_users?.max(for_tokens?).max(1))
    }
}

/// Copies of one row that the upper limits allow; none if there is no limit.
pub(crate) fn possible(needs: &[Need], row: usize) -> Option<u64> {
    let allowed = needs.iter().filter_map(|need| {
        let of_one = Exact::from(need.of(row));
        let limited = of_one.is_positive();
        limited.then(|| need.limit.times_at_most(&of_one).unwrap_or(u64::MAX))
    });
    allowed.min()
}

fn sum(counts: &[(u32, u64)], of: impl Fn(usize) -> Exact) -> Exact {
    counts.iter().fold(Exact::default(), |sum, (row, count)| {
        &sum + &(&of(*row as usize) * &Exact::from(*count))
    })
}
