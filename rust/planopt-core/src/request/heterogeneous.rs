//! One job over several kinds of accelerator.

use super::training::{EvaluateTraining, as_asked, training_with};
use crate::bill::{Cluster, HostSet};
use crate::catalog::{Catalog, TrainingAssumptions};
use crate::diagnostic::option::wrong_option;
use crate::diagnostic::{Diagnostic, Problems};
use crate::document::{HardwareAnswer, MixedAnswer, ShareAnswer, TrainingAnswer};
use crate::hardware::{Fabric, Nics, Owned, Rates, TestSystem};
use crate::parallel::Rejection;
use crate::plan::training::{ClusterContext, RunContext};
use crate::plan::training_problem::Subject;
use crate::training::{AtWork, Balanced, Share, TrainingEvaluation, TrainingHardware};

/// Evaluates one configuration over several kinds of accelerator.
pub fn evaluate_mixed(
    catalog: &Catalog,
    request: &EvaluateTraining,
) -> Result<MixedAnswer, Vec<Diagnostic>> {
    let transformer = request.model.transformer(catalog)?;
    request.check_mixed()?;
    let recipe = (request.recipe).recipe(&transformer, request.layout.sequences())?;
    let layout = request.layout.layout()?;
    let assumptions = &catalog.assumptions.entity;
    let training = training_with(assumptions, &request.recipe, &request.run, false)?;
    request.check_shares(layout.accelerators())?;
    let kinds = request.kinds();
    let context = RunContext {
        model: &request.model.name,
        accelerator: &kinds,
        transformer: &transformer,
        recipe: &recipe,
        layout: &layout,
        run: request.run.run(),
        rented: false,
        assumptions,
        training: &training,
    };
    let hardware = &request.hardware;
    let test_systems: Vec<TestSystem> = request
        .shares
        .iter()
        .map(|share| hardware.test_system(catalog, &share.accelerator, share.accelerators))
        .collect::<Result<_, _>>()?;
    let context = &context;
    let subjects: Vec<Subject> = test_systems
        .iter()
        .map(|test_system| {
            let system = test_system.system(catalog, assumptions)?;
            let system = hardware.connected(catalog, system, Nics::AllThatFit)?;
            Ok(Subject { context, system })
        })
        .collect::<Result<_, Vec<Diagnostic>>>()?;
    Ok(request.answer(context, &subjects))
}

/// What comes of the two ways, or why it cannot be laid out.
struct Both {
    /// Of all accelerators together.
    peak: f64,
    slowest: Result<TrainingEvaluation, Rejection>,
    balanced: Result<Balanced, Rejection>,
}

impl EvaluateTraining {
    /// Accelerators of all kinds, by their names.
    fn kinds(&self) -> String {
        let mut names: Vec<&str> = Vec::new();
        for share in &self.shares {
            if !names.contains(&share.accelerator.as_str()) {
                names.push(&share.accelerator);
            }
        }
        names.join(" + ")
    }

    /// Checks that every number can be one, and that nothing is said of the hardware that is of one
    /// kind of accelerator alone.
    fn check_mixed(&self) -> Result<(), Vec<Diagnostic>> {
        let mut problems = Problems::default();
        problems.keep(self.check());
        let of_one_kind = [
            ("accelerator", &self.hardware.accelerator),
            ("terms", &self.hardware.terms),
        ];
        for (option, given) in of_one_kind {
            if let Some(given) = given {
                let accepted = "nothing: shares say what a job of several kinds runs on";
                problems.push(wrong_option(option, &given, accepted));
            }
        }
        problems.unless_any(())
    }

    fn check_shares(&self, accelerators: u32) -> Result<(), Vec<Diagnostic>> {
        let counted: u64 = self
            .shares
            .iter()
            .map(|share| u64::from(share.accelerators))
            .sum();
        let none = self.shares.iter().any(|share| share.accelerators == 0);
        if counted == u64::from(accelerators) && !none {
            return Ok(());
        }
        let said: Vec<String> = self
            .shares
            .iter()
            .map(|share| format!("{}:{}", share.accelerator, share.accelerators))
            .collect();
        let accepted = format!("counts above 0 that add up to {accelerators} (tp x pp x dp x cp)");
        Err(vec![wrong_option(
            "accelerators",
            &said.join(","),
            accepted,
        )])
    }

    fn answer(&self, context: &RunContext, subjects: &[Subject]) -> MixedAnswer {
        let alone: Result<Vec<TrainingEvaluation>, Rejection> = subjects
            .iter()
            .map(|subject| subject.evaluate().map(|(_, alone)| alone))
            .collect();
        let both = self.both(context, subjects, &alone);
        let unplaced = |rejection| context.unplaced(rejection, self.hardware(subjects, None));
        let tell = |evaluation| {
            let cluster_context = self.cluster_context(context, subjects, both.peak);
            context.answer(cluster_context, evaluation)
        };
        let asked = |answer: TrainingAnswer| TrainingAnswer {
            candidate: as_asked(answer.candidate, &self.layout, &self.recipe),
            ..answer
        };
        let shares = self.shares.iter().zip(subjects).enumerate();
        MixedAnswer {
            slowest: asked(both.slowest.as_ref().map_or_else(unplaced, tell)),
            balanced: asked(match &both.balanced {
                Ok(balanced) => tell(&balanced.evaluation),
                Err(rejection) => unplaced(rejection),
            }),
            shares: shares
                .map(|(place, (share, subject))| ShareAnswer {
                    accelerator: share.accelerator.clone(),
                    accelerators: share.accelerators,
                    host: subject.system.host.id.clone(),
                    hosts: share.accelerators.div_ceil(subject.system.slots),
                    step_seconds: alone.as_ref().ok().map(|all| all[place].step.total().0),
                    layers: both
                        .balanced
                        .as_ref()
                        .map_or_else(|_| Vec::new(), |balanced| layers_on(balanced, place)),
                })
                .collect(),
        }
    }

    fn both(
        &self,
        context: &RunContext,
        subjects: &[Subject],
        alone: &Result<Vec<TrainingEvaluation>, Rejection>,
    ) -> Both {
        let rates: Result<Vec<Rates>, Rejection> = subjects.iter().map(Subject::rates).collect();
        let layout = context
            .layout
            .check_trained(context.transformer, context.recipe);
        let rates = match (layout, rates) {
            (Ok(()), Ok(rates)) => rates,
            (Err(rejection), _) | (Ok(()), Err(rejection)) => {
                return Both {
                    peak: 0.0,
                    slowest: Err(rejection),
                    balanced: Err(rejection),
                };
            }
        };
        let fabrics: Vec<Fabric> = subjects.iter().map(Subject::fabric).collect();
        let kinds = subjects.iter().zip(rates.iter().zip(&fabrics));
        let shares: Vec<Share> = kinds
            .zip(&self.shares)
            .map(|((subject, (rates, fabric)), share)| Share {
                hardware: TrainingHardware {
                    system: &subject.system,
                    rates,
                    fabric,
                },
                accelerators: share.accelerators,
            })
            .collect();
        let job = context.job();
        Both {
            peak: shares
                .iter()
                .map(|share| share.hardware.rates.quantised.0 * f64::from(share.accelerators))
                .sum(),
            slowest: match alone {
                Ok(all) => Ok(job.at_the_slowest(&shares, all)),
                Err(rejection) => Err(*rejection),
            },
            balanced: job.balanced(&shares),
        }
    }

    fn cluster<'a>(
        &self,
        subjects: &[Subject<'_, 'a>],
        training: &TrainingAssumptions,
    ) -> Option<Cluster<'a>> {
        // Kinds are always joined.
        subjects.first()?.system.network?;
        let kinds = subjects.iter().zip(&self.shares);
        let sets = kinds
            .map(|(subject, share)| {
                let at_work = AtWork::on(&subject.system, share.accelerators);
                let (spares, _) = at_work.spares(training);
                HostSet::of(&subject.system, share.accelerators, spares)
            })
            .collect();
        Cluster::of_run(sets)
    }

    fn cluster_context(
        &self,
        context: &RunContext,
        subjects: &[Subject],
        peak: f64,
    ) -> ClusterContext {
        let cluster = self.cluster(subjects, context.training);
        let bill = cluster.as_ref().and_then(Cluster::bill_of_materials);
        let hardware = self.hardware(subjects, cluster.as_ref());
        ClusterContext {
            peak,
            hosts: hardware.hosts,
            bill: bill.unwrap_or_default(),
            power: cluster
                .as_ref()
                .and_then(|cluster| cluster.power(context.assumptions)),
            rack_units: cluster.map_or(0.0, |cluster| cluster.rack_units()),
            hardware,
        }
    }

    /// Where it runs: the hosts of all kinds, by their names.
    fn hardware(&self, subjects: &[Subject], cluster: Option<&Cluster>) -> HardwareAnswer {
        let joined = |name: fn(HardwareAnswer) -> String| {
            let mut names: Vec<String> = subjects
                .iter()
                .map(|subject| name(subject.hardware(None)))
                .collect();
            names.dedup();
            names.join(" + ")
        };
        let slots = subjects.iter().map(|subject| subject.system.slots);
        let hosts = self.shares.iter().zip(slots);
        let network = subjects.first().and_then(|subject| subject.system.network);
        let switching = cluster.and_then(|cluster| cluster.switching);
        HardwareAnswer {
            host: joined(|hardware| hardware.host),
            hosts: hosts
                .map(|(share, slots)| share.accelerators.div_ceil(slots))
                .sum(),
            link: joined(|hardware| hardware.link),
            network: network.map(|(network, _)| network.id.clone()),
            nics_per_host: network.map_or(0, |(_, line)| line.nics_per_host),
            switch: switching.map(|all| all.switch.id.clone()),
            switch_count: switching.map_or(0, |all| all.count),
            switch_port_blocks: 0,
            rack_units: cluster.map_or(0.0, Cluster::rack_units),
            terms: None,
            goodput: None,
            owned: Owned::default(),
        }
    }
}

/// The layers of the stages of one share.
fn layers_on(balanced: &Balanced, share: usize) -> Vec<u32> {
    let stages = balanced.shares.iter().zip(&balanced.layers);
    stages
        .filter(|(of, _)| **of == share)
        .map(|(_, layers)| *layers)
        .collect()
}
