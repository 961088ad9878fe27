//! What a purchase of units becomes: models on hardware, in the layout that is fastest.

use super::purchase::{ForUsers, LayOut};
use crate::diagnostic::{Diagnostic, code};
use crate::hardware::Nics;
use crate::parallel::Pins;
use crate::plan::serving::Subject;
use crate::plan::{Build, Deployment, Errors, Predicted};
use crate::search::{Found, Part, fastest_layout};

/// Lays purchases of units out.
///
/// # Errors
///
/// Hardware that is gone, which cannot be while a handle keeps its catalog.
pub(super) fn builds(
    found: &Found,
    parts: &[Part],
    request: &LayOut,
) -> Result<Vec<Build>, Vec<Diagnostic>> {
    let Some(first) = parts.first() else {
        return Ok(Vec::new());
    };
    let builds = request.purchases.iter().map(|bought| {
        let counts: Vec<(u32, u64)> = bought
            .counts
            .iter()
            .map(|(row, count)| (*row, u64::from(*count)))
            .collect();
        let deployments = bought.counts.iter().map(|(row, count)| {
            let row = *row as usize;
            let part = &parts[found.part(row)];
            deploy(
                found,
                part,
                row,
                *count,
                bought.for_users,
                request.has_errors,
            )
        });
        let deployments = deployments.collect::<Result<Vec<_>, _>>()?;
        let limits = &request.limits;
        let broken = limits.broken(&found.rows, &counts);
        Ok(Build {
            failures: limits.redundancy.outlasted(&found.rows, &counts),
            tokens_per_second_left: limits.tokens_left(&found.rows, &counts).near(),
            ..Build::of(&found.catalog, &first.transformer, deployments, broken)
        })
    });
    builds.collect()
}

fn deploy(
    found: &Found,
    part: &Part,
    row: usize,
    count: u32,
    for_users: Option<ForUsers>,
    has_errors: bool,
) -> Result<Deployment, Vec<Diagnostic>> {
    let catalog = &found.catalog;
    let names = found.rows.system(row);
    let hardware = names.hardware();
    let site = hardware.site(catalog, names.accelerators)?;
    let system = site.resolve(catalog, &part.assumptions, Nics::One)?;
    let (users, given) = decided(found, row, count, for_users);
    let fastest = fastest_layout(
        &part.transformer,
        &part.question,
        &system,
        names,
        users,
        given,
        &part.assumptions,
    );
    let fastest = fastest.ok_or_else(|| vec![nothing_runs(&names.accelerator)])?;
    let subject = Subject {
        transformer: &part.transformer,
        question: &part.question,
        system: &system,
        layout: fastest.layout,
        assumptions: &part.assumptions,
        draft: part.draft.as_deref(),
    };
    let unit = fastest.unit;
    let mut answer = subject.answer(unit.placement, &fastest.evaluation, &[(unit, 1)]);
    if has_errors {
        let experts = part.transformer.experts().is_some();
        let errors = Errors::of(catalog, system.accelerator, experts, !part.has_engine);
        let decode = fastest.evaluation.decode;
        let predicted = Predicted {
            tpot_seconds: Some(decode.tpot_seconds.0),
            tokens_per_second: Some(decode.tokens_per_second),
            prefill_seconds: Some(fastest.evaluation.prefill.seconds.0),
            ttft_seconds: None,
        };
        answer.evaluation.intervals = errors.of_serving(&predicted)?;
    }
    // Of sessions a replica has more than it answers.
    let users = match for_users {
        Some(_) => fastest.layout.batching().users(part.question.overlap),
        None => users / u64::from(unit.replicas.max(1)),
    };
    Ok(Deployment::new(&part.model, answer, (&unit, count), users))
}

/// Users of a unit, and what of its layout is decided.
fn decided(found: &Found, row: usize, count: u32, for_users: Option<ForUsers>) -> (u64, Pins) {
    let bought = Pins::from(found.layout(row));
    let Some(asked) = for_users else {
        return (found.rows.columns.users[row], bought);
    };
    let open = if asked.any_layout {
        Pins::default()
    } else {
        bought
    };
    let given = Pins {
        batch: asked.batch,
        in_flight: asked.in_flight,
        ..open
    };
    (asked.users.div_ceil(u64::from(count).max(1)), given)
}

/// A row was found because something runs on it.
fn nothing_runs(accelerator: &str) -> Diagnostic {
    let message = format!("nothing runs on the {accelerator} that was bought");
    Diagnostic::new(code::CONTRADICTION, message)
}
