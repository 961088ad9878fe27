//! What must hold of any training candidate, whatever the figures.

use crate::{ask, catalog};
use planopt_core::catalog::{Assumptions, Catalog};
use planopt_core::compute::training::PricedModel;
use planopt_core::document::RunEvaluation;
use planopt_core::hardware::{Fabric, Links, NetworkLine, Owned, Rates, System};
use planopt_core::load::training::{Optimizer, Precision, Recipe};
use planopt_core::parallel::{Groups, Layout, Recompute, Schedule, Zero, partition_model};
use planopt_core::quantity::{BytesPerSecond, Seconds};
use planopt_core::training::{Job, TrainingEvaluation, TrainingHardware};
use planopt_core::transformer::{
    Architecture, AttentionShape, Experts, MlpShape, Role, Transformer,
};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

const CLOSE: f64 = 1e-9;

fn layouts() -> impl Strategy<Value = Value> {
    let degrees = (
        select(vec![1, 2, 4, 8]),
        select(vec![1, 2, 4]),
        select(vec![1, 2, 4]),
        select(vec![1, 2]),
    );
    (degrees, any::<[bool; 3]>(), select(vec![1, 2, 4])).prop_map(
        |((tp, pp, dp, cp), [sequence_parallel, flash, dropout], micro_batch)| {
            json!({
                "model": "llama-2-7b", "accelerator": "a100-sxm-80",
                "network": "infiniband-200g", "accelerators_per_host": 8,
                "tp": tp, "pp": pp, "dp": dp, "cp": cp, "micro_batch": micro_batch,
                "global_batch": 8 * dp * micro_batch, "seq_len": 2048,
                "sequence_parallel": sequence_parallel, "flash_attention": flash,
                "dropout": dropout, "tokens": 1e9,
            })
        },
    )
}

fn activations(answer: &RunEvaluation) -> f64 {
    answer.memory.expect("laid out").activations_bytes
}

fn seconds(answer: &RunEvaluation) -> f64 {
    answer.step_seconds.expect("laid out")
}

fn alike(a: f64, b: f64) -> bool {
    (a - b).abs() <= CLOSE * a.abs().max(b.abs())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn recomputation_lowers_memory_and_never_time(layout in layouts()) {
        let catalog = catalog();
        let with = |recompute: &str| ask(&catalog, &layout, &json!({ "recompute": recompute }));
        let none = with("none");
        for recompute in ["selective", "full", "block:2", "layers:2"] {
            let other = with(recompute);
            prop_assert!(activations(&other) <= activations(&none) * (1.0 + CLOSE), "{recompute}");
            prop_assert!(seconds(&other) >= seconds(&none) * (1.0 - CLOSE), "{recompute}");
        }
        prop_assert!(activations(&with("full")) < activations(&none));
        let (one, whole) = (with("block:1"), with("full"));
        prop_assert!(alike(activations(&one), activations(&whole)));
    }

    #[test]
    fn sharding_more_holds_less(layout in layouts()) {
        let catalog = catalog();
        let held = |shard: &str| {
            let memory = ask(&catalog, &layout, &json!({ "shard": shard })).memory;
            memory.expect("laid out")
        };
        let [none, one, two, three] = ["none", "zero1", "zero2", "zero3"].map(held);
        prop_assert!(one.optimizer_bytes <= none.optimizer_bytes);
        prop_assert!(two.gradients_bytes <= one.gradients_bytes);
        prop_assert!(alike(one.gradients_bytes, none.gradients_bytes));
        prop_assert!(two.total_bytes <= one.total_bytes && one.total_bytes <= none.total_bytes);
        prop_assert!(three.optimizer_bytes + three.gradients_bytes
            <= two.optimizer_bytes + two.gradients_bytes);
    }

    #[test]
    fn one_chunk_interleaved_is_one_forward_one_backward(layout in layouts()) {
        let catalog = catalog();
        let with = |schedule: &str| ask(&catalog, &layout, &json!({ "schedule": schedule }));
        let (plain, interleaved) = (with("1f1b"), with("interleaved"));
        prop_assert!(alike(seconds(&plain), seconds(&interleaved)));
        prop_assert!(alike(activations(&plain), activations(&interleaved)));
        prop_assert!(activations(&with("gpipe")) >= activations(&plain) * (1.0 - CLOSE));
    }

    #[test]
    fn degrees_multiply_to_the_accelerators_and_parts_sum_to_the_step(layout in layouts()) {
        let answer = ask(&catalog(), &layout, &json!({}));
        let product: u64 = ["tp", "pp", "dp", "cp"]
            .iter()
            .map(|degree| layout[degree].as_u64().expect("a count"))
            .product();
        prop_assert_eq!(u64::from(answer.accelerators), product);
        let step = serde_json::to_value(answer.step.expect("laid out")).expect("numbers");
        let parts: f64 = step
            .as_object()
            .expect("an object")
            .values()
            .map(|part| part.as_f64().expect("a number"))
            .sum();
        prop_assert!(alike(parts, seconds(&answer)));
        let coarse = [
            answer.compute_seconds,
            answer.bubble_seconds,
            answer.exposed_communication_seconds,
            answer.host_seconds,
        ];
        prop_assert!(alike(coarse.into_iter().flatten().sum(), seconds(&answer)));
        let memory = answer.memory.expect("laid out");
        let held = memory.weights_bytes
            + memory.gradients_bytes
            + memory.optimizer_bytes
            + memory.activations_bytes
            + memory.overhead_bytes;
        prop_assert!(alike(held, memory.total_bytes));
        let (mfu, hfu) = (answer.mfu.expect("laid out"), answer.hfu.expect("laid out"));
        prop_assert!(mfu > 0.0 && mfu <= hfu && hfu < 1.0);
    }

    #[test]
    fn a_faster_network_or_link_is_never_slower(layout in layouts(), faster in 1.0..8.0_f64) {
        let catalog = catalog();
        let candidate = Candidate::of(&catalog, &layout);
        let base = candidate.evaluate(1.0, 1.0).step.total().0;
        prop_assert!(candidate.evaluate(faster, 1.0).step.total().0 <= base * (1.0 + CLOSE));
        prop_assert!(candidate.evaluate(1.0, faster).step.total().0 <= base * (1.0 + CLOSE));
    }
}

/// One expert of which a token meets one is a dense network, once nothing is left to route.
#[test]
fn one_expert_is_dense() {
    let catalog = catalog();
    let layout = json!({ "tp": 2, "pp": 2, "dp": 2, "cp": 1, "micro_batch": 1, "global_batch": 8 });
    let dense = Candidate::of(&catalog, &layout);
    let mut experts = Candidate::of(&catalog, &layout);
    let mut model = catalog.architecture("llama-2-7b").expect("in the catalog");
    for block in &mut model.blocks {
        if let MlpShape::Dense { width, gated, bias } = block.mlp {
            block.mlp = MlpShape::Experts(Experts {
                experts: 1,
                active: 1,
                width,
                gated,
                bias,
                ..Experts::default()
            });
        }
    }
    experts.transformer = Transformer::from(&model);
    for block in &mut experts.transformer.blocks {
        block
            .operations
            .retain(|operation| operation.role != Role::Router);
    }
    let (dense, experts) = (dense.evaluate(1.0, 1.0), experts.evaluate(1.0, 1.0));
    assert!(alike(experts.step.total().0, dense.step.total().0));
    assert!(alike(experts.memory.total().0, dense.memory.total().0));
}

/// What an operation is called is shown and decides nothing: its role and its work do.
#[test]
fn a_name_of_an_operation_changes_no_figure() {
    let catalog = catalog();
    let layout = json!({ "tp": 2, "pp": 2, "dp": 2, "cp": 1, "micro_batch": 1, "global_batch": 8 });
    for model in ["llama-2-7b", "deepseek-v3", "nemotron-3-super"] {
        let model = catalog.architecture(model).expect("in the catalog");
        let mut candidate = Candidate::of(&catalog, &layout);
        candidate.transformer = Transformer::from(&model);
        let as_named = candidate.evaluate(1.0, 1.0);
        let model = &mut candidate.transformer;
        let of_layers = model
            .blocks
            .iter_mut()
            .flat_map(|block| &mut block.operations);
        for operation in of_layers.chain(&mut model.embedding).chain(&mut model.head) {
            operation.name = "renamed";
        }
        let renamed = candidate.evaluate(1.0, 1.0);
        assert_eq!(format!("{renamed:?}"), format!("{as_named:?}"));
    }
}

/// Grouped heads with as many key/value heads as query heads are multi-head attention.
#[test]
fn as_many_key_value_heads_as_heads_keep_what_multi_head_attention_keeps() {
    let catalog = catalog();
    let layout = json!({ "tp": 2, "pp": 1, "dp": 1, "cp": 1, "micro_batch": 1, "global_batch": 8 });
    let kept = |kv_heads: u64| {
        let mut candidate = Candidate::of(&catalog, &layout);
        let mut model: Architecture = catalog.architecture("llama-2-7b").expect("in the catalog");
        for block in &mut model.blocks {
            if let AttentionShape::Grouped(own) = &mut block.attention {
                own.kv_heads = kv_heads;
            }
        }
        candidate.transformer = Transformer::from(&model);
        candidate.evaluate(1.0, 1.0).memory.per_layer.0
    };
    let own = Candidate::of(&catalog, &layout);
    assert!(alike(kept(32), own.evaluate(1.0, 1.0).memory.per_layer.0));
    assert!(kept(8) < kept(32));
}

/// A candidate without names, so that its links can be made faster.
struct Candidate<'c> {
    catalog: &'c Catalog,
    transformer: Transformer,
    recipe: Recipe,
    layout: Layout,
}

impl<'c> Candidate<'c> {
    fn of(catalog: &'c Catalog, layout: &Value) -> Self {
        let count = |key: &str| {
            u32::try_from(layout[key].as_u64().expect("a count")).expect("a small count")
        };
        let model = catalog.architecture("llama-2-7b").expect("in the catalog");
        Self {
            catalog,
            transformer: Transformer::from(&model),
            recipe: Recipe {
                precision: Precision::Bf16,
                gradients: planopt_core::format::Format::Fp32,
                optimizer: Optimizer::Adam,
                master_weights: true,
                loss_chunks: 1,
                adapters: None,
                flash_attention: true,
                dropout: false,
                causal: true,
                mtp_modules: 0,
                seq_len: 2048,
                global_batch: count("global_batch"),
            },
            layout: Layout {
                tp: count("tp"),
                pp: count("pp"),
                dp: count("dp"),
                cp: count("cp"),
                batch: count("micro_batch"),
                schedule: Schedule::OneForwardOneBackward,
                recompute: Recompute::SELECTIVE,
                zero: Zero::Zero3,
                ..Layout::SINGLE
            },
        }
    }

    fn evaluate(&self, network: f64, scale_up: f64) -> TrainingEvaluation {
        const SLOTS: u32 = 4;
        const LINE: f64 = 25e9;
        let assumptions: &Assumptions = &self.catalog.assumptions.entity;
        let training = assumptions.training.expect("calibrated");
        let mut accelerator = self
            .catalog
            .accelerator("a100-sxm-80")
            .expect("there")
            .clone();
        if let Some(link) = &mut accelerator.scale_up {
            link.bandwidth = link.bandwidth * scale_up;
            link.domain = SLOTS;
        }
        let hosts = &self.catalog.hosts;
        let system = System {
            accelerator: &accelerator,
            host: &hosts.values().next().expect("there").entity,
            slots: SLOTS,
            pcie: BytesPerSecond(LINE * scale_up),
            all_reduce_bus: None,
            network: None,
            owned: Owned::default(),
        };
        let links = Links {
            scale_up: accelerator.scale_up.as_ref(),
            pcie: system.pcie,
            all_reduce_bus: None,
            network: Some(NetworkLine {
                rate: BytesPerSecond(LINE * network),
                latency: Seconds(1e-6),
                rdma: true,
                nics_per_host: 1,
                leaves: None,
            }),
        };
        let fabric = Fabric::new(&accelerator, &links, assumptions);
        let rates = Rates::of(&accelerator, self.recipe.precision.format(), assumptions);
        let rates = rates.expect("a rate for bf16");
        let groups = Groups::placed(&self.layout, &fabric, SLOTS).expect("placed");
        let priced = PricedModel::new(
            &self.transformer,
            &self.recipe,
            &self.layout,
            &rates,
            &groups,
            &training,
        );
        let stages = partition_model(&self.transformer, &self.recipe, self.layout.pp, 1);
        let hardware = TrainingHardware {
            system: &system,
            rates: &rates,
            fabric: &fabric,
        };
        let job = Job {
            transformer: &self.transformer,
            recipe: &self.recipe,
            layout: &self.layout,
            assumptions,
            training: &training,
        };
        job.evaluate(&hardware, &priced, &groups, &stages)
    }
}
