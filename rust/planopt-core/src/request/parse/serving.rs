//! The question of what to buy to serve a model, with what was assumed said aloud.

use super::images::Images;
use super::load::{kind_of, seated};
use super::market::{self, Acquisition, look_up_model};
use super::question::Question;
use super::reader::Reader;
use super::request::{LoadKind, Request, Sum, Workload};
use super::served::{Lengths, drafted};
use super::sessions::{Talk, kept_behind, kept_in_hosts};
use crate::catalog::{Catalog, SwitchSale};
use crate::diagnostic::{Diagnostic, code};
use crate::format::Format;
use crate::load::Statistic;
use crate::quantity::real;
use crate::request::model::unknown_format;
use crate::request::{Engine, Promises, SearchOptions, SearchServing, ServedModel};
use crate::search::Redundancy;
use serde_json::json;

/// Accelerators of one replica that are searched for: beyond the largest replica of the published
/// serving runs.
const LARGEST_REPLICA: u32 = 64;

/// Reads a question; names are looked up in the catalog.
pub(super) fn question(
    mut reader: Reader,
    catalog: &Catalog,
    mut request: Request,
) -> Result<Question<SearchServing>, Vec<Diagnostic>> {
    let reading = &mut reader;
    not_by_neighbours(reading);
    let images = Images::of(reading, catalog, &request.model, &request.workload);
    request.workload = arriving(reading, catalog, &request);
    let talk = Talk::of(reading, catalog, &request.sessions, &mut request.workload);
    let asked = &request.workload;
    let steps = steps(catalog, &request);
    let load = kind_of(reading, asked, steps);
    let turns = talk.as_ref().map(|talk| &talk.turns);
    let seen = images.tokens;
    let lengths = Lengths::of(reading, catalog, asked, load, seen, turns);
    if talk.is_some() {
        reading.require("ttft", "how long may a turn wait? Such as --ttft 5s");
    }
    market::model(reading, catalog, &request.model.name);
    let model = images.before(drafted(reading, request.model.clone()));
    let throughput = throughput(&request, lengths.output);
    let acquisition = Acquisition::of(reading, catalog, &request.money, &request.hardware.host);
    let (budget_usd, budget_usd_per_hour) = budget(reading, &acquisition, request.money.budget);
    let accelerators = request.hardware.accelerators.clone();
    let mut hardware = market::selection(reading, catalog, &request.hardware, accelerators);
    kept_in_hosts(reading, catalog, &mut hardware, &request.scheduler);
    market::look_up_prices(reading, catalog, &request.money);
    let objective = request.money.objective.as_deref().unwrap_or("cheapest");
    market::look_at_scenarios(reading, &acquisition, objective);
    let percentile = percentile(reading, &request, load);
    let users = users(reading, &request, throughput > 0.0);
    look_up(reading, catalog, &model, &request);
    limited(reading, &request);
    let redundancy = redundancy(reading, catalog, &acquisition, &request);
    let mut recorded = market::recorded(&reader, &acquisition, &hardware);
    lengths.record(&mut recorded);
    images.record(&mut recorded);
    if let Some(talk) = talk {
        talk.record(&mut recorded);
    }
    let arrivals = load.arrivals(&request.workload, Some(users));
    for (name, value) in [
        ("requests_per_second", request.workload.requests.into()),
        ("load", json!(load)),
        ("arrivals", arrivals.into()),
        ("percentile", percentile.into()),
        ("concurrency", users.into()),
        (
            "throughput_tokens_per_second",
            (throughput > 0.0).then_some(throughput).into(),
        ),
        ("budget_usd", budget_usd.into()),
        ("budget_usd_per_hour", budget_usd_per_hour.into()),
        ("redundancy", json!(redundancy)),
        ("draft_tokens", model.draft_tokens.into()),
    ] {
        recorded.insert(name.to_owned(), value);
    }
    let name = model.name.clone();
    let asked = SearchServing {
        model,
        workload: lengths.prompts(),
        promises: Promises {
            redundancy,
            ..Promises::default()
        },
        load: None,
        hardware,
        rent: None,
        layout: request.layout,
        engine: Engine {
            step_tokens: request.scheduler.token_budget,
            ..request.engine
        },
        scheduler: request.scheduler,
        search: SearchOptions {
            max_accelerators: largest_replica(request.hardware.max_accelerators),
            context_ranks: request.search.context_ranks,
            allow_odd: request.search.allow_odd,
            exhaustive: request.search.exhaustive,
            ..SearchOptions::default()
        },
    };
    Question::of_model(reader, catalog, &name, recorded, asked)
}

/// What may fail. Refuses failures of what a plan does not know: what a provider puts together, and
/// who shares a switch that is sold by its ports.
fn redundancy(
    reader: &mut Reader,
    catalog: &Catalog,
    acquisition: &Acquisition,
    request: &Request,
) -> Redundancy {
    let redundancy = request.promises.redundancy;
    if redundancy.rack > 0 {
        reader.out_of_place(
            &["max_racks"],
            "counts racks that are full, and any of which may fail is none of them",
            "switch:N and host:N of --redundancy",
        );
    }
    if redundancy.switch == 0 && redundancy.rack == 0 {
        return redundancy;
    }
    let is_whole = catalog.assumptions.entity.switch_sale == SwitchSale::Whole;
    let unknown = match acquisition.way.as_str() {
        "buy" if is_whole => return redundancy,
        "buy" => "who shares a switch is not known where its ports are sold in blocks",
        _ => "which switch and rack a rented machine hangs on is its provider's secret",
    };
    let accepted = "N, any N hosts, or device:N,host:N";
    reader.wrong(code::CONTRADICTION, "redundancy", unknown, accepted);
    redundancy
}

/// Accelerators of a replica, where there may be so many in all.
fn largest_replica(most: Option<u32>) -> u32 {
    most.map_or(LARGEST_REPLICA, |most| most.min(LARGEST_REPLICA))
}

/// Refuses what is said of neighbours, where a cluster is asked for.
fn not_by_neighbours(reader: &mut Reader) {
    reader.out_of_place(
        &["neighbours"],
        "asks for another kind of answer",
        "`planopt solve --neighbours`, in Python `planopt.serve_neighbours`",
    );
    reader.out_of_place(
        &["lifetime", "away", "marginal", "repeat"],
        "is about neighbours, and this question buys a cluster",
        "--neighbours beside it, such as `8xrtx-3090,wan-100m`",
    );
}

/// Refuses to look for the most of a purchase that nothing limits.
fn limited(reader: &mut Reader, request: &Request) {
    let money = &request.money;
    if money.objective.as_deref() != Some("throughput") || reader.is_edited() {
        return;
    }
    // Whoever rents out has the power and the room, and money that buys does not rent.
    let buys = money.acquire.as_deref().unwrap_or("buy") == "buy";
    let is_paid = money.budget.is_some_and(|budget| buys || budget.hourly);
    let hardware = &request.hardware;
    let is_counted = hardware.max_accelerators.is_some() || !hardware.stock.is_empty();
    if is_paid || is_counted || buys && hardware.is_limited() {
        return;
    }
    let (what, accepted) = if buys {
        (
            "the purchase",
            "--budget, --max-power, --max-racks or --max-accelerators",
        )
    } else {
        (
            "what is rented",
            "--budget per hour or month, or --max-accelerators",
        )
    };
    let message = format!("most throughput of what? nothing limits {what}");
    reader.wrong(code::MISSING_OPTION, "budget", message, accepted);
}

/// Tokens a second that are asked for, of answers of so many; none where nothing says how many.
fn throughput(request: &Request, output: u64) -> f64 {
    match request.workload.requests {
        Some(requests) => requests * real(output),
        None => request.promises.throughput.unwrap_or(0.0),
    }
}

/// Refuses names that are no models, and no formats.
fn look_up(reader: &mut Reader, catalog: &Catalog, model: &ServedModel, request: &Request) {
    look_up_model(reader, catalog, &model.name);
    look_up_formats(reader, request);
    if let Some(draft) = model.draft.as_deref().filter(|draft| *draft != "mtp") {
        look_up_model(reader, catalog, draft);
    }
}

/// Refuses names that are no formats.
fn look_up_formats(reader: &mut Reader, request: &Request) {
    let others = request.search.allow_quantization.iter();
    let of_model = [
        ("weights", request.model.weights.as_ref()),
        ("kv", request.model.kv.as_ref()),
    ];
    let of_model = of_model.into_iter();
    let of_model = of_model.filter_map(|(option, name)| Some((option, name?)));
    for (option, name) in of_model.chain(others.map(|name| ("allow_quantization", name))) {
        if Format::from_name(name).is_none() {
            reader.refuse(option, vec![unknown_format(name)]);
        }
    }
}

/// A budget to buy with, and one per hour.
fn budget(
    reader: &mut Reader,
    acquisition: &Acquisition,
    budget: Option<Sum>,
) -> (Option<f64>, Option<f64>) {
    match budget {
        None => (None, None),
        Some(Sum { usd, hourly: true }) => {
            if acquisition.way == "buy" {
                reader.wrong(
                    code::CONTRADICTION,
                    "budget",
                    "a budget per time is for renting, and this question buys",
                    "purchase money, such as $20k, or --procurement rent beside it",
                );
            }
            (None, Some(usd))
        }
        Some(Sum { usd, .. }) => {
            if acquisition.way == "rent" {
                reader.wrong(
                    code::CONTRADICTION,
                    "budget",
                    "purchase money buys, and this question rents",
                    "money per hour or month, such as 12/h or $5000/month",
                );
            }
            (Some(usd), None)
        }
    }
}

/// Users at the same time: given, or what the batch or the demand says.
fn users(reader: &mut Reader, request: &Request, is_demanded: bool) -> u64 {
    let users = request.workload.users.unwrap_or(1);
    if reader.is_given("concurrency") || reader.is_given("sessions") {
        return users;
    }
    if let Some(batch) = request.layout.batch {
        let in_flight = u64::from(request.layout.in_flight.unwrap_or(1));
        return u64::from(batch) * in_flight * u64::from(request.model.overlap.batches());
    }
    if is_demanded {
        return 1;
    }
    reader.assume("concurrency", format!("{users} at the same time"), None);
    users
}

/// Why steps are judged, and no load, where nothing is said of either.
fn steps(catalog: &Catalog, request: &Request) -> Option<&'static str> {
    if catalog.assumptions.entity.engine.is_none() {
        return Some("the assumptions know no engine. Say --load closed");
    }
    let batch = request.layout.batch;
    batch.map(|_| "--batch is held in every step. Say --max-sequences for what an engine may hold")
}

/// The workload with the requests per second of its people, or of a batch.
fn arriving(reader: &mut Reader, catalog: &Catalog, request: &Request) -> Workload {
    kept_behind(reader, catalog, &request.engine, &request.scheduler);
    let seated = seated(reader, catalog, &request.workload);
    let of_batch = of_batch(reader, request);
    Workload {
        requests: seated.requests.or(of_batch),
        ..seated
    }
}

/// Requests per second of a batch that has to be through by a deadline.
fn of_batch(reader: &mut Reader, request: &Request) -> Option<f64> {
    match (request.workload.num_prompts, request.promises.deadline) {
        (Some(prompts), Some(seconds)) => {
            let rate = real(prompts) / seconds;
            reader.assume(
                "batch",
                format!("{prompts} requests come evenly until the deadline, {rate:.4}/s"),
                Some("which takes as much as if all were there at the start"),
            );
            Some(rate)
        }
        (Some(_), None) => {
            let accepted = "with --deadline 8h";
            reader.wrong(code::MISSING_OPTION, "num_prompts", "by when?", accepted);
            None
        }
        (None, Some(_)) => {
            let accepted = "with --num-prompts N";
            reader.wrong(
                code::MISSING_OPTION,
                "deadline",
                "of how many requests?",
                accepted,
            );
            None
        }
        (None, None) => None,
    }
}

/// The percentile of latencies; steps that are all alike have none.
fn percentile(reader: &mut Reader, request: &Request, load: LoadKind) -> Option<String> {
    let promised = ["target", "ttft", "load", "num_prompts"];
    let is_judged = promised.iter().any(|option| reader.is_given(option));
    if reader.is_given("percentile") || load == LoadKind::Steady || !is_judged {
        return request.promises.percentile.clone();
    }
    reader.assume(
        "percentile",
        Statistic::USUAL,
        Some("of time to the first token, and of speed where there is a target"),
    );
    Some(Statistic::USUAL.to_owned())
}
