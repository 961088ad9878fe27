//! Whether a replica holds its promises at a rate, by simulation.
//!
//! Each look is longer than the one before and has random numbers of its own: looks of one seed
//! share their first gaps, and a lucky start would be in all of them. Two looks in a row must agree.

use crate::catalog::RequestOverhead;
use crate::course::Course;
use crate::load::{Arrivals, Load, Routing, Statistic};
use crate::quantity::real;
use crate::search::serving::goal::LatencyGoal;
use crate::search::serving::latency::whole;
use crate::serving::engine::{
    CONFIDENCE_95, EngineLimits, LoadReport, Objectives, Pool, Run, Share, StepTime, simulate,
};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Requests of the first look. Those below [`SHORT`] tell only of what is violated by far.
const FIRST_LOOK: u64 = 250;

/// Requests below which a look is short.
const SHORT: u64 = 1_000;

/// Requests of the last look at what may never be asked for: the first two that are not short can agree.
pub(super) const SHORTLY: u64 = 2 * SHORT;

/// Requests of the last look, by how hard a rate has been to decide, where one in twenty may be;
/// the fewer may be, the more it takes until some are.
pub(super) const LEVELS: [u64; 4] = [4_000, 16_000, 64_000, 256_000];
const ONE_IN_TWENTY: f64 = 0.05;

/// Requests of the run that what is bought must pass, from the shortest on: longer ones tell what is
/// nearer to what is allowed.
const FINAL_REQUESTS: [u64; 2] = [16_000, 64_000];

/// The same once the clock has ended: the answer says that nothing is proven.
const HURRIED_REQUESTS: u64 = 8_000;

/// The same for each of its replicas, where there are many, and the most of all.
const FINAL_OF_REPLICA: u64 = 4_000;
const FINAL_MOST: u64 = 256_000;

/// Of requests and replicas of a hurried run, the most that a router looks through: some six seconds
/// (2 cores, 2026-11-28: 464,000 requests of a thousand replicas took ninety).
const HURRIED_LOOKS: f64 = 32e6;

/// Sessions that end in it, where these are who asks: what must be many is their lives, which have
/// long tails.
const FINAL_SESSIONS: f64 = 2_000.0;

/// Seeds of looks, one for each length, and of the final run: numbers that nothing was chosen by.
const FIRST_SEED: u64 = 98;
const FINAL_SEED: u64 = 7;

/// Standard errors within which a share of violations is not told from what is allowed. Half as
/// much stays open with 2 as with 2.86, and the final run catches what slips.
const TWO_SIGMA: f64 = 2.0;

/// The same of a short look, whose errors are known less well.
const FIVE_SIGMA: f64 = 5.0;

/// Least requests of a look that shows that a rate is held: this many, and so many times the
/// requests in the engine, so many times those that come while one may wait.
const LEAST_GOOD: u64 = 2_000;
const POPULATIONS: f64 = 20.0;
const PATIENCES: f64 = 3.0;

/// Share of what comes that has to leave in a look that is long enough: the rest is chance.
const CARRIED: f64 = 0.995;

/// Replicas that are simulated together, at most.
pub(super) const MOST_TOGETHER: u32 = 64;

/// Squared share of a queue's memory that is slack, near saturation: requests of a look grow with
/// its inverse.
const SLACK: f64 = 40.0;

/// Utilisation beyond which runs would have to grow without end.
const BUSIEST: f64 = 0.98;

/// Part of a run that comes before what is measured, and the least of it.
const WARM_UP_PART: u64 = 6;
const LEAST_WARM_UP: u64 = 150;

/// What simulations have shown of a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::search::serving) enum Verdict {
    /// The promises are held.
    Good,
    /// They are not.
    Violating,
    /// So many requests cannot tell.
    Open,
}

/// Looks at a rate so far: how many requests the next one has, and what the last one showed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Looks {
    next: u64,
    before: Verdict,
    seed: u64,
}

impl Default for Looks {
    fn default() -> Self {
        Self {
            next: FIRST_LOOK,
            before: Verdict::Open,
            seed: FIRST_SEED,
        }
    }
}

/// Who judges replicas under one load, and how often he has.
#[derive(Debug)]
pub(super) struct Judge<'j> {
    pub(super) load: &'j Load,
    pub(super) goal: &'j LatencyGoal,
    /// What a request takes outside of the engine.
    pub(super) overhead: RequestOverhead,
    /// Whether the final run is as short as where the clock has ended.
    pub(super) is_brief: bool,
    /// Counts simulations. Once there is no time for further looks, the final run is made nevertheless.
    pub(super) course: &'j Course,
    pub(super) requests: AtomicU64,
}

impl Judge<'_> {
    /// Whether users wait for their answers: rates are then numbers of them.
    pub(super) fn is_closed(&self) -> bool {
        matches!(self.load.arrivals, Arrivals::Closed { .. })
    }

    /// Replicas of such a rate that are simulated together: one, unless turns go from one to another.
    pub(super) fn together(&self, rate: f64) -> u32 {
        if self.is_alone() {
            return 1;
        }
        whole((self.goal.asked / rate).ceil()).min(MOST_TOGETHER)
    }

    /// Of how many requests one goes to replicas that carry such a rate together: a purchase hands
    /// out what is asked in turn, to each as often as it carries, so that what reaches a part of it is
    /// more even than what comes.
    fn one_of(&self, rate: f64) -> f64 {
        if self.is_closed() || !self.is_alone() {
            return 1.0;
        }
        (self.goal.asked / rate).max(1.0)
    }

    /// Whether replicas are what each is by itself: whoever asks stays with his, or nothing is found
    /// of what he has said.
    pub(super) fn is_alone(&self) -> bool {
        let finds = self.goal.traffic.turns().is_some() || self.goal.traffic.footprint().is_some();
        !finds || (self.is_closed() && self.goal.engine.router.unwrap_or_default() == Routing::Even)
    }

    /// Whether a replica carries `rate`, of which `fluid` is the most that any can; looks grow up
    /// to the longest, from where they were left.
    pub(super) fn decide(
        &self,
        step: &impl StepTime,
        limits: EngineLimits,
        rate: f64,
        fluid: f64,
        longest: u64,
        looks: &mut Looks,
    ) -> (Verdict, LoadReport) {
        let mut report = LoadReport::default();
        let replicas = self.together(rate);
        let over = &self.course.over;
        while looks.next <= longest {
            let Looks { next, before, seed } = *looks;
            report = self.run(step, limits, (replicas, rate), (next, seed), over);
            if report.interrupted || self.course.is_over() {
                break;
            }
            let is_last = 2 * next > LEVELS[LEVELS.len() - 1];
            let of_all = f64::from(replicas);
            let found = self.look(&report, of_all * rate, of_all * fluid, next, is_last);
            if found != Verdict::Open && (found == before || is_last) {
                return (found, report.of(1, replicas));
            }
            *looks = Looks {
                next: 2 * next,
                before: found,
                seed: seed + 1,
            };
        }
        (Verdict::Open, report.of(1, replicas))
    }

    /// Requests of the last look of a level.
    pub(super) fn most_requests(&self, level: usize) -> u64 {
        let rarer = match self.goal.at {
            Statistic::Percentile(share) => (ONE_IN_TWENTY / (1.0 - share)).max(1.0),
            Statistic::Mean => 1.0,
        };
        let most = LEVELS[level] * u64::from(whole(rarer));
        most.min(LEVELS[LEVELS.len() - 1])
    }

    /// What the final run of replicas shows of the rate of each, of which `fluid` is the most that any can,
    /// and what came of it.
    pub(super) fn last(
        &self,
        step: &impl StepTime,
        limits: EngineLimits,
        (replicas, rate): (u32, f64),
        fluid: f64,
    ) -> (Verdict, LoadReport) {
        let load = (replicas, rate);
        if self.is_brief || self.course.is_over() {
            return self.hurried(step, limits, load);
        }
        let turns = self.goal.traffic.turns().map_or(0.0, |turns| turns.turns);
        let least = u64::from(whole(FINAL_SESSIONS * turns))
            .max(FINAL_OF_REPLICA * u64::from(replicas))
            .min(FINAL_MOST);
        let [_, long] = FINAL_REQUESTS;
        let longer = FINAL_REQUESTS.map(|requests| requests.max(least));
        let mut told = None;
        for (requests, seed) in longer.into_iter().chain([FINAL_MOST]).zip(FINAL_SEED..) {
            // What takes longer than usual ends with the clock.
            let Course { over, stopped, .. } = self.course;
            let stop = if requests > long { over } else { stopped };
            let report = self.run(step, limits, load, (requests, seed), stop);
            if report.interrupted {
                break;
            }
            let all = f64::from(replicas) * rate;
            let verdict = self.look(&report, all, f64::INFINITY, requests, true);
            let enough = f64::from(replicas) * self.enough(&report, rate, fluid);
            let is_clear = real(requests) >= enough && self.is_clear(&report);
            let is_told = verdict != Verdict::Open && (requests >= long || is_clear);
            told = Some((verdict, report));
            if is_told || requests == FINAL_MOST {
                break;
            }
        }
        told.unwrap_or_else(|| self.hurried(step, limits, load))
    }

    /// Whether every share lies so far from what is allowed that no longer run could turn it.
    fn is_clear(&self, report: &LoadReport) -> bool {
        let apart = |(of, most): (Share, f64)| (of.mean - most).abs() > FIVE_SIGMA * of.error;
        self.judged(report).into_iter().all(apart)
    }

    /// What a hurried run shows, made once more where it has ended before its engines were as full as
    /// they get: tokens come faster until then. It shows nothing where that takes too long.
    fn hurried(
        &self,
        step: &impl StepTime,
        limits: EngineLimits,
        (replicas, rate): (u32, f64),
    ) -> (Verdict, LoadReport) {
        let run = |requests| {
            let stop = &self.course.stopped;
            self.run(step, limits, (replicas, rate), (requests, FINAL_SEED), stop)
        };
        let (mut requests, mut report) = (HURRIED_REQUESTS, run(HURRIED_REQUESTS));
        let enough = f64::from(replicas) * self.enough(&report, rate, f64::INFINITY);
        let enough = u64::from(whole(enough)).min(FINAL_MOST);
        if requests < enough {
            if f64::from(replicas) * real(enough) > HURRIED_LOOKS {
                return (Verdict::Open, report);
            }
            (requests, report) = (enough, run(enough));
        }
        let all = f64::from(replicas) * rate;
        let verdict = self.look(&report, all, f64::INFINITY, requests, true);
        (verdict, report)
    }

    /// What is judged of a report.
    fn judged(&self, report: &LoadReport) -> Vec<(Share, f64)> {
        judged(self.goal, report)
    }

    fn run(
        &self,
        step: &impl StepTime,
        limits: EngineLimits,
        (replicas, rate): (u32, f64),
        (requests, seed): (u64, u64),
        stop: &AtomicBool,
    ) -> LoadReport {
        self.course.step(1);
        self.requests.fetch_add(requests, Ordering::Relaxed);
        let pool = Pool {
            replicas,
            limits,
            step,
        };
        let rate = rate * f64::from(replicas);
        let load = Load {
            arrivals: at(&self.load.arrivals, rate, self.one_of(rate)),
            ..self.load.clone()
        };
        let run = look_of(self.goal, self.overhead, (requests, seed));
        simulate(&pool, &load, run, stop)
    }

    /// What one look shows.
    fn look(
        &self,
        report: &LoadReport,
        rate: f64,
        fluid: f64,
        requests: u64,
        is_last: bool,
    ) -> Verdict {
        let judged = self.judged(report);
        let enough = real(requests) >= self.enough(report, rate, fluid);
        // Nothing is late where no time is promised: what is held is that as much leaves as comes.
        let is_timed = self.goal.ttft.is_some() || self.goal.tpot.is_some() || self.is_closed();
        let falls_behind = enough && !is_timed && report.requests_per_second < CARRIED * rate;
        let cannot = falls_behind || (report.overloaded && requests >= LEAST_GOOD);
        if violates(self.goal, report, requests) || cannot {
            return Verdict::Violating;
        }
        let within = |errors: f64| {
            let holds = |(of, most): &(Share, f64)| of.mean + errors * of.error <= *most;
            judged.iter().all(holds)
        };
        if (enough && within(TWO_SIGMA)) || (is_last && within(CONFIDENCE_95)) {
            Verdict::Good
        } else {
            Verdict::Open
        }
    }

    /// Requests from which on a look can show that a rate is held: it must be long in times that
    /// the engine's population turns over, and in those that a user waits before it is a violation.
    fn enough(&self, report: &LoadReport, rate: f64, fluid: f64) -> f64 {
        let least = real(LEAST_GOOD);
        let behind = self.goal.output - 1.0;
        let inside = report.ttft_seconds.mean + behind * report.tpot_seconds.mean;
        if self.is_closed() {
            // Who thinks is not inside.
            let turns = self.goal.traffic.turns();
            let cycle = inside + turns.map_or(0.0, |turns| turns.think_seconds);
            return least.max(POPULATIONS * rate * (inside / cycle).min(1.0));
        }
        let of_tokens = self.goal.tpot.map_or(0.0, |tpot| tpot * behind);
        let patience = self.goal.ttft.unwrap_or(0.0).max(of_tokens);
        let busy = (rate / fluid).min(BUSIEST);
        least
            .max(POPULATIONS * rate * inside)
            .max(PATIENCES * rate * patience)
            .max(SLACK / (1.0 - busy).powi(2))
    }
}

/// What is judged of a report: each figure, and the most that it may be.
fn judged(goal: &LatencyGoal, report: &LoadReport) -> Vec<(Share, f64)> {
    let LoadReport {
        ttft_seconds: ttft,
        tpot_seconds: tpot,
        slo_violation,
        ..
    } = report;
    match goal.at {
        Statistic::Percentile(share) => {
            vec![
                (slo_violation.ttft, 1.0 - share),
                (slo_violation.tpot, 1.0 - share),
            ]
        }
        Statistic::Mean => [(ttft, goal.ttft), (tpot, goal.tpot)]
            .into_iter()
            .filter_map(|(of, most)| Some((of.of_all(), most?)))
            .collect(),
    }
}

/// Whether a run of so many requests shows that a promise is not kept.
fn violates(goal: &LatencyGoal, report: &LoadReport, requests: u64) -> bool {
    let errors = if requests < SHORT {
        FIVE_SIGMA
    } else {
        TWO_SIGMA
    };
    let is_violating = |(of, most): &(Share, f64)| of.mean - errors * of.error > *most;
    // Who is refused waits for ever, and so does the mean.
    let no_mean = goal.at == Statistic::Mean && report.refused > 0;
    no_mean || judged(goal, report).iter().any(is_violating)
}

/// What runs show of promises: each longer than the one before and with numbers of its own, of which one
/// with so many requests and such a seed is made by `run`. Two in a row must agree that one is not kept;
/// once one shows that all are, no more are made. They are brief where it is told little by: what they
/// pass is asked about again.
pub(in crate::search::serving) fn shown(
    goal: &LatencyGoal,
    over: &AtomicBool,
    is_brief: bool,
    run: impl Fn(u64, u64) -> LoadReport,
) -> Verdict {
    let (least, most) = if is_brief {
        (SHORT, LEVELS[0])
    } else {
        (LEVELS[0], LEVELS[2])
    };
    let mut before = false;
    let longer = std::iter::successors(Some(FIRST_LOOK), |requests| Some(2 * requests));
    for (requests, seed) in longer.zip(FIRST_SEED..) {
        let report = run(requests, seed);
        if report.interrupted || over.load(Ordering::Relaxed) {
            break;
        }
        let violates = violates(goal, &report, requests);
        if violates && before {
            return Verdict::Violating;
        }
        before = violates;
        let is_last = 2 * requests > most;
        let errors = if is_last { CONFIDENCE_95 } else { TWO_SIGMA };
        let within = |(of, most): &(Share, f64)| of.mean + errors * of.error <= *most;
        if requests >= least && judged(goal, &report).iter().all(within) {
            return Verdict::Good;
        }
        if is_last {
            break;
        }
    }
    Verdict::Open
}

/// The run that looks of so many requests are.
pub(in crate::search::serving) fn look_of(
    goal: &LatencyGoal,
    request_overhead: RequestOverhead,
    (requests, seed): (u64, u64),
) -> Run {
    Run {
        seed,
        warm_up: (requests / WARM_UP_PART).max(LEAST_WARM_UP),
        requests,
        doors_close: false,
        request_overhead,
        objectives: Objectives {
            ttft_seconds: goal.ttft,
            tpot_seconds: goal.tpot,
            most_late: None,
        },
    }
}

/// The same arrivals at another rate, or of as many users, where one of so many is taken in turn: its
/// gap is the sum of theirs, and a sum of gamma variates is one of a variation less by the root.
fn at(arrivals: &Arrivals, rate: f64, one_of: f64) -> Arrivals {
    let every = |cv: f64| Arrivals::Gamma {
        per_second: rate,
        cv: cv / one_of.sqrt(),
    };
    match *arrivals {
        Arrivals::Closed {
            think_seconds,
            start,
            ..
        } => Arrivals::Closed {
            users: whole(rate),
            think_seconds,
            start,
        },
        Arrivals::Gamma { cv, .. } => every(cv),
        // The gaps of a Poisson process vary as much as they are long.
        Arrivals::Poisson { .. } | Arrivals::Trace { .. } if one_of > 1.0 => every(1.0),
        Arrivals::Poisson { .. } | Arrivals::Trace { .. } => Arrivals::Poisson { per_second: rate },
    }
}

#[cfg(test)]
mod tests {
    use super::{
        FINAL_OF_REPLICA, FINAL_REQUESTS, HURRIED_REQUESTS, Judge, LatencyGoal, LoadReport,
        POPULATIONS, StepTime, Verdict, at,
    };
    use crate::catalog::RequestOverhead;
    use crate::course::Course;
    use crate::load::{
        Arrivals, EngineOptions, Lengths, Load, Sessions, Sizes, Start, Statistic, Think,
    };
    use crate::serving::engine::{
        AffineStep, EngineLimits, Objectives, Pool, Random, Run, StepSeconds, StepWork, Traffic,
        simulate,
    };
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

    /// Prompts of a second on average, or as much of it as ten thousand tokens.
    const STEP: AffineStep = AffineStep {
        fixed: 0.0,
        per_prefill_token: 1e-4,
        per_prefill_token_context: 0.0,
        per_sequence: 0.0,
        per_cached_token: 0.0,
        stages: 1.0,
    };

    /// Prompts whose first token is the answer.
    fn read(arrivals: Arrivals, prompt: Lengths) -> Load {
        Load {
            arrivals,
            sizes: Sizes::Independent {
                prompt,
                output: Lengths::Fixed { tokens: 1 },
            },
            prefix_hit_rate: 0.0,
            sessions: None,
        }
    }

    /// The time to the first token at p95 of servers that take a second on average.
    fn p95(replicas: u32, arrivals: Arrivals) -> f64 {
        let limits = EngineLimits {
            max_sequences: 1,
            ..EngineLimits::default()
        };
        let load = read(arrivals, Lengths::Exponential { mean: 1e4 });
        let run = Run {
            seed: 1,
            warm_up: 10_000,
            requests: 200_000,
            doors_close: false,
            request_overhead: RequestOverhead::default(),
            objectives: Objectives::default(),
        };
        let pool = Pool {
            replicas,
            limits,
            step: &STEP,
        };
        simulate(&pool, &load, run, &AtomicBool::new(false))
            .ttft_seconds
            .p95
    }

    #[test]
    fn one_that_gets_every_fourth_request_waits_as_four_do_that_get_them_in_turn() {
        let of_all = Arrivals::Poisson { per_second: 2.8 };
        let together = p95(4, of_all.clone());
        let one = p95(1, at(&of_all, 0.7, 4.0));
        assert!((one / together - 1.0).abs() < 0.03, "{one} for {together}");
        let by_chance = p95(1, at(&of_all, 0.7, 1.0));
        assert!(by_chance > 1.2 * together, "{by_chance} for {together}");
    }

    /// Who carries seven of `in_all` requests gets one whenever its share of what came is a whole more.
    #[test]
    fn one_beside_others_that_carry_more_or_less_waits_as_where_turns_go_by_weight() {
        for in_all in [11_u32, 25] {
            let one_of = f64::from(in_all) / 7.0;
            let of_all = Arrivals::Poisson {
                per_second: 0.7 * one_of,
            };
            let mut draws = Random::new(5, 0);
            let (mut now, mut turns, mut seconds) = (0.0, 0, Vec::new());
            while seconds.len() < 210_000 {
                now -= (1.0 - draws.uniform()).ln() / (0.7 * one_of);
                turns += 7;
                if turns >= in_all {
                    turns -= in_all;
                    seconds.push(now);
                }
            }
            let weighted = p95(1, Arrivals::Trace { seconds });
            let one = p95(1, at(&of_all, 0.7, one_of));
            let off = (one / weighted - 1.0).abs();
            assert!(off < 0.06, "{one} for {weighted}, {in_all}");
        }
    }

    /// Of whom 95 % get their first token within a second.
    fn goal(load: &Load) -> LatencyGoal {
        LatencyGoal {
            at: Statistic::Percentile(0.95),
            ttft: Some(1.0),
            tpot: None,
            traffic: Traffic::of(load),
            long_prompt: None,
            output: 1.0,
            at_random: true,
            asked: 10.0,
            arrival_cv: None,
            engine: EngineOptions::default(),
        }
    }

    fn judge<'j>(load: &'j Load, goal: &'j LatencyGoal, course: &'j Course) -> Judge<'j> {
        Judge {
            load,
            goal,
            overhead: RequestOverhead::default(),
            is_brief: false,
            course,
            requests: AtomicU64::new(0),
        }
    }

    #[test]
    fn each_of_many_replicas_has_enough_requests_in_the_final_run() {
        let arrivals = Arrivals::Poisson { per_second: 1.0 };
        let load = read(arrivals, Lengths::Fixed { tokens: 10 });
        let (goal, course) = (goal(&load), Course::default());
        let judge = judge(&load, &goal, &course);
        for replicas in [1_u32, 8, 20] {
            judge.requests.store(0, Ordering::Relaxed);
            let limits = EngineLimits::default();
            let (verdict, _) = judge.last(&STEP, limits, (replicas, 0.5), 1e3);
            assert_eq!(verdict, Verdict::Good);
            let [short, _] = FINAL_REQUESTS;
            let least = short.max(FINAL_OF_REPLICA * u64::from(replicas));
            assert_eq!(judge.requests.load(Ordering::Relaxed), least);
        }
    }

    /// Steps with the first of which the clock ends.
    struct EndsClock<'c>(&'c Course);

    impl StepTime for EndsClock<'_> {
        fn seconds(&self, work: &StepWork) -> StepSeconds {
            self.0.end();
            STEP.seconds(work)
        }
    }

    #[test]
    fn a_long_final_run_that_the_clock_cuts_is_made_again_in_a_hurry() {
        let arrivals = Arrivals::Poisson { per_second: 1.0 };
        let load = read(arrivals, Lengths::Fixed { tokens: 10 });
        for (replicas, is_cut) in [(1, false), (20, true)] {
            let (goal, course) = (goal(&load), Course::default());
            let judge = judge(&load, &goal, &course);
            let (steps, limits) = (EndsClock(&course), EngineLimits::default());
            let (verdict, report) = judge.last(&steps, limits, (replicas, 0.5), 1e3);
            assert_eq!((verdict, report.interrupted), (Verdict::Good, false));
            let [short, _] = FINAL_REQUESTS;
            let first = short.max(FINAL_OF_REPLICA * u64::from(replicas));
            let asked = judge.requests.load(Ordering::Relaxed);
            let again = if is_cut { HURRIED_REQUESTS } else { 0 };
            assert!(
                asked >= first + again && (asked > first) == is_cut,
                "{asked}"
            );
        }
    }

    #[test]
    fn sessions_that_think_need_no_requests_to_be_told() {
        let fixed = |tokens| Lengths::Fixed { tokens };
        let sessions = Sessions {
            shared: 0,
            groups: 1,
            first: fixed(10),
            grow: fixed(10),
            output: fixed(1),
            turns: fixed(10),
            think: vec![Think {
                share: 1.0,
                mean_seconds: 99.0,
                cv: 0.0,
            }],
            longest_think_seconds: 1e3,
            max_context: 1_000_000,
        };
        let closed = Arrivals::Closed {
            users: 10_000,
            think_seconds: 0.0,
            start: Start::Spread,
        };
        let talking = Load {
            sessions: Some(sessions),
            ..read(closed.clone(), fixed(10))
        };
        let waiting = read(closed, fixed(10));
        let course = Course::default();
        let mut report = LoadReport::default();
        report.ttft_seconds.mean = 1.0;
        let enough = |load: &Load| {
            let goal = goal(load);
            judge(load, &goal, &course).enough(&report, 1e4, f64::INFINITY)
        };
        // One in a hundred seconds is spent inside.
        let (inside, all) = (enough(&talking), enough(&waiting));
        assert!(
            (inside / (POPULATIONS * 1e2) - 1.0).abs() < 0.01,
            "{inside}"
        );
        assert!((all / (POPULATIONS * 1e4) - 1.0).abs() < 1e-9, "{all}");
    }
}
