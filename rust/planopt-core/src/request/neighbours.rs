//! A model that neighbours serve together: who holds which layers, who waits, what it pays.

use super::machines::{Homes, Kind, Machines, assumed, at_one_place, sites};
use super::model::{Engine, Prompts, ServedModel};
use super::serving::ServedRequest;
use crate::bill::{Cluster, HostSet};
use crate::catalog::Catalog;
use crate::diagnostic::option::wrong_option;
use crate::diagnostic::{Diagnostic, code};
use crate::document::{BomLine, ChainsAnswer, NeighbourKind, NeighboursAnswer, StageAnswer};
use crate::parallel::Layout;
use crate::plan::sourced;
use crate::quantity::{MicroUsd, SECONDS_PER_HOUR, TOKENS_PER_MILLION, real};
use crate::search::{FoundChain, Neighbour, NeighbourSearch};
use crate::serving::Prepared;
use serde::{Deserialize, Serialize};
use std::sync::atomic::AtomicBool;

/// Events that the best chains are simulated for.
const EVENTS: u32 = 200_000;

/// Of the random numbers of that.
const SEED: u64 = 0;

/// A model that neighbours serve together.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ServeNeighbours {
    /// What is served.
    pub model: ServedModel,
    /// To which prompts.
    pub workload: Prompts,
    /// What serves it.
    #[serde(default)]
    pub engine: Engine,
    /// On what, for what.
    pub neighbours: Neighbours,
}

/// Who serves it, and what it is to bring.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Neighbours {
    /// Machines, of each kind as many as there are.
    pub machines: Vec<Machines>,
    /// Tokens of an answer.
    pub output: u64,
    /// Tokens per second of each user, at least.
    pub target: Option<f64>,
    /// Times that each token is computed, against cheats.
    pub repeat: Option<u32>,
    /// What a million tokens of prompts and of answers are sold for.
    pub sell: Option<(f64, f64)>,
    /// Whether machines are there anyhow, and cost their electricity alone.
    #[serde(default)]
    pub marginal: bool,
    /// How long they stay; else as assumed.
    pub lifetime_seconds: Option<f64>,
    /// How long they are away.
    pub away_seconds: Option<f64>,
}

/// Everything that the answer is made of.
struct Problem<'a> {
    asked: &'a Neighbours,
    workload: Prompts,
    kinds: &'a [Kind<'a>],
    electricity: f64,
}

/// Finds the chains that serve the most tokens at the speed that is asked for.
pub fn serve_neighbours(
    catalog: &Catalog,
    request: &ServeNeighbours,
    stop: &AtomicBool,
) -> Result<NeighboursAnswer, Vec<Diagnostic>> {
    let served = ServedRequest::of(catalog, &request.model, &request.workload, &request.engine)?;
    let (islands, asked) = (assumed(catalog)?, &request.neighbours);
    let (lifetime, away) = (asked.lifetime_seconds, asked.away_seconds);
    let stay = at_one_place(catalog, &asked.machines);
    let homes = Homes::new(islands, asked.marginal, lifetime, away, stay);
    with_machines(catalog, &served, &asked.machines, homes, |found| {
        answered(catalog, request, &served, homes, found, stop)
    })
}

/// Asks about machines that serve, with all that is known of them.
pub(super) fn with_machines<T>(
    catalog: &Catalog,
    served: &ServedRequest,
    machines: &[Machines],
    homes: Homes,
    ask: impl FnOnce((&[Kind], &[Neighbour])) -> Result<T, Vec<Diagnostic>>,
) -> Result<T, Vec<Diagnostic>> {
    let (assumptions, question) = (&served.assumptions, &served.question);
    let disk = assumed(catalog)?.disk;
    let sites = sites(catalog, machines)?;
    let kinds = sites.iter().map(|site| Kind::of(catalog, site, homes));
    let kinds: Vec<Kind> = kinds.collect::<Result<_, _>>()?;
    let prepare = |kind: &Kind| {
        let (model, card) = (&served.transformer, kind.system.accelerator);
        Prepared::new(model, question, card, assumptions, &[Layout::SINGLE]).map_err(|rejection| {
            let accepted = format!("another format: {} is among them, and {rejection}", card.id);
            let format = question.formats.weights.name().to_owned();
            vec![wrong_option("weights", &format, accepted)]
        })
    };
    let neighbours = kinds.iter().map(|kind| {
        Ok(Neighbour {
            machines: kind.named.machines,
            accelerator: kind.system.accelerator,
            prepared: prepare(kind)?,
            fabric: kind.system.fabric(assumptions),
            uplink: kind.uplink,
            disk: kind.system.host.stores.disk_bandwidth.unwrap_or(disk),
        })
    });
    let neighbours: Vec<Neighbour> = neighbours.collect::<Result<_, Vec<Diagnostic>>>()?;
    ask((&kinds, &neighbours))
}

/// The best of the chains of these machines, beside the others.
fn answered(
    catalog: &Catalog,
    request: &ServeNeighbours,
    served: &ServedRequest,
    homes: Homes,
    (kinds, neighbours): (&[Kind], &[Neighbour]),
    stop: &AtomicBool,
) -> Result<NeighboursAnswer, Vec<Diagnostic>> {
    let (assumptions, question) = (&served.assumptions, &served.question);
    let (islands, asked) = (assumed(catalog)?, &request.neighbours);
    let stay = at_one_place(catalog, &asked.machines);
    let search = NeighbourSearch {
        transformer: &served.transformer,
        question,
        assumptions,
        neighbours,
        churn: homes.churn,
        notice: islands.notice,
        target: asked.target,
        output: real(asked.output),
        stop,
    };
    let found = search.chains().map_err(|_| vec![too_many(asked)])?;
    let problem = Problem {
        asked,
        workload: request.workload,
        kinds,
        electricity: assumptions.cost.electricity_usd_per_kwh,
    };
    let meeting = found
        .iter()
        .filter(|(_, meets)| *meets)
        .map(|(chain, _)| chain);
    let best = if asked.target.is_some() {
        meeting.max_by(|one, other| {
            one.tokens_per_second()
                .total_cmp(&other.tokens_per_second())
        })
    } else {
        meeting.max_by(|one, other| one.speed().total_cmp(&other.speed()))
    };
    let chains = found.iter().map(|(chain, _)| chain);
    let fastest = chains.max_by(|one, other| one.speed().total_cmp(&other.speed()));
    let simulated = |chain: &FoundChain| ChainsAnswer {
        simulated: Some(chain.swarm.simulate(SEED, EVENTS)),
        ..problem.chains(chain)
    };
    let joined = joined(kinds).filter(|_| stay);
    let bill = joined.as_ref().and_then(Cluster::bill_of_materials);
    let mut bill = BomLine::each(&bill.unwrap_or_default());
    let power = joined.as_ref().and_then(|all| all.power(assumptions));
    sourced(catalog, &mut bill);
    Ok(NeighboursAnswer {
        power_watts: power.map(|power| power.0),
        rack_units: joined.as_ref().map(Cluster::rack_units),
        price_usd: joined.and_then(|all| all.price()).map(MicroUsd::usd),
        bill_of_materials: bill,
        model: request.model.name.clone(),
        weights: question.formats.weights.name().to_owned(),
        kv: question.formats.kv.name().to_owned(),
        target_tokens_per_second: asked.target,
        prompt_tokens: request.workload.prompt,
        output_tokens: asked.output,
        context_tokens: request.workload.context,
        repeat: asked.repeat.unwrap_or(1),
        nearest: fastest.filter(|_| best.is_none()).map(simulated),
        best: best.map(simulated),
        lengths: found
            .iter()
            .map(|(chain, _)| problem.chains(chain))
            .collect(),
    })
}

/// All machines with what joins them, where that is one network.
pub(super) fn joined<'a>(kinds: &[Kind<'a>]) -> Option<Cluster<'a>> {
    let network = |kind: &Kind| kind.named.network.clone();
    let first = kinds.first().map(network);
    if kinds.iter().any(|kind| Some(network(kind)) != first) {
        return None;
    }
    let sets = kinds.iter().map(|kind| {
        let accelerators = kind.accelerators * kind.named.machines;
        HostSet::of(&kind.system, accelerators, 0)
    });
    if kinds.iter().all(|kind| kind.named.in_one_host) {
        return Cluster::of_one_host(sets.collect());
    }
    Cluster::of(sets.collect())
}

fn too_many(asked: &Neighbours) -> Diagnostic {
    let kinds = asked.machines.len();
    let message = format!("{kinds} kinds of machines make too many chains to try them all");
    let problem = Diagnostic::new(code::CONTRADICTION, message).field("--neighbours");
    problem.accepted("fewer kinds of machines, or fewer of each")
}

impl Problem<'_> {
    /// Chains alike, with what they bring and cost.
    fn chains(&self, chain: &FoundChain) -> ChainsAnswer {
        let swarm = &chain.swarm;
        let presence = swarm.churn.presence();
        let repeat = f64::from(self.asked.repeat.unwrap_or(1));
        let output = chain.tokens_per_second() / repeat;
        let prompts = output * real(self.workload.prompt) / real(self.asked.output);
        let there = || {
            self.kinds
                .iter()
                .map(|kind| f64::from(kind.named.machines) * presence)
        };
        let sum = |of: fn(&Kind) -> f64| -> f64 {
            there()
                .zip(self.kinds)
                .map(|(there, kind)| there * of(kind))
                .sum()
        };
        let usd_per_hour = sum(|kind| kind.usd_per_hour);
        let energy_usd_per_hour = sum(|kind| kind.energy_usd_per_hour);
        let millions = output * SECONDS_PER_HOUR / TOKENS_PER_MILLION;
        let revenue = self.asked.sell.map(|(of_prompts, of_answers)| {
            let each_second = prompts * of_prompts + output * of_answers;
            each_second * SECONDS_PER_HOUR / TOKENS_PER_MILLION
        });
        let in_flight = u32::try_from(chain.stages.len()).unwrap_or(u32::MAX);
        ChainsAnswer {
            stages: chain.stages.iter().map(stage).collect(),
            machines: self.members(chain, revenue),
            chains: swarm.chains,
            users: chain.sequences() * f64::from(swarm.chains) / repeat,
            batch: chain.batch,
            in_flight,
            turn_seconds: chain.turn.0,
            step_seconds: chain.step.0,
            tokens_per_second_per_user: 1.0 / chain.step.0,
            decoding: chain.decoding(),
            tokens_per_second_per_user_served: chain.speed(),
            tokens_per_second_alone: 1.0 / chain.alone.0,
            prefill_seconds: chain.prefill.0,
            reading_seconds: chain.reading.0,
            recovery: if chain.copies { "copies" } else { "replay" },
            uptime: chain.uptime,
            simulated: None,
            at_least: swarm.at_least(),
            output_tokens_per_second: output,
            prompt_tokens_per_second: prompts,
            usd_per_hour,
            energy_usd_per_hour,
            usd_per_million_tokens: usd_per_hour / millions,
            energy_usd_per_million_tokens: energy_usd_per_hour / millions,
            revenue_usd_per_hour: revenue,
        }
    }

    /// Machines of each kind: what is paid for tokens is shared by the layers that they hold.
    fn members(&self, chain: &FoundChain, revenue: Option<f64>) -> Vec<NeighbourKind> {
        let swarm = &chain.swarm;
        let presence = swarm.churn.presence();
        let all: usize = chain
            .stages
            .iter()
            .map(|stage| stage.link.layers.len())
            .sum();
        let kinds = self.kinds.iter().zip(&swarm.kinds).enumerate();
        let member = |(index, (kind, (machines, each))): (usize, (&Kind, &(u32, u32)))| {
            let own = chain.stages.iter().filter(|stage| stage.link.kind == index);
            let layers: usize = own.map(|stage| stage.link.layers.len()).sum();
            let share = real(layers as u64) / real(all as u64);
            let there = f64::from(*machines) * presence;
            let paid = revenue.map(|revenue| revenue * share / there);
            let apart = kind.usd_per_hour - kind.energy_usd_per_hour;
            let at_any_price = kind.energy_usd_per_hour / self.electricity;
            NeighbourKind {
                id: kind.named.id.clone(),
                host: kind.system.host.id.clone(),
                network: kind.named.network.clone(),
                machines: *machines,
                each: *each,
                spares: machines - swarm.chains * each,
                presence,
                price_usd: kind.price_usd,
                usd_per_hour: kind.usd_per_hour,
                energy_usd_per_hour: kind.energy_usd_per_hour,
                power_watts: kind.power,
                paid_usd_per_hour: paid,
                earned_usd_per_hour: paid.map(|paid| paid - kind.usd_per_hour),
                pays_below_usd_per_kwh: paid
                    .filter(|_| at_any_price > 0.0)
                    .map(|paid| (paid - apart) / at_any_price),
            }
        };
        kinds.map(member).collect()
    }
}

fn stage(stage: &crate::search::ChainStage) -> StageAnswer {
    StageAnswer {
        kind: stage.link.kind,
        first_layer: stage.link.layers.start,
        layers: stage.link.layers.len(),
        memory: stage.memory,
        stage_seconds: stage.seconds.0,
        hop_seconds: stage.hop.0,
        takeover_seconds: stage.recovery.takeover.0,
        replay_seconds: stage.recovery.replay.0,
    }
}
