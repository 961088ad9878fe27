//! Two pools: searched for, and their cache sent from one configuration to another.

use super::model::{Engine, Prompts, ServedModel};
use super::offload::OffloadRequest;
use super::selection::select;
use super::serving::{EvaluateServing, Promises, ServedRequest};
use crate::bill::BillLine;
use crate::catalog::Catalog;
use crate::cost::of_purchase;
use crate::diagnostic::option::wrong_option;
use crate::diagnostic::{Diagnostic, code};
use crate::document::{BomLine, EvaluationAnswer, PoolAnswer, PoolsAnswer, TransferAnswer};
use crate::hardware::{Connection, HardwareSpec, Inventory, Nics, Rates, Selection, Space, System};
use crate::load::{EngineOptions, Load};
use crate::parallel::{Layout, Pins};
use crate::plan::serving::Subject;
use crate::plan::{Build, Deployment, Errors, Predicted, Role};
use crate::quantity::{Watts, real};
use crate::search::{
    ClusterLimits, FoundPool, FoundPools, PoolsAim, PoolsDemand, PoolsRequest, search_pools,
};
use crate::serving::engine::Transfer;
use crate::serving::{End, evaluate_unit, prompt_cache, transfer};
use serde::{Deserialize, Serialize};
use std::sync::atomic::AtomicBool;

/// A search for two pools.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SearchPools {
    /// What is served.
    pub model: ServedModel,
    /// To which prompts.
    pub workload: Prompts,
    /// What users are promised: latencies at a percentile.
    pub promises: Promises,
    /// What arrives.
    pub load: Load,
    /// What may be bought.
    #[serde(default)]
    pub hardware: Selection,
    /// What serves it.
    #[serde(default)]
    pub engine: Engine,
    /// What is asked of the engine.
    #[serde(default)]
    pub scheduler: EngineOptions,
    /// What a purchase may not exceed.
    #[serde(default)]
    pub limits: ClusterLimits,
    /// How far and for what is searched.
    pub search: PoolsOptions,
}

/// How far and for what two pools are searched.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PoolsOptions {
    /// What they are best at.
    pub aim: PoolsAim,
    /// Accelerators of a replica, at most.
    pub max_accelerators: u32,
    /// Accelerators of both pools, at most.
    pub accelerators_in_all: Option<u32>,
    /// Ranks that contexts may be divided among; as the assumptions say where it is not given.
    pub context_ranks: Option<u32>,
    /// Whether layouts are tried that nobody would run.
    #[serde(default)]
    pub allow_odd: bool,
    /// Requests per second, where a rate is asked for.
    pub requests_per_second: Option<f64>,
    /// What one pool is known to do by what they are best at: nothing that is no better need be refused.
    pub beats: Option<f64>,
    /// Whether errors of predictions under these assumptions are known.
    #[serde(default)]
    pub has_errors: bool,
}

/// What a search for two pools found.
#[derive(Clone, Debug, Serialize)]
pub struct PoolsSearchAnswer {
    /// The best; none if no two pools do what is asked.
    pub best: Option<PoolsAnswer>,
    /// Whether short runs have not refused it, whatever the closed form says.
    pub is_left: bool,
    /// The same as a plan has it.
    pub build: Option<Build>,
    /// What none is better than: dollars that all cost at least, or tokens per second that none
    /// exceeds; none where that is not known.
    pub bound: Option<f64>,
    /// Dollars that all cost at least that runs show to hold.
    pub shown: Option<f64>,
    /// Layouts of a pool that were asked about.
    pub sides: usize,
    /// Pairs of them that were matched.
    pub pairs: usize,
    /// Format of the weights.
    pub weights: &'static str,
    /// Format of the KV cache.
    pub kv: &'static str,
}

/// Finds the best two pools.
///
/// # Errors
///
/// Everything in the question that is not known or cannot be, and a question that promises no
/// latencies.
pub fn find_pools(
    catalog: &Catalog,
    request: &SearchPools,
    stop: &AtomicBool,
) -> Result<PoolsSearchAnswer, Vec<Diagnostic>> {
    let ServedRequest {
        transformer,
        mut question,
        assumptions,
    } = ServedRequest::of(catalog, &request.model, &request.workload, &request.engine)?;
    let search = &request.search;
    question.context_ranks = search.context_ranks;
    question.allow_odd = search.allow_odd;
    let mut selection = select(catalog, &request.hardware, None)?;
    // Two pools would count on the same parts: they are bought.
    selection.own.clear();
    let space = Space::available(&Inventory::of(catalog), &selection, &assumptions);
    let promised = request
        .promises
        .latencies(Some(&request.load), request.scheduler)?;
    let Some(goal) = promised else {
        let accepted = "latencies at a percentile";
        return Err(vec![wrong_option("ttft", "none", accepted)]);
    };
    let of_tokens = request.promises.tokens_per_second / goal.output;
    let demand = PoolsDemand {
        aim: search.aim,
        requests_per_second: search.requests_per_second.unwrap_or(of_tokens),
        users: u32::try_from(request.promises.users).unwrap_or(u32::MAX),
        accelerators: search.accelerators_in_all,
        limits: request.limits.clone(),
    };
    let asked = PoolsRequest {
        transformer: &transformer,
        question: &question,
        goal: &goal,
        load: &request.load,
        beats: search.beats,
        demand: &demand,
        assumptions: &assumptions,
        accelerators: search.max_accelerators,
        stop,
    };
    let found = search_pools(&asked, &space);
    let context = PoolsContext {
        catalog,
        asked: &asked,
        model: &request.model,
        has_engine: request.engine.name.is_some(),
        has_errors: search.has_errors,
    };
    Ok(PoolsSearchAnswer {
        build: found
            .best
            .as_ref()
            .map(|best| context.build(best))
            .transpose()?,
        best: found.best.map(|best| answer(&best, &asked, &request.model)),
        is_left: found.is_left,
        bound: found.bound,
        shown: found.shown,
        sides: found.sides,
        pairs: found.pairs,
        weights: question.formats.weights.name(),
        kv: question.formats.kv.name(),
    })
}

/// What a purchase of two pools is described with.
struct PoolsContext<'t> {
    catalog: &'t Catalog,
    asked: &'t PoolsRequest<'t>,
    model: &'t ServedModel,
    has_engine: bool,
    has_errors: bool,
}

impl PoolsContext<'_> {
    /// The purchase as a plan has it. Both pools may share hosts, and do share what joins them: the
    /// one that answers brings all of it.
    fn build(&self, found: &FoundPools) -> Result<Build, Vec<Diagnostic>> {
        let asked = self.asked;
        let bill = found.cluster.bill_of_materials().unwrap_or_default();
        let prefill = self.deployed(Role::Prefill, &found.prefill, found, Vec::new())?;
        let decode = self.deployed(Role::Decode, &found.decode, found, bill)?;
        Ok(Build {
            transfer: Some(transferred(found, asked)),
            requests_per_second: Some(found.requests_per_second),
            ..Build::of(
                self.catalog,
                asked.transformer,
                vec![decode, prefill],
                Vec::new(),
            )
        })
    }

    fn deployed(
        &self,
        role: Role,
        pool: &FoundPool,
        found: &FoundPools,
        bill: Vec<BillLine>,
    ) -> Result<Deployment, Vec<Diagnostic>> {
        let asked = self.asked;
        let mut answer = evaluated(pool, found.network, asked, self.model);
        answer.replicas = pool.replicas;
        let steps = answer.evaluation.decode.unwrap_or_default();
        let cluster = &found.cluster;
        let hardware = &mut answer.hardware;
        let users = if role == Role::Decode {
            hardware.hosts = cluster.hosts();
            hardware.switch = cluster.switching.map(|all| all.switch.id.clone());
            hardware.switch_count = cluster.switching.map_or(0, |all| all.count);
            hardware.rack_units = cluster.rack_units();
            let power = cluster.power(asked.assumptions).unwrap_or(Watts::ZERO);
            let tokens = steps.tokens_per_second * f64::from(pool.replicas);
            answer.evaluation.power_watts = Some(power.0);
            answer.evaluation.cost = Some(of_purchase(
                found.price.usd(),
                power,
                cluster.rack_units(),
                tokens,
                &asked.assumptions.cost,
            ));
            u64::from(found.users)
        } else {
            hardware.hosts = 0;
            0
        };
        if self.has_errors {
            let experts = asked.transformer.experts().is_some();
            let own = pool.system.accelerator;
            let errors = Errors::of(self.catalog, own, experts, !self.has_engine);
            let prefill = answer.evaluation.prefill.as_ref();
            answer.evaluation.intervals = errors.of_serving(&Predicted {
                tpot_seconds: Some(steps.tpot_seconds.0),
                tokens_per_second: Some(steps.tokens_per_second),
                prefill_seconds: prefill.map(|prompt| prompt.seconds.0),
                ttft_seconds: None,
            })?;
        }
        let named = (self.model.name.as_str(), role);
        Ok(Deployment::of_pool(named, answer, bill, users))
    }
}

/// A replica of a pool, over the network that joins both.
fn evaluated(
    found: &FoundPool,
    network: Option<Connection>,
    asked: &PoolsRequest,
    model: &ServedModel,
) -> EvaluationAnswer {
    let system = found.system.over(network);
    let layout = Layout {
        batch: found.batch,
        in_flight: found.layout.pp,
        replicas: 1,
        ..found.layout
    };
    let (transformer, question, assumptions) =
        (asked.transformer, asked.question, asked.assumptions);
    let subject = Subject {
        transformer,
        question,
        system: &system,
        layout,
        assumptions,
        draft: model.draft.as_deref(),
    };
    match evaluate_unit(transformer, question, &system, layout, assumptions) {
        Err(rejection) => subject.rejected(&rejection),
        Ok((placement, evaluation)) => subject.answer(placement, &evaluation, &[]),
    }
}

/// A pool, over the network that joins both.
fn pool(
    found: &FoundPool,
    network: Option<Connection>,
    asked: &PoolsRequest,
    model: &ServedModel,
) -> PoolAnswer {
    let answer = evaluated(found, network, asked, model);
    PoolAnswer {
        candidate: answer.candidate,
        host: found.system.host.id.clone(),
        hosts: found.placement.hosts,
        replicas: found.replicas,
        requests_per_second: found.requests_per_second,
        evaluation: answer.evaluation,
    }
}

fn transferred(found: &FoundPools, asked: &PoolsRequest) -> TransferAnswer {
    TransferAnswer::new(
        found.transfer,
        found.network.map(|(network, _)| network.id.clone()),
        found.cache.0,
        real(asked.question.prompt),
    )
}

fn answer(found: &FoundPools, asked: &PoolsRequest, model: &ServedModel) -> PoolsAnswer {
    let cluster = &found.cluster;
    let tokens_per_second = found.requests_per_second * asked.goal.output;
    let power = cluster.power(asked.assumptions).unwrap_or(Watts::ZERO);
    let bill = cluster.bill_of_materials().unwrap_or_default();
    PoolsAnswer {
        prefill: pool(&found.prefill, found.network, asked, model),
        decode: pool(&found.decode, found.network, asked, model),
        transfer: transferred(found, asked),
        nics_per_host: found.network.map_or(0, |(_, line)| line.nics_per_host),
        hosts: cluster.hosts(),
        accelerators: cluster.accelerators(),
        switch: cluster.switching.map(|all| all.switch.id.clone()),
        switch_count: cluster.switching.map_or(0, |all| all.count),
        requests_per_second: found.requests_per_second,
        tokens_per_second,
        users: found.users,
        cost: of_purchase(
            found.price.usd(),
            power,
            cluster.rack_units(),
            tokens_per_second,
            &asked.assumptions.cost,
        ),
        power_watts: power.0,
        bill_of_materials: BomLine::each(&bill),
    }
}

/// How the cache of a prompt gets from the replicas of one configuration to those of another: inside
/// of a host where all of them fit one of the same kind, else over the network of the first.
///
/// # Errors
///
/// Names that are not known, layouts that cannot be laid out, and pools that nothing joins.
pub(super) fn transfer_between(
    catalog: &Catalog,
    from: &EvaluateServing,
    to: &EvaluateServing,
) -> Result<TransferAnswer, Vec<Diagnostic>> {
    let ServedRequest {
        transformer,
        question,
        assumptions,
    } = ServedRequest::of(catalog, &from.model, &from.workload, &from.engine)?;
    let unknown = |option: &str, accepted: &str| vec![wrong_option(option, "this", accepted)];
    let sites = [
        from.hardware.site(catalog, from.layout().accelerators())?,
        to.hardware.site(catalog, to.layout().accelerators())?,
    ];
    // The two are joined by the network of the first.
    let one = sites[0].resolve(catalog, &assumptions, Nics::One)?;
    let other = sites[1].resolve(catalog, &assumptions, Nics::One)?;
    let other = other.over(one.network);
    let end = |system: &System, request: &EvaluateServing| {
        let placement = request.layout().place(system.slots);
        let placement = placement.map_err(|_| unknown("tp", "ranks that fill whole hosts"))?;
        Ok::<_, Vec<Diagnostic>>((placement, system.fabric(&assumptions)))
    };
    let ((sent, sending), (got, getting)) = (end(&one, from)?, end(&other, to)?);
    let used: u32 = [from.layout(), to.layout()]
        .map(|layout| layout.accelerators() * layout.replicas)
        .iter()
        .sum();
    let same = one.accelerator.id == other.accelerator.id && one.host.id == other.host.id;
    let neighbours = (same && used <= one.host.slots).then_some(one.host.slots);
    let formats = question.formats;
    let rates = Rates::of(one.accelerator, formats.weights, &assumptions)
        .ok_or_else(|| unknown("weights", "a format that the accelerator computes in"))?;
    let page = assumptions.memory.page_tokens;
    let cache = prompt_cache(&transformer, formats, &rates, question.prompt, page);
    let prompt = real(question.prompt);
    let found = transfer(
        End {
            fabric: &sending,
            placement: sent,
        },
        End {
            fabric: &getting,
            placement: got,
        },
        neighbours,
        cache,
        prompt,
    );
    let network = one.network.map(|(network, _)| network.id.clone());
    let network = network.filter(|_| neighbours.is_none());
    found
        .map(|found| TransferAnswer::new(found, network, cache.0, prompt))
        .ok_or_else(|| {
            let message = "nothing joins the hosts of the two pools";
            let accepted = "--network NAME between them, or a --host that holds both";
            vec![
                Diagnostic::new(code::OPTION_OUT_OF_RANGE, message)
                    .field("--network")
                    .accepted(accepted),
            ]
        })
}

/// The replicas that answer what others have read: the same model, for the same load.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DecodePool {
    /// On which hardware.
    pub hardware: HardwareSpec,
    /// How it is divided.
    #[serde(default)]
    pub layout: Pins,
    /// Layers whose weights rest in the host.
    pub offload: Option<OffloadRequest>,
    /// What serves it.
    #[serde(default)]
    pub engine: Engine,
    /// What is asked of the engine.
    #[serde(default)]
    pub scheduler: EngineOptions,
    /// How caches get there; worked out from the hardware where it is not given.
    pub transfer: Option<Transfer>,
}
