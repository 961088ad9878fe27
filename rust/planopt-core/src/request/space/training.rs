//! A space of training candidates by its names.

use super::axes::{Axes, largest};
use super::common::with_prices;
use super::hardware::connected;
use crate::bulk::training::{Pipeline, TrainingAxes, TrainingSpace, TrainingSubject};
use crate::catalog::Catalog;
use crate::diagnostic::{Diagnostic, Problems};
use crate::hardware::Selection;
use crate::parallel::Zero;
use crate::request::training::{EvaluateTraining, no_training, recompute};
use serde::Deserialize;

/// A space of training candidates: every value of every axis with every one of all others.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrainingSpaceRequest {
    /// What is trained, and how; its hardware and degrees are the axes.
    pub run: EvaluateTraining,
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
    /// Tensor-parallel degrees.
    pub tp: Vec<u32>,
    /// Whether the sequence is divided, where `tp` is above 1.
    pub sequence_parallel: Vec<bool>,
    /// Context-parallel degrees.
    #[serde(default = "only_one")]
    pub cp: Vec<u32>,
    /// Expert-parallel degrees.
    #[serde(default = "only_one")]
    pub ep: Vec<u32>,
    /// Sequences of a micro-batch.
    pub micro_batch: Vec<u32>,
    /// Pipelines: stages, and chunks of each.
    pub pipeline: Vec<(u32, u32)>,
    /// What is recomputed.
    pub recompute: Vec<String>,
    /// Data-parallel degrees.
    pub dp: Vec<u32>,
    /// What data-parallel ranks divide.
    pub shard: Vec<Zero>,
    /// Micro-batches of a step for each stage: from 1 to this many.
    pub rounds: u32,
    /// Accelerators, at most.
    pub max_accelerators: u32,
    /// Price of electricity in place of the assumptions', in dollars per kWh.
    pub electricity_usd_per_kwh: Option<f64>,
    /// Years over which a purchase is written off, in place of the assumptions'.
    pub years: Option<f64>,
}

pub(super) fn only_one() -> Vec<u32> {
    vec![1]
}

impl TrainingSpaceRequest {
    /// Checks that every axis has values, and that they can be.
    fn check(&self) -> Result<(), Vec<Diagnostic>> {
        let mut axes = Axes::new();
        axes.counts("tp", &self.tp);
        axes.of("sequence_parallel", self.sequence_parallel.len());
        axes.counts("cp", &self.cp);
        axes.counts("ep", &self.ep);
        axes.counts("micro_batch", &self.micro_batch);
        axes.of("pipeline", self.pipeline.len());
        for &(pp, vpp) in &self.pipeline {
            axes.count("pipeline", pp);
            axes.count("pipeline", vpp);
        }
        axes.of("recompute", self.recompute.len());
        axes.counts("dp", &self.dp);
        axes.of("shard", self.shard.len());
        axes.count("rounds", self.rounds);
        let [tp, cp, dp] = [&self.tp, &self.cp, &self.dp].map(|axis| largest(axis.clone()));
        let pp = largest(self.pipeline.iter().map(|&(pp, _)| pp));
        let chunks = largest(self.pipeline.iter().map(|&(_, vpp)| vpp));
        let micro_batch = largest(self.micro_batch.clone());
        axes.product("tp x cp x dp x pipeline", &[tp, cp, dp, pp]);
        axes.product("stages x chunks of pipeline", &[pp, chunks]);
        let batch = [dp, micro_batch, pp, self.rounds];
        axes.product("dp x micro_batch x pipeline x rounds", &batch);
        axes.needed("run.tokens", self.run.run.tokens, "tokens of the whole run");
        axes.cost(self.electricity_usd_per_kwh, self.years);
        axes.checked()
    }

    fn axes(&self) -> Result<TrainingAxes, Vec<Diagnostic>> {
        let mut tensor = Vec::new();
        for &tp in &self.tp {
            for &divided in &self.sequence_parallel {
                let one = (tp, divided && tp > 1);
                if !tensor.contains(&one) {
                    tensor.push(one);
                }
            }
        }
        let mut problems = Problems::default();
        let words = self.recompute.iter();
        let recompute = words.filter_map(|word| problems.keep(recompute(word).map_err(Vec::from)));
        let recompute = recompute.collect();
        let pipeline = self.pipeline.iter().map(|&(pp, vpp)| Pipeline {
            pp,
            vpp,
            schedule: self.run.layout.schedule_of(vpp),
        });
        let pipeline = pipeline.collect();
        problems.unless_any(TrainingAxes {
            tensor,
            context: self.cp.clone(),
            expert: self.ep.clone(),
            micro_batch: self.micro_batch.clone(),
            pipeline,
            recompute,
            data: self.dp.clone(),
            zero: self.shard.clone(),
            rounds: (1..=self.rounds).collect(),
            most_accelerators: self.max_accelerators,
        })
    }
}

/// Shows `work` the space that a request names.
pub fn with_training_space<T>(
    catalog: &Catalog,
    request: &TrainingSpaceRequest,
    work: impl FnOnce(&TrainingSpace) -> T,
) -> Result<T, Vec<Diagnostic>> {
    request.check()?;
    request.run.check()?;
    let run = &request.run;
    let transformer = run.model.transformer(catalog)?;
    let recipe = run.recipe.recipe(&transformer, run.layout.sequences())?;
    run.layout.layout()?;
    let assumptions = &with_prices(catalog, request.electricity_usd_per_kwh, request.years);
    let training = assumptions
        .training_with(run.recipe.framework(assumptions)?)
        .ok_or_else(|| vec![no_training(assumptions)])?;
    let axes = request.axes()?;
    let selection = Selection {
        accelerators: request.accelerators.clone(),
        exclude: request.exclude.clone(),
        hosts: request.hosts.clone(),
        networks: request.networks.clone(),
        ..Selection::default()
    };
    let systems = connected(catalog, selection)?;
    let subject = TrainingSubject {
        transformer: &transformer,
        recipe: &recipe,
        convention: run.run.run().convention,
        tokens: run.run.tokens.unwrap_or_default(),
        assumptions,
        training: &training,
    };
    Ok(work(&TrainingSpace::new(subject, axes, &systems)))
}
