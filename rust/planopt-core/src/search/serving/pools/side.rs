//! One pool's part: the layouts that do it, and the rate of requests that each carries in time.

use super::found::PoolsRequest;
use crate::catalog::RequestOverhead;
use crate::hardware::{Fabric, Rates, System};
use crate::load::Arrivals;
use crate::parallel::{Layout, Placement};
use crate::quantity::Bytes;
use crate::search::serving::divisions::Divisions;
use crate::search::serving::goal::LatencyGoal;
use crate::search::serving::in_time::largest_in_time;
use crate::search::serving::latency::{LEAST_LOAD, Most, engine, in_time, whole};
use crate::search::serving::layouts::placed;
use crate::serving::engine::Estimator;
use crate::serving::{Prepared, Replica, prompt_cache};
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

impl Pool {
    /// What of the promises it has to keep, for its part of each request.
    pub(super) fn goal(self, goal: &LatencyGoal) -> LatencyGoal {
        match self {
            Self::Prefill => LatencyGoal {
                tpot: None,
                traffic: goal.traffic.of_first_tokens(),
                output: 1.0,
                ..*goal
            },
            Self::Decode => LatencyGoal {
                ttft: None,
                traffic: goal.traffic.of_read_prompts(),
                ..*goal
            },
        }
    }
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

/// What a replica of a layout does not exceed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bound {
    /// Requests per second.
    pub(super) rate: f64,
    /// The same of a replica that gets all that comes: of several each gets them in turn, at gaps that
    /// vary less than those between independent requests.
    pub(super) of_one: f64,
    pub(super) layout: Layout,
    pub(super) placement: Placement,
}

impl Bound {
    fn by_accelerator(&self) -> f64 {
        self.of_one / f64::from(self.placement.accelerators())
    }

    /// Accelerators and hosts.
    pub(super) fn size(&self) -> (u32, u32) {
        (self.placement.accelerators(), self.placement.hosts)
    }
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
    pub(super) divisions: &'g Divisions<'g>,
    pub(super) system: System<'a>,
    pub(super) prepared: &'g Prepared,
}

impl<'a> PoolContext<'_, 'a> {
    /// What no replica of a layout exceeds; of those that could carry most by accelerator first.
    pub(super) fn bounds(&self, pool: Pool) -> Vec<Bound> {
        let request = self.request;
        let fabric = self.system.fabric(request.assumptions);
        let own = pool.goal(request.goal);
        let goal = LatencyGoal {
            at_random: false,
            ..own
        };
        let layouts = self.divisions.layouts().par_iter();
        let mut bounds: Vec<Bound> = layouts
            .filter_map(|&layout| {
                let placement = placed(layout, &self.system, request.question)?;
                if !request.affords(&self.system, placement.accelerators()) {
                    return None;
                }
                let replica = self.replica(layout, placement, &fabric)?;
                let is_late = |most| replica.prefill().seconds.0 > most;
                if goal.ttft.is_some_and(is_late) {
                    return None;
                }
                let most = Most::of(&replica, &goal, layout.pp, request.assumptions)?;
                let rate = most.tokens_per_second / goal.output;
                let in_time = in_time(&replica, &own, layout.pp, request.assumptions);
                (rate > 0.0).then_some(Bound {
                    rate,
                    of_one: rate.min(in_time),
                    layout,
                    placement,
                })
            })
            .collect();
        bounds.sort_by(|one, other| {
            let by_accelerator = other.by_accelerator().total_cmp(&one.by_accelerator());
            by_accelerator.then(one.layout.cmp(&other.layout))
        });
        bounds
    }

    /// The layouts worth asking about for one pool.
    pub(super) fn sides(&self, pool: Pool, bounds: &[Bound]) -> Vec<Side<'a>> {
        let request = self.request;
        let mut sizes = BTreeSet::new();
        let first_of_size = |bound: &&Bound| sizes.insert(bound.size());
        let some = bounds.iter().filter(first_of_size).take(MOST_SIZES);
        let some: Vec<&Bound> = some.collect();
        some.into_par_iter()
            .filter_map(|bound| {
                let mut side = self.of_bound(pool, bound)?;
                if pool == Pool::Decode {
                    let goal = request.goal;
                    side.bound = side.rate(|side, rate| side.answers_in_time(rate, goal));
                }
                (side.bound > 0.0).then_some(side)
            })
            .collect()
    }

    /// A layout of which a rate is known, as one of a pool.
    pub(super) fn of_bound(&self, pool: Pool, bound: &Bound) -> Option<Side<'a>> {
        let fabric = self.system.fabric(self.request.assumptions);
        let replica = self.replica(bound.layout, bound.placement, &fabric)?;
        Some(self.side(&replica, bound, pool))
    }

    /// What is sent of a prompt; none where the accelerator does not compute in the format.
    pub(super) fn cache(&self) -> Option<Bytes> {
        let PoolsRequest {
            transformer,
            question,
            assumptions,
            ..
        } = *self.request;
        let formats = question.formats;
        let rates = Rates::of(self.system.accelerator, formats.weights, assumptions)?;
        let page = assumptions.memory.page_tokens;
        Some(prompt_cache(
            transformer,
            formats,
            &rates,
            question.prompt,
            page,
        ))
    }

    pub(super) fn replica<'r>(
        &'r self,
        layout: Layout,
        placement: Placement,
        fabric: &'r Fabric,
    ) -> Option<Replica<'r>> {
        let accelerator = self.system.accelerator;
        self.divisions
            .replica(layout, placement, self.prepared, fabric, accelerator)
    }

    fn side(&self, replica: &Replica, bound: &Bound, pool: Pool) -> Side<'a> {
        let PoolsRequest {
            goal, assumptions, ..
        } = self.request;
        let Bound {
            of_one,
            layout,
            placement,
            ..
        } = *bound;
        let (steps, limits) = engine(replica, goal, layout.pp, assumptions);
        let overhead = match pool {
            Pool::Prefill => assumptions
                .engine
                .map_or_else(Default::default, |engine| engine.request),
            Pool::Decode => RequestOverhead::default(),
        };
        let traffic = pool.goal(goal).traffic;
        Side {
            system: self.system,
            layout,
            placement,
            estimator: Estimator::new(&steps, limits, traffic, overhead),
            micro_batches: f64::from(limits.micro_batches),
            bound: of_one,
        }
    }
}
