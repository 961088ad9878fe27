//! A space of serving candidates by its names.

use super::axes::{Axes, largest};
use super::common::with_prices;
use super::hardware::connected;
use super::training::only_one;
use crate::bulk::serving::{Lengths, ServingAxes, ServingSpace};
use crate::catalog::Catalog;
use crate::diagnostic::Diagnostic;
use crate::hardware::Selection;
use crate::load::serving::Overlap;
use crate::parallel::Degrees;
use crate::request::model::{ModelRequest, ServedModel};
use serde::Deserialize;

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
    /// Whether communication hides behind the arithmetic of another batch.
    pub overlap: Vec<Overlap>,
    /// Tensor-parallel degrees.
    pub tp: Vec<u32>,
    /// Attention data-parallel degrees.
    #[serde(default = "only_one")]
    pub dp: Vec<u32>,
    /// Expert-parallel degrees.
    #[serde(default = "only_one")]
    pub ep: Vec<u32>,
    /// Pipeline stages.
    pub pp: Vec<u32>,
    /// Replicas that are bought together.
    pub replicas: Vec<u32>,
    /// Micro-batches in flight: from 1 to this many.
    pub in_flight: u32,
    /// Sequences of a micro-batch: from 1 to this many.
    pub batch: u32,
    /// Price of electricity in place of the assumptions', in dollars per kWh.
    pub electricity_usd_per_kwh: Option<f64>,
    /// Years over which a purchase is written off, in place of the assumptions'.
    pub years: Option<f64>,
}

impl ServingSpaceRequest {
    /// Checks that every axis has values, and that they can be.
    fn check(&self) -> Result<(), Vec<Diagnostic>> {
        let mut axes = Axes::new();
        axes.of("formats", self.formats.len());
        axes.of("lengths", self.lengths.len());
        for &(prompt, context) in &self.lengths {
            axes.tokens("lengths", prompt);
            axes.tokens("lengths", context);
        }
        axes.of("overlap", self.overlap.len());
        axes.counts("tp", &self.tp);
        axes.counts("dp", &self.dp);
        axes.counts("ep", &self.ep);
        axes.counts("pp", &self.pp);
        axes.counts("replicas", &self.replicas);
        axes.count("in_flight", self.in_flight);
        axes.of("in_flight", self.in_flight as usize);
        axes.count("batch", self.batch);
        let degrees = [&self.tp, &self.dp, &self.pp, &self.replicas];
        let degrees = degrees.map(|axis| largest(axis.clone()));
        axes.product("tp x dp x pp x replicas", &degrees);
        axes.cost(self.electricity_usd_per_kwh, self.years);
        axes.checked()
    }

    /// Every way that the ranks of a stage divide it.
    fn degrees(&self) -> Vec<Degrees> {
        let groups = self
            .tp
            .iter()
            .flat_map(|&tp| self.dp.iter().map(move |&dp| (tp, dp)));
        let assigned = groups.flat_map(|(tp, dp)| self.ep.iter().map(move |&ep| (tp, dp, ep)));
        let degrees = |(tp, dp, ep)| Degrees {
            dp,
            ep,
            ..Degrees::tensor(tp)
        };
        assigned.map(degrees).collect()
    }
}

/// Shows `work` the space that a request names.
pub fn with_serving_space<T>(
    catalog: &Catalog,
    request: &ServingSpaceRequest,
    work: impl FnOnce(&ServingSpace) -> T,
) -> Result<T, Vec<Diagnostic>> {
    request.check()?;
    let transformer = ModelRequest::named(&request.model).transformer(catalog)?;
    let assumptions = &with_prices(catalog, request.electricity_usd_per_kwh, request.years);
    let mut formats = Vec::new();
    for (weights, kv) in &request.formats {
        let served = ServedModel {
            weights: Some(weights.clone()),
            kv: Some(kv.clone()),
            ..ServedModel::default()
        };
        formats.push(served.formats(&transformer)?);
    }
    let lengths = request.lengths.iter();
    let axes = ServingAxes {
        formats,
        lengths: lengths
            .map(|&(prompt, context)| Lengths { prompt, context })
            .collect(),
        overlap: request.overlap.clone(),
        degrees: request.degrees(),
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
    let systems = connected(catalog, selection)?;
    Ok(work(&ServingSpace::new(
        &transformer,
        assumptions,
        axes,
        &systems,
    )))
}
