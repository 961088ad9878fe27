//! The question of what to buy to serve a model, with what was assumed said aloud.

use serde::Serialize;
use serde_json::{Map, Value};

use super::market::{Acquisition, Assumed, Market, architecture, by_name, look_up_model};
use super::reader::Reader;
use super::request::{Request, Sum};
use super::served::Served;
use crate::catalog::Catalog;
use crate::diagnostic::{Diagnostic, code};
use crate::format::Format;
use crate::request::model::unknown_format;

/// The percentile that latencies are judged at where only a time is promised.
const USUAL_PERCENTILE: &str = "p95";

/// What to buy to serve a model.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Question {
    #[serde(flatten)]
    recorded: Map<String, Value>,
    #[serde(flatten)]
    market: Market,
    served: Served,
    objective: String,
    target: f64,
    ttft_seconds: Option<f64>,
    percentile: Option<String>,
    users: u64,
    throughput: f64,
    requests_per_second: Option<f64>,
    batch: Option<u64>,
    in_flight: Option<u64>,
    budget_usd: Option<f64>,
    budget_usd_per_hour: Option<f64>,
    acquisition: Acquisition,
    #[serde(serialize_with = "by_name")]
    cost: Vec<(String, f64)>,
    accelerators_in_all: Option<u32>,
    redundancy: u64,
    allow_quantization: Vec<String>,
    pcie_all_reduce: Option<String>,
    assumed: Vec<Assumed>,
}

/// Reads a question; names are looked up in the catalog.
pub(super) fn question(
    mut reader: Reader,
    catalog: &Catalog,
    request: &Request,
) -> Result<Question, Vec<Diagnostic>> {
    let reading = &mut reader;
    let mut assumed = Vec::new();
    let mut served = Served::of(reading, catalog, request, &mut assumed, 0);
    served.context_ranks = request.layout.cp;
    let requests = request.workload.requests;
    #[expect(clippy::cast_precision_loss, reason = "at most 2^31 tokens")]
    let output = served.lengths.output as f64;
    let throughput = match requests {
        Some(requests) => requests * output,
        None => request.promises.throughput.unwrap_or(0.0),
    };
    let acquisition = Acquisition::of(reading, catalog, &request.money);
    let (budget_usd, budget_usd_per_hour) = budget(reading, &acquisition, request.money.budget);
    let accelerators = request.hardware.accelerators.clone();
    let market = Market::of(reading, catalog, request, accelerators);
    let percentile = percentile(reading, request, &mut assumed);
    let users = users(reading, request, throughput > 0.0, &served, &mut assumed);
    look_up_model(reading, catalog, &served.model);
    for (argument, name) in request.model.formats() {
        if Format::from_name(name).is_none() {
            reading.refuse(argument, vec![unknown_format(name)]);
        }
    }
    if let Some(drafting) = &served.drafting
        && drafting.draft != "mtp"
    {
        look_up_model(reading, catalog, &drafting.draft);
    }
    let question = Question {
        recorded: reader.recorded(),
        objective: request.money.objective_or("cheapest"),
        target: request.promises.target.unwrap_or(0.0),
        ttft_seconds: request.promises.ttft,
        percentile,
        users,
        throughput,
        requests_per_second: requests,
        batch: request.layout.batch,
        in_flight: request.layout.in_flight,
        budget_usd,
        budget_usd_per_hour,
        acquisition,
        cost: cost(request),
        accelerators_in_all: request.hardware.max_accelerators,
        redundancy: request.promises.redundancy.unwrap_or(0),
        allow_quantization: request.model.allow_quantization.clone(),
        pcie_all_reduce: request.engine.pcie_all_reduce.clone(),
        market,
        served,
        assumed,
    };
    if question.objective == "throughput" && !question.is_limited() && !reader.is_edited() {
        reader.wrong(
            code::MISSING_OPTION,
            "budget",
            "most throughput of what? nothing limits the purchase",
            "--budget, --max-power, --max-racks or --max-accelerators",
        );
    }
    let mut question = reader.finish(question)?;
    question.served.architecture = architecture(catalog, &question.served.model)?;
    Ok(question)
}

impl Question {
    /// Whether anything limits the purchase from above.
    fn is_limited(&self) -> bool {
        self.market.is_limited()
            || self.budget_usd.is_some()
            || self.budget_usd_per_hour.is_some()
            || self.accelerators_in_all.is_some()
    }
}

/// A budget to buy with, and one per hour.
fn budget(
    reader: &mut Reader,
    acquisition: &Acquisition,
    budget: Option<Sum>,
) -> (Option<f64>, Option<f64>) {
    match budget {
        None => (None, None),
        Some(Sum { usd, hourly: true }) => {
            if acquisition.way == "buy" {
                reader.wrong(
                    code::CONTRADICTION,
                    "budget",
                    "a budget per time is for renting, and this question buys",
                    "purchase money, such as $20k, or --acquire rent beside it",
                );
            }
            (None, Some(usd))
        }
        Some(Sum { usd, .. }) => {
            if acquisition.way == "rent" {
                reader.wrong(
                    code::CONTRADICTION,
                    "budget",
                    "purchase money buys, and this question rents",
                    "money per hour or month, such as 12/h or $5000/month",
                );
            }
            (Some(usd), None)
        }
    }
}

/// What is counted otherwise than the assumptions do, by their names.
fn cost(request: &Request) -> Vec<(String, f64)> {
    let money = &request.money;
    let counted = [
        ("years", money.years),
        ("duty", money.duty),
        ("electricity_usd_per_kwh", money.electricity),
        ("pue", money.pue),
        ("carbon_kg_per_kwh", money.carbon),
    ];
    let known = counted.into_iter();
    let known = known.filter_map(|(name, value)| Some((name.to_owned(), value?)));
    known.collect()
}

/// Users at the same time: given, or what the batch or the demand says.
fn users(
    reader: &Reader,
    request: &Request,
    is_demanded: bool,
    served: &Served,
    assumed: &mut Vec<Assumed>,
) -> u64 {
    let users = request.workload.users.unwrap_or(1);
    if reader.is_given("users") {
        return users;
    }
    if let Some(batch) = request.layout.batch {
        let resident = if served.overlap == "two-batch" { 2 } else { 1 };
        return batch * request.layout.in_flight.unwrap_or(1) * resident;
    }
    if is_demanded {
        return 1;
    }
    assumed.push(Assumed {
        name: "users",
        value: format!("{users} at the same time"),
        why: None,
    });
    users
}

/// The percentile of latencies; where none is promised, there is none.
fn percentile(reader: &Reader, request: &Request, assumed: &mut Vec<Assumed>) -> Option<String> {
    if reader.is_given("percentile") || !reader.is_given("ttft") {
        return request.promises.percentile.clone();
    }
    assumed.push(Assumed {
        name: "percentile",
        value: USUAL_PERCENTILE.to_owned(),
        why: Some("of time to the first token, and of speed where there is a target"),
    });
    Some(USUAL_PERCENTILE.to_owned())
}
