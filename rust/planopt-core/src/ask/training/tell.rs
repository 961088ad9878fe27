//! A run on its cluster, told in the words of an answer.

use super::EvaluateTraining;
use super::answer::{FailureAnswer, RunAnswer, StepAnswer, TrainingAnswer, TrainingMemoryAnswer};
use crate::ask::answer::{BillAnswer, HardwareAnswer, RejectionAnswer};
use crate::bill::BillLine;
use crate::catalog::{Assumptions, TrainingAssumptions};
use crate::cost::{Cost, energy_kwh, of_purchase, of_rent};
use crate::quantity::{MicroUsd, Watts};
use crate::training::{
    FlopsConvention, Layout, Recipe, Rejection, StepTime, TrainingEvaluation, model_flops_per_token,
};
use crate::transformer::Transformer;

const SECONDS_PER_HOUR: f64 = 3600.0;
const HOURS_PER_DAY: f64 = 24.0;
const TERA: f64 = 1e12;

/// What is told of: a run, whatever it runs on.
#[derive(Clone, Copy)]
pub(super) struct Told<'s> {
    pub(super) transformer: &'s Transformer,
    pub(super) recipe: &'s Recipe,
    pub(super) layout: &'s Layout,
    pub(super) convention: FlopsConvention,
    pub(super) assumptions: &'s Assumptions,
    pub(super) training: &'s TrainingAssumptions,
}

/// What it runs on.
pub(super) struct Ground {
    /// Peak of all accelerators together, in floating-point operations per second.
    pub(super) peak: f64,
    pub(super) hosts: u32,
    /// Empty where a part has no price.
    pub(super) bill: Vec<BillLine>,
    pub(super) power: Option<Watts>,
    pub(super) rack_units: f64,
    pub(super) hardware: HardwareAnswer,
}

impl Told<'_> {
    /// The answer to a layout that cannot be laid out.
    pub(super) fn unplaced(
        &self,
        rejection: &Rejection,
        hardware: HardwareAnswer,
    ) -> TrainingAnswer {
        let layout = self.layout;
        TrainingAnswer {
            feasible: false,
            rejections: vec![rejection_answer(rejection)],
            memory: None,
            step_seconds: None,
            compute_seconds: None,
            bubble_seconds: None,
            exposed_communication_seconds: None,
            host_seconds: None,
            step: None,
            tokens_per_second: None,
            tokens_per_second_per_accelerator: None,
            model_tflops_per_accelerator: None,
            mfu: None,
            hfu: None,
            model_flops: self.convention.name(),
            goodput: None,
            failures: None,
            days: None,
            run: None,
            cost: None,
            power_watts: None,
            accelerators: layout.accelerators(),
            hosts: None,
            micro_batches: None,
            global_batch: self.recipe.global_batch,
            seq_len: self.recipe.seq_len,
            mtp_modules: self.recipe.mtp_modules,
            expert_data_parallel: None,
            hardware,
            bill_of_materials: Vec::new(),
        }
    }

    /// The answer to one that can, whether or not it works.
    pub(super) fn answer(
        &self,
        request: &EvaluateTraining,
        ground: Ground,
        evaluation: &TrainingEvaluation,
    ) -> TrainingAnswer {
        let layout = self.layout;
        let accelerators = f64::from(layout.accelerators());
        let tokens_per_step = f64::from(self.recipe.global_batch) * f64::from(self.recipe.seq_len);
        let flops =
            model_flops_per_token(self.transformer, self.recipe, self.convention) * tokens_per_step;
        let utilisation = |step: &StepTime| flops / (step.total().0 * ground.peak);
        let computed = evaluation.step;
        let step = match request.mfu {
            Some(wanted) => computed.scaled(utilisation(&computed) / wanted),
            None => computed,
        };
        let seconds = step.total().0;
        let tokens_per_second = tokens_per_step / seconds;
        let mfu = utilisation(&step);
        let rejection = evaluation.rejection();
        let power = ground.power;
        let goodput = evaluation.failures.goodput;
        let cost = self.cost(request, &ground, tokens_per_second * goodput);
        // A run that makes no headway has no length.
        let advances = !matches!(rejection, Some(Rejection::Failures { .. }));
        let tokens = request.tokens.filter(|_| advances);
        let run = tokens.map(|tokens| {
            let productive = tokens / tokens_per_second / SECONDS_PER_HOUR;
            let hours = productive / goodput;
            let money = &self.assumptions.cost;
            // The run keeps its hardware busy all of its time.
            let energy = power.map(|power| energy_kwh(power, hours, 1.0, money.pue));
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
            feasible: rejection.is_none(),
            rejections: rejection.iter().map(rejection_answer).collect(),
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
            model_flops: self.convention.name(),
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
            hosts: Some(ground.hosts),
            micro_batches: Some(layout.micro_batches(self.recipe)),
            global_batch: self.recipe.global_batch,
            seq_len: self.recipe.seq_len,
            mtp_modules: self.recipe.mtp_modules,
            expert_data_parallel: Some(layout.expert_replicas()),
            hardware: ground.hardware,
            bill_of_materials: ground.bill.iter().map(BillAnswer::from).collect(),
        }
    }

    /// What an hour of the hardware costs, where all of it has a price.
    fn cost(
        &self,
        request: &EvaluateTraining,
        ground: &Ground,
        tokens_per_second: f64,
    ) -> Option<Cost> {
        if ground.bill.is_empty() {
            return None;
        }
        let price: MicroUsd = ground.bill.iter().map(BillLine::price).sum();
        if request.terms.is_some() {
            // A run is paid for as long as it lasts, and busy all of it.
            return Some(of_rent(price.usd(), 1.0, tokens_per_second, 1.0));
        }
        Some(of_purchase(
            price.usd(),
            ground.power?,
            ground.rack_units,
            tokens_per_second,
            &self.assumptions.cost,
        ))
    }
}

pub(super) fn rejection_answer(rejection: &Rejection) -> RejectionAnswer {
    RejectionAnswer {
        code: rejection.code(),
        message: rejection.to_string(),
        numbers: rejection.numbers().into_iter().collect(),
    }
}

fn memory_answer(evaluation: &TrainingEvaluation) -> TrainingMemoryAnswer {
    let memory = &evaluation.memory;
    TrainingMemoryAnswer {
        weights_bytes: memory.weights.0,
        gradients_bytes: memory.gradients.0,
        optimizer_bytes: memory.optimizer.0,
        activations_bytes: memory.activations.0,
        overhead_bytes: memory.overhead.0,
        total_bytes: memory.total().0,
        capacity_bytes: evaluation.capacity.0,
        activations_per_layer_bytes: memory.per_layer.0,
        micro_batches_in_flight: memory.in_flight,
        host_bytes: memory.host.0,
    }
}

fn step_answer(step: &StepTime) -> StepAnswer {
    let parts = &step.parts;
    StepAnswer {
        forward_seconds: parts.forward.0,
        backward_seconds: parts.backward.0,
        recompute_seconds: parts.recompute.0,
        tensor_seconds: (parts.tensor + parts.beside).0,
        context_seconds: parts.context.0,
        expert_seconds: parts.expert.0,
        pipeline_seconds: parts.pipeline.0,
        data_seconds: step.data.0,
        offload_seconds: parts.offload.0,
        contention_seconds: parts.contention.0,
        host_seconds: parts.host.0,
        bubble_seconds: step.bubble.0,
        optimizer_seconds: step.optimizer.0,
        straggler_seconds: step.straggler.0,
    }
}
