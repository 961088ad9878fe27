//! What a purchase of clusters becomes: a run on each.

use super::purchase::LayOut;
use crate::diagnostic::Diagnostic;
use crate::document::{HardwareAnswer, TrainingCandidate};
use crate::hardware::{HardwareSpec, Nics};
use crate::plan::training::RunContext;
use crate::plan::training_problem::Subject;
use crate::plan::{Errors, TrainingBuild, TrainingDeployment, sourced};
use crate::search::{Found, Trained};

/// Lays purchases of clusters out: a run takes one.
///
/// # Errors
///
/// Hardware that is gone, which cannot be while a handle keeps its catalog.
pub(super) fn builds(
    found: &Found,
    run: &Trained,
    request: &LayOut,
) -> Result<Vec<TrainingBuild>, Vec<Diagnostic>> {
    let builds = request.purchases.iter().flat_map(|bought| {
        let rows = bought.counts.keys().map(|row| *row as usize);
        rows.map(|row| {
            let deployment = deploy(found, run, row)?;
            let counts = [(u32::try_from(row).unwrap_or(u32::MAX), 1)];
            let broken = request.limits.broken(&found.rows, &counts);
            Ok(TrainingBuild::of(&found.catalog, deployment, broken))
        })
    });
    builds.collect()
}

fn deploy(found: &Found, run: &Trained, row: usize) -> Result<TrainingDeployment, Vec<Diagnostic>> {
    let catalog = &found.catalog;
    let assumptions = &catalog.assumptions.entity;
    let (layout, names) = (found.layout(row), found.rows.system(row));
    let hardware = HardwareSpec {
        nics_per_host: names.network.as_ref().map(|_| names.nics_per_host),
        ..names.hardware()
    };
    let site = hardware.site(catalog, layout.accelerators())?;
    let system = site.resolve(catalog, assumptions, Nics::AllThatFit)?;
    let subject = Subject {
        context: &RunContext {
            model: &run.model,
            accelerator: &names.accelerator,
            transformer: &run.transformer,
            recipe: &run.recipe,
            layout: &layout,
            run: run.run,
            rented: run.rented,
            assumptions,
            training: &run.training,
        },
        system,
    };
    let mut answer = subject.answer();
    let experts = run.transformer.experts().is_some();
    let errors = Errors::of(catalog, system.accelerator, experts, false);
    answer.evaluation.intervals = errors.of_training(&answer.evaluation)?;
    sourced(catalog, &mut answer.bill_of_materials);
    Ok(TrainingDeployment {
        model: answer.model,
        evaluation: answer.evaluation,
        candidate: TrainingCandidate {
            framework: run.framework.clone(),
            ..answer.candidate
        },
        hardware: HardwareAnswer {
            goodput: names.terms.as_ref().map(|_| 1.0),
            terms: names.terms.clone(),
            ..answer.hardware
        },
        bill_of_materials: answer.bill_of_materials,
    })
}
