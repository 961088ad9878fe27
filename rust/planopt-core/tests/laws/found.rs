//! What a search found, kept: its rows are what lies behind them.

use std::collections::BTreeMap;
use std::sync::Arc;

use planopt_core::course::Course;
use planopt_core::request::{LaidOut, LayOut, Purchase, SearchServing, lay_out, search_serving};
use planopt_core::search::{Columns, Found, Kept, Limits, Objective, Resources};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use crate::stock::bundled;
use crate::support::asked;

/// A handle outlives the call that made it, on any thread.
const _: fn() = || {
    fn kept<T: Send + Sync + 'static>() {}
    kept::<Found>();
};

fn found(parts: &Value) -> Found {
    let parts = parts.as_array().expect("parts").iter();
    let parts: Vec<SearchServing> = parts.map(|part| asked("search_serving", part)).collect();
    let catalog = Arc::new(bundled("calibrated").clone());
    search_serving(&catalog, &parts, &Kept::default(), &Course::default())
        .expect("every name is known")
}

fn question(accelerator: &str, target: f64, users: u64) -> Value {
    json!({
        "model": "llama-3.1-8b",
        "context": 2048,
        "prompt": 1024,
        "tokens_per_second_per_user": target,
        "users": users,
        "builds": 5,
        "max_accelerators": 4,
        "accelerators": [accelerator],
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    /// Laid out as it was found, a row costs and does what its columns say.
    #[test]
    fn a_row_laid_out_is_what_its_columns_say(
        accelerator in select(vec!["rtx-4090", "h100-sxm", "l40s"]),
        target in 5.0..80.0,
        users in 1_u64..200,
    ) {
        let found = found(&json!([question(accelerator, target, users)]));
        let columns = &found.rows.columns;
        let rows = 0..u32::try_from(found.rows.len()).expect("few");
        let one = |row| Purchase { counts: BTreeMap::from([(row, 1)]), for_users: None };
        let asked = LayOut {
            purchases: rows.map(one).collect(),
            limits: Limits::default(),
            has_errors: true,
        };
        let laid = lay_out(&found, &asked).expect("the hardware is still there");
        let LaidOut::Serving(builds) = laid else {
            return Err(TestCaseError::fail("units serve"));
        };
        prop_assert_eq!(builds.len(), found.rows.len());
        for (row, build) in builds.iter().enumerate() {
            let laid = serde_json::to_value(build).expect("a build is JSON");
            let close = |told: &Value, known: f64| {
                let told = told.as_f64().expect("a number");
                (told / known - 1.0).abs() < 1e-12
            };
            #[expect(clippy::cast_precision_loss, reason = "prices are below 2^53")]
            let price = columns.price_micro_usd[row] as f64 / 1e6;
            prop_assert!(close(&laid["cost"]["price_usd"], price));
            prop_assert!(close(&laid["cost"]["usd_per_hour"], columns.usd_per_hour[row]));
            prop_assert!(close(&laid["power_watts"], columns.power_watts[row]));
            prop_assert!(close(&laid["tokens_per_second"], columns.tokens_per_second[row]));
            let speed = columns.tokens_per_second_per_user[row];
            prop_assert!(close(&laid["tokens_per_second_per_user"], speed));
            prop_assert_eq!(laid["users"].as_u64(), Some(columns.users[row]));
            let figures = &laid["deployments"][0]["evaluation"];
            let interval = &figures["intervals"]["tokens_per_second_per_user"];
            prop_assert!(interval["low"].as_f64() < interval["high"].as_f64());
            let sources = laid["bill_of_materials"].as_array().expect("lines");
            prop_assert!(sources.iter().all(|line| line["source"].is_string()));
        }
    }

    /// Parts of a question are searched for one after another, and nothing else is kept of them.
    #[test]
    fn parts_of_a_question_are_rows_of_one_table(target in 5.0..80.0, users in 1_u64..200) {
        let [one, other] = ["rtx-4090", "h100-sxm"].map(|id| question(id, target, users));
        let both = found(&json!([one, other]));
        let each = [found(&json!([one])), found(&json!([other]))];
        let prices: Vec<i64> = each
            .iter()
            .flat_map(|found| found.rows.columns.price_micro_usd.clone())
            .collect();
        prop_assert_eq!(&both.rows.columns.price_micro_usd, &prices);
        let covered: u64 = each.iter().map(|found| found.summary.covered).sum();
        prop_assert_eq!(both.summary.covered, covered);
        for row in 0..both.rows.len() {
            let system = both.rows.system(row);
            let of_stock = format!("{}{}", Resources::STOCK, system.accelerator);
            for name in [Resources::ACCELERATORS, &of_stock] {
                let place = both.rows.resources.place(name).expect("known");
                let need = both.rows.resources.need(row, place);
                prop_assert_eq!(need, i64::from(system.accelerators));
            }
        }
    }

    /// What alone is best breaks no limit, and nothing that a solver is offered does better alone.
    #[test]
    fn the_best_alone_is_possible_and_offered(
        target in 5.0..80.0,
        users in 1_u64..200,
        budget in 1_000_i128..200_000,
        objective in select(vec![
            Objective::Cheapest,
            Objective::Throughput,
            Objective::CostPerToken,
            Objective::Latency,
        ]),
    ) {
        let parts = ["rtx-4090", "h100-sxm"].map(|id| question(id, target, users));
        let rows = found(&json!(parts)).rows;
        let limits = Limits {
            users,
            budget_micro_usd: Some(budget * 1_000_000),
            ..Limits::default()
        };
        let offer = rows.offer(&limits, objective, None);
        let alone = rows.best_alone(|_| true, &limits, objective);
        prop_assert_eq!(offer.alone.is_some(), alone.is_some());
        if let (Some(offered), Some(alone)) = (offer.alone, alone) {
            prop_assert_eq!(offered, alone);
            prop_assert!(limits.broken(&rows, &[(alone.row, alone.count)]).is_empty());
            prop_assert!(offer.rows.contains(&alone.row));
        }
    }
}

#[test]
fn every_column_is_described_and_there() {
    let columns = Columns::default();
    for described in Columns::DESCRIBED {
        assert!(
            columns.values(described.name).is_some(),
            "{}",
            described.name
        );
        assert!(described.doc.ends_with('.'), "{}", described.name);
        let has_unit = ["_usd", "usd_per_hour", "_watts"];
        let named = has_unit.iter().any(|part| described.name.contains(part));
        assert!(!named || !described.unit.is_empty(), "{}", described.name);
    }
    assert!(columns.values("colour").is_none());
}
