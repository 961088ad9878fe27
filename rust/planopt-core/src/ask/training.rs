//! Questions about training.

mod answer;
mod request;
mod search;

pub use answer::{FailureAnswer, RunAnswer, StepAnswer, TrainingAnswer, TrainingMemoryAnswer};
pub use request::EvaluateTraining;
pub use search::{ClusterAnswer, ClusterColumns, SearchTraining, search_training};

use super::answer::{BillAnswer, HardwareAnswer, RejectionAnswer};
use super::hardware::{Bench, Connection, Names, line_of};
use super::request::unknown_name;
use crate::catalog::{Assumptions, Catalog, TrainingAssumptions};
use crate::compute::Rates;
use crate::cost::{energy_kwh, of_purchase};
use crate::diagnostic::{Diagnostic, code};
use crate::purchase::{BillLine, Hardware};
use crate::quantity::MicroUsd;
use crate::search::Fit;
use crate::training::{
    Cluster, FlopsConvention, Layout, PricedModel, Recipe, Rejection, StepTime, TrainingEvaluation,
    TrainingHardware, deal_model, evaluate, model_flops_per_token,
};
use crate::transformer::Transformer;

const SECONDS_PER_HOUR: f64 = 3600.0;
const HOURS_PER_DAY: f64 = 24.0;
const TERA: f64 = 1e12;

/// Evaluates one configuration of a training run, whether or not it works.
///
/// # Errors
///
/// Everything in the question that is not known or cannot be.
pub fn evaluate_training(
    catalog: &Catalog,
    request: &EvaluateTraining,
) -> Result<TrainingAnswer, Vec<Diagnostic>> {
    let transformer = request.model().transformer(catalog)?;
    request.check()?;
    let recipe = request.recipe(&transformer)?;
    let layout = request.layout()?;
    let convention = request.convention()?;
    let assumptions = &catalog.assumptions.entity;
    let training = assumptions
        .training
        .ok_or_else(|| vec![no_training(assumptions)])?;
    let names = Names {
        accelerator: &request.accelerator,
        host: request.host.as_deref(),
        link: request.link.as_deref(),
        per_host: request.accelerators_per_host,
        per_host_option: (
            "accelerators_per_host",
            request.accelerators_per_host.unwrap_or(1),
        ),
        accelerators: layout.accelerators(),
    };
    let bench = Bench::named(catalog, &names)?;
    let fit = bench.fit(catalog, assumptions).ok_or_else(|| {
        let accepted = "hosts whose link has a bandwidth".to_owned();
        vec![unknown_name("host", "of the accelerator", accepted)]
    })?;
    let network = match &request.network {
        Some(id) => {
            let most = catalog.network(id).map_or(1, |network| {
                let fitting = network.nics_per_host.iter().copied();
                fitting
                    .filter(|nics| *nics <= fit.host.nics)
                    .max()
                    .unwrap_or(1)
            });
            line_of(catalog, id, request.nics_per_host.unwrap_or(most))?
        }
        None => None,
    };
    let subject = Subject {
        transformer: &transformer,
        recipe: &recipe,
        layout: &layout,
        convention,
        fit: &fit,
        network,
        assumptions,
        training: &training,
    };
    Ok(match subject.evaluate() {
        Ok((rates, evaluation)) => subject.answer(request, &rates, &evaluation),
        Err(rejection) => subject.unplaced(&rejection),
    })
}

fn no_training(assumptions: &Assumptions) -> Diagnostic {
    let message = format!(
        "the assumptions `{}` say nothing of training",
        assumptions.id
    );
    Diagnostic::new(code::MISSING_KEY, message)
        .field("--assumptions")
        .value(assumptions.id.clone())
        .accepted("assumptions with a table `[training]`")
        .help("use `calibrated`, or add the table to your own")
}

/// What an answer is about.
struct Subject<'s, 'a> {
    transformer: &'s Transformer,
    recipe: &'s Recipe,
    layout: &'s Layout,
    convention: FlopsConvention,
    fit: &'s Fit<'a>,
    network: Option<Connection<'a>>,
    assumptions: &'s Assumptions,
    training: &'s TrainingAssumptions,
}

impl<'a> Subject<'_, 'a> {
    fn evaluate(&self) -> Result<(Rates, TrainingEvaluation), Rejection> {
        let Self {
            transformer,
            recipe,
            layout,
            assumptions,
            training,
            ..
        } = self;
        layout.check(transformer, recipe)?;
        let slots = self.fit.host.slots;
        let line = self.network.map(|(_, line)| line);
        let fabric = self.fit.fabric(line, assumptions);
        let groups = layout.place(&fabric, slots)?;
        let format = recipe.precision.format();
        let rates =
            Rates::of(self.fit.accelerator, format, assumptions).ok_or(Rejection::Format {
                precision: format.name(),
            })?;
        let priced = PricedModel::new(transformer, recipe, layout, &rates, &groups, training);
        let stages = deal_model(transformer, recipe, layout.pp, layout.vpp);
        let hardware = TrainingHardware {
            accelerator: self.fit.accelerator,
            rates: &rates,
            fabric: &fabric,
            slots,
        };
        let evaluation = evaluate(
            transformer,
            &priced,
            recipe,
            layout,
            &groups,
            &stages,
            &hardware,
            assumptions,
            training,
        );
        Ok((rates, evaluation))
    }

    fn hosts(&self) -> u32 {
        self.layout.accelerators().div_ceil(self.fit.host.slots)
    }

    fn cluster(&self) -> Option<Cluster<'a>> {
        let hardware = Hardware {
            accelerator: self.fit.accelerator,
            host: self.fit.host,
            network: self
                .network
                .map(|(network, line)| (network, line.nics_per_host)),
        };
        Cluster::new(hardware, self.layout.accelerators(), self.fit.host.slots)
    }

    /// The answer to a layout that cannot be laid out.
    fn unplaced(&self, rejection: &Rejection) -> TrainingAnswer {
        let layout = self.layout;
        TrainingAnswer {
            feasible: false,
            rejections: vec![rejection_answer(rejection)],
            memory: None,
            step_seconds: None,
            compute_seconds: None,
            bubble_seconds: None,
            exposed_communication_seconds: None,
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
            hardware: self.hardware(None),
            bill_of_materials: Vec::new(),
        }
    }

    fn answer(
        &self,
        request: &EvaluateTraining,
        rates: &Rates,
        evaluation: &TrainingEvaluation,
    ) -> TrainingAnswer {
        let layout = self.layout;
        let accelerators = f64::from(layout.accelerators());
        let tokens_per_step = f64::from(self.recipe.global_batch) * f64::from(self.recipe.seq_len);
        let flops =
            model_flops_per_token(self.transformer, self.recipe, self.convention) * tokens_per_step;
        let peak = rates.quantised.0;
        let utilisation = |step: &StepTime| flops / (step.total().0 * accelerators * peak);
        let computed = evaluation.step;
        let step = match request.mfu {
            Some(wanted) => computed.scaled(utilisation(&computed) / wanted),
            None => computed,
        };
        let seconds = step.total().0;
        let tokens_per_second = tokens_per_step / seconds;
        let mfu = utilisation(&step);
        let rejection = evaluation.rejection();
        let cluster = self.cluster();
        let bill = cluster
            .and_then(|cluster| cluster.bill_of_materials())
            .unwrap_or_default();
        let power = cluster.and_then(|cluster| cluster.power(self.assumptions));
        let goodput = evaluation.failures.goodput;
        let cost = power.filter(|_| !bill.is_empty()).map(|power| {
            let price: MicroUsd = bill.iter().map(BillLine::price).sum();
            let rack_units = cluster.map_or(0.0, |cluster| cluster.rack_units());
            of_purchase(
                price.usd(),
                power,
                rack_units,
                tokens_per_second * goodput,
                &self.assumptions.cost,
            )
        });
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
            exposed_communication_seconds: Some(seconds - step.compute().0 - step.waiting().0),
            step: Some(step_answer(&step)),
            tokens_per_second: Some(tokens_per_second),
            tokens_per_second_per_accelerator: Some(tokens_per_second / accelerators),
            model_tflops_per_accelerator: Some(mfu * peak / TERA),
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
            }),
            days,
            run,
            cost,
            power_watts: power.map(|power| power.0),
            accelerators: layout.accelerators(),
            hosts: Some(self.hosts()),
            micro_batches: Some(layout.micro_batches(self.recipe)),
            global_batch: self.recipe.global_batch,
            seq_len: self.recipe.seq_len,
            mtp_modules: self.recipe.mtp_modules,
            expert_data_parallel: Some(layout.expert_replicas()),
            hardware: self.hardware(cluster),
            bill_of_materials: bill.iter().map(BillAnswer::from).collect(),
        }
    }

    fn hardware(&self, cluster: Option<Cluster<'a>>) -> HardwareAnswer {
        let link = match &self.fit.accelerator.scale_up {
            Some(link) if self.layout.tp <= link.domain => link.name.clone(),
            _ => self.fit.host.link.clone(),
        };
        let switching = cluster.and_then(|cluster| cluster.switching);
        HardwareAnswer {
            host: self.fit.host.id.clone(),
            hosts: self.hosts(),
            link,
            network: self.network.map(|(network, _)| network.id.clone()),
            nics_per_host: self.network.map_or(0, |(_, line)| line.nics_per_host),
            switch: switching.map(|all| all.switch.id.clone()),
            switch_count: switching.map_or(0, |all| all.count),
            switch_port_blocks: 0,
        }
    }
}

fn rejection_answer(rejection: &Rejection) -> RejectionAnswer {
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
        bubble_seconds: step.bubble.0,
        optimizer_seconds: step.optimizer.0,
        straggler_seconds: step.straggler.0,
    }
}
