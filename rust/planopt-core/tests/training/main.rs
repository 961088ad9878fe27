//! Published figures of training, from the bundled catalog.

use planopt_core::catalog::Catalog;
use planopt_core::document::{RunEvaluation, TrainingAnswer};
use planopt_core::request::{EvaluateTraining, evaluate_training, read};
use serde_json::{Value, json};
use std::path::Path;

mod famous;
mod laws;
#[path = "../support/mod.rs"]
mod support;

use support::{asked, grouped};

const MIB: f64 = 1024.0 * 1024.0;

fn catalog() -> Catalog {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../catalogs");
    Catalog::load(&root, &[], "calibrated").expect("the bundled catalog loads")
}

/// The answer to a question with some of its keys put in place of others.
fn ask(catalog: &Catalog, base: &Value, changes: &Value) -> RunEvaluation {
    answered(catalog, base, changes).evaluation
}

fn answered(catalog: &Catalog, base: &Value, changes: &Value) -> TrainingAnswer {
    let mut question = base.clone();
    let keys = question.as_object_mut().expect("questions are objects");
    for (key, value) in changes.as_object().expect("changes are objects") {
        keys.insert(key.clone(), value.clone());
    }
    let request: EvaluateTraining = asked("evaluate_training", &question);
    evaluate_training(catalog, &request).expect("known names")
}

/// GPT-3 as Megatron-LM trained it in 2022, on one pipeline of A100s.
fn megatron(model: &str) -> Value {
    json!({
        "model": model, "accelerator": "a100-sxm-80", "host": "hgx-a100-640",
        "network": "infiniband-200g", "nics_per_host": 8, "tp": 8, "seq_len": 2048,
        "precision": "fp16", "flash_attention": false, "dropout": true,
    })
}

/// A module is a layer, what leads into it, and another pass through the head; the last stage
/// carries it, and looks tokens up in a table of its own.
#[test]
fn multi_token_prediction_costs_what_its_operations_cost() {
    let catalog = catalog();
    let base = megatron("llama-2-7b");
    let with = |modules: u32, pp: u32| {
        let changes = json!({
            "tp": 1, "pp": pp, "global_batch": 8, "tokens": 1e9, "mtp_modules": modules,
        });
        ask(&catalog, &base, &changes)
    };
    let (none, one, two) = (with(0, 1), with(1, 1), with(2, 1));
    let states = |answer: &RunEvaluation| answer.memory.expect("laid out").optimizer_bytes;
    // Adam: 12 bytes of state. A layer; two normalisations, the projection and the final one.
    let layer = 4.0 * 4096.0 * 4096.0 + 3.0 * 4096.0 * 11008.0 + 2.0 * 4096.0;
    let module = 12.0 * (layer + 2.0 * 4096.0 * 4096.0 + 3.0 * 4096.0);
    assert!((states(&one) - states(&none) - module).abs() < 1.0);
    assert!((states(&two) - states(&one) - module).abs() < 1.0);
    // Two stages: the last one has the table of tokens again.
    let table = 12.0 * 32000.0 * 4096.0;
    let last = |answer: &RunEvaluation| answer.failures.expect("laid out").checkpoint_bytes;
    assert!((last(&with(1, 2)) - last(&with(0, 2)) - module - table).abs() < 1.0);
    // Its arithmetic counts as the model's.
    let flops = |answer: &RunEvaluation| {
        answer.mfu.expect("laid out") * answer.step_seconds.expect("laid out")
    };
    let share = (flops(&one) - flops(&none)) / flops(&none);
    let attention = 2.0 * 2.0 * 2048.0 * 4096.0;
    let own = 2.0 * (layer - 2.0 * 4096.0 + 2.0 * 4096.0 * 4096.0 + 32000.0 * 4096.0) + attention;
    let model = 2.0 * (32.0 * (layer - 2.0 * 4096.0) + 32000.0 * 4096.0) + 32.0 * attention;
    assert!((share / (own / model) - 1.0).abs() < 1e-9, "{share}");
}

#[test]
fn models_are_trained_with_the_modules_they_are_published_with() {
    let catalog = catalog();
    let base = json!({
        "model": "deepseek-v3", "accelerator": "h100-sxm", "host": "hgx-8",
        "network": "infiniband-400g", "pp": 16, "ep": 64, "dp": 128, "recompute": "full",
    });
    let modules = |changes: Value| answered(&catalog, &base, &changes).candidate.mtp_modules;
    assert_eq!(modules(json!({})), 1);
    assert_eq!(modules(json!({ "mtp_modules": 0 })), 0);
    assert_eq!(modules(json!({ "lora_rank": 8 })), 0);
    assert_eq!(modules(json!({ "model": "llama-2-7b", "ep": 1 })), 0);
}

/// Tensor cores load rows of operands as they lie in memory, and tokens are many rows: 64 and 63
/// of them for each expert take about the same.
#[test]
fn experts_take_any_number_of_tokens() {
    let catalog = catalog();
    let base = json!({
        "model": "mixtral-8x7b", "accelerator": "h100-sxm", "host": "hgx-8", "ep": 8, "dp": 8,
        "global_batch": 8, "micro_batch": 1,
    });
    let each = |seq_len: u32| {
        let answer = ask(&catalog, &base, &json!({ "seq_len": seq_len }));
        answer.step.expect("laid out").backward_seconds / f64::from(seq_len)
    };
    let (whole, odd) = (each(4096), each(4091));
    assert!((odd / whole - 1.0).abs() < 0.005, "{odd} {whole}");
}

/// Experts of a rank are multiplied beside each other and share the last wave of tiles: many with
/// few tokens each take hardly longer than few with many.
#[test]
fn many_experts_with_few_tokens_each_take_hardly_longer() {
    let catalog = catalog();
    let base = json!({
        "model": "qwen3-235b-a22b", "accelerator": "h100-sxm", "host": "hgx-8",
        "network": "infiniband-400g", "pp": 2, "dp": 32, "global_batch": 64, "micro_batch": 1,
    });
    let forward = |ep: u32| {
        let answer = ask(&catalog, &base, &json!({ "ep": ep }));
        answer.step.expect("laid out").forward_seconds
    };
    let longer = forward(8) / forward(32);
    assert!((1.0..1.01).contains(&longer), "{longer}");
}

/// Ranks that hold the same parameters, such as key/value heads that `tp` outnumbers, write one
/// copy of them.
#[test]
fn a_checkpoint_has_every_parameter_once() {
    let catalog = catalog();
    let base = megatron("llama-2-70b");
    let bytes = |tp: u32| {
        let answer = ask(&catalog, &base, &json!({"tp": tp, "global_batch": 8}));
        answer.failures.expect("laid out").checkpoint_bytes
    };
    // Adam: the master weight and two moments of 4 bytes each.
    assert!((bytes(1) - 12.0 * 68_976_648_192.0).abs() < 1.0);
    assert!((bytes(16) - bytes(1)).abs() < 1.0);
}

/// One replica has no gradients to exchange, and an untied model no matrix on two stages.
#[test]
fn nothing_to_send_takes_no_time() {
    let catalog = catalog();
    let changes = json!({"tp": 1, "pp": 2, "global_batch": 8});
    let answer = ask(&catalog, &megatron("llama-2-7b"), &changes);
    let step = answer.step.expect("laid out");
    assert!(step.data_seconds.abs() < f64::EPSILON, "{step:?}");
}

/// Korthikanti et al., arXiv 2205.05198, table 2, with 16-bit activations.
#[test]
fn activations_of_gpt3_come_out_as_published() {
    let catalog = catalog();
    let base = megatron("gpt-175b");
    for (recompute, sequence_parallel, mebibytes) in [
        ("none", false, 552.0),
        ("none", true, 342.0),
        ("selective", false, 312.0),
        ("selective", true, 102.0),
        ("full", false, 48.0),
    ] {
        let changes = json!({
            "pp": 8, "global_batch": 64,
            "recompute": recompute, "sequence_parallel": sequence_parallel,
        });
        let memory = ask(&catalog, &base, &changes).memory.expect("laid out");
        let found = memory.activations_per_layer_bytes / MIB;
        assert!(
            (found - mebibytes).abs() < 1e-9,
            "{recompute}, sequence parallel {sequence_parallel}: {found} MiB"
        );
    }
}

/// Iteration times of Korthikanti et al., arXiv 2205.05198, table 5, with the layouts of
/// calculon-ai/calculon@caa4b11, validation/seqsel/tab5: full recomputation, and selective with
/// sequence parallelism.
#[test]
fn iterations_of_megatron_come_out_as_published() {
    const EACH: f64 = 0.05;
    const MEAN: f64 = 0.03;
    let catalog = catalog();
    let rows = [
        ("gpt-22b", 1, 1, 4, 4, [1.42, 1.10]),
        ("gpt-175b", 8, 3, 1, 64, [18.13, 13.75]),
        ("gpt-530b", 35, 3, 1, 280, [49.05, 37.83]),
        ("gpt-1t", 64, 1, 1, 512, [94.42, 71.49]),
    ];
    let mut errors = Vec::new();
    for (model, pp, vpp, micro_batch, global_batch, measured) in rows {
        for (recompute, sequence_parallel, seconds) in [
            ("full", false, measured[0]),
            ("selective", true, measured[1]),
        ] {
            let changes = json!({
                "pp": pp, "vpp": vpp, "micro_batch": micro_batch, "global_batch": global_batch,
                "recompute": recompute, "sequence_parallel": sequence_parallel,
            });
            let answer = ask(&catalog, &megatron(model), &changes);
            assert!(
                answer.feasible,
                "{model} {recompute}: {:?}",
                answer.rejections
            );
            let found = answer.step_seconds.expect("laid out");
            let error = (found / seconds - 1.0).abs();
            assert!(
                error <= EACH,
                "{model} {recompute}: {found} s for {seconds} s"
            );
            errors.push(error);
        }
    }
    let count = f64::from(u32::try_from(errors.len()).expect("few rows"));
    let mean = errors.iter().sum::<f64>() / count;
    assert!(mean <= MEAN, "mean error {mean}");
}

/// LLaMA-2 70B: 1,720,320 hours of A100 for 2T tokens (its model card), which is 43.5 % of the peak
/// for 6 N D with N of 70e9.
#[test]
fn llama_2_took_the_published_hours_at_its_utilisation() {
    let base = json!({
        "model": "llama-2-70b", "accelerator": "a100-sxm-80", "network": "infiniband-200g",
        "tp": 8, "pp": 4, "dp": 64, "sequence_parallel": true, "shard": "zero1",
        "global_batch": 1024, "tokens": 2e12,
        "mfu": 0.435, "model_flops": "6nd", "nominal_parameters": 70e9,
    });
    let catalog = catalog();
    let answer = ask(&catalog, &base, &json!({}));
    let run = answer.run.expect("tokens are given");
    let hours = run.productive_accelerator_hours;
    assert!((hours / 1_720_320.0 - 1.0).abs() < 0.01, "{hours} hours");
    assert!(run.accelerator_hours > hours);
    let counted = ask(&catalog, &base, &json!({ "nominal_parameters": null }));
    let counted = counted.run.expect("tokens are given");
    let ratio = counted.productive_accelerator_hours / hours;
    assert!((ratio - 68_976_648_192.0 / 70e9).abs() < 1e-9, "{ratio}");
}

/// 18 bytes per parameter: 2 of weights, 4 of gradients, 12 of Adam; 16 with 16-bit gradients, as
/// the seed article counts.
#[test]
fn adam_holds_eighteen_bytes_per_parameter() {
    let catalog = catalog();
    let base = json!({ "model": "llama-2-7b", "accelerator": "a100-sxm-80", "global_batch": 1 });
    let held = |gradients: &str| {
        let memory = ask(&catalog, &base, &json!({ "gradients": gradients })).memory;
        let memory = memory.expect("laid out");
        memory.weights_bytes + memory.gradients_bytes + memory.optimizer_bytes
    };
    let parameters = 6_738_415_616.0;
    assert!((held("fp32") / parameters - 18.0).abs() < 1e-9);
    assert!((held("fp16") / parameters - 16.0).abs() < 1e-9);
}

#[test]
fn a_rejection_says_what_would_fit() {
    let catalog = catalog();
    let base = json!({ "model": "llama-2-70b", "accelerator": "a100-sxm-80" });
    for (changes, code, words) in [
        (json!({ "tp": 3 }), "heads", "2 or 4 would"),
        (json!({ "pp": 81 }), "layers", "at most 80"),
        (
            json!({ "pp": 3, "vpp": 2 }),
            "interleave",
            "a multiple of 3 micro-batches",
        ),
        (
            json!({ "dp": 8, "global_batch": 12 }),
            "global_batch",
            "8 or 16 would be",
        ),
        (
            json!({ "dp": 2, "ep": 2, "global_batch": 2 }),
            "experts",
            "1 would",
        ),
        (
            json!({ "tp": 4, "accelerator": "rtx-4090", "host": "mining-6gpu" }),
            "placement",
            "3 or 6 would",
        ),
        (
            json!({ "dp": 16, "global_batch": 16 }),
            "network",
            "2 hosts",
        ),
        (json!({ "global_batch": 1 }), "memory", "optimizer"),
        (
            json!({ "dp": 4, "global_batch": 4, "shard_group": 3 }),
            "shard_group",
            "2 or 4",
        ),
        (json!({ "cp": 3 }), "context", "2 or 4"),
    ] {
        let answer = ask(&catalog, &base, &changes);
        assert!(!answer.feasible);
        let first = &answer.rejections[0];
        assert_eq!(first.code, code, "{}", first.message);
        assert!(first.message.contains(words), "{}", first.message);
        assert!(!first.numbers.is_empty());
    }
}

#[test]
fn words_that_are_no_choice_are_refused_with_those_that_are() {
    let catalog = catalog();
    let base = json!({ "model": "llama-2-7b", "accelerator": "a100-sxm-80" });
    for (key, value) in [
        ("schedule", json!("zero-bubble")),
        ("recompute", json!("block:0")),
        ("shard", json!("zero4")),
        ("precision", json!("int8")),
        ("optimizer", json!("lion")),
        ("offload", json!(["weights"])),
        ("tp", json!(0)),
        ("mfu", json!(1.5)),
        ("tokens", json!(-1.0)),
        ("dp", json!(65536)),
    ] {
        let mut question = base.clone();
        question[key] = value;
        let mut changes = question.as_object().expect("an object").clone();
        if key == "dp" {
            changes.insert("tp".to_owned(), json!(65536));
        }
        let question = grouped("evaluate_training", &Value::Object(changes));
        let request = read(&question);
        let answer = request.and_then(|request| evaluate_training(&catalog, &request));
        let problems = answer.expect_err("must be refused");
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].accepted.is_some(), "{}", problems[0]);
    }
}
