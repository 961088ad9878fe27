//! Whether runs refuse two pools: what their bound lets pass, and a simulation does not.
//!
//! A pool that does not keep its own promise in the kindest company keeps it in none:
//!
//! * Where requests come of their own accord nothing behind a pool that reads reaches it. Its first
//!   tokens are those of a run of it alone, and reach the user no earlier once caches go across.
//! * What reaches a pool that answers are the departures of the other one. Of all arrivals at one rate
//!   those at even gaps wait least (Hajek 1983, *The proof of a folk theorem on queuing delay*).
//! * Users who wait for their answers come back the later the longer they wait elsewhere, and the later
//!   they come the less waits (as in every closed queue: Reiser and Lavenberg 1980). A company that just
//!   keeps its own promise is the kindest.
//!
//! What passes is run with each other, as it would be bought.

use super::found::PoolsRequest;
use super::side::Pool;
use crate::catalog::RequestOverhead;
use crate::load::{Arrivals, Lengths, Load, Sizes};
use crate::search::serving::goal::LatencyGoal;
use crate::search::serving::latency::{BEYOND, engine};
use crate::search::serving::settle::{Verdict, look_of, shown};
use crate::serving::Replica;
use crate::serving::engine::{
    AffineStep, EngineLimits, LoadReport, Pool as Engines, Remembered, ReplicaSteps, Run,
    StepSeconds, StepTable, StepTime, StepWork, Transfer, simulate, simulate_disaggregated,
};

/// How even gaps vary.
const EVEN: f64 = 0.01;

/// Seconds of a step of a pool that is no hindrance.
const NO_TIME: f64 = 1e-9;

/// Steps of replicas, as they are simulated.
pub(super) enum Steps<'s, 'r> {
    /// Tabulated once.
    Table(Box<StepTable>),
    /// Groups of attention, whose steps depend on too much to tabulate.
    Each(Remembered<'s, ReplicaSteps<'r, 'r>>),
}

impl StepTime for Steps<'_, '_> {
    fn seconds(&self, work: &StepWork) -> StepSeconds {
        match self {
            Self::Table(table) => table.seconds(work),
            Self::Each(steps) => steps.seconds(work),
        }
    }
}

/// Runs of the load of a request on replicas of two pools.
pub(super) struct Runs<'r> {
    request: &'r PoolsRequest<'r>,
    /// What arrives at both together.
    load: Load,
    /// Whether users wait for their answers.
    is_closed: bool,
}

impl<'r> Runs<'r> {
    /// None of a load that is not repeated.
    pub(super) fn of(request: &'r PoolsRequest<'r>) -> Option<Self> {
        let per_second = request.demand.requests_per_second;
        let arrivals = match &request.load.arrivals {
            Arrivals::Trace { .. } => return None,
            Arrivals::Gamma { cv, .. } => Arrivals::Gamma {
                per_second,
                cv: *cv,
            },
            Arrivals::Closed { .. } if per_second <= 0.0 => request.load.arrivals.clone(),
            Arrivals::Closed { .. } | Arrivals::Poisson { .. } => Arrivals::Poisson { per_second },
        };
        Some(Self {
            request,
            is_closed: matches!(arrivals, Arrivals::Closed { .. }),
            load: Load {
                arrivals,
                ..request.load.clone()
            },
        })
    }

    /// Does something with so many replicas of a pool.
    pub(super) fn with<R>(
        &self,
        pool: Pool,
        (replica, in_flight): (&Replica, u32),
        replicas: u32,
        does: impl FnOnce(&Engines<'_, Steps<'_, '_>>) -> R,
    ) -> R {
        let (goal, assumptions) = (self.request.goal, self.request.assumptions);
        let (steps, limits) = engine(replica, goal, in_flight, assumptions);
        let step = if replica.attention_groups() > 1 {
            Steps::Each(Remembered::of(&steps))
        } else {
            let table = StepTable::new(&steps, &limits, &pool.goal(goal).traffic);
            Steps::Table(Box::new(table))
        };
        does(&Engines {
            replicas,
            limits,
            step: &step,
        })
    }

    /// Whether a pool does not keep its promise, whatever the other one is.
    pub(super) fn refuse(&self, pool: Pool, engines: &Engines<'_, Steps<'_, '_>>) -> bool {
        let goal = pool.goal(self.request.goal);
        let no_way = Transfer::default();
        match (pool, self.is_closed) {
            (Pool::Prefill, false) => {
                let load = Load {
                    sizes: first_tokens(&self.load.sizes),
                    ..self.load.clone()
                };
                self.brief(&goal, |run| {
                    simulate(engines, &load, run, self.request.stop)
                })
            }
            (Pool::Decode, false) => {
                let of_one = self.load.arrivals.asked() / f64::from(engines.replicas);
                let load = Load {
                    arrivals: Arrivals::Gamma {
                        per_second: of_one,
                        cv: EVEN,
                    },
                    ..self.load.clone()
                };
                let one = Engines {
                    replicas: 1,
                    limits: engines.limits,
                    step: engines.step,
                };
                self.brief(&goal, |run| {
                    self.tandem(&no_hindrance(&at_once()), no_way, &one, &load, run)
                })
            }
            (Pool::Prefill, true) => self.request.goal.tpot.is_some_and(|tpot| {
                let step = AffineStep {
                    fixed: BEYOND * tpot,
                    ..AffineStep::default()
                };
                self.brief(&goal, |run| {
                    self.tandem(engines, no_way, &no_hindrance(&step), &self.load, run)
                })
            }),
            (Pool::Decode, true) => self.request.goal.ttft.is_some_and(|ttft| {
                let way = Transfer {
                    latency_seconds: BEYOND * ttft,
                    ..no_way
                };
                self.brief(&goal, |run| {
                    self.tandem(&no_hindrance(&at_once()), way, engines, &self.load, run)
                })
            }),
        }
    }

    /// What runs show of two pools together.
    pub(super) fn of_both(
        &self,
        prefill: &Engines<'_, Steps<'_, '_>>,
        way: Transfer,
        decode: &Engines<'_, Steps<'_, '_>>,
    ) -> Verdict {
        self.shown(self.request.goal, false, |run| {
            self.tandem(prefill, way, decode, &self.load, run)
        })
    }

    /// Whether brief runs refuse a promise.
    fn brief(&self, goal: &LatencyGoal, run: impl Fn(Run) -> LoadReport) -> bool {
        self.shown(goal, true, run) == Verdict::Violating
    }

    fn shown(
        &self,
        goal: &LatencyGoal,
        is_brief: bool,
        run: impl Fn(Run) -> LoadReport,
    ) -> Verdict {
        // It is a part of the time to the first token alone.
        let engine = self
            .request
            .assumptions
            .engine
            .filter(|_| goal.ttft.is_some());
        let overhead = engine.map_or_else(RequestOverhead::default, |engine| engine.request);
        shown(goal, self.request.stop, is_brief, |requests, seed| {
            run(look_of(goal, overhead, (requests, seed)))
        })
    }

    fn tandem<P: StepTime, D: StepTime>(
        &self,
        prefill: &Engines<'_, P>,
        way: Transfer,
        decode: &Engines<'_, D>,
        load: &Load,
        run: Run,
    ) -> LoadReport {
        simulate_disaggregated(prefill, way, decode, load, run, self.request.stop)
    }
}

/// The same requests with one token of an answer.
fn first_tokens(sizes: &Sizes) -> Sizes {
    match sizes {
        Sizes::Independent { prompt, .. } => Sizes::Independent {
            prompt: prompt.clone(),
            output: Lengths::Fixed { tokens: 1 },
        },
        Sizes::Pairs { prompt, hashed, .. } => Sizes::Pairs {
            prompt: prompt.clone(),
            output: vec![1; prompt.len()],
            hashed: hashed.clone(),
        },
    }
}

fn at_once() -> AffineStep {
    AffineStep {
        fixed: NO_TIME,
        ..AffineStep::default()
    }
}

/// A pool without limits.
fn no_hindrance(step: &AffineStep) -> Engines<'_, AffineStep> {
    Engines {
        replicas: 1,
        limits: EngineLimits::default(),
        step,
    }
}
