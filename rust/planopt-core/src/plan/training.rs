//! A run on its cluster, told in the words of an answer.

use crate::bill::BillLine;
use crate::catalog::{Assumptions, TrainingAssumptions};
use crate::compute::training::model_flops_per_token;
use crate::cost::{Cost, energy_kwh, of_purchase, of_rent};
use crate::document::{
    BomLine, FailureAnswer, HardwareAnswer, Intervals, RunAnswer, RunEvaluation, TrainingAnswer,
    TrainingCandidate, memory_answer, step_answer,
};
use crate::load::training::{Recipe, Run};
use crate::parallel::{Layout, Rejection};
use crate::quantity::{HOURS_PER_DAY, MicroUsd, SECONDS_PER_HOUR, Watts};
use crate::training::{Job, StepTime, TrainingEvaluation};
use crate::transformer::Transformer;

const TERA: f64 = 1e12;

/// A run, whatever it runs on.
#[derive(Clone, Copy)]
pub(crate) struct RunContext<'s> {
    /// Model, as it was asked for.
    pub(crate) model: &'s str,
    /// Id of the accelerator; of several kinds, all of them.
    pub(crate) accelerator: &'s str,
    pub(crate) transformer: &'s Transformer,
    pub(crate) recipe: &'s Recipe,
    pub(crate) layout: &'s Layout,
    pub(crate) run: Run,
    /// Whether it runs on what is rented.
    pub(crate) rented: bool,
    pub(crate) assumptions: &'s Assumptions,
    pub(crate) training: &'s TrainingAssumptions,
}

/// What it runs on.
pub(crate) struct ClusterContext {
    /// Peak of all accelerators together, in floating-point operations per second.
    pub(crate) peak: f64,
    pub(crate) hosts: u32,
    /// Empty where a part has no price.
    pub(crate) bill: Vec<BillLine>,
    pub(crate) power: Option<Watts>,
    pub(crate) rack_units: f64,
    pub(crate) hardware: HardwareAnswer,
}

impl<'s> RunContext<'s> {
    /// The job, however it is told.
    pub(crate) fn job(&self) -> Job<'s> {
        Job {
            transformer: self.transformer,
            recipe: self.recipe,
            layout: self.layout,
            assumptions: self.assumptions,
            training: self.training,
        }
    }

    /// The answer to a layout that cannot be laid out.
    pub(crate) fn unplaced(
        &self,
        rejection: &Rejection,
        hardware: HardwareAnswer,
    ) -> TrainingAnswer {
        let layout = self.layout;
        TrainingAnswer {
            evaluation: RunEvaluation {
                rejections: vec![rejection.into()],
                model_flops: self.run.convention.name(),
                accelerators: layout.accelerators(),
                ..RunEvaluation::default()
            },
            model: self.model.to_owned(),
            candidate: TrainingCandidate::of(self.accelerator, layout, self.recipe, false),
            hardware,
            bill_of_materials: Vec::new(),
        }
    }

    /// The answer to one that can, whether or not it works.
    pub(crate) fn answer(
        &self,
        cluster_context: ClusterContext,
        evaluation: &TrainingEvaluation,
    ) -> TrainingAnswer {
        let layout = self.layout;
        let accelerators = f64::from(layout.accelerators());
        let tokens_per_step = f64::from(self.recipe.global_batch) * f64::from(self.recipe.seq_len);
        let flops = model_flops_per_token(self.transformer, self.recipe, self.run.convention)
            * tokens_per_step;
        let utilisation = |step: &StepTime| flops / (step.total().0 * cluster_context.peak);
        let computed = evaluation.step;
        let step = match self.run.mfu {
            Some(wanted) => computed.scaled(utilisation(&computed) / wanted),
            None => computed,
        };
        let seconds = step.total().0;
        let tokens_per_second = tokens_per_step / seconds;
        let mfu = utilisation(&step);
        let rejection = evaluation.rejection();
        let power = cluster_context.power;
        let goodput = evaluation.failures.goodput;
        let cost = self.cost(&cluster_context, tokens_per_second * goodput);
        // A run that makes no headway has no length.
        let advances = !matches!(rejection, Some(Rejection::Failures { .. }));
        let tokens = self.run.tokens.filter(|_| advances);
        let run = tokens.map(|tokens| {
            let productive = tokens / tokens_per_second / SECONDS_PER_HOUR;
            let hours = productive / goodput;
            let pue = self.assumptions.cost.housed(cluster_context.rack_units).pue;
            // The run keeps its hardware busy all of its time.
            let energy = power.map(|power| energy_kwh(power, hours, 1.0, pue));
            RunAnswer {
                tokens,
                steps: (tokens / tokens_per_step).ceil(),
                accelerator_hours: hours * accelerators,
                productive_accelerator_hours: productive * accelerators,
                energy_kwh: energy,
                kg_co2e: energy.map(|kwh| kwh * self.training.carbon_kg_per_kwh),
                usd: cost.map(|cost| cost.usd_per_hour * hours),
            }
        });
        let days = run.map(|run| run.accelerator_hours / accelerators / HOURS_PER_DAY);
        let failures = &evaluation.failures;
        TrainingAnswer {
            evaluation: RunEvaluation {
                feasible: rejection.is_none(),
                rejections: rejection.iter().map(Into::into).collect(),
                memory: Some(memory_answer(evaluation)),
                step_seconds: Some(seconds),
                compute_seconds: Some(step.compute().0),
                bubble_seconds: Some(step.waiting().0),
                exposed_communication_seconds: Some(step.exposed_communication().0),
                host_seconds: Some(step.parts.host.0),
                step: Some(step_answer(&step)),
                tokens_per_second: Some(tokens_per_second),
                tokens_per_second_per_accelerator: Some(tokens_per_second / accelerators),
                model_tflops_per_accelerator: Some(flops / seconds / accelerators / TERA),
                mfu: Some(mfu),
                hfu: Some(mfu * evaluation.recomputed_flop_ratio),
                model_flops: self.run.convention.name(),
                goodput: Some(goodput),
                failures: Some(FailureAnswer {
                    interval_seconds: failures.interval.0,
                    expected: days
                        .map(|days| days * HOURS_PER_DAY * SECONDS_PER_HOUR / failures.interval.0),
                    checkpoint_bytes: failures.checkpoint.0,
                    checkpoint_seconds: failures.checkpoint_seconds.0,
                    checkpoint_interval_seconds: failures.checkpoint_interval.0,
                    restart_seconds: failures.restart.0,
                    hosts_away: failures.hosts_away,
                    spare_hosts: failures.spare_hosts,
                    availability: failures.availability,
                }),
                days,
                run,
                cost,
                power_watts: power.map(|power| power.0),
                accelerators: layout.accelerators(),
                hosts: Some(cluster_context.hosts),
                intervals: Intervals::new(),
            },
            model: self.model.to_owned(),
            candidate: TrainingCandidate::of(self.accelerator, layout, self.recipe, true),
            hardware: cluster_context.hardware,
            bill_of_materials: BomLine::each(&cluster_context.bill),
        }
    }

    /// What an hour of the hardware costs, where all of it has a price.
    fn cost(&self, cluster_context: &ClusterContext, tokens_per_second: f64) -> Option<Cost> {
        if cluster_context.bill.is_empty() {
            return None;
        }
        let price: MicroUsd = cluster_context.bill.iter().map(BillLine::price).sum();
        if self.rented {
            // A run is paid for as long as it lasts, and busy all of it.
            return Some(of_rent(price.usd(), 1.0, tokens_per_second, 1.0));
        }
        Some(of_purchase(
            price.usd(),
            cluster_context.power?,
            cluster_context.rack_units,
            tokens_per_second,
            &self.assumptions.cost,
        ))
    }
}
