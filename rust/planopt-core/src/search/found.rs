//! What searches find, kept.

use super::result::{Nearest, SearchResult};
use super::rows::{Filling, Interned, Row, Rows, SystemNames};
use super::serving::FoundUnit;
use super::trained::Trained;
use crate::catalog::{Assumptions, Catalog};
use crate::load::serving::Question;
use crate::parallel::Layout;
use crate::quantity::MicroUsd;
use crate::transformer::Transformer;
use serde::Serialize;
use std::sync::Arc;

/// A layout of a row, with what it was found for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Laid {
    /// The layout.
    pub layout: Layout,
    /// Place of the part of the question that it was found for.
    pub part: u32,
}

/// A part of a question: what is served, in one format, and what is assumed.
#[derive(Clone, Debug)]
pub struct Part {
    /// The model, as it was asked for.
    pub model: String,
    /// What drafts, as it was asked for.
    pub draft: Option<String>,
    /// The model as a list of operations.
    pub transformer: Transformer,
    /// Formats, context, drafting.
    pub question: Question,
    /// The assumptions, with what the question puts in their place.
    pub assumptions: Assumptions,
    /// Whether an engine was named, whose fitted figures these are.
    pub has_engine: bool,
}

/// What a search looked at.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Summary {
    /// Candidates in the space.
    pub covered: u64,
    /// Candidates whose speed was computed.
    pub evaluated: u64,
    /// Why others were rejected, in the order in which the reasons came up.
    pub rejected: serde_json::Map<String, serde_json::Value>,
    /// How close they came.
    pub nearest: Nearest,
    /// Whether any unit was beyond the cap on prices.
    pub is_cut_by_price: bool,
    /// Whether there was no time to look at all.
    pub is_cut_by_time: bool,
    /// Whether any host of the space has accelerators that all-reduce over its PCIe.
    pub reduces_over_pcie: bool,
    /// Rows that were found.
    pub rows: usize,
}

impl Summary {
    fn add<T>(&mut self, result: &SearchResult<T>) {
        self.covered += result.covered;
        self.evaluated += result.evaluated;
        for (reason, count) in result.rejected.counts() {
            let sum = self.rejected.entry(reason).or_insert(0.into());
            *sum = (sum.as_u64().unwrap_or(0) + count).into();
        }
        self.nearest.absorb(result.nearest);
        self.is_cut_by_price |= result.is_cut_by_price;
        self.is_cut_by_time |= result.interrupted;
    }
}

/// What a search found, as a table that owns all that it takes to buy from it and to lay a purchase
/// out: nothing is asked again by name.
#[derive(Clone, Debug)]
pub struct Found {
    /// What it was found in.
    pub catalog: Arc<Catalog>,
    /// What can be bought.
    pub rows: Arc<Rows>,
    /// Layouts of the rows, each once.
    pub layouts: Vec<Laid>,
    /// What they do.
    pub work: Work,
    /// What the search looked at.
    pub summary: Summary,
}

/// What is bought for: a model that is served, or one that is trained.
#[derive(Clone, Debug)]
pub enum Work {
    /// Served, in the parts of a question.
    Serving(Vec<Part>),
    /// Trained.
    Training(Box<Trained>),
}

impl Found {
    fn laid(&self, row: usize) -> Laid {
        self.layouts[self.rows.columns.layout[row] as usize]
    }

    /// Layout of a row.
    pub fn layout(&self, row: usize) -> Layout {
        self.laid(row).layout
    }

    /// Place of the part of the question that a row was found for.
    pub fn part(&self, row: usize) -> usize {
        self.laid(row).part as usize
    }
}

/// Takes in what searches find, part by part.
#[derive(Debug, Default)]
pub(crate) struct Finding {
    filling: Filling,
    interned: Interned<Laid>,
    layouts: Vec<Laid>,
    parts: Vec<Part>,
    summary: Summary,
}

impl Finding {
    /// Takes in what was found for a part; `hourly` prices all by what an hour of it costs, whether
    /// it is bought or rented.
    pub(crate) fn take(
        &mut self,
        part: Part,
        result: &SearchResult<FoundUnit>,
        reduces_over_pcie: bool,
        hourly: bool,
    ) {
        let place = u32::try_from(self.parts.len()).unwrap_or(u32::MAX);
        let weights = part.question.formats.weights.name();
        for found in &result.found {
            self.push(found, place, weights, hourly);
        }
        self.keep(part, reduces_over_pcie);
        self.add(result);
    }

    /// Keeps a part that units were found for.
    pub(crate) fn keep(&mut self, part: Part, reduces_over_pcie: bool) {
        self.parts.push(part);
        self.summary.reduces_over_pcie |= reduces_over_pcie;
    }

    /// Counts what a search looked at.
    pub(crate) fn add<T>(&mut self, result: &SearchResult<T>) {
        self.summary.add(result);
    }

    /// Takes in a unit that was found for a part.
    pub(crate) fn push(&mut self, found: &FoundUnit, part: u32, weights: &str, hourly: bool) {
        let unit = &found.unit;
        let (placement, hardware) = (unit.placement, unit.hardware);
        let layout = Layout {
            batch: found.batching.batch,
            in_flight: found.batching.in_flight,
            replicas: unit.replicas,
            ..Layout::staged(placement.degrees, placement.pp)
        };
        let system = SystemNames {
            switch: unit.switch.map(|share| share.switch.id.clone()),
            weights: Some(weights.to_owned()),
            ..SystemNames::of(&hardware, unit.accelerators_bought(), unit.hosts())
        };
        let rent = hardware.host.rent;
        let (price, capital) = match (hourly, rent) {
            (false, _) => (found.price, MicroUsd::ZERO),
            (true, None) => (hour(found.usd_per_hour), found.price),
            (true, Some(_)) => (hour(found.usd_per_hour), MicroUsd::ZERO),
        };
        // What is rented is not of the stock that there is to buy.
        let model = hardware.accelerator.model_id();
        let rented;
        let stock = if hourly && rent.is_some() {
            rented = format!("rented {model}");
            &rented
        } else {
            model
        };
        let row = Row {
            price_micro_usd: price.0,
            capital_micro_usd: capital.0,
            usd_per_hour: found.usd_per_hour,
            power_watts: found.power.0,
            rack_units: found.rack_units,
            replicas: unit.replicas,
            users: found.users,
            tokens_per_second: found.tokens_per_second,
            tokens_per_second_per_user: found.tokens_per_second_per_user,
            goodput: rent.map_or(1.0, |rent| rent.goodput),
            switch_port_blocks: unit.port_blocks(),
            is_build: found.is_build,
            ..Row::default()
        };
        self.put(Laid { layout, part }, system, stock, row);
    }

    /// Takes in a row; its accelerators are taken from `stock`.
    pub(super) fn put(&mut self, laid: Laid, system: SystemNames, stock: &str, row: Row) {
        let layout = self.interned.place(laid, &mut self.layouts);
        self.filling.push(system, stock, Row { layout, ..row });
    }

    /// All of it.
    pub(crate) fn done(mut self, catalog: Arc<Catalog>) -> Found {
        let parts = std::mem::take(&mut self.parts);
        self.of(catalog, Work::Serving(parts))
    }

    /// All of it, as what is bought for some work.
    pub(super) fn of(mut self, catalog: Arc<Catalog>, work: Work) -> Found {
        let rows = self.filling.done();
        self.summary.rows = rows.len();
        Found {
            catalog,
            rows: Arc::new(rows),
            layouts: self.layouts,
            work,
            summary: self.summary,
        }
    }
}

/// Dollars of an hour, rounded up to a micro-dollar.
pub(super) fn hour(usd: f64) -> MicroUsd {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "prices are below 1e12 dollars"
    )]
    MicroUsd((usd * 1e6).ceil() as i64)
}
