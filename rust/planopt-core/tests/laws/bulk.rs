//! Evaluation in bulk is the single evaluation, many times at once: within 1e-12 of each metric,
//! and bit for bit the same in any order and chunks.

use planopt_core::bulk::training::TrainingSpace;
use planopt_core::bulk::{Candidates, Metrics, Rejected, Sink, Tally, Walk, front, tally};
use planopt_core::catalog::Catalog;
use planopt_core::hardware::HardwareSpec;
use planopt_core::request::space::{
    ServingSpaceRequest, TrainingSpaceRequest, with_serving_space, with_training_space,
};
use planopt_core::request::{
    EvaluateServing, EvaluateTraining, RecipeRequest, TrainingLayout, evaluate_serving,
    evaluate_training,
};

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::stock::bundled;
use crate::support::{asked, grouped};

/// Single and bulk evaluation may differ by rounding: sums in another order, inverses that are
/// multiplied with.
const ROUNDING: f64 = 1e-12;

/// Candidates that are walked at once in search of one that works.
const WINDOW: u64 = 4096;

/// Keeps what it is given of one candidate.
#[derive(Default)]
struct One {
    metrics: Option<Vec<(&'static str, f64)>>,
    rejected: Option<Rejected>,
}

impl<C: Metrics> Sink<C> for One {
    fn accept(&mut self, _index: u64, count: usize, columns: &C) {
        assert_eq!(count, 1);
        let values = columns.with(|columns| columns.iter().map(|column| column[0]).collect());
        let values: Vec<f64> = values;
        self.metrics = Some(C::NAMES.iter().copied().zip(values).collect());
    }

    fn reject(&mut self, _index: u64, count: u64, reason: Rejected) {
        assert_eq!(count, 1);
        self.rejected = Some(reason);
    }
}

/// Finds the first candidate that works among those that are walked.
#[derive(Default)]
struct First(Option<u64>);

impl<C: Metrics> Sink<C> for First {
    fn accept(&mut self, index: u64, _count: usize, _columns: &C) {
        self.0.get_or_insert(index);
    }

    fn reject(&mut self, _index: u64, _count: u64, _reason: Rejected) {}
}

/// Random indices of a space and one that works, the first at or after a random one: few layouts
/// of a large model work, so that random indices alone may all be rejected.
fn indices(space: &impl Candidates, seeds: &[u64]) -> Vec<u64> {
    let count = space.count();
    let mut walker = space.walker();
    let working = (0..count.div_ceil(WINDOW)).find_map(|window| {
        let start = (seeds[0] % count + window * WINDOW) % count;
        let mut first = First::default();
        walker.walk(start, count.min(start + WINDOW), &mut first);
        first.0
    });
    let random = seeds.iter().map(|seed| seed % count);
    random.chain(working).collect()
}

fn training_request(model: &str, flash: bool) -> TrainingSpaceRequest {
    let run = json!({
        "model": model, "accelerator": "h100-sxm", "seq_len": 2048, "tokens": 1e12,
        "flash_attention": flash, "dropout": !flash,
    });
    serde_json::from_value(json!({
        "run": grouped("evaluate_training", &run),
        "accelerators": ["a100-sxm-80", "h100-sxm", "rtx-4090"],
        "hosts": ["hgx-8", "pcie-8gpu", "pcie-4gpu"],
        "networks": ["infiniband-400g", "ethernet-25g"],
        "tp": [1, 2, 4, 8], "sequence_parallel": [false, true],
        "cp": [1, 2], "ep": [1, 2, 4], "micro_batch": [1, 3],
        "pipeline": [[1, 1], [3, 1], [4, 2], [8, 1]],
        "recompute": ["none", "selective", "full", "block:3", "layers:2"],
        "dp": [1, 4, 6, 64], "shard": ["none", "zero1", "zero2", "zero3"],
        "rounds": 5, "max_accelerators": 4096,
    }))
    .expect("a request")
}

/// The candidate at `index` as the single evaluation is asked for it.
fn single(space: &TrainingSpace, request: &TrainingSpaceRequest, index: u64) -> EvaluateTraining {
    let (platform, layout, batch) = space.candidate(index);
    let hardware = HardwareSpec {
        accelerator: Some(platform.system.accelerator.id.clone()),
        host: Some(platform.system.host.id.clone()),
        network: platform
            .system
            .network
            .map(|(network, _)| network.id.clone()),
        nics_per_host: platform.system.network.map(|(_, line)| line.nics_per_host),
        ..HardwareSpec::default()
    };
    let layout = TrainingLayout {
        tp: layout.tp,
        sequence_parallel: layout.sequence_parallel,
        cp: layout.cp,
        ep: layout.ep,
        micro_batch: layout.batch,
        pp: layout.pp,
        vpp: layout.vpp,
        dp: layout.dp,
        recompute: Some(layout.recompute.to_string()),
        shard: layout.zero,
        ..request.run.layout.clone()
    };
    let recipe = RecipeRequest {
        global_batch: Some(batch),
        ..request.run.recipe.clone()
    };
    EvaluateTraining {
        hardware,
        layout,
        recipe,
        ..request.run.clone()
    }
}

/// A metric by its name anywhere in an answer, not within lists.
fn metric(answer: &Value, name: &str) -> Option<f64> {
    let own = answer.get(name).and_then(Value::as_f64);
    own.or_else(|| {
        let parts = answer.as_object()?.values();
        parts
            .filter(|part| part.is_object())
            .find_map(|part| metric(part, name))
    })
}

/// Holds the metrics of one candidate against an answer; differences are relative to `scale`
/// where a metric is a difference itself.
fn agree(metrics: &[(&str, f64)], expected: impl Fn(&str) -> Option<f64>) -> Result<(), String> {
    let step = expected("step_seconds").unwrap_or(0.0);
    for &(name, found) in metrics {
        let Some(wanted) = expected(name) else {
            return Err(format!("{name} is {found} and not in the answer"));
        };
        let scale = match name {
            "exposed_communication_seconds" | "bubble_seconds" | "waiting_seconds" => step,
            _ => wanted.abs(),
        };
        if (found - wanted).abs() > ROUNDING * scale {
            return Err(format!("{name}: {found}, not {wanted}"));
        }
    }
    Ok(())
}

fn check_training(catalog: &Catalog, request: &TrainingSpaceRequest, seeds: &[u64]) {
    let checked = with_training_space(catalog, request, |space| {
        let mut walker = space.walker();
        let mut accepted = 0;
        for index in indices(space, seeds) {
            let mut one = One::default();
            walker.walk(index, index + 1, &mut one);
            let asked = single(space, request, index);
            let answer = evaluate_training(catalog, &asked).expect("a candidate of a space");
            let answer = serde_json::to_value(answer).expect("an answer");
            if let Some(metrics) = one.metrics {
                accepted += 1;
                assert_eq!(answer["feasible"], json!(true), "{index}");
                let found = agree(&metrics, |name| match answer.get(name) {
                    Some(own) if own.is_number() => own.as_f64(),
                    _ => metric(&answer["memory"], name).or_else(|| metric(&answer["cost"], name)),
                });
                found.unwrap_or_else(|problem| panic!("{index}, {asked:?}: {problem}"));
            } else {
                let unbought = one.rejected == Some(Rejected::Network) && answer["cost"].is_null();
                let too_many = one.rejected == Some(Rejected::Accelerators);
                let rejected = answer["feasible"] == json!(false);
                assert!(
                    rejected || unbought || too_many,
                    "{index}: {:?}",
                    one.rejected
                );
            }
        }
        accepted
    });
    assert!(checked.expect("a space") > 0, "no candidate works");
}

fn serving_request(model: &str) -> ServingSpaceRequest {
    serde_json::from_value(json!({
        "model": model,
        "accelerators": ["h100-sxm", "a100-sxm-80", "rtx-4090"],
        "hosts": ["hgx-8", "pcie-4gpu"], "networks": ["infiniband-400g"],
        "formats": [["fp16", "fp16"], ["fp8", "fp8"], ["int4", "fp16"]],
        "lengths": [[128, 512], [2048, 4096]], "overlap": ["none", "two-batch"],
        "tp": [1, 2, 4, 8], "dp": [1, 2, 3], "ep": [1, 2, 4, 8], "pp": [1, 3, 8], "replicas": [1, 3], "in_flight": 9, "batch": 70,
    }))
    .expect("a request")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn training_in_bulk_is_the_single_evaluation(
        seeds in prop::collection::vec(any::<u64>(), 200),
        model in prop::sample::select(vec!["llama-2-13b", "gpt3-175b", "mixtral-8x7b", "deepseek-v2-lite"]),
        flash in any::<bool>(),
    ) {
        check_training(bundled("calibrated"), &training_request(model, flash), &seeds);
    }

    #[test]
    fn serving_in_bulk_is_the_single_evaluation(
        seeds in prop::collection::vec(any::<u64>(), 200),
        model in prop::sample::select(vec!["llama-2-70b", "mixtral-8x7b"]),
    ) {
        let catalog = bundled("calibrated");
        let request = serving_request(model);
        let checked = with_serving_space(catalog, &request, |space| {
            let mut walker = space.walker();
            let mut accepted = 0;
            for index in indices(space, &seeds) {
                let mut one = One::default();
                walker.walk(index, index + 1, &mut one);
                let (platform, question, layout) = space.candidate(index);
                let asked: EvaluateServing = asked("evaluate_serving", &json!({
                    "model": request.model,
                    "weights": question.formats.weights.name(),
                    "kv": question.formats.kv.name(),
                    "context": question.context, "prompt": question.prompt,
                    "overlap": serde_json::to_value(question.overlap).expect("a word"),
                    "accelerator": platform.system.accelerator.id,
                    "host": platform.system.host.id,
                    "network": platform.system.network.map(|(network, _)| network.id.clone()),
                    "nics_per_host": platform.system.network.map(|(_, line)| line.nics_per_host),
                    "tp": layout.tp, "dp": layout.dp, "ep": layout.ep,
                    "pp": layout.pp, "replicas": layout.replicas,
                    "batch": layout.batch, "in_flight": layout.in_flight,
                }));
                let answer = evaluate_serving(catalog, &asked).expect("a candidate of a space");
                let answer = serde_json::to_value(answer).expect("an answer");
                if let Some(metrics) = one.metrics {
                    accepted += 1;
                    prop_assert_eq!(&answer["feasible"], &json!(true), "{}", index);
                    let found = agree(&metrics, |name| match name {
                        "prefill_seconds" => answer["prefill"]["seconds"].as_f64(),
                        "power_watts" => answer["power_watts"].as_f64(),
                        _ => ["memory", "decode", "cost"]
                            .iter()
                            .find_map(|part| answer[part].get(name)?.as_f64()),
                    });
                    if let Err(problem) = found {
                        prop_assert!(false, "{}, {:?}: {}", index, asked, problem);
                    }
                } else {
                    let unbought = one.rejected == Some(Rejected::Network)
                        && answer["cost"].is_null();
                    let rejected = answer["feasible"] == json!(false);
                    prop_assert!(rejected || unbought, "{}: {:?}", index, one.rejected);
                }
            }
            Ok(accepted)
        });
        prop_assert!(checked.expect("a space")? > 0, "no candidate works");
    }

    #[test]
    fn checksums_do_not_depend_on_chunks_or_order(
        start in 0_u64..1000, length in 1_u64..40_000, chunk in 1_u64..5000,
    ) {
        let request = training_request("llama-2-13b", true);
        let found = with_training_space(bundled("calibrated"), &request, |space| {
            let end = (start + length).min(space.count());
            let mut whole = Tally::default();
            space.walker().walk(start, end, &mut whole);
            let cut = tally(space, (end - start).div_ceil(chunk), |walker, number, tally| {
                let from = start + number * chunk;
                walker.walk(from, end.min(from + chunk), tally);
            });
            let mut backwards = Tally::default();
            let mut walker = space.walker();
            for index in (start..end).rev() {
                walker.walk(index, index + 1, &mut backwards);
            }
            let mut visited = Tally::default();
            let indices: Vec<u64> = (start..end).rev().collect();
            walker.visit(&indices, &mut visited);
            (whole, cut, backwards, visited)
        });
        let (whole, cut, backwards, visited) = found.expect("a space");
        prop_assert_eq!(whole, cut);
        prop_assert_eq!(whole, backwards);
        prop_assert_eq!(whole, visited);
    }

    #[test]
    fn a_front_with_bounds_is_the_exhaustive_one(
        start in 0_u64..100_000, length in 1_u64..400_000,
    ) {
        let request = training_request("llama-2-13b", true);
        let found = with_training_space(bundled("calibrated"), &request, |space| {
            let part = (start, (start + length).min(space.count()));
            [true, false].map(|exhaustive| front(space, part, exhaustive, |_| true))
        });
        let [whole, bounded] = found.expect("a space");
        prop_assert_eq!(whole.tally.pruned, 0);
        prop_assert_eq!(whole.front, bounded.front);
        let covered = |tally: &Tally| tally.evaluated + tally.all_rejected() + tally.pruned;
        prop_assert_eq!(covered(&whole.tally), covered(&bounded.tally));
    }
}
