//! Searches for units and for clusters.

use super::lay_out::{ForUsers, LaidOut, LayOut, Purchase, lay_out};
use super::model::ModelRequest;
use super::selection::{known, select};
use super::serving::{SearchServing, ServedRequest};
use super::training::{RecipeRequest, TrainingRun, training_with};
use crate::catalog::{Assumptions, Catalog};
use crate::course::Course;
use crate::diagnostic::{Diagnostic, Problems};
use crate::hardware::{Instances, Inventory, RentRequest, Selection, Space, System};
use crate::plan::Build;
use crate::quantity::{MicroUsd, Seconds, real};
use crate::search::{
    self, BatchPolicy, Bought, Buyer, ClusterLimits, Demand, Ended, Finding, Found, FoundUnit,
    Goal, Kept, KeptPart, Objective, Part, Payment, Ran, Rated, Rows, SettledPart, Settling,
    Summary, Trained, TrainingAim, TrainingGoal, TrainingSearch, columns, search, settle,
};
use crate::serving::engine::{LoadReport, SessionsKept};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A search for clusters that train a model.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SearchTraining {
    /// What is trained.
    pub model: ModelRequest,
    /// How.
    #[serde(default)]
    pub recipe: RecipeRequest,
    /// How much of it.
    #[serde(default)]
    pub run: TrainingRun,
    /// What may be bought.
    #[serde(default)]
    pub hardware: Selection,
    /// What may be rented, instead of buying: prices are then those of an hour, and hosts that fail
    /// are replaced by whoever rents them out.
    pub rent: Option<RentRequest>,
    /// What a cluster may not exceed.
    #[serde(default)]
    pub limits: ClusterLimits,
    /// How far and for what is searched.
    pub search: ClusterOptions,
}

/// How far and for what clusters are searched.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ClusterOptions {
    /// `cheapest` or `fastest`.
    pub aim: TrainingAim,
    /// Time that the run may take, failures included.
    pub deadline_seconds: Option<f64>,
    /// Seconds until a part that is ordered stands, by its id: less is left for the run.
    #[serde(default)]
    pub delivery: BTreeMap<String, f64>,
    /// Accelerators, at most.
    pub max_accelerators: u32,
    /// How many times longer than predicted steps take, by accelerator.
    #[serde(default)]
    pub slower: BTreeMap<String, f64>,
    /// Whether layouts are tried that nobody would run.
    #[serde(default)]
    pub allow_odd: bool,
}

/// Finds the clusters that train a model; `course` tells how far it is, and may end it early.
pub fn search_training(
    catalog: &Arc<Catalog>,
    request: &SearchTraining,
    course: &Course,
) -> Result<Found, Vec<Diagnostic>> {
    let transformer = request.model.transformer(catalog)?;
    let mut problems = Problems::default();
    problems.keep(request.recipe.check());
    problems.keep(request.run.check());
    problems.unless_any(())?;
    let recipe = request.recipe.recipe(&transformer, 1)?;
    let assumptions = &catalog.assumptions.entity;
    let hardware = &request.hardware;
    let rented = request.rent.is_some();
    let training = training_with(assumptions, &request.recipe, &request.run, rented)?;
    let instances = match &request.rent {
        Some(rent) => Some(Instances::rented(catalog, rent, &hardware.hosts)?),
        None => None,
    };
    let selection = known(catalog, hardware.clone())?;
    let goal = TrainingGoal {
        tokens: request.run.tokens.unwrap_or_default(),
        deadline: request.search.deadline_seconds.map(Seconds),
        delivery: request.search.delivery.clone(),
        slower: request.search.slower.clone(),
        aim: request.search.aim,
        payment: if rented {
            Payment::Hours
        } else {
            Payment::Purchase
        },
        accelerators: request.search.max_accelerators,
        limits: request.limits.clone(),
        allow_odd: request.search.allow_odd,
    };
    let search = TrainingSearch {
        transformer: &transformer,
        recipe: &recipe,
        goal: &goal,
        assumptions,
        training: &training,
        course,
    };
    let inventory = match &instances {
        Some(instances) => instances.inventory(catalog),
        None => Inventory::of(catalog),
    };
    let space = Space::available(&inventory, &selection, assumptions);
    let found = search.search(&space);
    let trained = Trained {
        model: request.model.name.clone(),
        run: request.run.run(),
        framework: request.recipe.framework.clone(),
        transformer,
        recipe,
        training,
        rented,
        run_seconds: Vec::new(),
    };
    Ok(trained.found(catalog, &found))
}

/// Finds the units that meet the goal of each part of a question: formats that it allows, what is
/// bought and what is rented, groups of hardware that promise more or less.
pub fn search_serving(
    catalog: &Arc<Catalog>,
    parts: &[SearchServing],
    kept: &Kept,
    course: &Course,
) -> Result<Found, Vec<Diagnostic>> {
    let mut finding = Finding::default();
    for request in parts {
        let part = PartRead::of(catalog, request, kept)?;
        let space = part.space(catalog);
        let found = search(
            &part.asked.transformer,
            &part.asked.question,
            &space,
            &part.goal,
            &part.demand(),
            request.search.max_accelerators,
            part.price_cap(),
            &part.asked.assumptions,
            &part.kept,
            course,
        );
        let is_over_pcie = space.systems.iter().any(System::reduces_over_pcie);
        finding.take(part.part(), &found, is_over_pcie, request.search.hourly);
    }
    Ok(finding.done(Arc::clone(catalog)))
}

/// A part of a question, with everything in it looked up.
struct PartRead<'r> {
    request: &'r SearchServing,
    asked: ServedRequest,
    rented: Option<Instances>,
    selection: Selection,
    goal: Goal,
    kept: Arc<KeptPart>,
}

impl<'r> PartRead<'r> {
    /// Reads it.
    fn of(
        catalog: &Catalog,
        request: &'r SearchServing,
        kept: &Kept,
    ) -> Result<Self, Vec<Diagnostic>> {
        let mut asked =
            ServedRequest::of(catalog, &request.model, &request.workload, &request.engine)?;
        let (hardware, options, promises) = (&request.hardware, &request.search, &request.promises);
        asked.question.context_ranks = options.context_ranks;
        asked.question.allow_odd = options.allow_odd;
        let rented = match &request.rent {
            Some(rent) => Some(Instances::rented(catalog, rent, &hardware.hosts)?),
            None => None,
        };
        let policy = match (options.each_batch_up_to, options.batches_that_share) {
            (Some(most), _) => BatchPolicy::Each(most),
            (None, Some(users)) => BatchPolicy::SharesOf(users),
            (None, None) if options.exhaustive => BatchPolicy::LargestOfEach,
            (None, None) => BatchPolicy::Largest,
        };
        Ok(Self {
            selection: select(catalog, hardware, rented.as_ref())?,
            goal: Goal {
                tokens_per_second_per_user: promises.tokens_per_second_per_user,
                prefill: promises.prefill_seconds.map(Seconds),
                batch: request.layout.batch,
                in_flight: request.layout.in_flight,
                policy,
                latency: promises.latencies(request.load.as_ref(), request.scheduler)?,
            },
            kept: Self::kept(request, kept),
            request,
            asked,
            rented,
        })
    }

    /// What is known of layouts: all that decides what they supply is asked by, wherever parts are had
    /// from and for how much.
    fn kept(request: &SearchServing, kept: &Kept) -> Arc<KeptPart> {
        let SearchServing {
            model,
            workload,
            promises,
            load,
            layout,
            engine,
            scheduler,
            search,
            ..
        } = request;
        let of_search = (
            search.context_ranks,
            search.allow_odd,
            search.each_batch_up_to,
            search.batches_that_share,
            search.exhaustive,
        );
        kept.part(&(
            model, workload, promises, load, layout, engine, scheduler, of_search,
        ))
    }

    /// What there is to choose from.
    fn space<'a>(&'a self, catalog: &'a Catalog) -> Space<'a> {
        let inventory = match &self.rented {
            Some(rented) => rented.inventory(catalog),
            None => Inventory::of(catalog),
        };
        Space::available(&inventory, &self.selection, &self.asked.assumptions)
    }

    fn price_cap(&self) -> Option<MicroUsd> {
        self.request.search.price_cap_usd.map(MicroUsd::from_usd)
    }

    fn demand(&self) -> Demand {
        let (options, promises) = (&self.request.search, &self.request.promises);
        Demand {
            users: promises.users,
            tokens_per_second: promises.tokens_per_second,
            redundancy: promises.redundancy,
            builds: options.builds,
            speed: options.each_batch_up_to.is_some() || options.batches_that_share.is_some(),
            aim: options.aim,
            every: options.every,
        }
    }

    /// What of it is settled by simulation, where latencies are promised.
    fn settled<'a>(&'a self, space: &'a Space<'a>) -> Option<SettledPart<'a, 'a>> {
        let (latency, load) = (&self.goal.latency, &self.request.load);
        Some(SettledPart {
            transformer: &self.asked.transformer,
            question: &self.asked.question,
            space,
            goal: &self.goal,
            latency: latency.as_ref()?,
            load: load.as_ref()?,
            accelerators: self.request.search.max_accelerators,
            price_cap: self.price_cap(),
            every: self.request.search.every,
            assumptions: &self.asked.assumptions,
            kept: &self.kept,
        })
    }

    /// What a handle keeps of it.
    fn part(&self) -> Part {
        let (model, asked) = (&self.request.model, &self.asked);
        Part {
            model: model.name.clone(),
            draft: model.draft.clone(),
            has_engine: self.request.engine.name.is_some(),
            transformer: asked.transformer.clone(),
            question: asked.question,
            // What is laid out is what is predicted.
            assumptions: Assumptions {
                slower: BTreeMap::new(),
                ..asked.assumptions.clone()
            },
        }
    }
}

/// What a proof is asked about.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SettleServing {
    /// What must be supplied and stayed within.
    pub limits: search::Limits,
    /// What is best.
    pub objective: Objective,
    /// Rows that an estimate would buy.
    pub guess: BTreeMap<u32, u64>,
    /// Whether the final run may be short.
    pub is_brief: bool,
    /// Who a purchase of one kind of unit is for, where it runs what they need.
    pub for_users: Option<ForUsers>,
    /// Whether errors of predictions under these assumptions are known.
    pub has_errors: bool,
}

/// Which rows a solver buys, at their figures, and what it proves.
pub type Solver<'b> = dyn FnMut(Arc<Rows>) -> Option<Bought> + 'b;

/// What was bought and proven.
#[derive(Clone, Debug, Serialize)]
pub struct SettledAnswer {
    /// How the proof ended.
    pub ended: Ended,
    /// How many of each row; none where no purchase passed its final run.
    pub counts: BTreeMap<u32, u64>,
    /// Final run of each, in their order.
    pub runs: Vec<RunAnswer>,
    /// The purchase, laid out.
    pub build: Option<Build>,
    /// What was looked at.
    pub summary: Summary,
    /// What the purchase is worth: the less the better.
    pub value: Option<f64>,
    /// No purchase that holds is below it.
    pub bound: Option<f64>,
    /// Rates that runs decided to violate the SLO.
    pub refused: Vec<Rated>,
    /// Millionths of a dollar that a unit of what is demanded costs at least.
    pub least_per_demand: Option<f64>,
    /// Simulations.
    pub simulations: u64,
    /// Their requests.
    pub requests: u64,
}

/// What came of a share of a load.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct RunAnswer {
    /// Who each wait for their answer; none where requests come of their own accord.
    pub users: Option<u32>,
    /// What sessions keep on a replica, where these are who asks.
    pub kept: Option<SessionsKept>,
    /// Latencies and rates.
    #[serde(flatten)]
    pub report: LoadReport,
}

impl From<&Ran<'_>> for RunAnswer {
    fn from(ran: &Ran) -> Self {
        Self {
            users: ran.users,
            kept: ran.kept,
            report: ran.report,
        }
    }
}

/// Finds the best purchase that holds its promises when it is simulated, laid out, and what is proven.
pub fn settle_serving(
    catalog: &Arc<Catalog>,
    parts: &[SearchServing],
    asked: &SettleServing,
    guess: &Found,
    solver: &mut Solver<'_>,
    kept: &Kept,
    course: &Course,
) -> Result<SettledAnswer, Vec<Diagnostic>> {
    let read = parts.iter().map(|part| PartRead::of(catalog, part, kept));
    let read: Vec<PartRead> = read.collect::<Result<_, _>>()?;
    let spaces: Vec<Space> = read.iter().map(|part| part.space(catalog)).collect();
    let mut places = Vec::new();
    let mut settled_parts = Vec::new();
    for (place, (part, space)) in read.iter().zip(&spaces).enumerate() {
        if let Some(settled) = part.settled(space) {
            places.push(place);
            settled_parts.push(settled);
        }
    }
    let push = |finding: &mut Finding, part: usize, unit: &FoundUnit| {
        let (part, place) = (&read[places[part]], places[part]);
        let weights = part.asked.question.formats.weights.name();
        let place = u32::try_from(place).unwrap_or(u32::MAX);
        finding.push(unit, place, weights, part.request.search.hourly);
    };
    let mut buy = |units: &[(usize, FoundUnit<'_>)]| {
        let mut finding = Finding::default();
        for (part, unit) in units {
            push(&mut finding, *part, unit);
        }
        solver(finding.done(Arc::clone(catalog)).rows)
    };
    let limits = &asked.limits;
    let guessed = guessed(asked, guess, &places, &settled_parts);
    let hourly = parts.iter().any(|part| part.search.hourly);
    let is_plain = asked.objective == Objective::Cheapest && limits.carries_one_demand();
    let settled = settle(
        &settled_parts,
        Settling {
            limits,
            most: asked.objective != Objective::Cheapest,
            hourly,
            guess: &guessed,
            is_brief: asked.is_brief,
            course,
        },
        if is_plain {
            Buyer::Fronts
        } else {
            Buyer::Solver(&mut buy)
        },
    );
    let mut finding = Finding::default();
    for ran in &settled.bought {
        push(&mut finding, ran.part, &ran.unit);
    }
    for (part, space) in read.iter().zip(&spaces) {
        let is_over_pcie = space.systems.iter().any(System::reduces_over_pcie);
        finding.keep(part.part(), is_over_pcie);
    }
    for searched in &settled.searched {
        finding.add(searched);
    }
    let counts = settled.bought.iter().map(|ran| ran.count);
    let counts: BTreeMap<u32, u64> = (0..).zip(counts).collect();
    let found = finding.done(Arc::clone(catalog));
    let few = |count: &u64| u32::try_from(*count).unwrap_or(u32::MAX);
    let purchase = Purchase {
        counts: counts
            .iter()
            .map(|(row, count)| (*row, few(count)))
            .collect(),
        for_users: asked.for_users.filter(|_| counts.len() == 1),
    };
    let laid_out = LayOut {
        purchases: (!counts.is_empty())
            .then_some(purchase)
            .into_iter()
            .collect(),
        limits: limits.clone(),
        has_errors: asked.has_errors,
    };
    let build = match lay_out(&found, &laid_out)? {
        LaidOut::Serving(builds) => builds.into_iter().next(),
        LaidOut::Training(_) => None,
    };
    Ok(SettledAnswer {
        ended: settled.ended,
        counts,
        runs: settled.bought.iter().map(RunAnswer::from).collect(),
        build,
        summary: found.summary,
        value: settled.value,
        bound: settled.bound,
        refused: settled.refused,
        least_per_demand: settled.least_per_demand,
        simulations: settled.simulations,
        requests: settled.requests,
    })
}

/// Which columns of a question are asked for.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ColumnsServing {
    /// What must be supplied and stayed within.
    pub limits: search::Limits,
    /// What is best.
    pub objective: Objective,
    /// Rates that are said to violate the SLO.
    pub refused: Vec<Rated>,
}

/// Gathers every unit of a question, whatever beats or replaces it, and places of the rates that no run of
/// now refuses.
pub fn columns_serving(
    catalog: &Arc<Catalog>,
    parts: &[SearchServing],
    asked: &ColumnsServing,
    course: &Course,
) -> Result<(Found, Vec<usize>), Vec<Diagnostic>> {
    let kept = &Kept::default();
    let read = parts.iter().map(|part| PartRead::of(catalog, part, kept));
    let read: Vec<PartRead> = read.collect::<Result<_, _>>()?;
    let spaces: Vec<Space> = read.iter().map(|part| part.space(catalog)).collect();
    let settled = read.iter().zip(&spaces);
    let settled: Option<Vec<SettledPart>> =
        settled.map(|(part, space)| part.settled(space)).collect();
    let Some(settled) = settled else {
        // Steady steps: what was searched through are the columns.
        return Ok((search_serving(catalog, parts, kept, course)?, Vec::new()));
    };
    let all = columns(
        &settled,
        &asked.refused,
        Settling {
            limits: &asked.limits,
            most: asked.objective != Objective::Cheapest,
            hourly: parts.iter().any(|part| part.search.hourly),
            guess: &[],
            is_brief: false,
            course,
        },
    );
    let mut finding = Finding::default();
    for (part, unit) in &all.units {
        let place = u32::try_from(*part).unwrap_or(u32::MAX);
        let part = &read[*part];
        let weights = part.asked.question.formats.weights.name();
        finding.push(unit, place, weights, part.request.search.hourly);
    }
    for (part, space) in read.iter().zip(&spaces) {
        finding.keep(
            part.part(),
            space.systems.iter().any(System::reduces_over_pcie),
        );
    }
    for searched in &all.searched {
        finding.add(searched);
    }
    Ok((finding.done(Arc::clone(catalog)), all.unconfirmed))
}

/// By how much: limits are added up to twelve digits.
const BEYOND_ROUNDING: f64 = 1e-9;

/// What an estimate would buy, with the rate that each of its replicas must carry.
fn guessed(
    asked: &SettleServing,
    guess: &Found,
    places: &[usize],
    parts: &[SettledPart],
) -> Vec<Rated> {
    let columns = &guess.rows.columns;
    let (limits, for_tokens) = (&asked.limits, asked.limits.tokens_per_second > 0.0);
    let supply = |row: usize| {
        if for_tokens {
            columns.tokens_per_second[row]
        } else {
            real(columns.users[row])
        }
    };
    let demand = if for_tokens {
        limits.tokens_per_second
    } else {
        real(limits.users)
    };
    let bought = || {
        asked
            .guess
            .iter()
            .map(|(row, count)| (*row as usize, *count))
    };
    let all: f64 = bought().map(|(row, count)| real(count) * supply(row)).sum();
    let is_all = asked.objective != Objective::Cheapest || limits.redundancy.is_some();
    let share = if is_all { 1.0 } else { demand / all };
    let each = bought().filter_map(|(row, _)| {
        let part = places.iter().position(|place| *place == guess.part(row))?;
        let latency = parts[part].latency;
        let of_replica = share * supply(row) / f64::from(columns.replicas[row].max(1));
        let rate = match (latency.at_random, for_tokens) {
            // A little more: sums of rounded shares must not fall short.
            (true, true) => Some(of_replica / latency.output * (1.0 + BEYOND_ROUNDING)),
            (false, false) => Some(of_replica.ceil()),
            _ => None,
        };
        let names = guess.rows.system(row).clone();
        let layout = guess.layout(row);
        Some(Rated {
            part,
            accelerator: names.accelerator,
            host: names.host,
            network: names.network,
            tp: layout.tp,
            cp: layout.cp,
            dp: layout.dp,
            ep: layout.ep,
            pp: layout.pp,
            rate,
        })
    });
    each.collect()
}
