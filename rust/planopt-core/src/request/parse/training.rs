//! The question of what to buy for a training run, with what was assumed said aloud.

use serde::Serialize;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

use super::market::{self, Acquisition, model};
use super::question::Question;
use super::reader::Reader;
use super::request::RunRequest;
use crate::catalog::Catalog;
use crate::diagnostic::{Diagnostic, code};
use crate::load::critical_batch::{critical_batch_tokens, tokens_to_the_same_loss};
use crate::quantity::thousands;
use crate::request::training::{SEQUENCE, TOKENS_PER_STEP};
use crate::request::{ClusterOptions, RecipeRequest, SearchTraining, ShareRequest};
use crate::search::{ClusterLimits, TrainingAim};

/// Options that say nothing of rented runs.
const OF_WHAT_IS_BOUGHT: [&str; 6] = [
    "redundancy",
    "host",
    "network",
    "max_power",
    "max_racks",
    "stock",
];

/// Options that say nothing of a run in one place.
const OF_ISLANDS: [&str; 4] = ["inner_steps", "lifetime", "away", "marginal"];

/// Reads a question; names are looked up in the catalog.
pub(super) fn question(
    mut reader: Reader,
    catalog: &Catalog,
    request: RunRequest,
) -> Result<Question<SearchTraining>, Vec<Diagnostic>> {
    let reading = &mut reader;
    model(reading, catalog, &request.model.name);
    let recipe = filled_in(reading, catalog, &request);
    reading.require("tokens", "a number of tokens, such as `2T`");
    let batches = batches(reading, catalog, &request, &recipe);
    let acquisition = Acquisition::of(reading, catalog, &request.money, &request.hardware.host);
    not_of_rent(reading, &acquisition);
    not_over_islands(reading);
    let kinds = kinds(reading, &request.hardware.accelerators);
    let named = match kinds.as_slice() {
        [] => request.hardware.accelerators.clone(),
        kinds => kinds.iter().map(|kind| kind.accelerator.clone()).collect(),
    };
    let hardware = market::selection(reading, catalog, &request.hardware, named);
    market::look_up_prices(reading, catalog, &request.money);
    let in_time = is_in_time(reading);
    let delivery = waits(reading, catalog, &request, &acquisition);
    let most = request.hardware.max_accelerators.unwrap_or_default();
    if !reading.is_given("max_accelerators") {
        reading.assume(
            "cluster",
            format!("{} accelerators at most", thousands(most.into())),
            None,
        );
    }
    let objective = request.money.objective.clone();
    let usual = if in_time { "cheapest" } else { "throughput" };
    let objective = objective.unwrap_or_else(|| usual.to_owned());
    market::look_at_scenarios(reading, &acquisition, &objective);
    let is_fastest = objective == "throughput";
    let budget = sum(reading, &request);
    let stock = match kinds.as_slice() {
        [] => request.hardware.stock,
        kinds => kinds
            .iter()
            .map(|kind| (kind.accelerator.clone(), kind.accelerators))
            .collect(),
    };
    let kinds: Map<String, Value> = kinds
        .iter()
        .map(|kind| (kind.accelerator.clone(), kind.accelerators.into()))
        .collect();
    let mut recorded = market::recorded(&reader, &acquisition, &hardware);
    if !kinds.is_empty() {
        recorded.insert("stock".to_owned(), kinds.clone().into());
    }
    for (name, value) in [
        ("kinds", kinds.into()),
        ("seq_len", recipe.seq_len.into()),
        ("global_batch", recipe.global_batch.into()),
        ("objective", objective.into()),
        ("redundancy", request.run.redundancy.into()),
        ("delivery", json!(delivery)),
        ("budget_usd", budget.into()),
        ("batches", json!(batches)),
    ] {
        recorded.insert(name.to_owned(), value);
    }
    let rack_units = catalog.assumptions.entity.cost.rack_units;
    let asked = SearchTraining {
        model: request.model,
        recipe,
        run: request.run,
        hardware,
        rent: (acquisition.way == "rent").then_some(acquisition.rent),
        limits: ClusterLimits {
            // The cheapest cluster is found first, and the purchase sees whether it is within.
            price_usd: budget.filter(|_| is_fastest),
            power_watts: request.hardware.max_power,
            rack_units: request.hardware.max_racks.map(|racks| racks * rack_units),
            stock,
        },
        search: ClusterOptions {
            aim: if is_fastest {
                TrainingAim::Fastest
            } else {
                TrainingAim::Cheapest
            },
            deadline_seconds: request.promises.deadline,
            delivery,
            max_accelerators: most,
            slower: BTreeMap::new(),
            allow_odd: request.search.allow_odd,
        },
    };
    let model = asked.model.name.clone();
    Question::of_model(reader, catalog, &model, recorded, asked)
}

/// Batches of a range, and what each costs in tokens.
#[derive(Debug, Serialize)]
struct Batches {
    critical_batch_tokens: f64,
    critical_batch_source: &'static str,
    /// What the tokens that are asked for belong to: the usual batch, or what of the range is nearest.
    stated_batch: u32,
    stated_tokens: f64,
    tried: Vec<Batch>,
}

#[derive(Debug, Serialize)]
struct Batch {
    global_batch: u32,
    /// To the loss that is asked for.
    tokens: f64,
}

/// The ends of the range that the batch may be in.
fn range(reader: &Reader) -> Option<[u32; 2]> {
    let given = reader.values().get("global_batch")?;
    serde_json::from_value(given.clone()).ok()
}

/// Powers of two and doublings of the least batch of a range, its most, and the stated one.
fn batches(
    reader: &mut Reader,
    catalog: &Catalog,
    request: &RunRequest,
    recipe: &RecipeRequest,
) -> Option<Batches> {
    let stated = recipe.global_batch?;
    let Some([least, most]) = range(reader) else {
        if !reader.is_edited() {
            reader.out_of_place(
                &["critical_batch"],
                "is about a range of batches, and this run has one",
                "--global-batch beside it, such as 1024..16384",
            );
        }
        return None;
    };
    // The law is of whole models.
    if request.recipe.lora_rank.is_some() && !reader.is_given("critical_batch") {
        if !reader.is_edited() {
            reader.require("critical_batch", "tokens, such as 1M");
        }
        return None;
    }
    let given = reader
        .values()
        .get("critical_batch")
        .and_then(Value::as_f64);
    let (critical, source) = match (given, request.model.transformer(catalog)) {
        (Some(given), _) => (given, "as it was given"),
        (None, Ok(transformer)) => (
            critical_batch_tokens(&transformer),
            "of the model's size, Kaplan et al. 2020 (arXiv 2001.08361); \
             fitted to models of up to 1.5B parameters",
        ),
        (None, Err(problems)) => {
            for problem in problems {
                reader.push(problem);
            }
            return None;
        }
    };
    let tokens = request.run.tokens?;
    let doubled = |first: u32| {
        std::iter::successors(Some(first), |batch| batch.checked_mul(2))
            .take_while(|batch| *batch <= most)
            .filter(|batch| *batch >= least)
    };
    let tried: BTreeSet<u32> = doubled(1)
        .chain(doubled(least))
        .chain([stated, most])
        .collect();
    let length = f64::from(recipe.seq_len?);
    let in_tokens = |batch: u32| f64::from(batch) * length;
    let tried = tried.into_iter().map(|batch| Batch {
        global_batch: batch,
        tokens: tokens_to_the_same_loss(tokens, in_tokens(stated), in_tokens(batch), critical),
    });
    Some(Batches {
        critical_batch_tokens: critical,
        critical_batch_source: source,
        stated_batch: stated,
        stated_tokens: tokens,
        tried: tried.collect(),
    })
}

/// Refuses what is said of purchases, where a run is rented.
fn not_of_rent(reader: &mut Reader, acquisition: &Acquisition) {
    if acquisition.way == "rent" && !reader.is_edited() {
        reader.out_of_place(
            &OF_WHAT_IS_BOUGHT,
            "is about what is bought, and this question rents",
            "--provider, --region, --budget and --max-accelerators",
        );
    }
}

/// Refuses what is said of islands, where one cluster is asked for.
fn not_over_islands(reader: &mut Reader) {
    reader.out_of_place(
        &["islands"],
        "asks for another kind of answer",
        "`planopt train --islands`, in Python `planopt.train_islands`",
    );
    reader.out_of_place(
        &OF_ISLANDS,
        "is about islands, and this run has one cluster",
        "--islands beside it, such as `100xrtx-4090`",
    );
}

/// Seconds until parts that are ordered stand; a deadline says from when it counts.
fn waits(
    reader: &mut Reader,
    catalog: &Catalog,
    request: &RunRequest,
    acquisition: &Acquisition,
) -> BTreeMap<String, f64> {
    let waits = market::delivered(reader, catalog, &request.promises.delivery);
    let in_time = request.promises.deadline.is_some();
    if in_time && waits.is_empty() && acquisition.way != "rent" {
        reader.assume(
            "deadline",
            "counts from when all of it stands",
            Some("--delivery ID=44w counts it from the order"),
        );
    }
    if !in_time && !reader.is_edited() {
        reader.out_of_place(
            &["delivery"],
            "is about a deadline, and there is none",
            "--deadline beside it",
        );
    }
    waits
}

/// Whether a deadline bounds the cluster; if not, a budget must.
fn is_in_time(reader: &mut Reader) -> bool {
    let in_time = reader.is_given("deadline");
    if !in_time && !reader.is_given("budget") && !reader.is_edited() {
        reader.wrong(
            code::MISSING_OPTION,
            "deadline",
            "by when, or for how much? nothing bounds the cluster",
            "--deadline, such as `30d`, or --budget, such as `$20M`",
        );
    }
    in_time
}

/// Accelerators with their numbers, which are then all that there are.
fn kinds(reader: &mut Reader, named: &[String]) -> Vec<ShareRequest> {
    if !named.iter().any(|name| name.contains(':')) {
        return Vec::new();
    }
    if reader.is_given("stock") {
        reader.wrong(
            code::CONTRADICTION,
            "stock",
            "how many there are is said twice",
            "--accelerators ID:N,ID:N or --stock, not both",
        );
    }
    reader.shares("accelerators", named)
}

/// A sum: of a purchase, or of the whole of a rented run.
fn sum(reader: &mut Reader, request: &RunRequest) -> Option<f64> {
    let budget = request.money.budget?;
    if budget.hourly {
        reader.wrong(
            code::CONTRADICTION,
            "budget",
            "a run ends: its budget is a sum, not money per time",
            "a sum, such as $2M",
        );
    }
    Some(budget.usd)
}

/// The recipe with tokens of a sequence and sequences of a step, or the usual ones.
pub(super) fn filled_in(
    reader: &mut Reader,
    catalog: &Catalog,
    request: &RunRequest,
) -> RecipeRequest {
    let length = request.recipe.seq_len.unwrap_or_else(|| {
        let longest = match request.model.transformer(catalog) {
            Ok(transformer) => u32::try_from(transformer.max_context).unwrap_or(SEQUENCE),
            Err(problems) => {
                for problem in problems {
                    reader.push(problem);
                }
                SEQUENCE
            }
        };
        let length = longest.min(SEQUENCE);
        reader.assume("sequence length", format!("{length} tokens"), None);
        length
    });
    let batch = request.recipe.global_batch.unwrap_or_else(|| {
        let batch = (TOKENS_PER_STEP / length).max(1);
        if let Some([least, most]) = range(reader) {
            return batch.clamp(least, most);
        }
        let millions = f64::from(batch) * f64::from(length) / 1e6;
        reader.assume(
            "global batch",
            format!("{batch} sequences, {millions:.1}M tokens"),
            Some("say --global-batch N"),
        );
        batch
    });
    RecipeRequest {
        seq_len: Some(length),
        global_batch: Some(batch),
        ..request.recipe.clone()
    }
}
