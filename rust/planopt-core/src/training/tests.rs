//! Published figures of training, from the bundled catalog.

use std::path::Path;

use serde_json::{Value, json};

use crate::ask::{EvaluateTraining, TrainingAnswer, evaluate_training};
use crate::catalog::Catalog;

const MIB: f64 = 1024.0 * 1024.0;

fn catalog() -> Catalog {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../catalogs");
    Catalog::load(&root, &[], "calibrated").expect("the bundled catalog loads")
}

/// The answer to a question with some of its keys put in place of others.
fn ask(catalog: &Catalog, base: &Value, changes: &Value) -> TrainingAnswer {
    let mut question = base.clone();
    let keys = question.as_object_mut().expect("questions are objects");
    for (key, value) in changes.as_object().expect("changes are objects") {
        keys.insert(key.clone(), value.clone());
    }
    let request: EvaluateTraining = serde_json::from_value(question).expect("known keys");
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
    let catalog = catalog();
    let mut sum = 0.0;
    let rows = [
        ("gpt-22b", 1, 1, 4, 4, [1.42, 1.10]),
        ("gpt-175b", 8, 3, 1, 64, [18.13, 13.75]),
        ("gpt-530b", 35, 3, 1, 280, [49.05, 37.83]),
        ("gpt-1t", 64, 1, 1, 512, [94.42, 71.49]),
    ];
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
            let found = answer.step_seconds.expect("laid out");
            let error = found / seconds - 1.0;
            println!(
                "{model} {recompute}: {found:.2} s for {seconds}, {:+.2} % {:?} {:?}",
                error * 100.0,
                answer.step,
                answer.memory
            );
            sum += error.abs();
        }
    }
    println!("mean {:.2} %", sum / 8.0 * 100.0);
}
