//! The question of what to buy for a training run, with what was assumed said aloud.

use serde::Serialize;
use serde_json::Value;

use super::market::{Acquisition, Assumed, Market, architecture, by_name, model};
use super::reader::Reader;
use super::request::Request;
use crate::catalog::Catalog;
use crate::diagnostic::{Diagnostic, code};
use crate::quantity::thousands;
use crate::request::ModelRequest;
use crate::request::training::{SEQUENCE, TOKENS_PER_STEP};

/// What to buy for a training run.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Question {
    #[serde(flatten)]
    market: Market,
    model: String,
    tokens: f64,
    seq_len: u64,
    global_batch: u64,
    deadline_seconds: Option<f64>,
    objective: String,
    precision: Option<String>,
    gradients: Option<String>,
    optimizer: Option<String>,
    mtp_modules: Option<u64>,
    kv_heads: Option<u64>,
    architecture: Option<Value>,
    budget_usd: Option<f64>,
    max_accelerators: u64,
    redundancy: Option<u64>,
    #[serde(serialize_with = "by_name")]
    kinds: Vec<(String, u64)>,
    acquisition: Acquisition,
    assumed: Vec<Assumed>,
}

/// Reads a question; names are looked up in the catalog.
pub(super) fn question(
    mut reader: Reader,
    catalog: &Catalog,
    request: &Request,
) -> Result<Question, Vec<Diagnostic>> {
    let reading = &mut reader;
    let mut assumed = Vec::new();
    let model = model(reading, request, &mut assumed);
    let (seq_len, global_batch) = sequences(reading, catalog, &model, request, &mut assumed);
    reading.require("tokens", "a number of tokens, such as `2T`");
    let acquisition = Acquisition::of(reading, catalog, &request.money);
    if acquisition.way == "rent" && !reading.is_edited() {
        reading.out_of_place(
            &[
                "redundancy",
                "host",
                "network",
                "max_power",
                "max_racks",
                "stock",
            ],
            "is about what is bought, and this question rents",
            "--provider, --region, --budget and --max-accelerators",
        );
    }
    let kinds = kinds(reading, &request.hardware.accelerators);
    let named = match kinds.as_slice() {
        [] => request.hardware.accelerators.clone(),
        kinds => kinds.iter().map(|(name, _)| name.clone()).collect(),
    };
    let mut market = Market::of(reading, catalog, request, named);
    if !kinds.is_empty() {
        market.stock.clone_from(&kinds);
    }
    let in_time = reading.is_given("deadline");
    if !in_time && !reading.is_given("budget") && !reading.is_edited() {
        reading.wrong(
            code::MISSING_OPTION,
            "deadline",
            "by when, or for how much? nothing bounds the cluster",
            "--deadline, such as `30d`, or --budget, such as `$20M`",
        );
    }
    let most = request.hardware.max_accelerators.unwrap_or_default();
    if !reading.is_given("max_accelerators") {
        assumed.push(Assumed {
            name: "cluster",
            value: format!("{} accelerators at most", thousands(most)),
            why: None,
        });
    }
    let usual = if in_time { "cheapest" } else { "throughput" };
    let recipe = &request.recipe;
    let question = Question {
        market,
        tokens: recipe.tokens.unwrap_or(0.0),
        seq_len,
        global_batch,
        deadline_seconds: request.promises.deadline,
        objective: request.money.objective_or(usual),
        precision: recipe.precision.clone(),
        gradients: recipe.gradients.clone(),
        optimizer: recipe.optimizer.clone(),
        mtp_modules: recipe.mtp_modules,
        kv_heads: request.model.kv_heads,
        architecture: None,
        budget_usd: sum(reading, request),
        max_accelerators: most,
        redundancy: request.promises.redundancy,
        kinds,
        acquisition,
        model,
        assumed,
    };
    let mut question = reader.finish(question)?;
    question.architecture = architecture(catalog, &question.model)?;
    Ok(question)
}

/// Accelerators with their numbers, which are then all that there are.
fn kinds(reader: &mut Reader, named: &[String]) -> Vec<(String, u64)> {
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
    let shares = reader.shares("accelerators", named).into_iter();
    shares
        .map(|(name, number)| (name, number.unwrap_or(0)))
        .collect()
}

/// A sum: of a purchase, or of the whole of a rented run.
fn sum(reader: &mut Reader, request: &Request) -> Option<f64> {
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

/// Tokens of a sequence and sequences of a step, or the usual ones.
fn sequences(
    reader: &mut Reader,
    catalog: &Catalog,
    model: &str,
    request: &Request,
    assumed: &mut Vec<Assumed>,
) -> (u64, u64) {
    let length = request.recipe.seq_len.unwrap_or_else(|| {
        let asked = ModelRequest {
            name: model.to_owned(),
            kv_heads: request.model.kv_heads,
        };
        let longest = match asked.transformer(catalog) {
            Ok(transformer) => transformer.max_context,
            Err(problems) => {
                for problem in problems {
                    reader.push(problem);
                }
                u64::from(SEQUENCE)
            }
        };
        let length = longest.min(u64::from(SEQUENCE));
        assumed.push(Assumed {
            name: "sequence length",
            value: format!("{length} tokens"),
            why: None,
        });
        length
    });
    let batch = request.recipe.global_batch.unwrap_or_else(|| {
        let batch = (u64::from(TOKENS_PER_STEP) / length).max(1);
        #[expect(clippy::cast_precision_loss, reason = "told in millions")]
        let millions = (batch * length) as f64 / 1e6;
        assumed.push(Assumed {
            name: "global batch",
            value: format!("{batch} sequences, {millions:.1}M tokens"),
            why: Some("say --global-batch N"),
        });
        batch
    });
    (length, batch)
}
