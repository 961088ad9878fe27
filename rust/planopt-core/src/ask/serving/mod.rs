//! Questions about serving.

mod load;
mod offload;
mod pools;
mod search;
mod subject;

pub use load::{
    EngineAnswer, EstimateAnswer, RunRequest, SimulateServing, SimulationAnswer, estimate_serving,
    simulate_serving,
};
pub(super) use offload::OffloadRequest;
pub use pools::{
    PoolAnswer, PoolsAnswer, PoolsSearchAnswer, SearchPools, TransferAnswer, find_pools,
};
pub(super) use search::known;
pub use search::search_serving;

use self::subject::Subject;
use super::answer::{EvaluationAnswer, FastestAnswer};
use super::request::{EvaluateServing, FastestLayout};
use crate::catalog::Catalog;
use crate::diagnostic::Diagnostic;
use crate::search::{GivenLayout, Layout, UnitKey, evaluate_unit, fastest_layout};
use crate::serving::{Batching, ReplicaEvaluation};

/// The fastest layout for `users` on a purchase that is decided; none if no layout carries them.
///
/// # Errors
///
/// Everything in the question that is not known or cannot be.
pub fn fastest_serving(
    catalog: &Catalog,
    request: &FastestLayout,
) -> Result<Option<FastestAnswer>, Vec<Diagnostic>> {
    let transformer = request.serving.transformer(catalog)?;
    let question = request.serving.question(&transformer)?;
    let assumptions = request.serving.assumptions(catalog)?;
    let rented = request.hardware.rented(catalog)?;
    let (fit, network) = request.hardware.resolve(catalog, &rented, &assumptions)?;
    let key = UnitKey {
        fit,
        network,
        hosts: request.hardware.hosts,
        accelerators: request.hardware.accelerators,
        switch: request.hardware.switch.as_deref(),
    };
    let given = GivenLayout {
        tp: request.tp,
        cp: request.cp,
        dp: request.dp,
        ep: request.ep,
        pp: request.pp,
        batch: request.batch,
        in_flight: request.in_flight,
        replicas: request.replicas,
    };
    let fastest = fastest_layout(
        &transformer,
        &question,
        &key,
        request.users,
        given,
        &assumptions,
    );
    Ok(fastest.map(|fastest| {
        let placement = fastest.unit.placement;
        let subject = Subject {
            transformer: &transformer,
            question: &question,
            fit: &key.fit,
            network: key.network,
            batching: fastest.batching,
            assumptions: &assumptions,
        };
        FastestAnswer {
            tp: placement.degrees.tp,
            cp: placement.degrees.cp,
            dp: placement.degrees.dp,
            ep: placement.degrees.ep,
            pp: placement.pp,
            batch: fastest.batching.batch,
            unit_replicas: fastest.unit.replicas,
            evaluation: subject.answer(placement, &fastest.evaluation, &[(fastest.unit, 1)]),
        }
    }))
}

/// Evaluates one configuration, whether or not it works.
///
/// # Errors
///
/// Everything in the question that is not known or cannot be.
pub fn evaluate_serving(
    catalog: &Catalog,
    request: &EvaluateServing,
) -> Result<EvaluationAnswer, Vec<Diagnostic>> {
    let transformer = request.serving.transformer(catalog)?;
    let question = request.serving.question(&transformer)?;
    let assumptions = request.serving.assumptions(catalog)?;
    request.check()?;
    request.check_states(&transformer)?;
    let site = request.site(catalog)?;
    let (fit, network) = site.resolve(catalog, &assumptions)?;
    let batching = Batching {
        batch: request.batch,
        in_flight: request.in_flight.unwrap_or(request.pp),
    };
    let layout = Layout {
        degrees: request.degrees(),
        pp: request.pp,
    };
    let open = request.resting_in(fit.host, question, &assumptions)?;
    let line = network.map(|(_, line)| line);
    let evaluate = |layers| {
        let question = offload::with_layers(open, layers);
        let evaluated = evaluate_unit(
            &transformer,
            &question,
            &fit,
            line,
            layout,
            batching,
            &assumptions,
        );
        (question, evaluated)
    };
    let tried = request.resting_layers(&transformer);
    let (last, fewer) = tried.split_last().unwrap_or((&None, &[]));
    let is_enough = |(_, evaluated): &(_, Result<(_, ReplicaEvaluation), _>)| match evaluated {
        Ok((_, evaluation)) => evaluation.memory.fits(),
        // No number of layers makes up for it.
        Err(_) => true,
    };
    let (question, evaluated) = fewer
        .iter()
        .map(|layers| evaluate(*layers))
        .find(is_enough)
        .unwrap_or_else(|| evaluate(*last));
    let subject = Subject {
        transformer: &transformer,
        question: &question,
        fit: &fit,
        network,
        batching,
        assumptions: &assumptions,
    };
    Ok(match evaluated {
        Err(rejection) => subject.rejected(&rejection, request.accelerators(), request.replicas),
        Ok((placement, evaluation)) => {
            let units = subject.cheapest_units(placement, request.replicas);
            let mut answer = subject.answer(placement, &evaluation, &units);
            answer.replicas = request.replicas;
            answer
        }
    })
}
