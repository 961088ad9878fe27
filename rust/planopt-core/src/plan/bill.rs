//! Bills of materials of whole purchases, and where each price comes from.

use std::collections::BTreeMap;

use crate::bill::BillLine;
use crate::catalog::{Catalog, Kind, PartKind, PriceTag, SoldAs, Status};
use crate::document::BomLine;
use crate::quantity::MicroUsd;

/// The lines of so many units, in whole micro-dollars until they are told.
#[derive(Clone, Debug, Default)]
pub(super) struct Bill(Vec<(BillLine, u64)>);

impl Bill {
    /// The bill of one unit, `count` times.
    pub(super) fn times(lines: &[BillLine], count: u32) -> Self {
        let times = |line: &BillLine| {
            let (mut line, mut quantity) = (line.clone(), u64::from(line.quantity));
            if line.kind.is_sum() {
                line.unit_price = line.unit_price * count;
            } else {
                quantity *= u64::from(count);
            }
            (line, quantity)
        };
        Self(lines.iter().map(times).collect())
    }

    /// Adds another bill, alike lines together, in the order they first appear. Of an instance, the
    /// name tells the terms.
    pub(super) fn add(&mut self, other: &Self) {
        for (line, quantity) in &other.0 {
            let known = self.0.iter_mut().find(|(known, _)| {
                let what = |line: &BillLine| (line.kind, line.owned);
                what(known) == what(line) && (&known.id, &known.name) == (&line.id, &line.name)
            });
            match known {
                Some((known, _)) if known.kind.is_sum() => known.unit_price += line.unit_price,
                Some((_, known)) => *known += quantity,
                None => self.0.push((line.clone(), *quantity)),
            }
        }
    }

    /// Price of what is bought.
    pub(super) fn price_usd(&self) -> f64 {
        let bought = self.0.iter().filter(|(line, _)| !line.is_rented());
        usd(bought
            .map(|(line, quantity)| times(line.unit_price, *quantity))
            .sum())
    }

    /// The lines as they are told.
    pub(super) fn lines(&self) -> Vec<BomLine> {
        let told = |(line, quantity): &(BillLine, u64)| BomLine::times(line, *quantity);
        self.0.iter().map(told).collect()
    }

    /// The first part of a kind: how many, those that are there already included, and its name.
    pub(super) fn of_kind(&self, kind: PartKind) -> Option<(u64, &str)> {
        let of_kind = || self.0.iter().filter(|(line, _)| line.kind == kind);
        let (first, _) = of_kind().next()?;
        let same = of_kind().filter(|(line, _)| line.id == first.id);
        Some((same.map(|(_, quantity)| quantity).sum(), &first.name))
    }
}

fn times(price: MicroUsd, quantity: u64) -> i128 {
    i128::from(price.0) * i128::from(quantity)
}

#[expect(
    clippy::cast_precision_loss,
    reason = "below 2^53 micro-dollars, nine billion dollars"
)]
fn usd(micro: i128) -> f64 {
    micro as f64 / 1e6
}

/// Where a price comes from.
struct Source {
    date: String,
    status: Status,
    per: u32,
    range: (Option<f64>, Option<f64>),
    used: bool,
    changes: Vec<String>,
}

impl Source {
    /// Of something new that is sold by itself at one price.
    fn plain(date: String, status: Status, changes: Vec<String>) -> Self {
        Self {
            date,
            status,
            per: 1,
            range: (None, None),
            used: false,
            changes,
        }
    }

    /// Date, how well it is known where that is not plain reading, and what was done to it.
    fn short(&self) -> String {
        let known = match (self.per, self.status) {
            (_, Status::Given) => "--price".to_owned(),
            (1, Status::Stored) => String::new(),
            (1, other) => other.word().to_owned(),
            (per, _) => format!("system / {per}"),
        };
        let used = if self.used { "used" } else { "" };
        let parts = [self.date.as_str(), used, &known].into_iter();
        let parts = parts.chain(self.changes.iter().map(String::as_str));
        let said: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
        said.join(", ")
    }
}

/// The lines with where each price comes from, and its range.
pub fn sourced(catalog: &Catalog, lines: &mut [BomLine]) {
    let mut tags: BTreeMap<(PartKind, String), Vec<PriceTag>> = BTreeMap::new();
    if lines.iter().any(|line| !line.is_rented()) {
        for tag in catalog.price_tags() {
            let of_part = tags.entry((tag.kind, tag.id.clone())).or_default();
            of_part.push(tag);
        }
    }
    for line in lines {
        if line.owned {
            line.source = Some("owned".to_owned());
            continue;
        }
        let source = if let Some((_, figure)) = line.kind.line() {
            of_assumption(catalog, figure)
        } else if line.is_rented() {
            of_offer(catalog, &line.id)
        } else {
            // A power limit does not change what an accelerator costs.
            let limited = catalog.accelerators.get(&line.id);
            let id = limited.map_or(line.id.as_str(), |entry| entry.entity.model_id());
            let kind = match line.kind {
                PartKind::SwitchPorts => PartKind::Switch,
                kind => kind,
            };
            let of_part = tags.get(&(kind, id.to_owned()));
            of_part.and_then(|tags| of_tags(tags, line.unit_price_usd))
        };
        if let Some(source) = source {
            line.source = Some(source.short());
            line.used = source.used;
            let status = if source.per > 1 {
                Status::Derived
            } else {
                source.status
            };
            line.price_status = Some(status.word().to_owned());
            line.price_date = Some(source.date).filter(|date| !date.is_empty());
            (line.unit_price_low_usd, line.unit_price_high_usd) = source.range;
        }
    }
}

/// Of an offer: all of its prices are of one list.
fn of_offer(catalog: &Catalog, id: &str) -> Option<Source> {
    let described = catalog.describe(Kind::Offer, id).ok()?;
    let prices = described.figures.into_iter();
    let mut prices = prices.filter(|figure| matches!(figure.field.as_str(), "price" | "spot"));
    prices.find_map(|figure| {
        let date = figure.date.unwrap_or_default();
        Some(Source::plain(date, figure.status?, figure.changes))
    })
}

/// Of a figure of the assumptions.
fn of_assumption(catalog: &Catalog, figure: &str) -> Option<Source> {
    let figure = catalog.assumptions.figure(&format!("cost.{figure}"))?;
    let source = figure.source.as_ref()?;
    let date = source.date.clone();
    Some(Source::plain(date, source.status, Vec::new()))
}

/// Of the price that is paid, or else of one that decides.
fn of_tags(tags: &[PriceTag], paid: Option<f64>) -> Option<Source> {
    let mut decide = tags
        .iter()
        .filter(|tag| tag.decides && tag.source.is_some());
    let is_paid = |tag: &&PriceTag| Some(tag.usd) == paid;
    let tag = decide.clone().find(is_paid).or_else(|| decide.next())?;
    let source = tag.source.as_ref()?;
    let (date, changes) = (source.date.clone(), source.changes.clone());
    Some(Source {
        per: tag.per,
        range: (tag.low_usd, tag.high_usd),
        used: tag.condition == SoldAs::Used,
        ..Source::plain(date, source.status, changes)
    })
}
