//! Layouts judged by percentiles of their latencies under a load, by the closed form.

use super::batch::{Count, Miss, largest, room};
use super::goal::{Goal, LatencyGoal};
use super::in_time::largest_in_time;
use crate::catalog::Assumptions;
use crate::compute::Step;
use crate::load::{Arrivals, Start, Statistic};
use crate::parallel::Batching;
use crate::quantity::real;
use crate::serving::Replica;
use crate::serving::engine::{
    EngineLimits, Estimate, Estimator, Keeping, ReplicaSteps, StepTime, StepWork, Traffic, Turns,
    alone_in_time, limits, most_at_all, most_in_time, most_per_second,
};

/// What a layout supplies within its latencies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Supply {
    pub(crate) batch: u32,
    /// Sessions of one replica, most of which think; else its users are those whom it answers.
    pub(crate) sessions: Option<u32>,
    /// Tokens per second of one replica.
    pub(crate) tokens_per_second: f64,
    /// Inverse of the time per output token that was judged.
    pub(crate) tokens_per_second_per_user: f64,
}

impl Supply {
    /// What a batch supplies in steady steps at full context.
    pub(crate) fn at_full_context(replica: &Replica, batch: u32, in_flight: u32) -> Self {
        let decode = replica.decode(Batching { batch, in_flight });
        Self {
            batch,
            sessions: None,
            tokens_per_second: decode.tokens_per_second,
            tokens_per_second_per_user: decode.tokens_per_second_per_user,
        }
    }
}

/// Of the requests that a replica could serve one after the other, the share that it must be able to
/// carry to be a unit. One that is in time only while next to nobody asks, idle for all but a
/// ten-thousandth of its time, supplies nothing: its rate would be whatever number above zero the
/// search ends at, and a purchase of as many such units as a load needs is none.
pub(super) const LEAST_LOAD: f64 = 1e-4;

/// Room above the fluid bound, which is a law of means. In the study that it comes from none of 1,715
/// layouts kept a 95th percentile at more than 1.009 of it; 60 engines of `tests/queueing` are held to
/// it.
pub(super) const BEYOND: f64 = 1.05;

/// The same above a time per token that half of the requests may exceed: of 700 engines with the median
/// that they have themselves, one in time at 1.09 of the bound.
const BEYOND_MEDIAN: f64 = 1.25;

/// What a replica cannot supply more than, whatever the closed form says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Most {
    /// Batches that fit in memory.
    pub(crate) capacity: u32,
    /// Sequences of a micro-batch; of sessions, those that think too.
    pub(crate) batch: u32,
    /// Micro-batches under way.
    pub(crate) micro_batches: f64,
    /// Tokens per second.
    pub(crate) tokens_per_second: f64,
}

impl Most {
    /// The same found by two steps alone, and looser: prompts are read at the best speed, or as many
    /// decode as there is room for, whatever a token then takes. It says where to look first.
    pub(crate) fn roughly(
        replica: &Replica,
        latency: &LatencyGoal,
        in_flight: u32,
        assumptions: &Assumptions,
    ) -> Option<Self> {
        let capacity = capacity(replica, in_flight)?;
        let (steps, limits) = engine(replica, latency, in_flight, assumptions);
        let fluid = most_at_all(&steps, &limits, &latency.traffic);
        let rate = BEYOND_MEDIAN * fluid;
        let micro_batches = f64::from(limits.micro_batches);
        let behind = (latency.output - 1.0).max(0.0);
        let within = latency.ttft.zip(latency.tpot);
        let inside = within.map_or(f64::INFINITY, |(ttft, tpot)| {
            BEYOND_MEDIAN * rate * (ttft + behind * tpot) / micro_batches
        });
        let batch = match latency.traffic.turns() {
            None => whole(inside.ceil()).min(capacity),
            Some(turns) => whole((inside + rate * turns.think_seconds / micro_batches).ceil()),
        };
        Some(Self {
            capacity,
            batch,
            micro_batches,
            tokens_per_second: rate * latency.output,
        })
    }

    /// Of a replica that serves somebody in time: those who decode share steps that are no longer
    /// than a token may take, the others wait for their first token, and requests come no faster
    /// than the fluid bound. None of it rests on the closed form.
    pub(crate) fn of(
        replica: &Replica,
        latency: &LatencyGoal,
        in_flight: u32,
        assumptions: &Assumptions,
    ) -> Option<Self> {
        let capacity = capacity(replica, in_flight)?;
        let context = latency.traffic.usual_context();
        let tpot = |batch: u32| {
            let step = Step::decode(f64::from(batch), context);
            let seconds = replica.step_seconds(step, f64::from(in_flight)).0;
            seconds * replica.question().overlap.resident() / BEYOND
        };
        let in_time = |batch| latency.tpot.is_none_or(|most| tpot(batch) <= most);
        if !in_time(1) {
            return None;
        }
        let decoding = largest(1, |batch| batch <= capacity && in_time(batch));
        let (steps, limits) = engine(replica, latency, in_flight, assumptions);
        let tokens_per_second = most_tokens(&steps, &limits, latency);
        let rate = tokens_per_second / latency.output;
        let waiting = latency.ttft.map_or(f64::INFINITY, |ttft| rate * ttft);
        let micro_batches = f64::from(limits.micro_batches);
        let inside = f64::from(decoding) + waiting / micro_batches;
        let batch = match latency.traffic.turns() {
            None => whole(inside).min(capacity),
            // Little's law: who thinks is not in the engine, and comes back no faster than it reads.
            Some(turns) => whole(inside + rate * turns.think_seconds / micro_batches),
        };
        Some(Self {
            capacity,
            batch,
            micro_batches,
            tokens_per_second,
        })
    }
}

/// Batches that fit in memory, if any does.
fn capacity(replica: &Replica, in_flight: u32) -> Option<u32> {
    let fits = |batch| replica.memory(Batching { batch, in_flight }).fits();
    fits(1).then(|| largest(1, fits))
}

/// A replica as the engine that is asked for.
pub(super) fn engine<'r, 'a>(
    replica: &'r Replica<'a>,
    latency: &LatencyGoal,
    in_flight: u32,
    assumptions: &Assumptions,
) -> (ReplicaSteps<'r, 'a>, EngineLimits) {
    let overlap = replica.question().overlap;
    let limits = limits(&latency.engine, replica, in_flight, overlap, assumptions);
    (ReplicaSteps { replica, in_flight }, limits)
}

/// Tokens per second that no engine exceeds in the long run, nor with first tokens in time.
fn most_tokens(steps: &ReplicaSteps, limits: &EngineLimits, latency: &LatencyGoal) -> f64 {
    let room = if latency.at.may_be_below_mean() {
        BEYOND_MEDIAN
    } else {
        BEYOND
    };
    let tpot = latency.tpot.map(|most| room * most);
    let stable = most_per_second(steps, limits, &latency.traffic, tpot);
    let in_time = match (latency.ttft, latency.at) {
        (Some(ttft), Statistic::Percentile(share)) if stable > 0.0 => {
            let (traffic, promise) = (&latency.traffic, (BEYOND * ttft, 1.0 - share));
            if latency.is_poisson() {
                // Two that share what comes get requests in turn, not independently of each other.
                match most_in_time(steps, limits, traffic, promise) {
                    by_chance if by_chance > 0.0 || finds(traffic) => {
                        by_chance.max(latency.asked / 2.0)
                    }
                    none => none,
                }
            } else if finds(traffic) || alone_in_time(steps, limits, traffic, promise) {
                f64::INFINITY
            } else {
                0.0
            }
        }
        _ => f64::INFINITY,
    };
    BEYOND * stable.min(in_time) * latency.output
}

/// Requests per second beyond which the first tokens of those that come independently of each other are
/// not in time.
pub(super) fn in_time(
    replica: &Replica,
    latency: &LatencyGoal,
    in_flight: u32,
    assumptions: &Assumptions,
) -> f64 {
    let (steps, limits) = engine(replica, latency, in_flight, assumptions);
    match (latency.ttft, latency.at) {
        (Some(ttft), Statistic::Percentile(share)) if latency.is_poisson() => {
            let promise = (BEYOND * ttft, 1.0 - share);
            BEYOND * most_in_time(&steps, &limits, &latency.traffic, promise)
        }
        _ => f64::INFINITY,
    }
}

/// Whether it is not known beforehand how much of a prompt is read.
fn finds(traffic: &Traffic) -> bool {
    traffic.turns().is_some() || traffic.footprint().is_some()
}

/// The most that a layout supplies within the goal's latencies.
pub(crate) fn supply(
    replica: &Replica,
    goal: &Goal,
    latency: &LatencyGoal,
    in_flight: u32,
    most: Option<Most>,
    assumptions: &Assumptions,
    count: &mut Count,
) -> Result<Supply, Miss> {
    let known = most.map(|most| most.capacity);
    let (smallest, capacity) = room(replica, goal, in_flight, known, count)?;
    let batch = smallest;
    if let Some(miss) = alone(replica, latency, Batching { batch, in_flight }) {
        count.evaluated += 1;
        return Err(miss);
    }
    let (steps, limits) = engine(replica, latency, in_flight, assumptions);
    let overhead = assumptions
        .engine
        .map_or_else(Default::default, |engine| engine.request);
    let micro_batches = f64::from(limits.micro_batches);
    let of_traffic = |traffic| LatencyRequest {
        latency,
        estimator: Estimator::new(&steps, limits, traffic, overhead),
        micro_batches,
    };
    let asked = of_traffic(latency.traffic);
    let kept = real(limits.room());
    let (batch, estimate) = if let Some(turns) = latency.traffic.turns() {
        let batches = (smallest, most.map_or(capacity, |most| most.batch));
        let finding = |hits| of_traffic(latency.traffic.with_hits(hits));
        let keeping = (latency.asked, &limits);
        most_sessions(turns, keeping, finding, batches, count)?
    } else if latency.at_random {
        let tokens = match most {
            Some(most) => most.tokens_per_second,
            None => most_tokens(&steps, &limits, latency),
        };
        let fluid = tokens / latency.output;
        match latency.traffic.footprint() {
            None => asked.most_requests(fluid, capacity, count)?,
            Some(footprint) => {
                // Where the whole trace goes through the caches of as many as carry it.
                let found = |(_, estimate): &(u32, Estimate)| {
                    let replicas = (latency.asked / estimate.requests_per_second).max(1.0);
                    footprint.hit_rate(replicas * kept)
                };
                consistent(footprint.all_hit_rate, found, |hits| {
                    let asked = of_traffic(latency.traffic.with_hits(hits));
                    asked.most_requests(fluid, capacity, count)
                })?
            }
        }
    } else {
        let highest = most.map_or(capacity, |most| most.batch.min(capacity));
        asked.most_users(smallest, highest, count)?
    };
    let users = f64::from(batch) * micro_batches;
    Ok(Supply {
        batch: batch.min(capacity),
        sessions: latency.traffic.turns().map(|_| whole(users)),
        tokens_per_second: estimate.requests_per_second * latency.output,
        tokens_per_second_per_user: 1.0 / latency.tpot_of(&estimate),
    })
}

/// The most sessions that are answered in time: fewer of them find more, and the more is found the more
/// of them are.
fn most_sessions<'s>(
    turns: &Turns,
    (asked, limits): (f64, &EngineLimits),
    finding: impl Fn(f64) -> LatencyRequest<'s>,
    (smallest, highest): (u32, u32),
    count: &mut Count,
) -> Result<(u32, Estimate), Miss> {
    let found = |(batch, estimate): &(u32, Estimate)| {
        let alive = f64::from(*batch) * f64::from(limits.micro_batches);
        let turn = alive / estimate.requests_per_second - turns.think_seconds;
        let replicas = (asked / alive).max(1.0);
        turns.hit_rate(&Keeping::of(
            limits,
            asked.max(alive),
            replicas,
            turn.max(0.0),
        ))
    };
    consistent(turns.all_hit_rate, found, |hits| {
        finding(hits).most_users(smallest, highest, count)
    })
}

/// What is served in time of a load that finds as much of its prompts as it then leaves room for:
/// from `most` of them down.
fn consistent(
    most: f64,
    found: impl Fn(&(u32, Estimate)) -> f64,
    mut served: impl FnMut(f64) -> Result<(u32, Estimate), Miss>,
) -> Result<(u32, Estimate), Miss> {
    let mut hits = most;
    let mut best = served(hits)?;
    for _ in 0..ROUNDS_OF_HITS {
        let found = found(&best);
        if found > hits - CLOSE_HITS {
            break;
        }
        hits = f64::midpoint(hits, found);
        match served(hits) {
            Ok(fewer) => best = fewer,
            Err(_) => break,
        }
    }
    Ok(best)
}

/// How often, at most, what is found is worked out again, and to which share of their prompts.
const ROUNDS_OF_HITS: u32 = 6;
const CLOSE_HITS: f64 = 0.01;

/// By how much a step at full context may be longer than those on the way to it: a sequence is on
/// average half-way through its output.
const FULL_CONTEXT: f64 = 1.2;

/// What is too slow with nobody else in the engine is too slow with others.
pub(super) fn alone(replica: &Replica, latency: &LatencyGoal, batching: Batching) -> Option<Miss> {
    let tpot = replica.decode(batching).tpot_seconds.0;
    if latency.tpot.is_some_and(|most| tpot > FULL_CONTEXT * most) {
        return Some(Miss::Target(1.0 / tpot));
    }
    if let (Some(most), Some((tokens, found))) = (latency.ttft, latency.long_prompt) {
        let cached = f64::from(tokens) * found;
        let read = (f64::from(tokens) - cached).max(1.0);
        let work = StepWork::default().with_chunk(read, cached);
        let in_flight = batching.in_flight;
        let ttft = ReplicaSteps { replica, in_flight }.seconds(&work).latency;
        if ttft > BEYOND * most {
            return Some(Miss::Prefill(ttft));
        }
    }
    let traffic = &latency.traffic;
    if latency.at.may_be_below_mean() || traffic.mean_read() < WHOLE * traffic.mean_prompt() {
        return None;
    }
    let ttft = replica.prefill().seconds.0;
    let is_late = latency.ttft.is_some_and(|most| ttft > most);
    is_late.then_some(Miss::Prefill(ttft))
}

/// Of a prompt, where nothing of it is found in a cache; strata are a millionth off.
const WHOLE: f64 = 0.999;

struct LatencyRequest<'s> {
    latency: &'s LatencyGoal,
    estimator: Estimator,
    micro_batches: f64,
}

impl LatencyRequest<'_> {
    /// The largest batch whose users are all served in time.
    fn most_users(
        &self,
        smallest: u32,
        capacity: u32,
        count: &mut Count,
    ) -> Result<(u32, Estimate), Miss> {
        let turns = self.latency.traffic.turns();
        let users = |batch: f64| Arrivals::Closed {
            users: whole((batch * self.micro_batches).round()),
            think_seconds: turns.map_or(0.0, |turns| turns.think_seconds),
            start: Start::Spread,
        };
        let smallest = f64::from(smallest);
        let mut best = self.judged(&users(smallest), count)?;
        let beyond = f64::from(capacity).max(smallest) + 1.0;
        let batch = largest_in_time(smallest, beyond, 0.0, true, |batch| {
            let found = self.judged(&users(batch), count);
            best = found.unwrap_or(best);
            found.is_ok()
        });
        Ok((whole(batch), best))
    }

    /// The highest rate of arrivals below `most` at which requests are served in time, and the batch
    /// that is then decoding.
    fn most_requests(
        &self,
        most: f64,
        capacity: u32,
        count: &mut Count,
    ) -> Result<(u32, Estimate), Miss> {
        let arrivals = |per_second| match self.latency.arrival_cv {
            Some(cv) => Arrivals::Gamma { per_second, cv },
            None => Arrivals::Poisson { per_second },
        };
        // Next to nobody is as fast as it gets.
        let alone = self.judged(&arrivals(f64::MIN_POSITIVE), count)?;
        let one_by_one = 1.0 / (alone.ttft_mean() + self.latency.output * alone.tpot_mean());
        let mut best = Err(Miss::Prefill(f64::INFINITY));
        largest_in_time(0.0, most, LEAST_LOAD * one_by_one, false, |rate| {
            let found = self.judged(&arrivals(rate), count);
            if found.is_ok() || best.is_err() {
                best = found;
            }
            found.is_ok()
        });
        let best = best?;
        let batch = whole((best.decoding / self.micro_batches).ceil()).clamp(1, capacity);
        Ok((batch, best))
    }

    /// What the closed form says of a load that is served in time, or the latency that is too long.
    fn judged(&self, arrivals: &Arrivals, count: &mut Count) -> Result<Estimate, Miss> {
        count.evaluated += 1;
        let estimate = self.estimator.at(arrivals, 1.0);
        if estimate.is_overloaded {
            return Err(Miss::Prefill(f64::INFINITY));
        }
        if let Some(most) = self.latency.tpot {
            let tpot = self.latency.tpot_of(&estimate);
            if tpot > most {
                return Err(Miss::Target(1.0 / tpot));
            }
        }
        if let Some(most) = self.latency.ttft {
            let ttft = self.latency.ttft_of(&estimate);
            if ttft > most {
                return Err(Miss::Prefill(ttft));
            }
        }
        Ok(estimate)
    }
}

/// The whole part of a count, at least one.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a cast of what is too many gives the most there is"
)]
pub(super) fn whole(count: f64) -> u32 {
    count.max(1.0) as u32
}
