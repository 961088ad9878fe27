//! One configuration, of serving or of training, as it was given and with what was assumed.

use serde::Serialize;
use serde_json::json;

use super::images::Images;
use super::load::{kind_of, seated};
use super::market::{self, model};
use super::question::Question;
use super::reader::Reader;
use super::request::{OneReplica, OneRun};
use super::served::{Lengths, drafted};
use super::sessions::{Talk, kept_behind};
use crate::catalog::Catalog;
use crate::diagnostic::{Diagnostic, code};
use crate::load::EngineOptions;
use crate::parallel::Pins;
use crate::request::{Engine, EvaluateServing, EvaluateTraining, OffloadRequest, ServedModel};

/// One way of serving a model.
#[derive(Debug, Serialize)]
pub(super) struct Configuration {
    #[serde(flatten)]
    question: Question<EvaluateServing>,
    scheduler: EngineOptions,
    /// The pool that reads prompts, where it is not the one that answers them.
    prefill: Option<EvaluateServing>,
}

const WHICH: &str = "an id of `planopt catalog list accelerators`";

/// Reads a configuration of serving.
pub(super) fn serving(
    mut reader: Reader,
    catalog: &Catalog,
    request: &OneReplica,
) -> Result<Configuration, Vec<Diagnostic>> {
    let reading = &mut reader;
    reading.require("accelerator", WHICH);
    let images = Images::of(reading, catalog, &request.model, &request.workload);
    let mut workload = seated(reading, catalog, &request.workload);
    let talk = Talk::of(reading, catalog, &request.sessions, &mut workload);
    kept_behind(reading, catalog, &request.engine, &request.scheduler);
    let workload = &workload;
    let load = kind_of(reading, workload, None);
    let turns = talk.as_ref().map(|talk| &talk.turns);
    let lengths = Lengths::of(reading, catalog, workload, load, images.tokens, turns);
    model(reading, catalog, &request.model.name);
    let model = drafted(reading, request.model.clone());
    let model = images.before(adapted(reading, model));
    let offload = offloaded(reading, request.offload.clone());
    not_explained(reading, &["link", "software_latency"]);
    market::look_up_prices(reading, catalog, &request.money);
    let asked = EvaluateServing {
        model,
        workload: lengths.prompts(),
        layout: request.layout.over_one(),
        hardware: request.hardware.clone(),
        offload,
        engine: Engine {
            step_tokens: request.scheduler.token_budget,
            ..request.engine.clone()
        },
    };
    let mut recorded = reader.recorded();
    lengths.record(&mut recorded);
    if let Some(talk) = talk {
        talk.record(&mut recorded);
    }
    recorded.insert("load".to_owned(), json!(load));
    images.record(&mut recorded);
    let arrivals = load.arrivals(workload, workload.users);
    recorded.insert("arrivals".to_owned(), arrivals.into());
    let configuration = Configuration {
        prefill: prefill(request, &asked),
        question: Question {
            recorded,
            asked,
            assumed: reader.assumed(),
        },
        scheduler: request.scheduler,
    };
    reader.finish(configuration)
}

/// Reads a configuration of training.
pub(super) fn training(
    mut reader: Reader,
    catalog: &Catalog,
    request: OneRun,
) -> Result<Question<EvaluateTraining>, Vec<Diagnostic>> {
    let reading = &mut reader;
    model(reading, catalog, &request.model.name);
    let shares = reading.shares("accelerators", &request.shares.accelerators);
    if !reading.is_given("accelerators") {
        reading.require("accelerator", WHICH);
    }
    not_explained(reading, &["accelerators", "link"]);
    market::look_up_prices(reading, catalog, &request.money);
    let question = Question {
        recorded: reader.recorded(),
        asked: EvaluateTraining {
            model: request.model,
            recipe: request.recipe,
            run: request.run,
            hardware: request.hardware,
            layout: request.layout,
            shares,
        },
        assumed: reader.assumed(),
    };
    reader.finish(question)
}

fn not_explained(reader: &mut Reader, arguments: &[&str]) {
    if reader.is_on("explain") {
        let accepted = "--accelerator, in a host of the catalog with its own links";
        reader.out_of_place(arguments, "is not explained", accepted);
    }
}

/// Which layers rest in the host.
fn offloaded(reader: &mut Reader, offload: Option<OffloadRequest>) -> Option<OffloadRequest> {
    if reader.is_given("offload") {
        return offload;
    }
    if reader.is_given("offload_to") {
        let accepted = "with --offload N or --offload auto";
        let message = "nothing rests there";
        reader.wrong(code::MISSING_OPTION, "offload_to", message, accepted);
    }
    None
}

/// The model with how many adapters are held, and of which rank; neither if none are.
fn adapted(reader: &mut Reader, model: ServedModel) -> ServedModel {
    let held = model.lora_adapters.filter(|held| *held > 0);
    if held.is_some() && !reader.is_given("lora_rank") {
        let message = "of which rank are the adapters?";
        let accepted = "a whole number, mostly 8 to 64";
        reader.wrong(code::MISSING_OPTION, "lora_rank", message, accepted);
    }
    if model.lora_rank.is_some() && !reader.is_given("lora_adapters") {
        let message = "there are no adapters of that rank";
        let accepted = "with --lora-adapters N";
        reader.wrong(code::MISSING_OPTION, "lora_rank", message, accepted);
    }
    ServedModel {
        lora_adapters: held,
        lora_rank: held.and(model.lora_rank),
        ..model
    }
}

/// The pool that reads prompts, if there is one.
///
/// Parts that are not given are those of the configuration that answers; degrees are 1.
fn prefill(request: &OneReplica, answering: &EvaluateServing) -> Option<EvaluateServing> {
    let pool = &request.prefill;
    let degrees = Pins {
        tp: pool.tp,
        pp: pool.pp,
        cp: pool.cp,
        dp: pool.dp,
        ep: pool.ep,
        replicas: pool.replicas,
        ..Pins::default()
    };
    let is_said = pool.accelerator.is_some() || pool.host.is_some();
    if !is_said && degrees.counts().all(|(_, count)| count.is_none()) {
        return None;
    }
    let mut reading = answering.clone();
    let own = &mut reading.hardware;
    if pool.accelerator.is_some() && pool.accelerator != own.accelerator {
        own.accelerator.clone_from(&pool.accelerator);
        own.host = None;
    }
    if pool.host.is_some() {
        own.host.clone_from(&pool.host);
    }
    own.hosts = None;
    reading.layout = degrees.over_one();
    Some(reading)
}
