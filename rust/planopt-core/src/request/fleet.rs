//! `fleet.toml`: what several models are to serve, and what they may be served with.
//!
//! It is read by the same reader as the catalogs, and every id in it is looked up on the way: all that is
//! wrong with a file is told at once, with line and column.

mod names;
mod sources;

pub use self::sources::{Bought, Owned, Rented};

use self::names::{Names, one_of};
use crate::catalog::{Catalog, Fields, Table, maybe, read_file, table};
use crate::diagnostic::{Diagnostic, Problems, code};
use crate::quantity::{Dimension, SECONDS_PER_HOUR, Seconds, Watts};
use serde::Serialize;
use std::path::Path;

/// A quarter of a year.
const QUARTER_HOURS: f64 = 8760.0 / 4.0;

const HOURS_OF_A_DAY: u32 = 24;

/// A question of a whole fleet.
#[derive(Clone, Debug, Serialize)]
pub struct FleetFile {
    /// Periods that are planned for.
    pub periods: u32,
    /// Length of a period.
    pub period_hours: f64,
    /// Money for purchases, in all periods together.
    pub budget_usd: Option<f64>,
    /// Where there is demand, and hardware can stand.
    pub regions: Vec<Region>,
    /// How demand varies over a week.
    pub curves: Vec<Curve>,
    /// Speeds that are promised.
    pub classes: Vec<Class>,
    /// What is served.
    pub workloads: Vec<Workload>,
    /// What is trained.
    pub training: Vec<Training>,
    /// What can be bought.
    pub buy: Vec<Bought>,
    /// What is there already.
    pub own: Vec<Owned>,
    /// What can be rented.
    pub rent: Vec<Rented>,
}

/// A place with its limits, of what is bought and owned there.
#[derive(Clone, Debug, Serialize)]
pub struct Region {
    /// What it is called.
    pub name: String,
    /// Power of all hosts.
    pub power_watts: Option<f64>,
    /// Racks.
    pub racks: Option<u32>,
    /// Power of one rack.
    pub rack_watts: Option<f64>,
    /// Ports of the switches that hosts are reached through, one for each host.
    pub switch_ports: Option<u32>,
    /// Ports of one such switch.
    pub ports_of_a_switch: Option<u32>,
    /// Price of electricity, in place of that of the assumptions; of a tariff, its mean.
    pub electricity_usd_per_kwh: Option<f64>,
    /// Prices of electricity in the hours of a day; empty where all are the same.
    pub electricity_by_hour: Vec<f64>,
    /// Carbon dioxide and its equivalents of a kilowatt-hour, in kg, in place of that of the
    /// assumptions.
    pub carbon_kg_per_kwh: Option<f64>,
}

/// Shares of the peak demand by the hour.
#[derive(Clone, Debug, Serialize)]
pub struct Curve {
    /// What it is called.
    pub name: String,
    /// The hours of a day from Monday to Friday.
    pub weekday: Vec<f64>,
    /// The hours of a day of the weekend.
    pub weekend: Vec<f64>,
}

table! {
    /// A promise to users.
    #[derive(Clone, Debug, Serialize)]
    pub struct Class {
        /// What it is called.
        pub name: String = Fields::text,
        /// Tokens per second of each.
        pub target: Option<f64> = maybe(Fields::option),
        /// Time to the first token.
        pub ttft_seconds: Option<f64> as "ttft" = maybe(Fields::option),
    }
}

/// A model with those who use it.
#[derive(Clone, Debug, Serialize)]
pub struct Workload {
    /// What it is called.
    pub name: String,
    /// Model id.
    pub model: String,
    /// Name of the class: the promise.
    pub promise: String,
    /// Number format of the weights, in place of the published one.
    pub weights: Option<String>,
    /// By what share demand grows from period to period.
    pub growth: f64,
    /// How demand varies over a week; none where it does not.
    pub curve: Option<String>,
    /// Failures with which all of the peak is still served.
    pub failures: u32,
    /// What fails at once: `replica`, `host`, `switch` or `rack`.
    pub failure: String,
    /// Share of what a replica can do that is asked of it at the peak.
    pub utilisation: Option<f64>,
    /// Requests at the peak of the first period, by region.
    pub demand: Vec<Demand>,
    /// Sizes of requests.
    pub sizes: Vec<Size>,
}

/// Requests of a region.
#[derive(Clone, Debug, Serialize)]
pub struct Demand {
    /// Which region.
    pub region: String,
    /// At the peak.
    pub requests_per_second: f64,
}

table! {
    /// Requests of one size.
    #[derive(Clone, Debug, Serialize)]
    pub struct Size {
        /// What it is called.
        pub name: String = Fields::text,
        /// Share of all requests.
        pub share: f64 = share,
        /// Tokens of the prompt.
        pub prompt: u32 = Fields::counted,
        /// Tokens of the answer.
        pub output: u32 = Fields::counted,
    }
}

/// A run of training.
#[derive(Clone, Debug, Serialize)]
pub struct Training {
    /// What it is called.
    pub name: String,
    /// Model id.
    pub model: String,
    /// Where it runs.
    pub region: String,
    /// Tokens to train on.
    pub tokens: f64,
    /// Time it may take.
    pub deadline_seconds: f64,
    /// Period that it begins with, the first being 1.
    pub start: u32,
    /// Tokens of a sequence.
    pub seq_len: Option<u32>,
    /// Sequences of a step.
    pub global_batch: Option<u32>,
}

/// Reads the file of a fleet.
///
/// # Errors
///
/// Everything that is wrong with it, and that the catalogs do not know.
pub fn read_fleet(file: &Path, catalog: &Catalog) -> Result<FleetFile, Vec<Diagnostic>> {
    let providers = catalog.providers()?;
    let entry = read_file(file, |fields| {
        let (periods, period_hours, budget_usd) = fields.section("horizon", horizon);
        let regions = fields.sections("region", region);
        let curves = fields.sections("curve", curve);
        let classes = fields.sections("class", Class::read);
        let names = Names {
            catalog,
            providers,
            regions: regions.iter().map(|each| each.name.as_str()).collect(),
            curves: curves.iter().map(|each| each.name.as_str()).collect(),
            classes: classes.iter().map(|each| each.name.as_str()).collect(),
        };
        FleetFile {
            periods,
            period_hours,
            budget_usd,
            workloads: fields.sections("workload", |fields| workload(fields, &names)),
            training: fields.sections("train", |fields| training(fields, &names, periods)),
            buy: fields.sections("buy", |fields| sources::bought(fields, &names)),
            own: fields.sections("own", |fields| sources::owned(fields, &names)),
            rent: fields.sections("rent", |fields| sources::rented(fields, &names)),
            regions,
            curves,
            classes,
        }
    })?;
    let fleet = entry.entity;
    let nothing = |what: &str, key: &str| {
        Diagnostic::new(code::MISSING_KEY, format!("there is nothing to {what}"))
            .in_file(file)
            .help(format!(
                "add a table `[[{key}]]`; docs/how-to/fleet.md has an example"
            ))
    };
    let mut problems = Problems::default();
    if fleet.workloads.is_empty() && fleet.training.is_empty() {
        problems.push(nothing("serve or to train", "workload"));
    }
    if fleet.buy.is_empty() && fleet.own.is_empty() && fleet.rent.is_empty() {
        problems.push(nothing("buy, to use or to rent", "buy"));
    }
    problems.unless_any(fleet)
}

/// Refuses a number that is out of range.
fn within(fields: &mut Fields<'_>, key: &'static str, right: bool, accepted: &str) {
    if !right {
        let problem = Diagnostic::new(code::OUT_OF_RANGE, "this is out of range");
        fields.reject(key, problem.accepted(accepted));
    }
}

fn share(fields: &mut Fields<'_>, key: &'static str) -> f64 {
    let value = fields.positive_number(key, Dimension::Share);
    within(fields, key, value <= 1.0, "a share above 0, 1 at most");
    value
}

fn horizon(fields: &mut Fields<'_>) -> (u32, f64, Option<f64>) {
    let periods = fields.or("periods", 1, Fields::positive::<u32>);
    within(fields, "periods", periods <= 40, "40 periods at most");
    let length = fields.optional("period", Fields::positive::<Seconds>);
    let budget = fields.optional("budget", Fields::option);
    let hours = length.map_or(QUARTER_HOURS, |length| length.0 / SECONDS_PER_HOUR);
    (periods, hours, budget)
}

fn region(fields: &mut Fields<'_>) -> Region {
    let electricity_by_hour = tariff(fields);
    let flat = fields.optional("electricity", |fields, key| {
        fields.number(key, Dimension::UsdPerKwh)
    });
    let mean = electricity_by_hour.iter().sum::<f64>() / f64::from(HOURS_OF_A_DAY);
    if flat.is_some() && !electricity_by_hour.is_empty() {
        let problem = Diagnostic::new(code::OUT_OF_RANGE, "electricity has two prices here");
        fields.reject("electricity_by_hour", problem.accepted("one of the two"));
    }
    Region {
        name: fields.text("name"),
        power_watts: fields.optional("power", Fields::option),
        racks: fields.optional("racks", Fields::quantity),
        rack_watts: fields.optional("rack_power", |fields, key| fields.positive::<Watts>(key).0),
        switch_ports: fields.optional("switch_ports", Fields::quantity),
        ports_of_a_switch: fields.optional("ports_of_a_switch", Fields::positive),
        electricity_usd_per_kwh: if electricity_by_hour.is_empty() {
            flat
        } else {
            Some(mean)
        },
        electricity_by_hour,
        carbon_kg_per_kwh: fields.optional("carbon_kg_per_kwh", |fields, key| {
            fields.number(key, Dimension::Number)
        }),
    }
}

fn tariff(fields: &mut Fields<'_>) -> Vec<f64> {
    fields.or("electricity_by_hour", Vec::new(), |fields, key| {
        let prices = fields.shares(key);
        let right =
            prices.len() == HOURS_OF_A_DAY as usize && prices.iter().all(|price| *price >= 0.0);
        within(
            fields,
            key,
            right,
            "24 prices in dollars per kWh, none below 0",
        );
        prices
    })
}

fn curve(fields: &mut Fields<'_>) -> Curve {
    let mut day = |key: &'static str| {
        let shares = fields.shares(key);
        let right = shares.is_empty()
            || shares.len() == HOURS_OF_A_DAY as usize
                && shares.iter().all(|s| (0.0..=1.0).contains(s));
        within(fields, key, right, "24 shares of the peak, from 0 to 1");
        shares
    };
    let (weekday, weekend) = (day("weekday"), day("weekend"));
    Curve {
        name: fields.text("name"),
        weekday,
        weekend,
    }
}

/// The id of a model that the catalogs have, or its file.
fn model(fields: &mut Fields<'_>, names: &Names<'_>) -> String {
    let name = fields.text("model");
    if !name.is_empty()
        && let Err(problems) = names.catalog.architecture(&name)
    {
        for problem in problems {
            fields.reject("model", problem);
        }
    }
    let id = names.catalog.id_of("models", &name);
    id.map_or(name.clone(), str::to_owned)
}

fn workload(fields: &mut Fields<'_>, names: &Names<'_>) -> Workload {
    let sizes = fields.sections("size", Size::read);
    let demand = fields.sections("demand", |fields| Demand {
        region: names.region(fields),
        requests_per_second: fields.option("requests"),
    });
    let shares: f64 = sizes.iter().map(|size| size.share).sum();
    if !sizes.is_empty() && (shares - 1.0).abs() > 1e-9 {
        let message = format!("the shares of the sizes add up to {shares}");
        let problem = Diagnostic::new(code::OUT_OF_RANGE, message).accepted("shares that make 1");
        fields.reject("size", problem);
    }
    for (key, none) in [("size", sizes.is_empty()), ("demand", demand.is_empty())] {
        if none {
            fields.missing(key);
        }
    }
    Workload {
        name: fields.text("name"),
        model: model(fields, names),
        promise: one_of(fields, "class", "class", &names.classes),
        weights: fields.optional("weights", Fields::text),
        growth: fields.or("growth", 0.0, |fields, key| {
            fields.number(key, Dimension::Share)
        }),
        curve: fields.optional("curve", |fields, key| {
            one_of(fields, key, "curve", &names.curves)
        }),
        failures: fields.or("failures", 0, Fields::quantity),
        failure: fields.or("failure", "host".to_owned(), |fields, key| {
            fields.word(key, &["replica", "host", "switch", "rack"])
        }),
        utilisation: fields.optional("utilisation", share),
        demand,
        sizes,
    }
}

fn training(fields: &mut Fields<'_>, names: &Names<'_>, periods: u32) -> Training {
    let start = fields.or("start", 1, Fields::positive::<u32>);
    within(
        fields,
        "start",
        start <= periods,
        "one of the periods, the first being 1",
    );
    Training {
        name: fields.text("name"),
        model: model(fields, names),
        region: names.region(fields),
        tokens: fields.option("tokens"),
        deadline_seconds: fields.option("deadline"),
        start,
        seq_len: fields.optional("seq_len", Fields::counted),
        global_batch: fields.optional("global_batch", Fields::counted),
    }
}
