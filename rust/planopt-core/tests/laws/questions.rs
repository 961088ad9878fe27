//! Absurd questions get answers too: every count there is, from nothing to the largest.

use std::sync::Arc;

use planopt_core::course::Course;
use planopt_core::request::{EvaluateServing, SearchServing, evaluate_serving, search_serving};
use planopt_core::search::Kept;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::json;

use crate::stock::bundled;
use crate::support::asked;

/// Counts of every size, small ones and powers of two often.
fn counts() -> impl Strategy<Value = u32> {
    prop_oneof![
        4 => 1_u32..=8,
        2 => (0_u32..32).prop_map(|log| 1 << log),
        1 => any::<u32>(),
        1 => Just(u32::MAX),
    ]
}

/// Tokens that the Python side lets through.
fn tokens() -> impl Strategy<Value = u64> {
    prop_oneof![1_u64..10_000, 1_u64..=1 << 31]
}

fn accelerators() -> impl Strategy<Value = &'static str> {
    select(vec![
        "rtx-4090",
        "h100-sxm",
        "gb10-dgx-spark",
        "mi300x",
        "tpu-v5e",
    ])
}

fn networks() -> impl Strategy<Value = Option<&'static str>> {
    prop::option::of(select(vec!["ethernet-10g", "infiniband-400g"]))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_counts_are_evaluated_or_refused(
        accelerator in accelerators(),
        network in networks(),
        (tp, pp, replicas, batch) in (counts(), counts(), counts(), counts()),
        in_flight in prop::option::of(counts()),
        hosts in prop::option::of(counts()),
        nics_per_host in prop::option::of(counts()),
        (context, prompt) in (tokens(), tokens()),
    ) {
        let request: EvaluateServing = asked("evaluate_serving", &json!({
            "model": "llama-2-70b",
            "accelerator": accelerator,
            "network": network,
            "tp": tp,
            "pp": pp,
            "replicas": replicas,
            "batch": batch,
            "in_flight": in_flight,
            "hosts": hosts,
            "nics_per_host": nics_per_host,
            "context": context,
            "prompt": prompt,
        }));
        match evaluate_serving(bundled("calibrated"), &request) {
            Err(problems) => {
                prop_assert!(!problems.is_empty());
                for problem in problems {
                    prop_assert!(problem.accepted.is_some(), "{problem}");
                }
            }
            Ok(answer) => {
                let does = &answer.evaluation;
                prop_assert_eq!(does.feasible, does.rejections.is_empty());
                if let Some(cost) = does.cost {
                    prop_assert!(cost.price_usd > 0.0 && cost.price_usd.is_finite());
                    prop_assert!(cost.usd_per_million_tokens > 0.0);
                }
                for line in &answer.bill_of_materials {
                    prop_assert!(line.quantity > 0 && line.price_usd.or(line.usd_per_hour) >= Some(0.0));
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_demand_is_searched_for(
        accelerator in accelerators(),
        target in prop_oneof![Just(0.0), 0.1..100.0, Just(1e12)],
        batch in prop::option::of(counts()),
        in_flight in prop::option::of(counts()),
        users in prop_oneof![0_u64..1000, Just(1 << 63), Just(u64::MAX)],
        throughput in prop_oneof![Just(0.0), 1.0..1e6, Just(1e12)],
        redundancy in counts(),
        (context, prompt) in (tokens(), tokens()),
        price_cap_usd in prop::option::of(prop_oneof![Just(1e-6), 1.0..1e5, Just(2e12)]),
        overlap in select(vec!["none", "two-batch"]),
    ) {
        let request: SearchServing = asked("search_serving", &json!({
            "model": "llama-2-70b",
            "tokens_per_second_per_user": target,
            "batch": batch,
            "in_flight": in_flight,
            "users": users,
            "tokens_per_second": throughput,
            "redundancy": { "host": redundancy },
            "builds": 5,
            "context": context,
            "prompt": prompt,
            "overlap": overlap,
            "price_cap_usd": price_cap_usd,
            "max_accelerators": 16,
            "accelerators": [accelerator],
        }));
        let catalog = Arc::new(bundled("calibrated").clone());
        let found = search_serving(&catalog, &[request], &Kept::default(), &Course::default())
            .expect("every name is known");
        let columns = &found.rows.columns;
        for (place, &speed) in columns.tokens_per_second_per_user.iter().enumerate() {
            prop_assert!(speed.is_finite() && speed >= target);
            prop_assert!(columns.price_micro_usd[place] > 0);
        }
    }
}
