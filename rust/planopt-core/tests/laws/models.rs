//! Shapes of a model that are special cases of others, and how it is divided.

use planopt_core::load::serving::Adapters;
use planopt_core::parallel::{
    Degrees, Layout, Placement, local_shape, parameter_fraction, partition,
};
use planopt_core::transformer::{Architecture, Experts, MlpShape, Role, Shard, Transformer, Work};

use proptest::prelude::*;

use crate::candidate::{Candidate, alike, candidates};
use crate::made_up::architectures;

fn with_mlp(architecture: &Architecture, mlp: &MlpShape) -> Architecture {
    let mut other = architecture.clone();
    for block in &mut other.blocks {
        block.mlp = mlp.clone();
    }
    other
}

/// Both evaluations of a candidate with one model and with another of the same heads and layers.
fn compare(candidate: &Candidate, one: &Transformer, other: &Transformer) -> Result<(), String> {
    let of = |transformer: &Transformer| {
        let mut candidate = candidate.clone();
        candidate.transformer = transformer.clone();
        let layers = u32::try_from(transformer.layers.len()).expect("few layers");
        candidate.layout = Layout {
            pp: candidate.layout.pp.min(layers),
            batch: candidate.layout.batch,
            in_flight: candidate.layout.in_flight,
            ..Layout::SINGLE
        };
        candidate.evaluate()
    };
    let (one, other) = (of(one), of(other));
    for (name, a, b) in [
        ("memory", one.memory.total.0, other.memory.total.0),
        (
            "step",
            one.decode.step_seconds.0,
            other.decode.step_seconds.0,
        ),
        ("prefill", one.prefill.seconds.0, other.prefill.seconds.0),
    ] {
        if !alike(a, b) {
            return Err(format!("{name}: {a} and {b}"));
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Heads divide keys and values as columns do while every rank has its own.
    #[test]
    fn as_many_key_value_heads_as_query_heads_is_multi_head_attention(
        log_heads in 0_u32..8,
        head_dim in 1_u64..256,
        hidden in 1_u64..10_000,
        log_tp in 0_u32..8,
    ) {
        let heads = 1_u64 << log_heads;
        let tp = 1 << log_tp.min(log_heads);
        let shard = Shard::Heads {
            query: heads * head_dim,
            key_value: 2 * heads * head_dim,
            kv_heads: heads,
        };
        let grouped = local_shape(hidden, 3 * heads * head_dim, shard, tp);
        let columns = local_shape(hidden, 3 * heads * head_dim, Shard::Columns, tp);
        prop_assert!(alike(grouped.0, columns.0) && alike(grouped.1, columns.1));
    }

    #[test]
    fn one_expert_is_a_dense_network_but_for_the_router(
        candidate in candidates(),
        architecture in architectures(),
        width in 64_u64..4096,
        gated in any::<bool>(),
    ) {
        let dense = MlpShape::Dense { width, gated, bias: false };
        let one_expert = MlpShape::Experts(Experts {
            experts: 1,
            active: 1,
            width,
            gated,
            ..Experts::default()
        });
        let dense = Transformer::from(&with_mlp(&architecture, &dense));
        let mut routed = Transformer::from(&with_mlp(&architecture, &one_expert));
        for block in &mut routed.blocks {
            block.operations.retain(|operation| operation.role != Role::Router);
        }
        let same = compare(&candidate, &dense, &routed);
        prop_assert!(same.is_ok(), "{same:?}");
    }

    /// What an operation is called is shown and decides nothing: its role and its work do.
    #[test]
    fn a_name_of_an_operation_changes_no_figure(candidate in candidates()) {
        let mut candidate = candidate;
        candidate.question.adapters = Some(Adapters { count: 4, rank: 16 });
        let mut renamed = candidate.clone();
        let model = &mut renamed.transformer;
        let of_layers = model.blocks.iter_mut().flat_map(|block| &mut block.operations);
        for operation in of_layers.chain(&mut model.embedding).chain(&mut model.head) {
            operation.name = "renamed";
        }
        prop_assert_eq!(format!("{:?}", renamed.evaluate()), format!("{:?}", candidate.evaluate()));
    }

    #[test]
    fn parameters_are_divided_and_never_lost(
        architecture in architectures(),
        tp in 1_u32..=64,
    ) {
        for operation in Transformer::from(&architecture).operations() {
            let held = parameter_fraction(operation, tp) * f64::from(tp);
            prop_assert!(held >= 1.0 - 1e-12, "{held} of {operation:?}");
            let is_replicated = matches!(
                operation.work,
                Work::MatMul { shard: Shard::Replicated | Shard::Heads { .. }, .. }
                    | Work::Elementwise { .. }
                    | Work::Attention { .. }
                    | Work::LatentAttention { .. }
                    | Work::Index { .. }
                    | Work::AllReduce { .. }
            );
            prop_assert!(is_replicated || alike(held, 1.0), "{held} of {operation:?}");
        }
    }

    #[test]
    fn every_layer_is_partitioned_once_and_evenly(
        layers in prop::collection::vec(0_usize..3, 1..130),
        pick in any::<prop::sample::Index>(),
    ) {
        let pp = u32::try_from(pick.index(layers.len()) + 1).expect("few stages");
        let stages = partition(&layers, 3, pp);

        let count: f64 = stages.iter().map(|stage| stage.count).sum();
        prop_assert!(alike(count, f64::from(pp)));
        for kind in 0..3_usize {
            let assigned: f64 = stages.iter().map(|stage| stage.layers[kind] * stage.count).sum();
            let there = layers.iter().filter(|&&layer| layer == kind).count();
            prop_assert!(alike(assigned, f64::from(u32::try_from(there).expect("few layers"))));
        }
        let sizes = || stages.iter().map(|stage| stage.layers.iter().sum::<f64>());
        let (least, most) = (sizes().fold(f64::MAX, f64::min), sizes().fold(0.0, f64::max));
        prop_assert!(least >= 1.0 && most - least <= 1.0, "from {least} to {most}");
        prop_assert!(stages.iter().filter(|stage| stage.first).count() == 1);
        prop_assert!(stages.iter().filter(|stage| stage.last).count() == 1);
    }

    #[test]
    fn a_replica_is_tensor_times_pipeline_accelerators_in_hosts_that_hold_them(
        tp in 1_u32..=64,
        pp in 1_u32..=64,
        slots in 1_u32..=16,
    ) {
        let Some(placement) = Placement::new(Degrees::tensor(tp), pp, slots) else {
            prop_assert!(tp > slots && tp % slots > 0);
            return Ok(());
        };
        prop_assert_eq!(placement.accelerators(), tp * pp);
        prop_assert!(placement.hosts * slots >= tp * pp);
        prop_assert!(placement.hosts <= tp * pp);
        prop_assert_eq!(placement.hosts_per_group() * placement.local_ranks(), tp);
        prop_assert!(placement.crossing_hops() < pp);
        prop_assert_eq!(placement.crossing_hops() == 0, placement.hosts_per_group() == placement.hosts);
    }
}
