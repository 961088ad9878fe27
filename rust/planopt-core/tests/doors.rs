//! What the doors refuse: every key that nothing reads, at every level, and every value that cannot
//! be, with its place, the value, what is accepted and the nearest key.

use planopt_core::diagnostic::Diagnostic;
use planopt_core::request::space::SpaceRequest;
use planopt_core::request::{
    EvaluateServing, EvaluateTraining, PriceChains, SearchPools, SearchServing, SearchTraining,
    ServeNeighbours, SimulateServing, TrainIslands, doors, read,
};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

/// A question that each door takes.
fn questions() -> Vec<(&'static str, Value)> {
    let model = json!({ "name": "llama-3.1-8b" });
    let workload = json!({ "prompt": 512, "context": 1024 });
    let hardware = json!({ "accelerator": "h100-sxm" });
    let tokens = json!({ "kind": "fixed", "tokens": 512 });
    let load = json!({
        "arrivals": { "kind": "closed", "users": 4, "think_seconds": 0.0 },
        "sizes": { "kind": "independent", "prompt": tokens, "output": tokens },
    });
    let decode = json!({ "hardware": hardware, "layout": { "tp": 2 }, "engine": {},
        "scheduler": {}, "transfer": { "latency_seconds": 0.0, "seconds_per_token": 0.0 } });
    let step = json!({ "fixed": 1e-2, "per_prefill_token": 1e-5, "per_prefill_token_context": 1e-9,
        "per_sequence": 1e-5, "per_cached_token": 1e-9, "stages": 1.0 });
    let serving = json!({ "model": model, "workload": workload, "hardware": hardware,
        "layout": { "tp": 2 }, "offload": { "to": "host" }, "engine": {} });
    let with = |base: &Value, more: Value| {
        let mut question = base.clone();
        for (group, value) in more.as_object().expect("groups") {
            question[group] = value.clone();
        }
        question
    };
    let search = json!({ "model": model, "workload": workload, "promises": { "users": 4 },
        "load": load, "hardware": {}, "engine": {}, "scheduler": {} });
    let training = json!({ "model": model, "recipe": {}, "run": { "tokens": 1e9 },
        "hardware": hardware, "layout": {}, "shares": [] });
    vec![
        ("evaluate_serving", serving.clone()),
        (
            "simulate_serving",
            with(
                &serving,
                json!({ "load": load, "scheduler": {}, "run": { "requests": 4 }, "decode": decode,
                    "step": step, "chain": { "machines": [{ "machines": 2, "accelerators": 1,
                        "id": "h100-sxm", "network": "ethernet-1g" }],
                        "stages": [[0, 32]], "chains": 1 } }),
            ),
        ),
        (
            "search_serving",
            with(
                &search,
                json!({ "rent": { "terms": ["spot"] }, "layout": {},
                    "search": { "max_accelerators": 1 } }),
            ),
        ),
        (
            "search_pools",
            with(
                &search,
                json!({ "limits": {},
                    "search": { "aim": "cheapest", "max_accelerators": 1 } }),
            ),
        ),
        ("evaluate_training", training.clone()),
        (
            "evaluate_mixed",
            with(
                &training,
                json!({ "shares": [{ "accelerator": "h100-sxm", "accelerators": 8 }] }),
            ),
        ),
        (
            "search_training",
            json!({ "model": model, "recipe": {}, "run": {}, "hardware": {}, "limits": {},
                "rent": { "terms": ["spot"] },
                "search": { "aim": "cheapest", "max_accelerators": 8 } }),
        ),
        (
            "serve_neighbours",
            json!({ "model": model, "workload": workload, "engine": {}, "neighbours": {
                "machines": [{ "machines": 2, "accelerators": 1, "id": "h100-sxm",
                    "network": "wan-1g" }], "output": 8 } }),
        ),
        (
            "price_chains",
            json!({ "chains": { "cards": [["h100-sxm", 2]] } }),
        ),
        (
            "train_islands",
            json!({ "model": model, "recipe": {}, "run": {}, "islands": {
                "machines": [{ "machines": 2, "accelerators": 1, "id": "h100-sxm",
                    "network": "wan-1g" }] } }),
        ),
    ]
}

/// Hands a question to its door, as far as it is read.
fn ask(door: &str, question: &Value) -> Result<(), Vec<Diagnostic>> {
    match door {
        "evaluate_serving" => read::<EvaluateServing>(question).map(drop),
        "simulate_serving" => read::<SimulateServing>(question).map(drop),
        "search_serving" => read::<SearchServing>(question).map(drop),
        "search_pools" => read::<SearchPools>(question).map(drop),
        "evaluate_training" | "evaluate_mixed" => read::<EvaluateTraining>(question).map(drop),
        "search_training" => read::<SearchTraining>(question).map(drop),
        "train_islands" => read::<TrainIslands>(question).map(drop),
        "price_chains" => read::<PriceChains>(question).map(drop),
        "serve_neighbours" => read::<ServeNeighbours>(question).map(drop),
        "space" => read::<SpaceRequest>(question).map(drop),
        other => panic!("no door {other}"),
    }
}

/// Places of all tables of a question.
fn tables(value: &Value, place: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(keys) => {
            found.push(place.to_owned());
            for (key, value) in keys {
                tables(value, &format!("{place}/{key}"), found);
            }
        }
        Value::Array(values) => {
            for (item, value) in values.iter().enumerate() {
                tables(value, &format!("{place}/{item}"), found);
            }
        }
        _ => {}
    }
}

/// A place as diagnostics tell it.
fn field(place: &str, key: &str) -> String {
    let mut field = String::new();
    for part in place.split('/').skip(1).chain([key]) {
        match part.parse::<usize>() {
            Ok(item) => field.extend(["[", &item.to_string(), "]"]),
            Err(_) if field.is_empty() => field += part,
            Err(_) => field.extend([".", part]),
        }
    }
    field
}

#[test]
fn questions_have_every_group_of_their_doors() {
    for (door, question) in questions() {
        ask(door, &question).unwrap_or_else(|problems| panic!("{door}: {problems:?}"));
        let there = question.as_object().expect("groups");
        for (group, _) in doors().remove(door).expect("a door") {
            assert!(there.contains_key(group), "{door}: {group}");
        }
    }
}

#[test]
fn no_key_of_a_group_is_one_of_another() {
    for (door, _) in questions() {
        let mut seen = Vec::new();
        for (group, keys) in doors().remove(door).expect("a door") {
            // How much is bought is a group of its own, and so are a second pool and a chain.
            let apart = ["unit", "decode", "chain"].contains(&group);
            seen.extend(keys.into_iter().filter(|key| !apart && *key != "name"));
        }
        let all = seen.len();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), all, "{door}");
    }
}

proptest! {
    #[test]
    fn a_misspelt_key_is_refused_at_every_level(
        (door, question) in select(questions()),
        key in "[a-z]{3,12}_x",
        pick in any::<prop::sample::Index>(),
    ) {
        let mut places = Vec::new();
        tables(&question, "", &mut places);
        let place = pick.get(&places[..]);
        let mut wrong = question.clone();
        wrong.pointer_mut(place).expect("a table")[&key] = json!(1);
        let problems = ask(door, &wrong).expect_err("nothing reads it");
        prop_assert_eq!(problems.len(), 1, "{:?}", problems);
        let problem = &problems[0];
        prop_assert_eq!(problem.code, "E103", "{}", problem);
        prop_assert_eq!(problem.field.clone(), Some(field(place, &key)), "{}", problem);
        prop_assert!(problem.accepted.is_some());
    }

    #[test]
    fn any_value_in_any_place_is_read_or_refused(
        (door, question) in select(questions()),
        value in select(vec![
            json!(null), json!(true), json!(-1), json!(0), json!(0.5), json!(1e300),
            json!(u64::MAX), json!(""), json!("block:0"), json!([]), json!([[1]]), json!({}),
            json!({ "kind": "closed" }),
        ]),
        pick in any::<prop::sample::Index>(),
    ) {
        let mut places = Vec::new();
        values(&question, "", &mut places);
        let mut wrong = question.clone();
        *wrong.pointer_mut(pick.get::<String>(&places[..])).expect("a value") = value;
        if let Err(problems) = ask(door, &wrong) {
            for problem in problems {
                prop_assert!(problem.field.is_some(), "{}", problem);
                prop_assert!(problem.accepted.is_some(), "{}", problem);
            }
        }
    }
}

/// Places of all values of a question.
fn values(value: &Value, place: &str, found: &mut Vec<String>) {
    if !place.is_empty() {
        found.push(place.to_owned());
    }
    let within: Vec<(String, &Value)> = match value {
        Value::Object(keys) => keys
            .iter()
            .map(|(key, value)| (key.clone(), value))
            .collect(),
        Value::Array(items) => {
            let items = items.iter().enumerate();
            items
                .map(|(item, value)| (item.to_string(), value))
                .collect()
        }
        _ => Vec::new(),
    };
    for (key, value) in within {
        values(value, &format!("{place}/{key}"), found);
    }
}

#[test]
fn everything_that_is_wrong_is_told_at_once() {
    let question = json!({
        "model": { "name": "llama-3.1-8b", "kv_head": 8 },
        "workload": { "prompt": -1, "context": "long" },
        "hardware": { "accelerator": "h100-sxm" },
        "layout": { "tpp": 2, "tp": 2.5 },
        "offlaod": {},
    });
    let problems = ask("evaluate_serving", &question).expect_err("five mistakes");
    let told = |problem: &Diagnostic| (problem.code, problem.field.clone().unwrap_or_default());
    let mut found: Vec<_> = problems.iter().map(told).collect();
    found.sort();
    let expected = [
        ("E103", "layout.tpp"),
        ("E103", "model.kv_head"),
        ("E103", "offlaod"),
        ("E104", "layout.tp"),
        ("E104", "workload.context"),
        ("E106", "workload.prompt"),
    ];
    assert_eq!(
        found,
        expected.map(|(code, field)| (code, field.to_owned()))
    );
    let misspelt = problems
        .iter()
        .find(|one| one.field.as_deref() == Some("layout.tpp"));
    let help = misspelt.and_then(|one| one.help.clone());
    assert_eq!(help.as_deref(), Some("did you mean `tp`?"));
}

#[test]
fn spaces_are_read_as_the_rest() {
    let space = json!({
        "kind": "serving", "model": "llama-2-70b", "formats": [["fp16", "fp16"]],
        "lengths": [[1, 2]], "overlap": ["none"], "tp": [1], "pp": [1], "replicas": [1],
        "in_flight": 1, "batch": 1,
    });
    ask("space", &space).expect("a space");
    for (key, value, code) in [
        ("tpp", json!([1]), "E103"),
        ("tp", json!(["many"]), "E104"),
        ("kind", json!("both"), "E001"),
        ("overlap", json!(["some"]), "E001"),
    ] {
        let mut wrong = space.clone();
        wrong[key] = value;
        let problems = ask("space", &wrong).expect_err("cannot be");
        assert_eq!(problems[0].code, code, "{}", problems[0]);
    }
}
