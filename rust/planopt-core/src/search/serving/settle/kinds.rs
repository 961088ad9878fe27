//! Replicas that can be had, each with what has been shown of the rate that it carries in time.

use super::judge::{Judge, LEVELS, Looks, SHORTLY, Verdict};
use super::settling::Settling;
use crate::catalog::Assumptions;
use crate::hardware::{Fabric, Space, System};
use crate::load::Load;
use crate::load::serving::Question;
use crate::parallel::Batching;
use crate::parallel::{Layout, Placement};
use crate::quantity::MicroUsd;
use crate::search::result::SearchResult;
use crate::search::serving::batch::Count;
use crate::search::serving::divisions::Divisions;
use crate::search::serving::found::FoundUnit;
use crate::search::serving::goal::{Goal, LatencyGoal};
use crate::search::serving::kept::KeptPart;
use crate::search::serving::latency::{BEYOND, LEAST_LOAD, Most, Supply, alone, supply, whole};
use crate::search::serving::reduce::{Demand, reduce};
use crate::search::serving::units::{Candidate, Prices, Task};
use crate::serving::engine::{
    EngineLimits, LoadReport, Remembered, ReplicaSteps, SessionsKept, StepSeconds, StepTable,
    StepTime, StepWork, limits,
};
use crate::serving::{Prepared, Replica};
use crate::transformer::Transformer;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::atomic::AtomicU64;

/// A part of a question, in one format: what is served, on what, and what is promised.
#[derive(Clone, Copy, Debug)]
pub struct SettledPart<'s, 'a> {
    /// Model.
    pub transformer: &'s Transformer,
    /// What is served.
    pub question: &'s Question,
    /// What there is to choose from.
    pub space: &'s Space<'a>,
    /// Goal; what is promised under the load is set.
    pub goal: &'s Goal,
    /// What is promised.
    pub latency: &'s LatencyGoal,
    /// The load.
    pub load: &'s Load,
    /// Accelerators of a replica, at most.
    pub accelerators: u32,
    /// Price of a unit, at most.
    pub price_cap: Option<MicroUsd>,
    /// Whether every unit is kept, whatever replaces it.
    pub every: bool,
    /// Assumptions.
    pub assumptions: &'s Assumptions,
    /// What is known of such a part.
    pub kept: &'s KeptPart,
}

/// An accelerator in its host, alone or over networks that are as fast as each other.
#[derive(Debug)]
struct Line<'a> {
    system: System<'a>,
    fabric: Fabric,
    prepared: usize,
}

impl Line<'_> {
    /// Whether replicas on both are as fast as each other.
    fn is_like(&self, other: &Self) -> bool {
        let networks = (
            self.system.network.is_some(),
            other.system.network.is_some(),
        );
        networks.0 == networks.1
            && self.system.slots == other.system.slots
            && self.joins_like(other)
    }

    /// Whether both join the same accelerators by the same links.
    fn joins_like(&self, other: &Self) -> bool {
        self.prepared == other.prepared && self.fabric == other.fabric
    }
}

/// What has been shown of the rate of a replica: requests per second, or users of whom each waits
/// for his answer.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bracket {
    /// The largest that was decided to hold, or none.
    pub(super) good: f64,
    /// The smallest that was decided to violate the SLO, if any was.
    pub(super) violating: f64,
    /// The smallest that the longest look left open.
    pub(super) open: f64,
    /// What none can exceed.
    pub(super) fluid: f64,
    /// How long looks may be.
    pub(super) level: usize,
    /// Rates that were decided to violate it.
    pub(super) violations: u32,
    /// Output tokens per second at the good rate.
    pub(super) tokens: f64,
    /// Time per output token at it, of which the promise is.
    tpot: f64,
    /// The good one before it.
    before: f64,
    /// The largest that looks of this level left open.
    unclear: f64,
}

/// Rates that differ by less are one: which of them was run is a matter of rounding.
const TOLD_APART: f64 = 1.0 - 1e-5;

/// Rates so near to one that is refused are refused with it.
const REFUSED: f64 = 0.998;

/// By how much a rate that is looked at is above one that holds, at least.
const STEP_UP: f64 = 1.002;

/// Ratio of what has been decided to violate the SLO to what is left open that is room for a look.
const ROOM_ABOVE: f64 = 1.01;

/// Of a rate that is refused, the most that is looked at next, where none is known to hold.
const STEP_DOWN: f64 = 0.7;

/// Rates decided to violate the SLO after which it is worth knowing about where a kind's lies.
pub(super) const NARROWED_AFTER: u32 = 2;

impl Bracket {
    /// Keeps what looks at a rate have shown.
    fn keep(&mut self, rate: f64, verdict: Verdict, report: &LoadReport) {
        match verdict {
            Verdict::Good => {
                self.before = self.good;
                self.good = rate;
                self.tokens = report.tokens_per_second;
                self.tpot = report.tpot_seconds.p95;
            }
            Verdict::Violating => {
                self.violating = self.violating.min(rate);
                self.violations += 1;
            }
            Verdict::Open => {
                self.open = self.open.min(rate);
                self.unclear = self.unclear.max(rate);
            }
        }
    }

    /// Takes back that a rate holds, which the final run has shown to violate the SLO, or not to be
    /// surely good.
    pub(super) fn refuse(&mut self, rate: f64, verdict: Verdict) {
        let refused = match verdict {
            Verdict::Violating => &mut self.violating,
            _ => &mut self.open,
        };
        *refused = refused.min(rate);
        self.good = if self.before < rate { self.before } else { 0.0 };
        self.before = 0.0;
        self.level = LEVELS.len() - 1;
    }

    /// Whether longer looks may tell what shorter ones have left open; from now on they are taken.
    pub(super) fn look_closer(&mut self) -> bool {
        let is_longer = self.open < self.violating && self.level + 1 < LEVELS.len();
        if is_longer {
            self.level += 1;
            self.open = f64::INFINITY;
            self.unclear = 0.0;
        }
        is_longer
    }

    /// The rate in the middle of those above the ones that are left open, if there is room: what
    /// violates the SLO there is not known to because nobody has looked.
    pub(super) fn above_open(&self, is_closed: bool) -> Option<f64> {
        let most = self.not_violating(is_closed);
        // What is only heard of was left open by another's looks.
        let unclear = self.unclear.max(self.open);
        let has_room = self.open < most && most > ROOM_ABOVE * unclear;
        let middle = rounded((unclear * most).sqrt(), is_closed);
        let rate = if is_closed { middle + 1.0 } else { middle };
        (has_room && rate <= most).then_some(rate)
    }

    /// Up to which rate nothing has been refused.
    pub(super) fn worth(&self, is_closed: bool) -> f64 {
        self.below(
            self.violating.min(self.open),
            if is_closed { None } else { Some(REFUSED) },
        )
    }

    /// Up to which rate nothing has been decided to violate the SLO.
    pub(super) fn not_violating(&self, is_closed: bool) -> f64 {
        self.below(
            self.violating,
            if is_closed { None } else { Some(TOLD_APART) },
        )
    }

    /// The rate to look at where `asked` would do: one that is left unlooked at is asked for again, a
    /// little lower, so that what has been refused before is halved, not nibbled at.
    pub(super) fn sought(&self, asked: f64, is_closed: bool) -> f64 {
        let worth = self.worth(is_closed);
        let is_refused = self.violations >= NARROWED_AFTER;
        let are_open = self.unclear > self.open;
        let most = match (is_refused, self.good > 0.0) {
            (true, true) => asked.min((self.good * worth).sqrt()),
            (_, false) if is_refused || are_open => {
                asked.min(STEP_DOWN * self.violating.min(self.open))
            }
            _ => asked,
        };
        let least = if is_closed {
            self.good + 1.0
        } else {
            STEP_UP * self.good
        };
        rounded(most.max(least).min(worth.max(self.good)), is_closed)
    }

    /// Just below a rate that is refused, or what none can exceed: users are whole.
    fn below(&self, refused: f64, share: Option<f64>) -> f64 {
        if refused > self.fluid {
            self.fluid
        } else {
            share.map_or(refused - 1.0, |share| share * refused)
        }
    }
}

/// What is the same of replicas that are worth comparing: the place of their accelerator, how they are
/// divided, and their micro-batches.
pub(super) type Division = (usize, Layout, u32);

/// A replica that can be had.
#[derive(Debug)]
pub(super) struct Kind {
    line: usize,
    /// Place of its accelerator among those that the model was priced on.
    prepared: usize,
    layout: Layout,
    placement: Placement,
    in_flight: u32,
    /// What it cannot supply more than; roughly, until it is worth knowing.
    most: Most,
    /// How its engine schedules, and how long some steps of it take, once that is known.
    engine: Option<(EngineLimits, Vec<StepSeconds>)>,
    pub(super) bracket: Bracket,
    pub(super) heard: Heard,
    /// Looks at rates that were left open, by the bits of the rate.
    begun: BTreeMap<u64, Looks>,
    table: Option<StepTable>,
}

/// Tokens per second that runs have put out for so many users, of a replica or of one that is no
/// slower in any step.
#[derive(Clone, Debug, Default)]
pub(super) struct Heard(BTreeMap<u32, f64>);

impl Heard {
    /// A run of few requests, as those that soon violate the SLO, leaves room above.
    fn hear(&mut self, users: u32, verdict: Verdict, tokens: f64) {
        let room = if verdict == Verdict::Violating {
            BEYOND
        } else {
            1.0
        };
        if tokens > 0.0 {
            self.keep(users, room * tokens);
        }
    }

    fn keep(&mut self, users: u32, tokens: f64) {
        let least = self.0.entry(users).or_insert(tokens);
        *least = least.min(tokens);
    }

    /// Of so many users, at most: more of them get no more each, and fewer no more together, as in
    /// every closed queue whose service is no faster than the work that waits (Reiser and Lavenberg
    /// 1980).
    fn most_tokens(&self, users: f64) -> f64 {
        let of_run = |(&some, tokens): (&u32, &f64)| tokens * (users / f64::from(some)).max(1.0);
        self.0.iter().map(of_run).fold(f64::INFINITY, f64::min)
    }
}

/// Steps by which replicas are compared: chunks of so many tokens beside so many sequences that decode,
/// from the fewest to many, about the usual contexts.
const CHUNKS: [f64; 4] = [0.0, 1.0, 512.0, 4096.0];
const SEQUENCES: [f64; 4] = [0.0, 1.0, 16.0, 128.0];

fn compared(context: f64) -> impl Iterator<Item = StepWork> {
    let each = CHUNKS.into_iter().flat_map(move |tokens| {
        let beside = SEQUENCES.into_iter();
        beside.map(move |sequences| match tokens {
            0.0 => StepWork::decode(sequences, context),
            _ => StepWork::decode(sequences, context).with_chunk(tokens, 0.0),
        })
    });
    each.filter(|work| !work.is_empty())
}

/// By how much the rate that is looked at first is above where the closed form puts the most.
const ABOVE_ESTIMATE: f64 = 1.3;

/// Of the rate that is asked for, the least that is looked at before it.
const FAR_BELOW: f64 = 1.0 / 4.0;

/// The kinds of one part, and who judges them.
pub(super) struct Kinds<'s, 'a> {
    part: SettledPart<'s, 'a>,
    divisions: Divisions<'s>,
    prepared: PreparedOn<'a>,
    lines: Vec<Line<'a>>,
    /// Users of all, where these are known.
    users: Option<f64>,
    pub(super) judge: Judge<'s>,
}

/// A unit, and the kind of its replicas by its place.
pub(super) type OfKind<'a> = (usize, FoundUnit<'a>);

/// Ratio of bracket ends up to which a rate is sought, before a purchase asks for one.
const NARROW: f64 = 1.03;

/// Steps by which a bracket grows from where the closed form puts it.
const STEPS: [f64; 2] = [1.1, 1.25];

impl Kind {
    /// How the replica is divided.
    pub(super) fn layout(&self) -> Layout {
        self.layout
    }

    /// What it is compared by.
    pub(super) fn division(&self) -> Division {
        (self.prepared, self.layout, self.in_flight)
    }

    /// Takes over what has been shown of a replica that is no slower in any step; what was left open of
    /// one that is divided alike.
    pub(super) fn stay_behind(&mut self, shown: &Bracket, heard: &Heard, is_alike: bool) {
        self.bracket.violating = self.bracket.violating.min(shown.violating);
        if is_alike {
            self.bracket.open = self.bracket.open.min(shown.open);
        }
        for (&users, &tokens) in &heard.0 {
            self.heard.keep(users, tokens);
        }
    }

    /// Whether no step of it is faster than that of another replica whose engine schedules as its own
    /// does, and has no less room: it carries no more then.
    pub(super) fn is_behind(&self, other: &Self) -> bool {
        let (Some((mine, my_steps)), Some((theirs, their_steps))) = (&self.engine, &other.engine)
        else {
            return false;
        };
        let steps = my_steps.iter().zip(their_steps);
        let mut slower = steps.map(|(mine, theirs)| {
            mine.latency >= theirs.latency && mine.interval >= theirs.interval
        });
        let schedules = |limits: &EngineLimits| EngineLimits {
            kv_tokens: 0,
            ..*limits
        };
        mine.kv_tokens <= theirs.kv_tokens
            && self.most.capacity <= other.most.capacity
            && slower.all(|is| is)
            && schedules(mine) == schedules(theirs)
            && self.layout.dp == other.layout.dp
    }

    /// Whether it has been simulated.
    pub(super) fn was_looked_at(&self) -> bool {
        !self.begun.is_empty()
    }

    /// Whether only two steps of it have been looked at.
    pub(super) fn is_rough(&self) -> bool {
        self.engine.is_none()
    }
}

impl<'s, 'a> Kinds<'s, 'a> {
    /// Gathers them roughly, with their units. Where so many users are all, no more of them are asked of
    /// any.
    #[expect(
        clippy::too_many_lines,
        reason = "what each step borrows is the next one's"
    )]
    pub(super) fn of(
        part: SettledPart<'s, 'a>,
        users: Option<f64>,
        settling: Settling<'s>,
    ) -> (
        Self,
        Vec<Kind>,
        Vec<OfKind<'a>>,
        SearchResult<FoundUnit<'a>>,
    ) {
        let SettledPart {
            question,
            assumptions,
            ..
        } = part;
        let divisions = Divisions::of(part.transformer, question, part.accelerators, assumptions);
        let engine = assumptions.engine;
        let mut all = Self {
            part,
            divisions,
            prepared: Vec::new(),
            lines: Vec::new(),
            users,
            judge: Judge {
                load: part.load,
                goal: part.latency,
                overhead: engine.map_or_else(Default::default, |engine| engine.request),
                is_brief: settling.is_brief,
                course: settling.course,
                requests: AtomicU64::new(0),
            },
        };
        let demand = Demand {
            redundancy: settling.limits.redundancy,
            every: part.every,
            ..Demand::default()
        };
        let task = Task {
            question,
            assumptions,
            goal: part.goal,
            demand: &demand,
            divisions: &all.divisions,
            price_cap: part.price_cap,
            kept: part.kept,
            course: settling.course,
        };
        let (prepared, alike) = alike(&task, &part);
        all.prepared = prepared;
        let found: Vec<_> = alike
            .into_par_iter()
            .map(|(line, systems)| {
                let mut result = SearchResult::default();
                let prepared = &all.prepared[line.prepared].1;
                let sale = assumptions.switch_sale;
                let prices = systems
                    .iter()
                    .map(|system| Prices::of(system.parts(), sale));
                let mut prices: Vec<_> = prices.collect();
                let mut affordable = |placement| {
                    let listings = prices.iter_mut();
                    listings
                        .map(|listing| task.affordable(listing, placement, &mut result))
                        .collect()
                };
                let layouts = task.layouts().iter();
                let layouts = layouts.take_while(|_| !settling.course.is_over());
                let kinds: Vec<_> = layouts
                    .filter_map(|&layout| {
                        let (system, fabric) = (&line.system, &line.fabric);
                        let found =
                            task.candidate(layout, system, fabric, prepared, &mut affordable);
                        all.gathered(&found?, &demand)
                    })
                    .collect();
                let covered = kinds.iter().map(|(kind, _)| u64::from(kind.most.capacity));
                result.covered += covered.sum::<u64>();
                result.evaluated += u64::try_from(kinds.len()).unwrap_or(u64::MAX);
                result.interrupted = settling.course.is_over();
                (line, kinds, result)
            })
            .collect();
        let (mut kinds, mut units, mut result) = (Vec::new(), Vec::new(), SearchResult::default());
        // In one host it is of no matter how many more it takes.
        let mut inside: BTreeMap<(usize, Layout), usize> = BTreeMap::new();
        let mut alone_on: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (line, of_line, told) in found {
            result.absorb(told);
            let alone = line.system.network.is_none();
            let mut first = all.lines.len();
            if alone {
                let others = alone_on.entry(line.prepared).or_default();
                let same = |&&other: &&usize| all.lines[other].joins_like(&line);
                first = others.iter().find(same).copied().unwrap_or(first);
                others.push(all.lines.len());
            }
            for (kind, of_kind) in of_line {
                let next = kinds.len();
                let place = if alone {
                    *inside.entry((first, kind.layout)).or_insert(next)
                } else {
                    next
                };
                units.extend(of_kind.into_iter().map(|unit| (place, unit)));
                if place == next {
                    let (prepared, line) = (line.prepared, all.lines.len());
                    kinds.push(Kind {
                        line,
                        prepared,
                        ..kind
                    });
                }
            }
            all.lines.push(line);
        }
        (all, kinds, units, result)
    }

    /// The kind of a candidate and its units, roughly, if it fits.
    fn gathered(
        &self,
        candidate: &Candidate<'_, 'a>,
        demand: &Demand,
    ) -> Option<(Kind, Vec<FoundUnit<'a>>)> {
        let &Candidate {
            ref replica,
            layout,
            placement,
            in_flight,
            ref affordable,
            ..
        } = candidate;
        let SettledPart {
            question,
            latency,
            assumptions,
            ..
        } = self.part;
        let most = Most::roughly(replica, latency, in_flight, assumptions)?;
        if most.tokens_per_second <= 0.0 {
            return None;
        }
        let supply = Supply {
            batch: most.batch.min(most.capacity),
            sessions: latency.traffic.turns().map(|_| most.batch),
            tokens_per_second: most.tokens_per_second,
            tokens_per_second_per_user: 1.0,
        };
        let units = affordable.iter().flatten().map(|&unit| {
            FoundUnit::supplying(supply, in_flight, unit, question.overlap, assumptions)
        });
        let kind = Kind {
            line: 0,
            prepared: 0,
            engine: None,
            layout,
            placement,
            in_flight,
            most,
            bracket: Bracket {
                violating: f64::INFINITY,
                open: f64::INFINITY,
                fluid: self.fluid(&most),
                ..Bracket::default()
            },
            heard: Heard::default(),
            begun: BTreeMap::new(),
            table: None,
        };
        // All of them supply as much a replica: what copies of another one replace is no loss.
        Some((kind, reduce(units.collect(), demand)))
    }

    /// Requests per second, or users, that none exceeds which cannot supply more than this.
    fn fluid(&self, most: &Most) -> f64 {
        if self.judge.is_closed() {
            let carried = f64::from(most.batch) * most.micro_batches;
            self.users.map_or(carried, |all| carried.min(all))
        } else {
            most.tokens_per_second / self.part.latency.output
        }
    }

    /// Looks closer at a kind of which two steps were looked at: it carries nothing if one user alone is
    /// served too slowly.
    pub(super) fn sharpen(&self, kind: &mut Kind) {
        let SettledPart {
            latency,
            assumptions,
            kept,
            ..
        } = self.part;
        let Some(replica) = self.replica(kind).filter(|_| kind.is_rough()) else {
            return;
        };
        let in_flight = kind.in_flight;
        let line = &self.lines[kind.line];
        let kept = kept.line(&line.system.accelerator.id, &line.fabric);
        let most = kept.most(kind.layout, kind.placement, || {
            Most::of(&replica, latency, in_flight, assumptions)
        });
        let one = Batching {
            batch: 1,
            in_flight,
        };
        let most = most.filter(|_| alone(&replica, latency, one).is_none());
        let steps = ReplicaSteps {
            replica: &replica,
            in_flight,
        };
        let compared = compared(latency.traffic.usual_context());
        let paces = compared.map(|work| steps.seconds(&work)).collect();
        kind.engine = Some((self.limits(kind, &replica), paces));
        kind.bracket.fluid = most.map_or(0.0, |most| self.fluid(&most).min(kind.bracket.fluid));
        kind.most = most.unwrap_or(kind.most);
    }

    fn replica(&self, kind: &Kind) -> Option<Replica<'_>> {
        let line = &self.lines[kind.line];
        self.divisions.replica(
            kind.layout,
            kind.placement,
            &self.prepared[line.prepared].1,
            &line.fabric,
            line.system.accelerator,
        )
    }

    fn limits(&self, kind: &Kind, replica: &Replica) -> EngineLimits {
        let SettledPart {
            question,
            latency,
            assumptions,
            ..
        } = self.part;
        let (engine, overlap) = (&latency.engine, question.overlap);
        limits(engine, replica, kind.in_flight, overlap, assumptions)
    }

    /// Decides a rate of a kind, and keeps what that shows.
    pub(super) fn decide(&self, kind: &mut Kind, rate: f64) -> Verdict {
        let longest = self.judge.most_requests(kind.bracket.level);
        let (verdict, report) = self.judged(kind, rate, longest);
        self.keep(kind, rate, verdict, &report);
        verdict
    }

    /// Keeps what looks at a rate of a kind have shown.
    fn keep(&self, kind: &mut Kind, rate: f64, verdict: Verdict, report: &LoadReport) {
        kind.bracket.keep(rate, verdict, report);
        if self.judge.is_closed() {
            kind.heard
                .hear(whole(rate), verdict, report.tokens_per_second);
        }
    }

    /// What looks of so many requests at most show of a rate of a kind.
    fn judged(&self, kind: &mut Kind, rate: f64, longest: u64) -> (Verdict, LoadReport) {
        let Some(replica) = self.replica(kind) else {
            return (Verdict::Violating, LoadReport::default());
        };
        let steps = ReplicaSteps {
            replica: &replica,
            in_flight: kind.in_flight,
        };
        let limits = self.limits(kind, &replica);
        let fluid = kind.bracket.fluid;
        let looks = kind.begun.entry(rate.to_bits()).or_default();
        if replica.attention_groups() > 1 {
            // How many prompts share a step decides how many of the groups read: too much to tabulate.
            let steps = Remembered::of(&steps);
            self.judge
                .decide(&steps, limits, rate, fluid, longest, looks)
        } else {
            let tabulated = || StepTable::new(&steps, &limits, &self.part.latency.traffic);
            let table = kind.table.get_or_insert_with(tabulated);
            self.judge
                .decide(table, limits, rate, fluid, longest, looks)
        }
    }

    /// Decides a rate of a kind, where it has to carry one to beat what is known. Where nothing is known
    /// of it, and the closed form puts the most well below that, whether it does is all there is to ask.
    /// Else a rate above where the closed form puts the most comes first: what violates the SLO there need
    /// not be asked again at each rate between. It is looked at shortly: what that leaves open may never be
    /// asked for.
    pub(super) fn look(&self, kind: &mut Kind, rate: f64, to_beat: Option<f64>) -> Verdict {
        let is_closed = self.judge.is_closed();
        if !kind.bracket.is_known() {
            let above = ABOVE_ESTIMATE * self.estimated(kind).unwrap_or(0.0);
            if let Some(to_beat) = to_beat.filter(|to_beat| *to_beat > above) {
                let least = rounded(to_beat, is_closed).min(rate);
                let verdict = self.decide(kind, least);
                // What is left open is soon refused further up.
                return if verdict == Verdict::Open && least < rate {
                    self.decide(kind, rate)
                } else {
                    verdict
                };
            }
            let first = rounded(above.max(FAR_BELOW * rate), is_closed);
            if first < rate {
                let (verdict, report) = self.judged(kind, first, SHORTLY);
                if verdict == Verdict::Violating {
                    self.keep(kind, first, verdict, &report);
                    return verdict;
                }
            }
        }
        self.decide(kind, rate)
    }

    /// Decides the rate that an estimate asks of a kind, with a second look where the first leaves it
    /// open, and as many as users need; where that is not good, finds one that is.
    pub(super) fn look_at_guess(&self, kind: &mut Kind, rate: Option<f64>) {
        let is_closed = self.judge.is_closed();
        let rate = rate.map(|rate| rounded(rate, is_closed));
        if let Some(rate) = rate.filter(|rate| *rate <= kind.bracket.fluid) {
            let thinks = self.part.latency.traffic.turns().is_some();
            let mut is_open = self.decide(kind, rate) == Verdict::Open && !thinks;
            while is_open && kind.bracket.look_closer() {
                // The more users wait, the longer a look must be that can tell.
                is_open = self.decide(kind, rate) == Verdict::Open && is_closed;
            }
        }
        if kind.bracket.good <= 0.0 {
            self.narrow(kind, rate.unwrap_or(kind.bracket.fluid));
        }
    }

    /// Finds about where the rate of a kind lies: from where the closed form puts it, or if that knows
    /// of none from the rate that is asked for; from below what has been refused.
    pub(super) fn narrow(&self, kind: &mut Kind, asked: f64) {
        let is_closed = self.judge.is_closed();
        let least = LEAST_LOAD * kind.bracket.fluid;
        if least <= 0.0 {
            // It carries nothing: there is no rate to go down to.
            return;
        }
        if kind.bracket.good <= 0.0 {
            let refused = kind.bracket.violating.min(kind.bracket.open);
            let mut rate = self.estimated(kind).unwrap_or(asked);
            rate = rate
                .min(refused / STEPS[0])
                .clamp(least, kind.bracket.fluid);
            let mut steps = STEPS
                .into_iter()
                .chain(std::iter::repeat(STEPS[1] * STEPS[1]));
            let mut grows = refused.is_finite().then_some(false);
            loop {
                let rate_now = rounded(rate, is_closed);
                let verdict = self.decide(kind, rate_now);
                let Some(step) = steps.next().filter(|_| !self.judge.course.is_over()) else {
                    return;
                };
                match (verdict, grows) {
                    (Verdict::Good, Some(false))
                    | (Verdict::Violating | Verdict::Open, Some(true)) => {
                        break;
                    }
                    (Verdict::Good, _) => {
                        grows = Some(true);
                        rate *= step;
                        if rate >= kind.bracket.worth(is_closed) {
                            break;
                        }
                    }
                    // What is left open may be good: what surely is lies below it.
                    (Verdict::Violating | Verdict::Open, before) => {
                        // Who is not in time with hardly anybody is not with more.
                        let fewest = rounded(least, is_closed);
                        let none_is_good = before.is_some()
                            && kind.bracket.good <= 0.0
                            && self.decide(kind, fewest) != Verdict::Good;
                        if none_is_good {
                            break;
                        }
                        grows = Some(false);
                        rate /= step;
                        if rate < least || (is_closed && rate < 1.0) {
                            if verdict == Verdict::Violating {
                                kind.bracket.violating = kind.bracket.violating.min(least);
                            }
                            break;
                        }
                    }
                }
            }
        }
        loop {
            let (good, worth) = (kind.bracket.good, kind.bracket.worth(is_closed));
            if good <= 0.0 || worth / good <= NARROW || kind.bracket.level > 0 {
                return;
            }
            let rate = rounded((good * worth).sqrt(), is_closed);
            if rate <= good || self.decide(kind, rate) == Verdict::Open {
                return;
            }
        }
    }

    /// Whether a kind may carry a rate by the closed form.
    pub(super) fn may_carry(&self, kind: &Kind, rate: f64) -> bool {
        self.estimated(kind).is_some_and(|about| about >= rate)
    }

    /// The rate by the closed form, where it knows any.
    fn estimated(&self, kind: &Kind) -> Option<f64> {
        let replica = self.replica(kind)?;
        let SettledPart {
            latency,
            goal,
            assumptions,
            ..
        } = self.part;
        let line = &self.lines[kind.line];
        let kept = &self.part.kept;
        let kept = kept.line(&line.system.accelerator.id, &line.fabric);
        // The search before this one may have asked.
        let (found, _) = kept.supplied(kind.layout, kind.placement, || {
            let (most, mut count) = (Some(kind.most), Count::default());
            let in_flight = kind.in_flight;
            let found = supply(
                &replica,
                goal,
                latency,
                in_flight,
                most,
                assumptions,
                &mut count,
            );
            (found, count)
        });
        let found = found.ok()?;
        Some(if self.judge.is_closed() {
            let answered = f64::from(found.batch) * kind.most.micro_batches;
            found.sessions.map_or(answered, f64::from)
        } else {
            found.tokens_per_second / latency.output
        })
    }

    /// Runs so many replicas at a rate of each for as long as a plan needs, by the steps themselves.
    pub(super) fn last(&self, kind: &Kind, replicas: u32, rate: f64) -> (Verdict, LoadReport) {
        let Some(replica) = self.replica(kind) else {
            return (Verdict::Violating, LoadReport::default());
        };
        let steps = ReplicaSteps {
            replica: &replica,
            in_flight: kind.in_flight,
        };
        let limits = self.limits(kind, &replica);
        let steps = Remembered::of(&steps);
        let fluid = kind.bracket.fluid;
        self.judge.last(&steps, limits, (replicas, rate), fluid)
    }

    /// What sessions keep on a replica of a kind of which each has so many, if these are who asks.
    pub(super) fn kept(&self, kind: &Kind, alive: f64) -> Option<SessionsKept> {
        let turns = self.part.latency.traffic.turns()?;
        let replica = self.replica(kind)?;
        Some(turns.kept(alive, &self.limits(kind, &replica)))
    }

    /// What a replica of a kind supplies at a rate: users, where they wait for their answers, and
    /// tokens per second.
    pub(super) fn supplied(&self, kind: &Kind, rate: f64) -> (u32, f64) {
        let bracket = &kind.bracket;
        if !self.judge.is_closed() {
            return (0, rate * self.part.latency.output);
        }
        let is_shown = rate <= bracket.good;
        let tokens = if is_shown {
            bracket.tokens
        } else {
            let paces = kind.engine.as_ref().and_then(|(_, paces)| paces.first());
            let alone = paces.map_or(f64::INFINITY, |one| BEYOND * rate / one.latency);
            let most = kind.most.tokens_per_second.min(alone);
            most.min(kind.heard.most_tokens(rate))
        };
        (whole(rate), tokens)
    }

    /// A unit of a kind at a rate.
    pub(super) fn supplying(&self, kind: &Kind, unit: &FoundUnit<'a>, rate: f64) -> FoundUnit<'a> {
        let SettledPart {
            question, latency, ..
        } = self.part;
        let (users, tokens) = self.supplied(kind, rate);
        let shown = kind.bracket.tpot;
        let tpot = if shown > 0.0 {
            shown
        } else {
            latency.tpot.unwrap_or(1.0)
        };
        let behind = tpot * (latency.output - 1.0).max(0.0);
        let sequences = match (self.judge.is_closed(), latency.traffic.turns()) {
            (false, _) => rate * behind,
            (true, None) => f64::from(users),
            (true, Some(_)) => tokens / latency.output * behind,
        };
        let batching = Batching {
            batch: whole((sequences / kind.most.micro_batches).ceil()).clamp(1, kind.most.capacity),
            in_flight: kind.in_flight,
        };
        let of_replica = if self.judge.is_closed() {
            u64::from(users)
        } else {
            batching.users(question.overlap)
        };
        FoundUnit {
            batching,
            users: of_replica * u64::from(unit.unit.replicas),
            tokens_per_second_per_user: 1.0 / tpot,
            tokens_per_second: tokens * unit.at_work(),
            ..*unit
        }
    }
}

impl Bracket {
    /// Whether any rate has been decided.
    pub(super) fn is_known(&self) -> bool {
        self.violating.is_finite() || self.good > 0.0
    }
}

/// A rate that can be asked for: users are whole.
pub(super) fn rounded(rate: f64, is_closed: bool) -> f64 {
    if is_closed {
        rate.floor().max(1.0)
    } else {
        rate
    }
}

/// Accelerators that a model was priced on, by id.
type PreparedOn<'a> = Vec<(&'a str, Prepared)>;

/// Hosts whose accelerators are joined alike, which make the same replicas, and what the model takes
/// of each accelerator.
fn alike<'a>(
    task: &Task,
    part: &SettledPart<'_, 'a>,
) -> (PreparedOn<'a>, Vec<(Line<'a>, Vec<System<'a>>)>) {
    let (mut prepared, mut alike) = (PreparedOn::new(), Vec::<(Line, Vec<System>)>::new());
    // Where an accelerator stands, and its lines: catalogs may have thousands.
    let mut known: BTreeMap<&str, (usize, Vec<usize>)> = BTreeMap::new();
    for system in &part.space.systems {
        let id = system.accelerator.id.as_str();
        let (place, lines) = match known.entry(id) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => {
                let card = system.accelerator;
                let Some(priced) = task.divisions.prepared(card) else {
                    continue;
                };
                prepared.push((id, priced));
                unknown.insert((prepared.len() - 1, Vec::new()))
            }
        };
        for over in task.lines(system, &part.space.networks) {
            let line = Line {
                system: over[0].1,
                fabric: over[0].1.fabric(part.assumptions),
                prepared: *place,
            };
            let over = over.into_iter().map(|(_, system)| system);
            if let Some(&other) = lines.iter().find(|&&other| alike[other].0.is_like(&line)) {
                alike[other].1.extend(over);
            } else {
                lines.push(alike.len());
                alike.push((line, over.collect()));
            }
        }
    }
    (prepared, alike)
}

#[cfg(test)]
mod tests {
    use super::{Bracket, Heard, LEVELS, LoadReport, NARROWED_AFTER, ROOM_ABOVE, Verdict};

    #[test]
    fn what_short_looks_leave_open_is_refused_until_longer_ones_are_taken() {
        let mut bracket = Bracket {
            violating: 9.0,
            open: 5.0,
            fluid: 9.0,
            ..Bracket::default()
        };
        assert!(bracket.worth(true) < 5.0);
        assert!(bracket.not_violating(true) >= 5.0);
        for level in 1..LEVELS.len() {
            assert!(bracket.look_closer());
            assert_eq!(bracket.level, level);
            assert!(bracket.worth(true) >= 5.0);
            bracket.open = 5.0;
        }
        assert!(!bracket.look_closer());
        assert!(bracket.worth(true) < 5.0);
    }

    #[test]
    fn the_most_that_any_can_may_violate_too() {
        let mut bracket = Bracket {
            violating: f64::INFINITY,
            open: f64::INFINITY,
            fluid: 2.0,
            ..Bracket::default()
        };
        assert!(bracket.worth(true) > 1.5 && bracket.not_violating(true) > 1.5);
        bracket.violating = 2.0;
        assert!(bracket.worth(true) < 1.5 && bracket.worth(false) < 2.0);
        assert!(bracket.not_violating(true) < 1.5 && bracket.not_violating(false) < 2.0);
    }

    #[test]
    fn what_has_been_refused_is_halved_and_not_nibbled_at() {
        let mut bracket = Bracket {
            good: 3.12,
            violating: 4.2,
            open: f64::INFINITY,
            fluid: 4.6,
            ..Bracket::default()
        };
        assert!((bracket.sought(4.1, false) - 4.1).abs() < 1e-12);
        assert!(bracket.sought(3.120_01, false) > 3.125);
        bracket.violations = NARROWED_AFTER;
        let mut looks = 0;
        while bracket.violating > 1.03 * bracket.good {
            let nibble = 0.998 * bracket.violating;
            bracket.violating = bracket.sought(nibble, false);
            looks += 1;
        }
        assert!(looks < 5, "{looks}");
        bracket.good = 0.0;
        assert!(bracket.sought(3.1, true) < 3.0);
    }

    #[test]
    fn what_is_left_open_twice_is_halved_too_where_nothing_is_known_to_hold() {
        let mut bracket = Bracket {
            violating: f64::INFINITY,
            open: f64::INFINITY,
            fluid: 200.0,
            ..Bracket::default()
        };
        let (mut rate, mut looks) = (100.0, 0);
        while rate > 10.0 {
            bracket.keep(rate, Verdict::Open, &LoadReport::default());
            rate = bracket.sought(rate - 1.0, true);
            looks += 1;
        }
        assert!(looks < 10, "{looks}");
    }

    #[test]
    fn rates_above_what_is_left_open_are_looked_at_until_there_is_no_room() {
        let mut bracket = Bracket {
            good: 40.0,
            violating: 83.0,
            open: 42.0,
            unclear: 42.0,
            fluid: 200.0,
            ..Bracket::default()
        };
        while let Some(rate) = bracket.above_open(true) {
            assert!(rate > bracket.unclear && rate < bracket.violating, "{rate}");
            bracket.violating = rate;
        }
        assert!(bracket.violating <= ROOM_ABOVE * bracket.unclear + 1.0);
        bracket.unclear = 0.0;
        bracket.violating = 83.0;
        let heard = bracket.above_open(true);
        assert!(heard.is_some_and(|rate| rate > bracket.open), "{heard:?}");
        bracket.open = f64::INFINITY;
        assert!(bracket.above_open(true).is_none());
    }

    #[test]
    fn more_users_get_no_more_each_and_fewer_no_more_together() {
        let mut heard = Heard::default();
        assert!(heard.most_tokens(5.0).is_infinite());
        heard.hear(40, Verdict::Good, 1000.0);
        heard.hear(60, Verdict::Violating, 1200.0);
        assert!((heard.most_tokens(44.0) - 1100.0).abs() < 1e-9);
        assert!((heard.most_tokens(30.0) - 1000.0).abs() < 1e-9);
        assert!(heard.most_tokens(59.0) <= 1.05 * 1200.0 + 1e-9);
        heard.keep(40, 900.0);
        heard.keep(40, 950.0);
        assert!((heard.most_tokens(40.0) - 900.0).abs() < 1e-9);
    }

    #[test]
    fn what_violates_needs_no_longer_look() {
        let mut bracket = Bracket {
            violating: 4.0,
            open: 5.0,
            fluid: 9.0,
            ..Bracket::default()
        };
        assert!(!bracket.look_closer());
    }
}
