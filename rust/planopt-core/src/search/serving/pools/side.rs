//! One pool's part: the layouts that do it, and the rate of requests that each carries in time.

use super::found::PoolsRequest;
use crate::catalog::RequestOverhead;
use crate::compute::Step;
use crate::hardware::{Fabric, System};
use crate::load::Arrivals;
use crate::parallel::{Batching, Layout, Placement, Stage, stages};
use crate::search::serving::batch;
use crate::search::serving::goal::LatencyGoal;
use crate::search::serving::in_time::largest_in_time;
use crate::search::serving::latency::{LEAST_LOAD, whole};
use crate::search::serving::layouts::placed;
use crate::serving::engine::{Estimator, ReplicaSteps, Traffic, limits};
use crate::serving::{Prepared, Replica};
use rayon::prelude::*;
use std::collections::BTreeSet;

/// What a pool does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pool {
    /// Reads prompts and puts out the first token of each answer.
    Prefill,
    /// Puts out the others.
    Decode,
}

/// A layout of one pool's replicas, ready to be asked about any rate of requests.
#[derive(Clone, Debug)]
pub(super) struct Side<'a> {
    pub(super) system: System<'a>,
    pub(super) layout: Layout,
    pub(super) placement: Placement,
    pub(super) estimator: Estimator,
    /// Micro-batches under way in it.
    pub(super) micro_batches: f64,
    /// Requests per second that no replica exceeds; of one that answers, those it answers in time.
    pub(super) bound: f64,
}

/// Sizes of replicas that are asked about in full.
const MOST_SIZES: usize = 8;

impl Side<'_> {
    pub(super) fn accelerators(&self) -> u32 {
        self.placement.accelerators()
    }

    /// Sequences of a micro-batch that decode at a rate of requests.
    pub(super) fn batch(&self, per_second: f64) -> u32 {
        let decoding = self.estimator.at(&poisson(per_second), 1.0).decoding;
        whole((decoding / self.micro_batches).ceil())
    }

    /// The highest rate of requests at which `in_time` holds of what the closed form says; none
    /// where that is next to none.
    pub(super) fn rate(&self, in_time: impl Fn(&Self, f64) -> bool) -> f64 {
        if in_time(self, self.bound) {
            return self.bound;
        }
        let least = LEAST_LOAD * self.bound;
        largest_in_time(0.0, self.bound, least, false, |rate| in_time(self, rate))
    }

    /// Whether prompts are read so fast that, with `after` seconds more, they are in time.
    pub(super) fn reads_in_time(&self, rate: f64, goal: &LatencyGoal, after: f64) -> bool {
        let estimate = self.estimator.at(&poisson(rate), 1.0);
        let in_time = |most| goal.ttft_of(&estimate) + after <= most;
        !estimate.is_overloaded && goal.ttft.is_none_or(in_time)
    }

    /// Whether tokens come in time, what a request waits for before its second one included.
    pub(super) fn answers_in_time(&self, rate: f64, goal: &LatencyGoal) -> bool {
        let estimate = self.estimator.at(&poisson(rate), 1.0);
        let behind = (goal.output - 1.0).max(1.0);
        let in_time = |most| {
            let waits = goal.ttft_of(&estimate) / behind;
            goal.tpot_of(&estimate) + waits <= most
        };
        !estimate.is_overloaded && goal.tpot.is_none_or(in_time)
    }
}

pub(super) fn poisson(per_second: f64) -> Arrivals {
    Arrivals::Poisson { per_second }
}

/// A model on one kind of hardware, with or without a network between its hosts.
pub(super) struct PoolContext<'g, 'a> {
    pub(super) request: &'g PoolsRequest<'g>,
    pub(super) layouts: &'g [Layout],
    pub(super) system: System<'a>,
    pub(super) prepared: &'g Prepared,
}

impl<'a> PoolContext<'_, 'a> {
    /// The layouts worth asking about for one pool.
    pub(super) fn sides(&self, pool: Pool) -> Vec<Side<'a>> {
        let request = self.request;
        let fabric = self.system.fabric(request.assumptions);
        let longest = self.layouts.iter().map(|layout| layout.pp).max();
        let stages = stages(request.transformer, longest.unwrap_or(1));
        let mut bounds: Vec<(f64, Layout, Placement)> = self
            .layouts
            .par_iter()
            .filter_map(|&layout| {
                let placement = placed(layout, &self.system, request.question)?;
                if !request.affords(&self.system, placement.accelerators()) {
                    return None;
                }
                let replica = self.replica(layout, placement, &fabric, &stages)?;
                let bound = self.bound(&replica, layout, pool)?;
                Some((bound, layout, placement))
            })
            .collect();
        // Those that could carry most by accelerator, one of each size.
        let by_accelerator = |(bound, _, placement): &(f64, Layout, Placement)| {
            bound / f64::from(placement.accelerators())
        };
        bounds.sort_by(|one, other| {
            by_accelerator(other)
                .total_cmp(&by_accelerator(one))
                .then(one.1.cmp(&other.1))
        });
        let mut sizes = BTreeSet::new();
        bounds.retain(|(.., placement)| sizes.insert((placement.accelerators(), placement.hosts)));
        bounds.truncate(MOST_SIZES);
        bounds
            .into_par_iter()
            .filter_map(|(bound, layout, placement)| {
                let replica = self.replica(layout, placement, &fabric, &stages)?;
                let mut side = self.side(&replica, layout, placement, bound, pool);
                if pool == Pool::Decode {
                    let goal = self.request.goal;
                    side.bound = side.rate(|side, rate| side.answers_in_time(rate, goal));
                }
                (side.bound > 0.0).then_some(side)
            })
            .collect()
    }

    fn replica<'r>(
        &'r self,
        layout: Layout,
        placement: Placement,
        fabric: &'r Fabric,
        stages: &'r [Vec<Stage>],
    ) -> Option<Replica<'r>> {
        Some(Replica::new(
            self.prepared.rank(layout.degrees())?,
            stages.get(layout.pp as usize - 1)?,
            fabric,
            placement,
            self.request.question,
            self.system.accelerator,
            self.request.assumptions,
        ))
    }

    /// Requests per second that a replica cannot exceed; nothing if it is too slow for one alone.
    fn bound(&self, replica: &Replica, layout: Layout, pool: Pool) -> Option<f64> {
        let (goal, question) = (self.request.goal, self.request.question);
        let in_flight = layout.pp;
        let fits = |batch| replica.memory(Batching { batch, in_flight }).fits();
        if !fits(1) {
            return None;
        }
        match pool {
            Pool::Prefill => {
                let alone = replica.prefill().seconds.0;
                if goal.ttft.is_some_and(|most| alone > most) {
                    return None;
                }
                let prompt = goal.traffic.mean_prompt();
                let budget = f64::from(self.request.assumptions.memory.workspace_tokens).max(1.0);
                let budget = budget * f64::from(layout.cp);
                let full = Step {
                    prompts: (budget / prompt).max(1.0),
                    chunk: prompt.min(budget),
                    ..Step::default()
                };
                let (_, interval) = replica.micro_batch(full, f64::from(in_flight));
                Some(full.tokens() / prompt / interval.0)
            }
            Pool::Decode => {
                let context = goal.traffic.usual_context();
                let tpot = |batch: u32| {
                    let step = Step::decode(f64::from(batch), context);
                    let seconds = replica.step_seconds(step, f64::from(in_flight));
                    seconds.0 * question.overlap.resident()
                };
                let in_time = |batch| goal.tpot.is_none_or(|most| tpot(batch) <= most);
                if !in_time(1) {
                    return None;
                }
                let batch = batch::largest(1, |batch| fits(batch) && in_time(batch));
                let users = Batching { batch, in_flight }.users(question.overlap);
                let behind = (goal.output - 1.0).max(1.0);
                #[expect(clippy::cast_precision_loss, reason = "users stay below 2^53")]
                Some(users as f64 / (tpot(batch) * behind))
            }
        }
    }

    fn side(
        &self,
        replica: &Replica,
        layout: Layout,
        placement: Placement,
        bound: f64,
        pool: Pool,
    ) -> Side<'a> {
        let PoolsRequest {
            goal,
            question,
            assumptions,
            ..
        } = self.request;
        let in_flight = layout.pp;
        let limits = limits(
            &goal.engine,
            replica,
            in_flight,
            question.overlap,
            assumptions,
        );
        let traffic: Traffic = match pool {
            Pool::Prefill => goal.traffic.of_first_tokens(),
            Pool::Decode => goal.traffic.of_read_prompts(),
        };
        let overhead = match pool {
            Pool::Prefill => assumptions
                .engine
                .map_or_else(Default::default, |engine| engine.request),
            Pool::Decode => RequestOverhead::default(),
        };
        let steps = ReplicaSteps { replica, in_flight };
        Side {
            system: self.system,
            layout,
            placement,
            estimator: Estimator::new(&steps, limits, traffic, overhead),
            micro_batches: f64::from(limits.micro_batches),
            bound,
        }
    }
}
