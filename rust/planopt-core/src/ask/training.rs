//! Questions about training.

mod answer;
mod check;
mod mixed;
mod request;
mod search;
mod subject;
mod tell;
mod words;

pub use answer::{FailureAnswer, RunAnswer, StepAnswer, TrainingAnswer, TrainingMemoryAnswer};
pub use mixed::{EvaluateMixed, MixedAnswer, ShareAnswer, ShareRequest, evaluate_mixed};
pub use request::EvaluateTraining;
pub use search::{ClusterAnswer, ClusterColumns, SearchTraining, search_training};
pub(in crate::ask) use search::{recompute_word, sharding_word};

use self::subject::Subject;
use self::tell::Told;
use super::hardware::{Bench, Connection, Names, line_of};
use super::request::HardwareKey;
use crate::catalog::{Assumptions, Catalog, Spares, TrainingAssumptions};
use crate::diagnostic::{Diagnostic, code};
use crate::search::Fit;

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
    let training = request.assumptions(assumptions)?;
    let told = Told {
        transformer: &transformer,
        recipe: &recipe,
        layout: &layout,
        convention,
        assumptions,
        training: &training,
    };
    if request.terms.is_some() {
        let key = request.offer();
        let instances = key.rented(catalog)?;
        let (fit, network) = key.resolve(catalog, &instances, assumptions)?;
        return Ok(told.evaluated(request, &fit, network));
    }
    let bench = request.bench(catalog, &request.accelerator, layout.accelerators())?;
    let fit = fit_of(catalog, &bench)?;
    let network = request.connection(catalog, &fit)?;
    Ok(told.evaluated(request, &fit, network))
}

impl Told<'_> {
    /// The answer for what runs on an accelerator in its host, over a network.
    fn evaluated<'a>(
        &self,
        request: &EvaluateTraining,
        fit: &Fit<'a>,
        network: Option<Connection<'a>>,
    ) -> TrainingAnswer {
        let subject = Subject {
            told: self,
            fit,
            network,
        };
        match subject.evaluate() {
            Ok((rates, evaluation)) => self.answer(request, subject.ground(&rates), &evaluation),
            Err(rejection) => self.unplaced(&rejection, subject.hardware(None)),
        }
    }
}

impl EvaluateTraining {
    /// The assumptions of training with what the question puts in their place.
    fn assumptions(
        &self,
        assumptions: &Assumptions,
    ) -> Result<TrainingAssumptions, Vec<Diagnostic>> {
        let training = assumptions
            .training_with(self.framework(assumptions)?)
            .ok_or_else(|| vec![no_training(assumptions)])?;
        let training = TrainingAssumptions {
            spares: self.redundancy.map_or(training.spares, Spares::Hosts),
            ..training
        };
        Ok(match self.terms {
            Some(_) => training.of_rented(),
            None => training,
        })
    }

    /// The offer that the question names as a host.
    fn offer(&self) -> HardwareKey {
        HardwareKey {
            accelerator: self.accelerator.clone(),
            host: self.host.clone().unwrap_or_default(),
            network: self.network.clone(),
            nics_per_host: 1,
            switch: None,
            hosts: 1,
            accelerators: 1,
            terms: self.terms.clone(),
        }
    }

    /// So many accelerators in the host that the question names, or the smallest that fits.
    fn bench(
        &self,
        catalog: &Catalog,
        accelerator: &str,
        accelerators: u32,
    ) -> Result<Bench, Vec<Diagnostic>> {
        let names = Names {
            accelerator,
            host: self.host.as_deref(),
            link: self.link.as_deref(),
            per_host: self.accelerators_per_host,
            per_host_option: (
                "accelerators_per_host",
                self.accelerators_per_host.unwrap_or(1),
            ),
            accelerators,
        };
        Bench::named(catalog, &names)
    }

    /// The network that the question names, with all the NICs that the host takes unless it says
    /// how many.
    fn connection<'c>(
        &self,
        catalog: &'c Catalog,
        fit: &Fit,
    ) -> Result<Option<Connection<'c>>, Vec<Diagnostic>> {
        let Some(id) = &self.network else {
            return Ok(None);
        };
        let most = catalog.network(id).map_or(1, |network| {
            let fitting = network.nics_per_host.iter().copied();
            fitting
                .filter(|nics| *nics <= fit.host.room_for(network))
                .max()
                .unwrap_or(1)
        });
        line_of(catalog, id, self.nics_per_host.unwrap_or(most))
    }
}

/// What is on a bench, with its links.
fn fit_of<'c>(catalog: &'c Catalog, bench: &'c Bench) -> Result<Fit<'c>, Vec<Diagnostic>> {
    let assumptions = &catalog.assumptions.entity;
    bench.fit(catalog, assumptions)
}

pub(in crate::ask) fn no_training(assumptions: &Assumptions) -> Diagnostic {
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
