//! What can be asked: a field for each option of the table that has a path, and nothing else.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};

use crate::hardware::HardwareSpec;
use crate::load::EngineOptions;
use crate::parallel::Pins;
use crate::request::{
    Engine, GivenBatching, ModelRequest, OffloadRequest, RecipeRequest, ServedModel,
    TrainingLayout, TrainingRun,
};
use crate::search::Redundancy;

/// A question of what to buy to serve a model, as it was given by groups; what is none of its
/// command's is absent.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Request {
    pub(super) model: ServedModel,
    pub(super) workload: Workload,
    pub(super) sessions: Sessions,
    pub(super) promises: Promises,
    pub(super) hardware: Hardware,
    pub(super) layout: GivenBatching,
    pub(super) engine: Engine,
    pub(super) scheduler: EngineOptions,
    pub(super) money: Money,
    pub(super) search: Search,
}

/// One configuration that serves a model.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct OneReplica {
    pub(super) model: ServedModel,
    pub(super) workload: Workload,
    pub(super) sessions: Sessions,
    pub(super) hardware: HardwareSpec,
    pub(super) layout: Pins,
    pub(super) offload: Option<OffloadRequest>,
    pub(super) engine: Engine,
    pub(super) scheduler: EngineOptions,
    pub(super) prefill: Prefill,
    pub(super) money: Money,
}

/// A pool of its own that reads prompts.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Prefill {
    pub(super) accelerator: Option<String>,
    pub(super) host: Option<String>,
    pub(super) tp: Option<u32>,
    pub(super) pp: Option<u32>,
    pub(super) cp: Option<u32>,
    pub(super) dp: Option<u32>,
    pub(super) ep: Option<u32>,
    pub(super) replicas: Option<u32>,
}

/// What else takes prices of its own.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Priced {
    pub(super) money: Money,
}

/// A question of what to buy for a run.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RunRequest {
    pub(super) model: ModelRequest,
    pub(super) recipe: RecipeRequest,
    pub(super) run: TrainingRun,
    pub(super) promises: Promises,
    pub(super) hardware: Hardware,
    pub(super) money: Money,
    pub(super) search: Search,
}

/// One configuration of a run.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct OneRun {
    pub(super) model: ModelRequest,
    pub(super) recipe: RecipeRequest,
    pub(super) run: TrainingRun,
    pub(super) hardware: HardwareSpec,
    pub(super) layout: TrainingLayout,
    pub(super) shares: Shares,
    pub(super) money: Money,
}

/// Kinds of accelerator with their numbers, which run it together.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Shares {
    pub(super) accelerators: Vec<String>,
}

/// Money, or money per hour.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Sum {
    pub(super) usd: f64,
    pub(super) hourly: bool,
}

/// What is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum LoadKind {
    /// Requests that come of their own accord.
    Open,
    /// Users of whom each waits for his answer.
    Closed,
    /// As benchmark tools load an engine: lengths are fixed, and all users ask at once.
    Benchmark,
    /// No load: a step that decodes at full context, and a prompt that is read alone.
    Steady,
}

impl LoadKind {
    /// Whether prompts and outputs differ as the workload says.
    pub(super) fn is_spread(self) -> bool {
        matches!(self, Self::Open | Self::Closed)
    }

    /// When requests arrive, as a load has it; nobody is said to come where there are no users either.
    pub(super) fn arrivals(self, asked: &Workload, users: Option<u64>) -> Option<Value> {
        if self == Self::Steady {
            return None;
        }
        match (asked.requests, asked.arrival_cv) {
            (Some(rate), None) => Some(json!({ "kind": "poisson", "per_second": rate })),
            (Some(rate), cv) => Some(json!({ "kind": "gamma", "per_second": rate, "cv": cv })),
            (None, _) => {
                let together = (self == Self::Benchmark).then_some("together");
                users.map(|users| json!({ "kind": "closed", "users": users, "start": together }))
            }
        }
    }
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Workload {
    pub(super) name: Option<String>,
    pub(super) prompt: Option<u64>,
    pub(super) output: Option<u64>,
    pub(super) context: Option<u64>,
    pub(super) requests: Option<f64>,
    pub(super) num_prompts: Option<u64>,
    pub(super) users: Option<u64>,
    pub(super) people: Option<u64>,
    pub(super) load: Option<LoadKind>,
    pub(super) arrival_cv: Option<f64>,
    pub(super) image_tokens: Option<u64>,
    pub(super) images: Option<u64>,
    pub(super) image_size: Option<String>,
    pub(super) patches_per_token: Option<u64>,
}

/// Sessions, as far as they are not those of the workload.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Sessions {
    pub(super) alive: Option<u64>,
    pub(super) turns: Option<u64>,
    pub(super) grow: Option<u64>,
    pub(super) shared: Option<u64>,
    pub(super) think: Option<f64>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Promises {
    pub(super) target: Option<f64>,
    pub(super) ttft: Option<f64>,
    pub(super) percentile: Option<String>,
    pub(super) throughput: Option<f64>,
    pub(super) deadline: Option<f64>,
    pub(super) delivery: BTreeMap<String, f64>,
    pub(super) redundancy: Redundancy,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Hardware {
    pub(super) accelerators: Vec<String>,
    pub(super) exclude: Vec<String>,
    pub(super) vendor: Vec<String>,
    pub(super) host: Vec<String>,
    pub(super) network: Vec<String>,
    pub(super) datacenter: bool,
    pub(super) max_accelerators: Option<u32>,
    pub(super) max_power: Option<f64>,
    pub(super) max_racks: Option<f64>,
    pub(super) stock: BTreeMap<String, u32>,
    pub(super) own: BTreeMap<String, u32>,
    pub(super) islands: Vec<String>,
    pub(super) neighbours: Vec<String>,
    pub(super) repeat: Option<u32>,
    pub(super) inner_steps: Option<u32>,
    pub(super) lifetime: Option<f64>,
    pub(super) away: Option<f64>,
}

impl Hardware {
    /// Whether anything but money limits a purchase from above.
    pub(super) fn is_limited(&self) -> bool {
        self.max_power.is_some()
            || self.max_racks.is_some()
            || self.max_accelerators.is_some()
            || !self.stock.is_empty()
    }
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Money {
    pub(super) budget: Option<Sum>,
    pub(super) objective: Option<String>,
    pub(super) acquire: Option<String>,
    pub(super) terms: Vec<String>,
    #[serde(deserialize_with = "one_or_more")]
    pub(super) provider: Vec<String>,
    pub(super) region: Vec<String>,
    pub(super) provider_class: Vec<String>,
    pub(super) price: BTreeMap<String, f64>,
    pub(super) discount: BTreeMap<String, f64>,
    pub(super) vat: Option<f64>,
    pub(super) sell: BTreeMap<String, f64>,
    pub(super) marginal: bool,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Search {
    pub(super) exhaustive: bool,
    pub(super) allow_quantization: Vec<String>,
    pub(super) context_ranks: Option<u32>,
    pub(super) allow_odd: bool,
}

/// Commands of one configuration take one name, others take several.
fn one_or_more<'de, D: Deserializer<'de>>(names: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Names {
        One(String),
        More(Vec<String>),
    }
    Ok(match Names::deserialize(names)? {
        Names::One(name) => vec![name],
        Names::More(names) => names,
    })
}
