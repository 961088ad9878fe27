//! A space of serving candidates by its names.

use serde::Deserialize;

use super::training::connected;
use super::with_prices;
use crate::ask::{ModelRequest, ServingRequest};
use crate::bulk::serving::{Lengths, ServingAxes, ServingSpace};
use crate::catalog::Catalog;
use crate::diagnostic::Diagnostic;
use crate::search::Selection;

/// A space of serving candidates: every value of every axis with every one of all others.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServingSpaceRequest {
    /// Catalog id, or path of a Hugging Face `config.json`.
    pub model: String,
    /// Accelerator ids; empty for all that can be bought.
    #[serde(default)]
    pub accelerators: Vec<String>,
    /// Accelerator ids that are out.
    #[serde(default)]
    pub exclude: Vec<String>,
    /// Host ids; empty for all.
    #[serde(default)]
    pub hosts: Vec<String>,
    /// Network ids, each with as many NICs as the host takes; empty for all.
    #[serde(default)]
    pub networks: Vec<String>,
    /// Formats of weights and KV cache.
    pub formats: Vec<(String, String)>,
    /// Tokens of a prompt, and tokens cached when speed is judged.
    pub lengths: Vec<(u64, u64)>,
    /// `none` or `two-batch`.
    pub overlap: Vec<String>,
    /// Tensor-parallel degrees.
    pub tp: Vec<u32>,
    /// Pipeline stages.
    pub pp: Vec<u32>,
    /// Replicas that are bought together.
    pub replicas: Vec<u32>,
    /// Micro-batches in flight: from 1 to this many.
    pub in_flight: u32,
    /// Sequences of a micro-batch: from 1 to this many.
    pub batch: u32,
    /// Price of electricity in place of the assumptions', in dollars per kWh.
    #[serde(default)]
    pub electricity_usd_per_kwh: Option<f64>,
    /// Years over which a purchase is written off, in place of the assumptions'.
    #[serde(default)]
    pub years: Option<f64>,
}

impl ServingSpaceRequest {
    fn request(&self) -> ServingRequest {
        ServingRequest {
            draft: None,
            draft_tokens: None,
            acceptance: None,
            model: ModelRequest {
                model: self.model.clone(),
                kv_heads: None,
            },
            weights: None,
            kv: None,
            context: 1,
            prompt: 1,
            engine_name: None,
            overlap: None,
            software_latency_seconds: None,
            pcie_all_reduce: None,
        }
    }
}

/// Shows `work` the space that a request names.
///
/// # Errors
///
/// Everything in the request that is not known or cannot be.
pub fn with_serving_space<T>(
    catalog: &Catalog,
    request: &ServingSpaceRequest,
    work: impl FnOnce(&ServingSpace) -> T,
) -> Result<T, Vec<Diagnostic>> {
    let one = request.request();
    let transformer = one.model.transformer(catalog)?;
    let assumptions = &with_prices(catalog, request.electricity_usd_per_kwh, request.years);
    let mut formats = Vec::new();
    for (weights, kv) in &request.formats {
        let question = ServingRequest {
            weights: Some(weights.clone()),
            kv: Some(kv.clone()),
            ..one.clone()
        };
        formats.push(question.question(&transformer)?.formats);
    }
    let mut overlap = Vec::new();
    for word in &request.overlap {
        let question = ServingRequest {
            overlap: Some(word.clone()),
            ..one.clone()
        };
        overlap.push(question.question(&transformer)?.overlap);
    }
    let lengths = request.lengths.iter();
    let axes = ServingAxes {
        formats,
        lengths: lengths
            .map(|&(prompt, context)| Lengths { prompt, context })
            .collect(),
        overlap,
        tensor: request.tp.clone(),
        pipeline: request.pp.clone(),
        replicas: request.replicas.clone(),
        in_flight: (1..=request.in_flight).collect(),
        batch: (1..=request.batch).collect(),
    };
    let selection = Selection {
        accelerators: request.accelerators.clone(),
        exclude: request.exclude.clone(),
        hosts: request.hosts.clone(),
        networks: request.networks.clone(),
        ..Selection::default()
    };
    let hardware = connected(catalog, selection)?;
    Ok(work(&ServingSpace::new(
        &transformer,
        assumptions,
        axes,
        &hardware,
    )))
}
