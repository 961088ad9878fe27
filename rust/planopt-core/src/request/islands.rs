//! Runs over islands: which machines, in groups of how many, meeting how often.

use super::machines::{Homes, Kind, Machines, assumed, sites};
use super::model::ModelRequest;
use super::training::{RecipeRequest, TrainingRun, training_with};
use crate::catalog::{Assumptions, Catalog, IslandAssumptions, TrainingAssumptions};
use crate::cost::energy_kwh;
use crate::course::Course;
use crate::diagnostic::{Diagnostic, Problems, code};
use crate::document::{IslandKind, IslandsAnswer, IslandsRun, TrainingCandidate};
use crate::islands::{Round, RoundTerms, ScalingLaw, loss_increase};
use crate::load::training::Recipe;
use crate::parallel::Layout;
use crate::plan::training::RunContext;
use crate::plan::training_problem::Subject;
use crate::quantity::{
    BITS_PER_BYTE, Bytes, HOURS_PER_DAY, SECONDS_PER_HOUR, Seconds, Watts, real,
};
use crate::search::{ClusterLimits, Payment, TrainingAim, TrainingGoal, TrainingSearch};
use crate::training::{TrainingEvaluation, straggling};
use crate::transformer::Transformer;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Steps between two exchanges that are tried, where none are asked for: those of the papers, from
/// data parallelism's one to `DiLoCo`'s 500.
const CADENCES: [u32; 10] = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];

/// Sets of islands that are looked at, at most.
const MOST_SETS: usize = 20_000;

/// A run over islands.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct TrainIslands {
    /// What is trained.
    pub model: ModelRequest,
    /// How; the batch is that of all islands together.
    #[serde(default)]
    pub recipe: RecipeRequest,
    /// How much of it.
    pub run: TrainingRun,
    /// On what, by when.
    pub islands: Islands,
}

/// What a run over islands may use.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Islands {
    /// Machines, of each kind as many as there are.
    pub machines: Vec<Machines>,
    /// Time that the run may take.
    pub deadline_seconds: Option<f64>,
    /// Steps between two exchanges; else the best.
    pub inner_steps: Option<u32>,
    /// Whether machines are there anyhow, and cost their electricity alone.
    #[serde(default)]
    pub marginal: bool,
    /// How long machines that are not rented stay, and are away; else as assumed.
    pub lifetime_seconds: Option<f64>,
    /// How long they are away.
    pub away_seconds: Option<f64>,
}

/// What runs on an island of so many machines of a kind.
#[derive(Clone, Copy)]
struct Island {
    layout: Layout,
    batch: u32,
    evaluation: TrainingEvaluation,
}

/// How a kind is used: in islands of so many machines.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Group {
    kind: usize,
    each: u32,
    islands: u32,
}

/// Everything that sets of islands share.
struct Problem<'a> {
    request: &'a TrainIslands,
    transformer: &'a Transformer,
    assumptions: &'a Assumptions,
    islands: &'a IslandAssumptions,
    training: &'a TrainingAssumptions,
    /// The same of machines that are rented.
    of_rented: &'a TrainingAssumptions,
    kinds: &'a [Kind<'a>],
    course: &'a Course,
    /// What runs on islands of a kind, of so many machines, at so large a batch.
    known: BTreeMap<(usize, u32, u32), Option<Island>>,
}

/// Finds the set of islands that trains a model cheapest by a deadline, or else first.
pub fn train_islands(
    catalog: &Catalog,
    request: &TrainIslands,
    course: &Course,
) -> Result<IslandsAnswer, Vec<Diagnostic>> {
    let transformer = request.model.transformer(catalog)?;
    let mut problems = Problems::default();
    problems.keep(request.recipe.check());
    problems.keep(request.run.check());
    problems.unless_any(())?;
    let assumptions = &catalog.assumptions.entity;
    let islands = assumed(catalog)?;
    let training = training_with(assumptions, &request.recipe, &request.run, false)?;
    let asked = &request.islands;
    let (lifetime, away) = (asked.lifetime_seconds, asked.away_seconds);
    let homes = Homes::new(islands, asked.marginal, lifetime, away, false);
    let sites = sites(catalog, &asked.machines)?;
    let kinds = sites.iter().map(|site| Kind::of(catalog, site, homes));
    let kinds: Vec<Kind> = kinds.collect::<Result<_, _>>()?;
    let mut problem = Problem {
        request,
        transformer: &transformer,
        assumptions,
        islands,
        training: &training,
        of_rented: &training.of_rented(),
        kinds: &kinds,
        course,
        known: BTreeMap::new(),
    };
    problem.answer()
}

impl Problem<'_> {
    fn answer(&mut self) -> Result<IslandsAnswer, Vec<Diagnostic>> {
        let deadline = self.request.islands.deadline_seconds;
        let (mut best, mut nearest): (Option<(Vec<Group>, IslandsRun)>, _) = (None, None);
        let asked = self.request.islands.inner_steps;
        let sets = self.sets()?;
        self.course.begin(sets.len() as u64);
        for set in sets {
            if self.course.is_over() {
                break;
            }
            self.course.step(1);
            for run in self.runs(&set, asked.as_slice()) {
                let seconds = run.days * HOURS_PER_DAY * SECONDS_PER_HOUR;
                let is_late = deadline.is_some_and(|deadline| seconds > deadline);
                let key = |run: &IslandsRun| match deadline {
                    Some(_) if !is_late => (run.usd, run.days),
                    _ => (run.days, run.usd),
                };
                if is_late {
                    if nearest.as_ref().is_none_or(|known| key(&run) < key(known)) {
                        nearest = Some(run);
                    }
                } else if best
                    .as_ref()
                    .is_none_or(|(_, known)| key(&run) < key(known))
                {
                    best = Some((set.clone(), run));
                }
            }
        }
        let cadences = best
            .as_ref()
            .map_or_else(Vec::new, |(set, _)| self.runs(set, &CADENCES));
        Ok(IslandsAnswer {
            model: self.request.model.name.clone(),
            tokens: self.tokens(),
            deadline_seconds: deadline,
            nearest: nearest.filter(|_| best.is_none()),
            best: best.map(|(_, run)| run),
            cadences,
        })
    }

    fn tokens(&self) -> f64 {
        self.request.run.tokens.unwrap_or_default()
    }

    /// All sets: of each kind none, or islands of one size, as many as its machines make or fewer:
    /// then machines are over that wait to take a place.
    fn sets(&mut self) -> Result<Vec<Vec<Group>>, Vec<Diagnostic>> {
        let mut sets: Vec<Vec<Group>> = vec![Vec::new()];
        for kind in 0..self.kinds.len() {
            let mut groups = Vec::new();
            for all in self.groups(kind) {
                groups.extend((1..=all.islands).map(|islands| Group { islands, ..all }));
            }
            if sets.len() * (groups.len() + 1) > MOST_SETS {
                let message = format!("more than {MOST_SETS} sets of islands");
                let problem = Diagnostic::new(code::CONTRADICTION, message);
                let named = self.kinds[kind].named;
                let problem = problem.field("--islands").value(named.id.clone());
                return Err(vec![
                    problem.accepted("fewer kinds of machines, or fewer of each"),
                ]);
            }
            let with = |set: &Vec<Group>| {
                let more = groups.iter().map(|group| [&set[..], &[*group]].concat());
                more.collect::<Vec<_>>()
            };
            let more: Vec<Vec<Group>> = sets.iter().flat_map(with).collect();
            sets.extend(more);
        }
        sets.retain(|set| !set.is_empty());
        Ok(sets)
    }

    /// Islands of every size that holds the model, as many as the machines of a kind make.
    fn groups(&mut self, kind: usize) -> Vec<Group> {
        let own = &self.kinds[kind];
        let all = own.named.machines;
        // Instances are not joined over the Internet: each is an island.
        let largest = own.system.host.rent.map_or(all, |_| 1);
        let batch = self.global_batch();
        let made = |each| Group {
            kind,
            each,
            islands: all / each,
        };
        let groups: Vec<Group> = (1..=largest).map(made).collect();
        let holds = |group: &Group| {
            self.island(*group, (batch / group.islands).max(1))
                .is_some()
        };
        groups.into_iter().filter(holds).collect()
    }

    /// The run of a set, meeting as often as each of these says, or as is best.
    fn runs(&mut self, set: &[Group], cadences: &[u32]) -> Vec<IslandsRun> {
        let islands: u32 = set.iter().map(|group| group.islands).sum();
        let all = self.global_batch();
        let batch = (all / islands).max(1);
        let mut found = Vec::new();
        for group in set {
            match self.island(*group, batch) {
                Some(island) => found.push((*group, island)),
                None => return Vec::new(),
            }
        }
        let tried = if cadences.is_empty() {
            &CADENCES
        } else {
            cadences
        };
        let tried = if islands == 1 { &[1][..] } else { tried };
        let runs = tried.iter().filter_map(|steps| self.run(&found, *steps));
        let mut runs: Vec<IslandsRun> = runs.collect();
        if cadences.is_empty() {
            runs.sort_by(|one, other| one.days.total_cmp(&other.days));
            runs.truncate(1);
        }
        runs
    }

    /// Sequences of a step of all islands.
    fn global_batch(&self) -> u32 {
        let recipe = self.request.recipe.recipe(self.transformer, 1);
        recipe.map_or(1, |recipe| recipe.global_batch)
    }

    /// What is fastest on an island of a group, at so many sequences a step.
    fn island(&mut self, group: Group, batch: u32) -> Option<Island> {
        let key = (group.kind, group.each, batch);
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        let found = self.find(group, batch);
        self.known.insert(key, found);
        found
    }

    fn find(&self, group: Group, batch: u32) -> Option<Island> {
        let kind = &self.kinds[group.kind];
        let rented = kind.system.host.rent.is_some();
        let training = if rented {
            self.of_rented
        } else {
            self.training
        };
        let mut recipe = self.request.recipe.recipe(self.transformer, 1).ok()?;
        recipe.global_batch = batch;
        let goal = TrainingGoal {
            tokens: self.tokens(),
            deadline: None,
            delivery: BTreeMap::new(),
            slower: BTreeMap::new(),
            aim: TrainingAim::Fastest,
            payment: Payment::Purchase,
            accelerators: 0,
            limits: ClusterLimits::default(),
            // What is at home is used in whatever number there is.
            allow_odd: true,
        };
        let search = TrainingSearch {
            transformer: self.transformer,
            recipe: &recipe,
            goal: &goal,
            assumptions: self.assumptions,
            training,
            course: self.course,
        };
        let (layout, _) = search.fastest_on(&kind.system, group.each * kind.accelerators)?;
        let context = RunContext {
            model: &self.request.model.name,
            accelerator: &kind.system.accelerator.id,
            transformer: self.transformer,
            recipe: &recipe,
            layout: &layout,
            run: self.request.run.run(),
            rented,
            assumptions: self.assumptions,
            training,
        };
        let system = kind.system;
        let (_, evaluation) = (Subject {
            context: &context,
            system,
        })
        .evaluate()
        .ok()?;
        Some(Island {
            layout,
            batch,
            evaluation,
        })
    }

    /// A run in which islands meet every `inner_steps`; none where no tokens make up for it.
    fn run(&self, set: &[(Group, Island)], inner_steps: u32) -> Option<IslandsRun> {
        let all = IslandSet {
            problem: self,
            set,
            recipe: self.request.recipe.recipe(self.transformer, 1).ok()?,
            islands: set.iter().map(|(group, _)| group.islands).sum(),
        };
        all.run(inner_steps)
    }
}

/// Islands that train together.
struct IslandSet<'t> {
    problem: &'t Problem<'t>,
    set: &'t [(Group, Island)],
    recipe: Recipe,
    islands: u32,
}

/// What the machines of a run come to, all of the islands that run.
#[derive(Clone, Copy, Default)]
struct Sum {
    /// Tokens per second that count.
    speed: f64,
    running: f64,
    useful: f64,
    usd_per_hour: f64,
    energy_usd_per_hour: f64,
    watts: f64,
}

impl IslandSet<'_> {
    /// A step of an island: the wait for the slowest host is that of all.
    fn step(&self, island: &Island) -> Seconds {
        let step = island.evaluation.step;
        if self.islands > 1 {
            step.total() - step.straggler
        } else {
            step.total()
        }
    }

    /// Tokens per second of an island between two exchanges.
    fn speed(&self, island: &Island) -> f64 {
        f64::from(island.batch) * f64::from(self.recipe.seq_len) / self.step(island).0
    }

    /// Of all islands.
    fn sum(&self, of: impl Fn(&Island) -> f64) -> f64 {
        let each = self.set.iter();
        each.map(|(group, island)| f64::from(group.islands) * of(island))
            .sum()
    }

    /// A round, and what a machine exchanges in it.
    fn round(&self, inner_steps: u32) -> Option<(Round, Bytes)> {
        let Problem {
            islands, training, ..
        } = self.problem;
        let sequences = self.sum(|island| f64::from(island.batch));
        let tokens = sequences * f64::from(self.recipe.seq_len);
        let step = Seconds(tokens / self.sum(|island| self.speed(island)));
        let whole = self.parameters() * islands.exchange_bits / BITS_PER_BYTE;
        // Machines of an island each send what they hold; the slowest is waited for.
        let rounds = self.set.iter().map(|(group, _)| {
            let kind = &self.problem.kinds[group.kind];
            let terms = RoundTerms {
                step,
                inner_steps,
                islands: self.islands,
                payload: Bytes(whole / f64::from(group.each)),
                pieces: 1.0,
                overlap: islands.exchange_overlap,
            };
            (terms.round(&kind.uplink, &kind.fabric), terms.payload)
        });
        let slower = |one: (Round, Bytes), other: (Round, Bytes)| {
            if other.0.total > one.0.total {
                other
            } else {
                one
            }
        };
        let (round, payload) = rounds.reduce(slower)?;
        if self.islands == 1 {
            return Some((round, Bytes::ZERO));
        }
        let hosts = self.set.iter();
        let hosts = hosts.map(|(group, _)| group.islands * group.each).sum();
        Some((round.times(1.0 + straggling(training, hosts)), payload))
    }

    fn parameters(&self) -> f64 {
        real(self.problem.transformer.parameters())
    }

    /// Times the tokens that make up for meeting so seldom, at a rate of the loss.
    fn tokens_factor(&self, rate: f64, inner_steps: u32) -> Option<f64> {
        let islands = self.problem.islands;
        let law = ScalingLaw {
            floor: islands.loss_floor,
            parameter_scale: islands.parameter_scale,
            parameter_exponent: islands.parameter_exponent,
            token_scale: islands.token_scale,
            token_exponent: islands.token_exponent,
        };
        let increase = loss_increase(rate, inner_steps, self.islands);
        law.tokens_factor(self.parameters(), self.problem.tokens(), increase)
    }

    /// What the islands of a group are, and what they add to all.
    fn kind(&self, group: Group, island: &Island, sum: &mut Sum) -> IslandKind {
        let kind = &self.problem.kinds[group.kind];
        let machines = kind.named.machines;
        let there = kind.churn.running(machines, group.each, group.islands);
        let memory = island.evaluation.memory;
        let held = memory.weights + memory.optimizer;
        let (copy, fetch) = (held / kind.uplink.up.bandwidth, held / kind.uplink.down);
        let churned = kind.churn.goodput(group.each, held, copy, fetch);
        let counts = churned * island.evaluation.failures.goodput;
        let own = f64::from(group.islands) * self.speed(island);
        let share = own / self.sum(|island| self.speed(island));
        let paid = f64::from(group.islands * group.each) * there;
        sum.speed += own * there * counts;
        sum.running += there * share;
        sum.useful += counts * share;
        sum.usd_per_hour += paid * kind.usd_per_hour;
        sum.energy_usd_per_hour += paid * kind.energy_usd_per_hour;
        sum.watts += paid * kind.power.unwrap_or_default();
        let recipe = Recipe {
            global_batch: island.batch,
            ..self.recipe
        };
        let id = &kind.system.accelerator.id;
        IslandKind {
            id: kind.named.id.clone(),
            host: kind.system.host.id.clone(),
            network: kind.named.network.clone(),
            islands: group.islands,
            machines: group.each,
            spares: machines - group.islands * group.each,
            accelerators: group.each * kind.accelerators,
            candidate: TrainingCandidate::of(id, &island.layout, &recipe, true),
            step_seconds: island.evaluation.step.total().0,
            tokens_per_second: self.speed(island),
            memory_bytes: memory.total().0,
            usd_per_hour: kind.usd_per_hour,
            energy_usd_per_hour: kind.energy_usd_per_hour,
            power_watts: kind.power,
        }
    }

    fn run(&self, inner_steps: u32) -> Option<IslandsRun> {
        let (round, exchanged) = self.round(inner_steps)?;
        let islands = self.problem.islands;
        let tokens_factor = self.tokens_factor(islands.loss_rate, inner_steps)?;
        let mut sum = Sum::default();
        let kinds = self.set.iter();
        let kinds = kinds.map(|(group, island)| self.kind(*group, island, &mut sum));
        let kinds = kinds.collect();
        let compute_utilisation = round.inner.0 / round.total.0;
        let tokens_per_second = sum.speed * compute_utilisation;
        let tokens = self.problem.tokens() * tokens_factor;
        let hours = tokens / tokens_per_second / SECONDS_PER_HOUR;
        Some(IslandsRun {
            islands: kinds,
            inner_steps,
            round,
            exchange_bytes: exchanged.0,
            compute_utilisation,
            loss_increase: loss_increase(islands.loss_rate, inner_steps, self.islands),
            tokens_factor,
            tokens_factor_range: [
                Some(1.0),
                self.tokens_factor(islands.loss_rate_high, inner_steps),
            ],
            availability: sum.running,
            goodput: sum.useful,
            tokens_per_second,
            days: hours / HOURS_PER_DAY,
            usd: sum.usd_per_hour * hours,
            energy_usd: sum.energy_usd_per_hour * hours,
            energy_kwh: energy_kwh(Watts(sum.watts), hours, 1.0, 1.0),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hardware::{Fabric, HardwareSpec, Line, Nics};
    use crate::islands::{Churn, Topology, Uplink};
    use crate::quantity::BytesPerSecond;
    use crate::request::read_json;
    use crate::training::StepTime;
    use std::path::Path;

    fn catalog() -> Catalog {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../catalogs");
        Catalog::load(&root, &[], "calibrated").expect("the bundled catalog")
    }

    fn answer(catalog: &Catalog, islands: &str) -> IslandsRun {
        let asked = format!(
            r#"{{ "model": {{ "name": "llama-3.2-1b" }}, "run": {{ "tokens": 2e9 }},
                "recipe": {{ "seq_len": 512, "global_batch": 240 }}, "islands": {islands} }}"#
        );
        let request: TrainIslands = read_json(asked.as_bytes()).expect("a question");
        let answer = train_islands(catalog, &request, &Course::default()).expect("an answer");
        answer.best.expect("a run")
    }

    const PLAIN: &str = r#"{ "machines": [{ "machines": 8, "accelerators": 1,
        "id": "rtx-4090", "network": "wan-100m" }], "inner_steps": 1, "away_seconds": 0 }"#;

    fn alike(one: f64, other: f64) {
        assert!((one / other - 1.0).abs() < 1e-9, "{one} is not {other}");
    }

    /// The step of so many data-parallel ranks, a card in each home.
    fn step_of(
        catalog: &Catalog,
        ranks: u32,
        batch: u32,
    ) -> (StepTime, Fabric, TrainingAssumptions) {
        let asked = ModelRequest {
            name: "llama-3.2-1b".to_owned(),
            kv_heads: None,
        };
        let transformer = asked.transformer(catalog).expect("a model");
        let request = RecipeRequest {
            seq_len: Some(512),
            global_batch: Some(batch),
            ..RecipeRequest::default()
        };
        let recipe = request.recipe(&transformer, 1).expect("a recipe");
        let assumptions = &catalog.assumptions.entity;
        let run = TrainingRun::default();
        let training = training_with(assumptions, &request, &run, false).expect("training");
        let layout = Layout {
            dp: ranks,
            ..Layout::SINGLE
        };
        let hardware = HardwareSpec {
            accelerator: Some("rtx-4090".to_owned()),
            accelerators_per_host: Some(1),
            network: Some("wan-100m".to_owned()),
            ..HardwareSpec::default()
        };
        let site = hardware.site(catalog, ranks).expect("a site");
        let system = site
            .resolve(catalog, assumptions, Nics::One)
            .expect("a system");
        let context = RunContext {
            model: "llama-3.2-1b",
            accelerator: "rtx-4090",
            transformer: &transformer,
            recipe: &recipe,
            layout: &layout,
            run: run.run(),
            rented: false,
            assumptions,
            training: &training,
        };
        let (_, evaluation) = (Subject {
            context: &context,
            system,
        })
        .evaluate()
        .expect("it runs");
        (evaluation.step, system.fabric(assumptions), training)
    }

    #[test]
    fn meeting_at_each_step_is_data_parallelism() {
        let catalog = catalog();
        for islands in [2, 6, 48] {
            let (alone, fabric, training) = step_of(&catalog, 1, 240 / islands);
            let (data_parallel, _, _) = step_of(&catalog, islands, 240);
            let transformer = ModelRequest {
                name: "llama-3.2-1b".to_owned(),
                kv_heads: None,
            };
            let transformer = transformer.transformer(&catalog).expect("a model");
            let gradients = Bytes(real(transformer.parameters()) * 4.0);
            let framework = training.framework;
            let waits = 1.0 + straggling(&training, islands);
            let line = fabric.network_line().expect("a line");
            let terms = RoundTerms {
                step: alone.total() - alone.straggler,
                inner_steps: 1,
                islands,
                payload: gradients,
                pieces: (gradients / framework.bucket).ceil().max(1.0),
                overlap: 0.0,
            };
            let uplink = Uplink::new(line, line.bandwidth, 0.0, 1.0);
            let round = terms
                .round_over(Topology::Ring, &uplink, &fabric)
                .times(waits);
            // Data parallelism hides a part of the exchange behind backward of its last micro-batch.
            let backward = alone.parts.backward + alone.parts.recompute;
            let hidden = backward * (framework.data_overlap * f64::from(islands) / 240.0);
            let slowed = hidden * framework.data_contention;
            alike(round.exchange.0, ((data_parallel.data + hidden) * waits).0);
            alike(
                round.total.0,
                (data_parallel.total() + (hidden - slowed) * waits).0,
            );
        }
    }

    #[test]
    fn a_line_without_end_is_a_machine_without_neighbours() {
        let catalog = catalog();
        let (_, fabric, _) = step_of(&catalog, 1, 1);
        let endless = Line {
            bandwidth: BytesPerSecond(f64::INFINITY),
            latency: Seconds::ZERO,
            overhead: Seconds::ZERO,
            bulk: None,
        };
        let uplink = Uplink::new(endless, endless.bandwidth, 0.0, 1.0);
        for topology in Topology::ALL {
            let time = uplink.all_reduce(topology, Bytes(1e9), 7, &fabric);
            assert!(time.0.abs() < f64::EPSILON, "{topology:?}: {time:?}");
        }
    }

    #[test]
    fn a_lossy_line_is_slower_and_a_slow_downlink_is_waited_for() {
        let catalog = catalog();
        let (_, fabric, _) = step_of(&catalog, 1, 1);
        let line = fabric.network_line().expect("a line");
        let time = |down: f64, loss: f64| {
            let uplink = Uplink::new(line, line.bandwidth * down, loss, 1.0);
            uplink.all_reduce(Topology::Ring, Bytes(1e9), 8, &fabric)
        };
        assert!(time(1.0, 0.02) > time(1.0, 0.01) && time(1.0, 0.01) > time(1.0, 0.0));
        assert!(time(0.5, 0.0) > time(1.0, 0.0));
        assert!((time(10.0, 0.0) - time(1.0, 0.0)).0.abs() < f64::EPSILON);
    }

    #[test]
    fn homes_that_stay_are_a_static_set() {
        let catalog = catalog();
        let run = answer(&catalog, PLAIN);
        let set = run.islands.first().expect("islands");
        assert_eq!(set.islands * set.machines + set.spares, 8);
        alike(run.availability, 1.0);
        for lifetime in [None, Some(Seconds(1e25))] {
            let churn = Churn {
                lifetime,
                away: Seconds(3600.0),
            };
            alike(churn.running(12, 3, 4), 1.0);
            let goodput = churn.goodput(3, Bytes(1e9), Seconds(1.0), Seconds(1.0));
            assert!((goodput - 1.0).abs() < 1e-7, "{goodput}");
        }
    }

    #[test]
    fn spares_make_up_for_who_is_away() {
        let churn = Churn {
            lifetime: Some(Seconds(3.0)),
            away: Seconds(1.0),
        };
        // Two of two: 9/16. Two of three: 27/64 + 27/64.
        alike(churn.running(2, 2, 1), 9.0 / 16.0);
        alike(churn.running(3, 2, 1), 54.0 / 64.0);
        alike(churn.running(40, 1, 40), 0.75);
    }

    #[test]
    fn more_tokens_reach_the_same_loss() {
        let law = ScalingLaw {
            floor: 1.69,
            parameter_scale: 406.4,
            parameter_exponent: 0.34,
            token_scale: 410.7,
            token_exponent: 0.28,
        };
        let factor = law.tokens_factor(7e9, 140e9, 0.01).expect("it is reached");
        alike(law.loss(7e9, 140e9 * factor) * 1.01, law.loss(7e9, 140e9));
        assert!(law.tokens_factor(7e9, 140e9, 0.5).is_none());
        for (steps, islands) in [(1, 64), (500, 1)] {
            assert!(loss_increase(0.0012, steps, islands).abs() < f64::EPSILON);
        }
    }
}
