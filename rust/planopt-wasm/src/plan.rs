//! A plan of what the core alone knows of it.

use crate::question::{is_judged, sought};
use planopt_core::catalog::{Catalog, CostChoice, Pricing};
use planopt_core::course::Course;
use planopt_core::diagnostic::Diagnostic;
use planopt_core::request::{
    ForUsers, LaidOut, LayOut, Options, SettleServing, lay_out, read_question, search_serving,
    settle_serving,
};
use planopt_core::search::{Found, Kept, Limits, Objective};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A code for what this door has not understood: a fault of it.
const FAULT: &str = "E901";
/// Units are looked for up to so many times the best price known.
const REACH: f64 = 2.0;

/// Prices of a unit that are tried in turn where there is no budget, before any.
const FIRST_CAPS_USD: [f64; 3] = [20_000.0, 100_000.0, 500_000.0];
const NO_MIXTURES: &str = "copies of one kind of unit were tried; `planopt solve` tries mixtures, \
    proves that there is none, and says what would help";

type Answer<T> = Result<T, Vec<Diagnostic>>;

fn read<T: DeserializeOwned>(value: Value) -> Answer<T> {
    serde_json::from_value(value).map_err(|error| fault(error.to_string()))
}

fn fault(message: String) -> Vec<Diagnostic> {
    vec![Diagnostic::new(FAULT, message)]
}

/// What is bought.
struct Bought {
    build: Value,
    /// Candidates that were looked at.
    covered: u64,
    /// Final runs, how the proof ended, and what nothing is below.
    settled: Value,
}

/// What the closed form buys.
struct Guess {
    found: Found,
    counts: BTreeMap<u32, u64>,
}

/// Answers a question: by the closed form, or by what holds under the load.
pub(crate) fn answer(
    opened: Option<&Arc<Catalog>>,
    options: Options,
    is_whole: bool,
) -> Answer<Value> {
    let Some(catalog) = opened else {
        return Err(fault("no catalog is open".to_owned()));
    };
    let problem = read_question("solve", options, Options::new(), catalog)?;
    let catalog = Arc::new(counted(catalog, &problem)?);
    let limits: Limits = read(limits_of(&problem))?;
    let guess = guessed(&catalog, &problem, &limits)?;
    let bought = match guess {
        Some((guess, bought)) if is_whole && is_judged(&problem) => {
            settled(&catalog, &problem, &limits, guess, &bought)?
        }
        other => other.map(|(_, bought)| bought),
    };
    let Some(bought) = bought else {
        return Ok(json!({ "plan": none(&problem) }));
    };
    let name = if is_whole { "plan" } else { "estimate" };
    Ok(json!({ name: told(&problem, &bought) }))
}

/// The catalog with the prices and costs that are asked for.
fn counted(catalog: &Catalog, problem: &Value) -> Answer<Catalog> {
    let or = |name: &str, usual: Value| match &problem[name] {
        Value::Null => usual,
        given => given.clone(),
    };
    let pricing: Pricing = read(json!({
        "condition": or("condition", json!("new")), "prices": or("prices", json!({})),
        "discount": or("discount", json!({})), "vat": or("vat", json!(0.0)),
    }))?;
    let cost: CostChoice = read(or("cost", json!({})))?;
    Ok(catalog.paid(&pricing)?.with_cost(cost))
}

fn limits_of(problem: &Value) -> Value {
    let budget = problem["budget_usd"].as_f64();
    json!({
        "users": problem["concurrency"],
        "tokens_per_second": problem["throughput_tokens_per_second"].as_f64().unwrap_or_default(),
        "budget_micro_usd": budget.map(micro_usd),
        "redundancy": problem["redundancy"],
    })
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "options end at a trillion dollars"
)]
fn micro_usd(usd: f64) -> i64 {
    (usd * 1e6).round() as i64
}

/// What the closed form buys: copies of one kind of unit, none of which costs more than they do.
fn guessed(
    catalog: &Arc<Catalog>,
    problem: &Value,
    limits: &Limits,
) -> Answer<Option<(Guess, Bought)>> {
    let objective: Objective = read(problem["objective"].clone())?;
    let budget = problem["budget_usd"].as_f64();
    let mut caps = FIRST_CAPS_USD.map(Some).to_vec();
    if budget.is_some() || objective != Objective::Cheapest {
        caps.clear();
    }
    for cap in caps.into_iter().chain([budget]) {
        let parts = [sought(problem, cap)?];
        let found = search_serving(catalog, &parts, &Kept::default(), &Course::default())?;
        let best = found.rows.best_alone(|_| true, limits, objective);
        let is_last = cap == budget || !found.summary.is_cut_by_price;
        let guess = best.map(|best| Guess {
            counts: BTreeMap::from([(best.row, best.count)]),
            found,
        });
        let guess = guess
            .map(|guess| Ok((laid_out(problem, &guess)?, guess)))
            .transpose()?;
        let price = guess
            .as_ref()
            .and_then(|(bought, _)| price_of(&bought.build));
        if is_last || price.is_some_and(|price| Some(price) <= cap) {
            return Ok(guess.map(|(bought, guess)| (guess, bought)));
        }
    }
    Ok(None)
}

/// What is shown to hold under the load, by the core's exact fronts.
fn settled(
    catalog: &Arc<Catalog>,
    problem: &Value,
    limits: &Limits,
    guess: Guess,
    bought: &Bought,
) -> Answer<Option<Bought>> {
    let asked = SettleServing {
        limits: limits.clone(),
        objective: read(problem["objective"].clone())?,
        guess: guess.counts,
        is_brief: false,
        for_users: Some(for_users(problem)?),
        has_errors: true,
    };
    let budget = problem["budget_usd"].as_f64();
    let near = price_of(&bought.build).map(|price| REACH * price);
    let near = near.into_iter().chain(budget).reduce(f64::min);
    for cap in [near, budget] {
        let answer = settle_serving(
            catalog,
            &[sought(problem, cap)?],
            &asked,
            &guess.found,
            &mut |_| None,
            &Kept::default(),
            &Course::default(),
        )?;
        let is_within = |value: f64| cap.is_none_or(|cap| value <= cap * 1e6);
        let is_known = answer.value.is_some_and(is_within);
        if is_known || !answer.summary.is_cut_by_price || cap == budget {
            let settled =
                serde_json::to_value(&answer).map_err(|error| fault(error.to_string()))?;
            let bought = Bought {
                build: settled["build"].clone(),
                covered: answer.summary.covered,
                settled,
            };
            return Ok(answer.build.map(|_| bought));
        }
    }
    Ok(None)
}

/// A question as a plan says it.
fn request(problem: &Value) -> Value {
    let mut request = problem.clone();
    if let Some(table) = request.as_object_mut() {
        table.remove("asked");
    }
    request
}

fn none(problem: &Value) -> Value {
    json!({
        "kind": "serving", "status": "infeasible", "objective": problem["objective"],
        "request": request(problem), "bill_of_materials": [], "deployments": [],
        "promises": [], "totals": {}, "cost": {}, "warnings": [], "alternatives": [],
        "sensitivity": [],
        "assumed": problem["assumed"], "not_considered": [],
        "search": {}, "infeasibility": { "binding": [], "nearest": [], "note": NO_MIXTURES },
    })
}

fn price_of(build: &Value) -> Option<f64> {
    build["cost"]["price_usd"].as_f64()
}

fn for_users(problem: &Value) -> Answer<ForUsers> {
    read(json!({
        "users": problem["concurrency"], "batch": problem["batch"],
        "in_flight": problem["in_flight"], "any_layout": !is_judged(problem),
    }))
}

fn laid_out(problem: &Value, guess: &Guess) -> Answer<Bought> {
    let mut asked: LayOut = read(json!({
        "purchases": [{ "counts": guess.counts }], "limits": {}, "has_errors": true,
    }))?;
    let for_users = for_users(problem)?;
    asked
        .purchases
        .iter_mut()
        .for_each(|one| one.for_users = Some(for_users));
    let LaidOut::Serving(builds) = lay_out(&guess.found, &asked)? else {
        return Err(fault("nothing was laid out".to_owned()));
    };
    Ok(Bought {
        build: serde_json::to_value(builds.first()).map_err(|error| fault(error.to_string()))?,
        covered: guess.found.summary.covered,
        settled: Value::Null,
    })
}

/// The plan of what is bought.
fn told(problem: &Value, bought: &Bought) -> Value {
    let judged = is_judged(problem);
    let build = &bought.build;
    let mut deployments = build["deployments"].clone();
    let runs = bought.settled["runs"].as_array();
    for (deployment, run) in deployments
        .as_array_mut()
        .into_iter()
        .flatten()
        .zip(runs.into_iter().flatten())
    {
        for name in ["ttft_seconds", "tpot_seconds"] {
            deployment["evaluation"][name] = run[name].clone();
        }
        deployment["evaluation"]["under_load"] = run.clone();
    }
    let proven = bought.settled["ended"] == "proven";
    json!({
        "kind": "serving", "status": if proven { "optimal" } else { "feasible" },
        "why": bought.settled["ended"],
        "objective": problem["objective"],
        "price_usd": price_of(build),
        "request": request(problem),
        "bill_of_materials": build["bill_of_materials"],
        "promises": promised(problem, &deployments, &build["users"]),
        "totals": if judged { json!({}) } else { json!({ "tokens_per_second": build["tokens_per_second"] }) },
        "tco_usd_per_hour": build["cost"]["usd_per_hour"],
        "cost": build["cost"], "power_watts": build["power_watts"],
        "deployments": deployments,
        "warnings": [], "alternatives": [], "sensitivity": [], "not_considered": [],
        "assumed": problem["assumed"],
        "search": { "candidates_covered": bought.covered },
    })
}

/// Promises beside the figures of the slowest deployment: under the load, or of a steady step.
fn promised(problem: &Value, deployments: &Value, users: &Value) -> Value {
    let at = problem["percentile"].as_str();
    let slowest = |name: &str| {
        let each = deployments.as_array().into_iter().flatten();
        let predicted = each.filter_map(|each| match at {
            Some(at) => each["evaluation"][name][at].as_f64(),
            None => each["evaluation"]["decode"][name].as_f64(),
        });
        predicted.reduce(f64::max)
    };
    let target = problem["target_tokens_per_second"].as_f64().map(f64::recip);
    let asked = [("tpot", target), ("ttft", problem["ttft_seconds"].as_f64())];
    let latencies = asked.into_iter().filter_map(|(name, asked)| {
        let predicted = slowest(&format!("{name}_seconds"))?;
        Some(json!({
            "name": name, "percentile": at, "asked": asked?, "predicted": predicted, "unit": "s",
            "held": predicted <= asked?,
        }))
    });
    let served = json!({
        "name": "concurrency", "asked": problem["concurrency"], "predicted": users, "unit": "",
        "held": users.as_u64() >= problem["concurrency"].as_u64(),
    });
    latencies.chain([served]).collect()
}
