//! What can be asked: a field for each option of the table that has a path, and nothing else.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::hardware::HardwareSpec;
use crate::request::{ModelRequest, RecipeRequest, TrainingLayout, TrainingRun};

/// A question about serving as it was given, by groups; what is none of its command's is absent.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Request {
    pub(super) model: Model,
    pub(super) workload: Workload,
    pub(super) promises: Promises,
    pub(super) hardware: Hardware,
    pub(super) layout: Layout,
    pub(super) engine: Engine,
    pub(super) money: Money,
    pub(super) search: Search,
}

/// A question of what to buy for a run.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RunRequest {
    pub(super) model: ModelRequest,
    #[serde(default)]
    pub(super) recipe: RecipeRequest,
    #[serde(default)]
    pub(super) run: TrainingRun,
    #[serde(default)]
    pub(super) promises: Promises,
    pub(super) hardware: Hardware,
    pub(super) money: Money,
}

/// One configuration of a run.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OneRun {
    pub(super) model: ModelRequest,
    #[serde(default)]
    pub(super) recipe: RecipeRequest,
    #[serde(default)]
    pub(super) run: TrainingRun,
    #[serde(default)]
    pub(super) hardware: HardwareSpec,
    #[serde(default)]
    pub(super) layout: TrainingLayout,
    pub(super) shares: Shares,
    pub(super) money: Money,
}

/// Kinds of accelerator with their numbers, which run it together.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
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

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Model {
    pub(super) name: Option<String>,
    pub(super) weights: Option<String>,
    pub(super) kv: Option<String>,
    pub(super) kv_heads: Option<u64>,
    pub(super) draft: Option<String>,
    pub(super) draft_tokens: Option<u64>,
    pub(super) acceptance: Option<f64>,
    pub(super) lora_adapters: Option<u64>,
    pub(super) lora_rank: Option<u64>,
    pub(super) encoder_parameters: Option<f64>,
    pub(super) allow_quantization: Vec<String>,
}

impl Model {
    /// Names of formats, with the options that give them.
    pub(super) fn formats(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let of_one = [("weights", &self.weights), ("kv", &self.kv)];
        let of_one = of_one
            .into_iter()
            .filter_map(|(option, name)| Some((option, name.as_ref()?)));
        let others = self.allow_quantization.iter();
        let others = others.map(|name| ("allow_quantization", name));
        of_one
            .chain(others)
            .map(|(option, name)| (option, name.as_str()))
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
    pub(super) users: Option<u64>,
    pub(super) traffic: Option<String>,
    pub(super) arrival_cv: Option<f64>,
    pub(super) prefix_hit_rate: Option<f64>,
    pub(super) image_tokens: Option<u64>,
    pub(super) patches_per_token: Option<u64>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Promises {
    pub(super) target: Option<f64>,
    pub(super) ttft: Option<f64>,
    pub(super) percentile: Option<String>,
    pub(super) throughput: Option<f64>,
    pub(super) deadline: Option<f64>,
    pub(super) robust: bool,
    pub(super) redundancy: Option<u64>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Hardware {
    pub(super) accelerators: Vec<String>,
    pub(super) exclude: Vec<String>,
    pub(super) vendor: Vec<String>,
    pub(super) accelerator: Option<String>,
    #[serde(deserialize_with = "one_or_more")]
    pub(super) host: Vec<String>,
    pub(super) link: Option<String>,
    #[serde(deserialize_with = "one_or_more")]
    pub(super) network: Vec<String>,
    pub(super) hosts: Option<u64>,
    pub(super) nics_per_host: Option<u64>,
    pub(super) datacenter: bool,
    pub(super) max_accelerators: Option<u32>,
    pub(super) max_power: Option<f64>,
    pub(super) max_racks: Option<f64>,
    pub(super) stock: BTreeMap<String, u32>,
    pub(super) prefill_accelerator: Option<String>,
    pub(super) prefill_host: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Layout {
    pub(super) tp: Option<u64>,
    pub(super) pp: Option<u64>,
    pub(super) cp: Option<u64>,
    pub(super) dp: Option<u64>,
    pub(super) ep: Option<u64>,
    pub(super) replicas: Option<u64>,
    pub(super) batch: Option<u64>,
    pub(super) in_flight: Option<u64>,
    pub(super) overlap: Option<String>,
    /// Layers that rest in the host, or as many as are needed.
    pub(super) offload: Option<Value>,
    pub(super) offload_to: Option<String>,
    pub(super) prefill_replicas: Option<u64>,
    pub(super) prefill_tp: Option<u64>,
    pub(super) prefill_pp: Option<u64>,
    pub(super) prefill_cp: Option<u64>,
    pub(super) prefill_dp: Option<u64>,
    pub(super) prefill_ep: Option<u64>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Engine {
    pub(super) name: Option<String>,
    pub(super) policy: Option<String>,
    pub(super) token_budget: Option<u64>,
    pub(super) max_sequences: Option<u64>,
    pub(super) pcie_all_reduce: Option<String>,
    pub(super) software_latency: Option<f64>,
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
    pub(super) price: BTreeMap<String, f64>,
    pub(super) years: Option<f64>,
    pub(super) duty: Option<f64>,
    pub(super) electricity: Option<f64>,
    pub(super) pue: Option<f64>,
    pub(super) carbon: Option<f64>,
}

impl Money {
    /// What is asked to be best.
    pub(super) fn objective_or(&self, usual: &str) -> String {
        self.objective.clone().unwrap_or_else(|| usual.to_owned())
    }
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Search {
    pub(super) exhaustive: bool,
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
