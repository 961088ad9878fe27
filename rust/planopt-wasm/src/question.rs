//! A question as the core's search takes it: the words of `request::read_question`, put elsewhere.

use planopt_core::diagnostic::Diagnostic;
use planopt_core::request::{SearchServing, read};
use serde_json::{Value, json};

/// Units that are told beside the choice.
const BUILDS: u32 = 9;

/// A group of a question with some of its keys in place of its own.
fn with(group: &Value, changes: Value) -> Value {
    let mut whole = group.as_object().cloned().unwrap_or_default();
    if let Value::Object(changes) = changes {
        whole.extend(changes);
    }
    Value::Object(whole)
}

/// A value without the keys that say nothing.
fn said(value: &Value) -> Value {
    let Value::Object(keys) = value else {
        return value.clone();
    };
    let there = keys.iter().filter(|(_, value)| !value.is_null());
    there
        .map(|(name, value)| (name.clone(), said(value)))
        .collect()
}

/// What is searched for, up to a price of a unit.
pub(crate) fn sought(
    problem: &Value,
    price_cap_usd: Option<f64>,
) -> Result<SearchServing, Vec<Diagnostic>> {
    let asked = &problem["asked"];
    let mut question = json!({
        "model": with(&asked["model"], json!({ "weights": problem["weights"] })),
        "workload": asked["workload"],
        "engine": asked["engine"],
        "promises": promises(problem),
        "hardware": with(&asked["hardware"], json!({
            "accelerators": problem["accelerators"],
            "exclude": problem["exclude"],
            "hosts": problem["hosts"],
        })),
        "search": with(&asked["search"], json!({
            "builds": BUILDS, "hourly": false, "price_cap_usd": price_cap_usd,
        })),
        "layout": asked["layout"],
    });
    if is_judged(problem) {
        question["scheduler"] = asked["scheduler"].clone();
        question["load"] = json!({
            "arrivals": said(&problem["arrivals"]),
            "sizes": said(&problem["sizes"]),
            "prefix_hit_rate": problem["prefix_hit_rate"].as_f64().unwrap_or_default(),
            "sessions": problem["session_load"],
        });
    }
    read(&question)
}

/// Whether latencies under a load are promised.
pub(crate) fn is_judged(problem: &Value) -> bool {
    problem["percentile"].is_string()
}

fn promises(problem: &Value) -> Value {
    let target = problem["target_tokens_per_second"].as_f64();
    let ttft = &problem["ttft_seconds"];
    let steps = json!({
        "users": problem["concurrency"],
        "tokens_per_second": problem["throughput_tokens_per_second"].as_f64().unwrap_or_default(),
        "tokens_per_second_per_user": target.unwrap_or_default(),
        "prefill_seconds": ttft,
        "redundancy": problem["redundancy"],
    });
    if !is_judged(problem) {
        return steps;
    }
    with(
        &steps,
        json!({
            "percentile": problem["percentile"],
            "ttft_seconds": ttft,
            "tpot_seconds": target.map(f64::recip),
        }),
    )
}
