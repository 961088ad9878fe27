//! What a purchase of clusters becomes: a run on each.

use super::purchase::LayOut;
use super::told::told;
use crate::diagnostic::Diagnostic;
use crate::document::{BomLine, TrainingCandidate};
use crate::hardware::{HardwareSpec, Nics};
use crate::plan::training::Told;
use crate::plan::training_problem::Subject;
use crate::plan::{Errors, PlacedHardware, TrainingBuild, TrainingDeployment, sourced};
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
            Ok(TrainingBuild::of(deployment, broken))
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
        told: &Told {
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
    let errors = Errors::of(catalog, Some(system.accelerator), experts, false);
    answer.intervals = errors.of_training(&answer)?;
    let mut lines: Vec<BomLine> = std::mem::take(&mut answer.bill_of_materials);
    sourced(catalog, &mut lines);
    Ok(TrainingDeployment {
        model: run.model.clone(),
        evaluation: told(&answer),
        candidate: TrainingCandidate {
            framework: run.framework.clone(),
            ..answer.candidate
        },
        hardware: PlacedHardware {
            hardware: answer.hardware,
            goodput: names.terms.as_ref().map(|_| 1.0),
            terms: names.terms.clone(),
        },
        bill_of_materials: lines,
    })
}
