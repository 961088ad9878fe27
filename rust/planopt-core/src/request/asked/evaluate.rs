//! One configuration, of serving or of training, as it was given and with what was assumed.

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::market::{self, Assumed, known, model};
use super::question::Question;
use super::reader::Reader;
use super::request::{Hardware, Layout, OneRun, Request};
use super::served::Served;
use crate::catalog::Catalog;
use crate::diagnostic::{Diagnostic, code};
use crate::request::EvaluateTraining;

const IMAGES: [&str; 3] = ["image_tokens", "encoder_parameters", "patches_per_token"];

/// One way of serving a model.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Configuration {
    #[serde(flatten)]
    recorded: Map<String, Value>,
    served: Served,
    /// Hardware and layout, by the options of an evaluation.
    placed: Map<String, Value>,
    adapters: Map<String, Value>,
    images: Map<String, Value>,
    /// The pool that reads prompts, where it is not the one that answers them.
    prefill: Option<Map<String, Value>>,
    assumed: Vec<Assumed>,
}

const WHICH: &str = "an id of `planopt catalog list accelerators`";

/// Reads a configuration of serving.
pub(super) fn serving(
    mut reader: Reader,
    catalog: &Catalog,
    request: &Request,
) -> Result<Configuration, Vec<Diagnostic>> {
    let reading = &mut reader;
    let mut assumed = Vec::new();
    reading.require("accelerator", WHICH);
    let images = images(reading, request, &mut assumed);
    let tokens = images.get("image_tokens").and_then(Value::as_u64);
    let served = Served::of(reading, catalog, request, &mut assumed, tokens.unwrap_or(0));
    let adapters = adapters(reading, request);
    let mut placed = placed(request);
    if let Some(resting) = resting(reading, &request.layout) {
        placed.insert("offload".to_owned(), resting);
    }
    let workload = &request.workload;
    if workload.arrival_cv.is_some() && workload.requests.is_none() {
        let message = "of which requests do the times between vary?";
        reading.wrong(
            code::MISSING_OPTION,
            "requests",
            message,
            "with --requests 3/s",
        );
    }
    if workload.traffic.is_some() && !images.is_empty() {
        let message = "--traffic says how long prompts are, with all that is in them";
        reading.wrong(
            code::CONTRADICTION,
            "image_tokens",
            message,
            "one of the two",
        );
    }
    not_explained(reading, &["link", "software_latency"]);
    market::look_up_prices(reading, catalog, &request.money);
    let configuration = Configuration {
        recorded: reader.recorded(),
        served,
        placed,
        adapters,
        images,
        prefill: prefill(&request.hardware, &request.layout),
        assumed,
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
    let mut assumed = Vec::new();
    model(reading, &request.model.name, &mut assumed);
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
        assumed,
    };
    reader.finish(question)
}

fn not_explained(reader: &mut Reader, arguments: &[&str]) {
    if reader.is_on("explain") {
        let accepted = "--accelerator, in a host of the catalog with its own links";
        reader.out_of_place(arguments, "is not explained", accepted);
    }
}

/// Hardware and degrees; a degree is 1 unless given.
fn placed(request: &Request) -> Map<String, Value> {
    let (hardware, layout) = (&request.hardware, &request.layout);
    let name = |names: &[String]| (!names.is_empty()).then(|| names.join(","));
    let Value::Object(placed) = json!({
        "accelerator": hardware.accelerator,
        "host": name(&hardware.host),
        "link": hardware.link,
        "network": name(&hardware.network),
        "pcie_all_reduce": request.engine.pcie_all_reduce,
        "tp": layout.tp.unwrap_or(1),
        "cp": layout.cp.unwrap_or(1),
        "dp": layout.dp.unwrap_or(1),
        "ep": layout.ep.unwrap_or(1),
        "pp": layout.pp.unwrap_or(1),
        "replicas": layout.replicas.unwrap_or(1),
        "batch": layout.batch.unwrap_or(1),
        "hosts": hardware.hosts,
        "nics_per_host": hardware.nics_per_host,
        "in_flight": layout.in_flight,
        "software_latency_seconds": request.engine.software_latency,
    }) else {
        return Map::new();
    };
    placed
}

/// Which layers rest in the host.
fn resting(reader: &mut Reader, layout: &Layout) -> Option<Value> {
    if !reader.is_given("offload") {
        if reader.is_given("offload_to") {
            let accepted = "with --offload N or --offload auto";
            let message = "nothing rests there";
            reader.wrong(code::MISSING_OPTION, "offload_to", message, accepted);
        }
        return None;
    }
    let layers = layout.offload.as_ref().and_then(Value::as_u64);
    Some(json!({ "layers": layers, "to": layout.offload_to }))
}

/// How many adapters are held, and of which rank; empty if none are.
fn adapters(reader: &mut Reader, request: &Request) -> Map<String, Value> {
    let held = request.model.lora_adapters.unwrap_or(0);
    let rank = request.model.lora_rank;
    if held > 0 && !reader.is_given("lora_rank") {
        let message = "of which rank are the adapters?";
        let accepted = "a whole number, mostly 8 to 64";
        reader.wrong(code::MISSING_OPTION, "lora_rank", message, accepted);
    }
    if rank.is_some() && !reader.is_given("lora_adapters") {
        let message = "there are no adapters of that rank";
        let accepted = "with --lora-adapters N";
        reader.wrong(code::MISSING_OPTION, "lora_rank", message, accepted);
    }
    if held == 0 {
        return Map::new();
    }
    known([
        ("lora_adapters", Some(held.into())),
        ("lora_rank", rank.map(Value::from)),
    ])
}

/// What images add to a prompt; empty if nothing.
fn images(
    reader: &mut Reader,
    request: &Request,
    assumed: &mut Vec<Assumed>,
) -> Map<String, Value> {
    if !IMAGES.iter().any(|name| reader.is_given(name)) {
        return Map::new();
    }
    for (name, accepted) in [
        (
            "image_tokens",
            "tokens that the images of a prompt become, such as 1024",
        ),
        (
            "encoder_parameters",
            "parameters of what encodes them, such as 0.6B",
        ),
    ] {
        if !reader.is_given(name) {
            let message = "images are tokens of a prompt and an encoder that makes them";
            reader.wrong(code::MISSING_OPTION, name, message, accepted);
        }
    }
    let tokens = request.workload.image_tokens;
    let each = request.workload.patches_per_token.unwrap_or(0);
    if !reader.is_given("patches_per_token") {
        assumed.push(Assumed {
            name: "patches of a token of an image",
            value: each.to_string(),
            why: None,
        });
    }
    #[expect(clippy::cast_precision_loss, reason = "at most 2^62 patches")]
    let patches = (tokens.unwrap_or(0) * each) as f64;
    known([
        ("image_tokens", tokens.map(Value::from)),
        ("image_patches", Some(patches.into())),
        (
            "encoder_parameters",
            request.model.encoder_parameters.map(Value::from),
        ),
    ])
}

/// The pool that reads prompts, if there is one.
///
/// Parts that are not given are those of the configuration that answers; degrees are 1.
fn prefill(hardware: &Hardware, layout: &Layout) -> Option<Map<String, Value>> {
    let degrees = [
        ("tp", layout.prefill_tp),
        ("pp", layout.prefill_pp),
        ("cp", layout.prefill_cp),
        ("dp", layout.prefill_dp),
        ("ep", layout.prefill_ep),
        ("replicas", layout.prefill_replicas),
    ];
    let (accelerator, host) = (&hardware.prefill_accelerator, &hardware.prefill_host);
    let said = accelerator.is_some() || host.is_some();
    if !said && degrees.iter().all(|(_, degree)| degree.is_none()) {
        return None;
    }
    let same = accelerator.is_none() || *accelerator == hardware.accelerator;
    let own = hardware.host.first().filter(|_| same);
    let mut pool = known([
        (
            "accelerator",
            accelerator
                .as_ref()
                .or(hardware.accelerator.as_ref())
                .cloned()
                .map(Value::from),
        ),
        ("batch", Some(1.into())),
        ("in_flight", Some(Value::Null)),
        ("hosts", Some(Value::Null)),
        ("host", Some(json!(host.as_ref().or(own)))),
    ]);
    for (name, degree) in degrees {
        pool.insert(name.to_owned(), degree.unwrap_or(1).into());
    }
    Some(pool)
}
