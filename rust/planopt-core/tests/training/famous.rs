//! Runs that everybody knows: each layout that ran fits, its memory term by term.

use super::{ask, catalog};
use planopt_core::document::RunEvaluation;
use serde_json::{Value, json};

const GB: f64 = 1e9;

/// Weights, gradients, optimizer and activations in GB.
fn terms(answer: &RunEvaluation) -> [f64; 4] {
    let memory = answer.memory.expect("laid out");
    [
        memory.weights_bytes,
        memory.gradients_bytes,
        memory.optimizer_bytes,
        memory.activations_bytes,
    ]
    .map(|bytes| bytes / GB)
}

#[track_caller]
fn close(found: [f64; 4], expected: [f64; 4], within: f64) {
    for (one, other) in found.into_iter().zip(expected) {
        assert!(
            (one - other).abs() <= within * other + 0.01,
            "{found:?} for {expected:?}"
        );
    }
}

fn llama_405b() -> Value {
    json!({
        "model": "llama-3.1-405b", "accelerator": "h100-sxm", "host": "hgx-8",
        "network": "infiniband-400g", "nics_per_host": 8, "tp": 8, "sequence_parallel": true,
        "pp": 16, "vpp": 8, "micro_batch": 1, "shard": "zero2", "model_flops": "causal",
        "seq_len": 8192,
    })
}

fn deepseek_v3() -> Value {
    json!({
        "model": "deepseek-v3", "accelerator": "h800-sxm", "host": "hgx-8",
        "network": "infiniband-400g", "nics_per_host": 8, "pp": 16, "ep": 64, "dp": 128,
        "micro_batch": 1, "global_batch": 15360, "seq_len": 4096, "precision": "fp8",
        "optimizer": "adam16bit", "shard": "zero1", "schedule": "dualpipe",
        "framework": "deepseek", "recompute": "layernorm+mla_up_proj+mlp_act+moe_act",
        "tokens": 14.8e12,
    })
}

/// Llama 3 (arXiv 2407.21783, table 4 and section 3.3.2): weights stay gathered, gradients are
/// sharded chunk by chunk, nothing is recomputed but what fused kernels make again.
#[test]
fn llama_3_405b_fits_in_its_three_layouts_at_their_speed() {
    for (changes, expected, published) in [
        (
            json!({ "dp": 128, "global_batch": 2048 }),
            [6.38, 1.69, 0.30, 68.25],
            400.0,
        ),
        (
            json!({ "dp": 64, "global_batch": 2048, "recompute": "mlp_act" }),
            [6.38, 1.79, 0.60, 59.91],
            430.0,
        ),
        (
            json!({ "dp": 8, "cp": 16, "global_batch": 128, "seq_len": 131_072 }),
            [6.38, 1.69, 0.30, 68.25],
            380.0,
        ),
    ] {
        let answer = ask(&catalog(), &llama_405b(), &changes);
        assert!(answer.feasible, "{:?}", answer.rejections);
        close(terms(&answer), expected, 0.002);
        let tflops = answer.model_tflops_per_accelerator.expect("laid out");
        assert!((tflops / published - 1.0).abs() < 0.10, "{tflops}");
    }
    // 109 of 533 MB of a layer are what its activation function leaves.
    let layer = |recompute: &str| {
        let changes = json!({ "dp": 128, "global_batch": 2048, "recompute": recompute });
        let answer = ask(&catalog(), &llama_405b(), &changes);
        answer.memory.expect("laid out").activations_per_layer_bytes / 1e6
    };
    assert!((layer("none") - 533.0).abs() < 0.5);
    assert!((layer("none") - layer("mlp_act") - 109.1).abs() < 0.1);
}

/// DeepSeek-V3 (arXiv 2412.19437): two stages on each of 2,048 H800, 2.664 million hours.
#[test]
fn deepseek_v3_fits_and_takes_its_hours() {
    let answer = ask(&catalog(), &deepseek_v3(), &json!({}));
    assert!(answer.feasible, "{:?}", answer.rejections);
    close(terms(&answer), [8.75, 23.44, 2.45, 30.62], 0.01);
    let hours = answer.run.expect("tokens").productive_accelerator_hours;
    assert!((hours / 2.664e6 - 1.0).abs() < 0.10, "{hours}");
    // One stage at a time and nothing made again does not fit.
    let plain = json!({ "schedule": "1f1b", "recompute": "none", "optimizer": "adam" });
    assert!(!ask(&catalog(), &deepseek_v3(), &plain).feasible);
}

/// NVIDIA's table of what each module keeps (arXiv 2603.07685, tables 3 and 4), 56.25 layers
/// times micro-batches of 4,096 tokens in bf16.
#[test]
fn modules_of_deepseek_v3_keep_what_is_published() {
    let layer = |recompute: &str| {
        let changes = json!({
            "precision": "bf16", "framework": "megatron", "schedule": "1f1b",
            "recompute": recompute,
        });
        let answer = ask(&catalog(), &deepseek_v3(), &changes);
        56.25 * answer.memory.expect("laid out").activations_per_layer_bytes / GB
    };
    let all = layer("none");
    assert!((all - layer("mla_up_proj") - 30.4).abs() < 0.4);
    assert!((all - layer("layernorm") - 8.2).abs() < 0.9);
    let activation = 56.25 * 2.0 * 4096.0 * (8.0 * 1.1 * 2048.0) / GB;
    assert!((all - layer("moe_act") - activation).abs() < 0.01);
    assert!(
        (all - layer("moe_act+layernorm") - (all - layer("moe_act")) - (all - layer("layernorm")))
            .abs()
            < 1e-9
    );
}

/// Layouts of 2020 to 2023, all of which ran: GPT-3 as Megatron-LM's paper of 2021 has it
/// (arXiv 2104.04473), MT-NLG (2201.11990), BLOOM (2211.05100), Falcon (2311.16867), OPT
/// (2205.01068).
#[test]
fn layouts_that_ran_fit() {
    let a100 = json!({
        "accelerator": "a100-sxm-80", "host": "hgx-a100-640", "network": "infiniband-200g",
        "nics_per_host": 8, "tp": 8, "micro_batch": 1, "seq_len": 2048, "recompute": "full",
        "flash_attention": false,
    });
    for (name, changes, expected) in [
        (
            "GPT-3",
            json!({
                "model": "gpt3-175b", "precision": "fp16", "pp": 8, "vpp": 6, "dp": 16,
                "global_batch": 1536, "framework": "megatron-2021",
            }),
            [5.6, 11.3, 33.9, 6.1],
        ),
        (
            "MT-NLG",
            json!({
                "model": "gpt-530b", "pp": 35, "dp": 8, "global_batch": 1920, "shard": "zero1",
                "framework": "megatron-2021",
            }),
            [4.1, 8.2, 3.1, 9.6],
        ),
        (
            "BLOOM",
            json!({
                "model": "bloom-176b", "tp": 4, "pp": 12, "dp": 8, "micro_batch": 2,
                "nics_per_host": 4, "global_batch": 2048, "shard": "zero1",
                "framework": "bigscience",
            }),
            [8.0, 15.9, 8.0, 11.4],
        ),
        (
            "Falcon",
            json!({
                "model": "falcon-180b", "accelerator": "a100-sxm-40", "host": null,
                "nics_per_host": 4, "pp": 8, "dp": 64, "global_batch": 2048, "shard": "zero1",
                "gradients": "bf16", "recompute": "none", "flash_attention": true,
            }),
            [5.8, 5.8, 0.54, 25.6],
        ),
        (
            "OPT",
            json!({
                "model": "opt-175b", "precision": "fp16", "dp": 124, "micro_batch": 8,
                "global_batch": 992, "shard": "zero3",
            }),
            [2.2, 0.7, 2.1, 42.9],
        ),
    ] {
        let answer = ask(&catalog(), &a100, &changes);
        assert!(answer.feasible, "{name}: {:?}", answer.rejections);
        close(terms(&answer), expected, 0.08);
    }
}

/// Steps and productive hours as published (the sources above), within what the page says.
#[test]
fn runs_take_their_time() {
    let a100 = json!({
        "accelerator": "a100-sxm-80", "network": "infiniband-200g", "nics_per_host": 8, "tp": 8,
        "micro_batch": 1, "seq_len": 2048, "recompute": "full", "flash_attention": false,
        "dropout": true,
    });
    let step = |answer: &RunEvaluation| answer.step_seconds.expect("laid out");
    let hours = |answer: &RunEvaluation| {
        let run = answer.run.as_ref().expect("tokens");
        run.productive_accelerator_hours
    };
    let asked = |changes: Value| ask(&catalog(), &a100, &changes);
    let gpt = asked(json!({
        "model": "gpt3-175b", "precision": "fp16", "pp": 8, "vpp": 6, "dp": 16,
        "global_batch": 1536, "framework": "megatron-2021", "tokens": 300e9,
    }));
    let mt = asked(json!({
        "model": "gpt-530b", "pp": 35, "dp": 8, "global_batch": 1920, "shard": "zero1",
        "framework": "bigscience",
    }));
    let bloom = asked(json!({
        "model": "bloom-176b", "tp": 4, "pp": 12, "dp": 8, "micro_batch": 2, "nics_per_host": 4,
        "global_batch": 2048, "shard": "zero1", "framework": "bigscience",
    }));
    let opt = asked(json!({
        "model": "opt-175b", "precision": "fp16", "dp": 124, "micro_batch": 8,
        "global_batch": 992, "shard": "zero3", "framework": "fsdp", "tokens": 300e9,
    }));
    let falcon = asked(json!({
        "model": "falcon-180b", "accelerator": "a100-sxm-40", "nics_per_host": 4, "pp": 8,
        "dp": 64, "global_batch": 2048, "shard": "zero1", "gradients": "bf16",
        "recompute": "none", "flash_attention": true, "dropout": false, "tokens": 3.5e12,
    }));
    for (name, found, published, within) in [
        ("GPT-3", hours(&gpt), 0.836e6, 0.10),
        ("MT-NLG", step(&mt), 60.1, 0.10),
        ("BLOOM", step(&bloom), 105.0, 0.10),
        ("OPT", hours(&opt), 0.786e6, 0.10),
        ("Falcon", hours(&falcon), 7.0e6, 0.20),
    ] {
        let error = found / published - 1.0;
        assert!(error.abs() < within, "{name}: {found}, {error}");
    }
}

/// fp8 `LoRA` of Llama-2-70B in `MLPerf`: 169 GiB were measured; adapters are beside attention alone,
/// and frozen products keep no input.
#[test]
fn frozen_products_keep_no_input() {
    let base = json!({
        "model": "llama-2-70b", "accelerator": "b300", "host": null, "dp": 8, "micro_batch": 1,
        "global_batch": 8, "seq_len": 8192, "precision": "fp8", "lora_rank": 16,
        "lora_modules": "attention", "framework": "nemo",
    });
    let catalog = catalog();
    let answer = ask(&catalog, &base, &json!({}));
    let memory = answer.memory.expect("laid out");
    assert!((memory.activations_per_layer_bytes / 1e6 - 1512.0).abs() < 1.0);
    let used = (memory.total_bytes - memory.overhead_bytes) / 1024_f64.powi(3);
    assert!((used / 169.0 - 1.0).abs() < 0.07, "{used}");
    let all = ask(&catalog, &base, &json!({ "lora_modules": "all" }));
    let layer = all.memory.expect("laid out").activations_per_layer_bytes;
    // Behind the second normalisation and in front of the product back, a byte an element.
    let inputs = 8192.0 * (8192.0 + 28672.0);
    assert!((layer - memory.activations_per_layer_bytes - inputs).abs() < 1.0);
}

/// Frozen weights in 4 bits are written out in 16, whatever the tokens.
#[test]
fn dequantisation_takes_the_same_for_any_tokens() {
    let catalog = catalog();
    let base = json!({
        "model": "llama-3.2-3b", "accelerator": "a100-sxm-80", "lora_rank": 8, "global_batch": 1,
    });
    let more = |seq_len: u32| {
        let of = |frozen: &str| {
            let changes = json!({ "frozen_weights": frozen, "seq_len": seq_len });
            let step = ask(&catalog, &base, &changes).step.expect("laid out");
            step.forward_seconds + step.backward_seconds
        };
        of("int4") - of("bf16")
    };
    let (few, many) = (more(2048), more(4096));
    assert!(
        few > 0.005 && (many / few - 1.0).abs() < 0.05,
        "{few} {many}"
    );
}

/// Zero-bubble schedules wait less, in their memory; both ends at once take twice the parameters.
#[test]
fn schedules_wait_and_hold_as_published() {
    let catalog = catalog();
    let base = json!({
        "model": "llama-2-70b", "accelerator": "h100-sxm", "tp": 8, "pp": 8, "dp": 1,
        "network": "infiniband-400g", "global_batch": 16, "host": "hgx-8",
    });
    let asked = |schedule: &str| {
        let answer = ask(&catalog, &base, &json!({ "schedule": schedule }));
        let memory = answer.memory.expect("laid out");
        let bubble = answer.step.expect("laid out").bubble_seconds;
        (bubble, memory.micro_batches_in_flight, memory.weights_bytes)
    };
    let plain = asked("1f1b");
    // F + B - 2 W of F + B: a third where backward takes twice forward.
    let share = asked("zb-h1").0 / plain.0;
    assert!((0.3..0.5).contains(&share), "{share}");
    assert!(asked("zb-h2").0.abs() < 1e-12 && asked("zb-v").0.abs() < 1e-12);
    // (8/2 - 1) (F + 2 B - 3 W) over 7 (F + B).
    let share = asked("dualpipe").0 / plain.0;
    assert!((0.2..0.4).contains(&share), "{share}");
    for (schedule, in_flight) in [
        ("1f1b", 8.0),
        ("zb-h1", 8.0),
        ("zb-h2", 15.0),
        ("zb-v", 8.0),
        ("dualpipe", 4.5),
    ] {
        assert!((asked(schedule).1 - in_flight).abs() < 1e-12, "{schedule}");
    }
    assert!(asked("dualpipe").2 > 1.9 * plain.2);
}

/// Weights that are there in 8 bits alone are gathered in as many (Megatron-Core,
/// `fp8_param_gather`): three bytes a parameter with its gradient in place of four. Those of
/// `MXFP8` are gathered in 16 and cast behind that, and so were all in `MLPerf`'s rounds of 2023.
#[test]
fn weights_in_eight_bits_are_gathered_so() {
    let catalog = catalog();
    // So few tokens over so slow a network that nothing else counts.
    let base = json!({
        "model": "llama-2-7b", "host": "hgx-8", "network": "ethernet-10g", "nics_per_host": 1,
        "dp": 64, "micro_batch": 1, "global_batch": 64, "seq_len": 128, "shard": "zero1",
        "gradients": "bf16",
    });
    for (framework, accelerator, bytes) in [
        ("nemo", "h100-sxm", 3.0),
        ("mlperf", "h100-sxm", 3.0),
        ("mlperf-2023", "h100-sxm", 4.0),
        ("nemo", "b200", 4.0),
    ] {
        let data = |precision: &str| {
            let changes = json!({
                "framework": framework, "accelerator": accelerator, "precision": precision,
            });
            let answer = ask(&catalog, &base, &changes);
            answer.step.expect("laid out").data_seconds
        };
        let share = data("fp8") / data("bf16");
        assert!(
            (share - bytes / 4.0).abs() < 0.02,
            "{framework}, {accelerator}: {share}"
        );
    }
}
