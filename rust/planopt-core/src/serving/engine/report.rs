//! What came of a load: latencies, rates, and how full the engine was.

use super::limits::TIERS;
use super::window::Rates;
use crate::load::Statistic;
use crate::quantity::real;
use serde::Serialize;

/// A latency from request to request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Latency {
    /// Mean, in seconds.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Half of the 95 % confidence interval of the mean over the mean, by batch means.
    pub half_width_mean: f64,
    /// The same of the 95th percentile.
    pub half_width_p95: f64,
}

impl Latency {
    /// What it is in the mean, or by the percentile that is told nearest to one.
    pub fn at(&self, statistic: Statistic) -> f64 {
        let Statistic::Percentile(share) = statistic else {
            return self.mean;
        };
        let told = [
            (0.5, self.p50),
            (0.9, self.p90),
            (0.95, self.p95),
            (0.99, self.p99),
        ];
        let apart = |(at, _): &(f64, f64)| (at - share).abs();
        let nearest = told
            .into_iter()
            .min_by(|one, other| apart(one).total_cmp(&apart(other)));
        nearest.map_or(self.mean, |(_, seconds)| seconds)
    }

    /// Its mean, with the standard error of its batches.
    pub fn of_all(&self) -> Share {
        Share {
            mean: self.mean,
            error: self.half_width_mean * self.mean / STUDENT_T,
        }
    }
}

/// What a user is promised.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Objectives {
    /// Time to the first token, at most.
    pub ttft_seconds: Option<f64>,
    /// Time per output token, at most.
    pub tpot_seconds: Option<f64>,
    /// Share of requests that may break either, where nothing but that is asked: once more have for
    /// certain, the run ends.
    pub most_late: Option<f64>,
}

/// Standard errors by which a share must be below what is allowed: 95 %, one-sided.
pub const CONFIDENCE_95: f64 = 1.645;

/// What a simulated load came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct LoadReport {
    /// From the arrival of a request until its first token is out.
    pub ttft_seconds: Latency,
    /// From the first token of a request until its last, over the tokens behind the first; of
    /// requests that have any.
    pub tpot_seconds: Latency,
    /// Requests that were measured.
    pub requests: u64,
    /// From the arrival of the first of them until that of the last; where nobody comes behind
    /// them, until the last of them is answered.
    pub seconds: f64,
    /// Requests answered per second of that time.
    pub requests_per_second: f64,
    /// Output tokens of these per second.
    pub tokens_per_second: f64,
    /// Shares of the measured requests that broke a promise.
    pub slo_violation: SloViolation,
    /// Share of the measured requests that kept every promise.
    pub goodput_share: f64,
    /// The rate of those that did.
    pub goodput_requests_per_second: f64,
    /// Mean share of the KV cache in use; of the engines that decode.
    pub kv_occupancy: f64,
    /// Sequences that lost their pages and were read again.
    pub preemptions: u64,
    /// Requests that no empty engine could hold.
    pub refused: u64,
    /// Tokens of prompts that were found in the prefix cache, over all tokens of prompts.
    pub hit_rate: f64,
    /// The part of it that was fetched from the memory of hosts, and from their disks.
    pub tier_hit_rates: [f64; TIERS],
    /// Tokens that the busiest replica had to read over those of the mean one, in windows of forty
    /// turns of each.
    pub imbalance: f64,
    /// Sessions that have ended.
    pub sessions_ended: u64,
    /// Whether the simulation was told to stop.
    pub interrupted: bool,
    /// Whether more came than could be served: the line grew all the time, latencies are those of
    /// this run's length, and `requests_per_second` is what can be carried.
    pub overloaded: bool,
}

impl LoadReport {
    /// The same of `all` replicas, of which `some` were run.
    #[must_use]
    pub fn of(self, all: u32, some: u32) -> Self {
        let times = f64::from(all) / f64::from(some);
        Self {
            requests_per_second: times * self.requests_per_second,
            tokens_per_second: times * self.tokens_per_second,
            goodput_requests_per_second: times * self.goodput_requests_per_second,
            ..self
        }
    }
}

/// A mean of requests, such as a share of them, with the standard error of its batches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Share {
    /// Mean.
    pub mean: f64,
    /// Standard error of the mean.
    pub error: f64,
}

/// Shares of requests that broke a promise. Who was refused has broken both; who had one token is
/// not among those that further ones were promised to, as in the percentiles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct SloViolation {
    /// Of the first token.
    pub ttft: Share,
    /// Of the tokens behind it.
    pub tpot: Share,
    /// Of either.
    pub any: Share,
}

/// Latencies of the measured requests, in order of their arrival.
#[derive(Clone, Debug, Default)]
pub(super) struct Measured {
    /// By place among the measured requests; not a number until it is known, and infinite where a
    /// request was refused.
    ttft: Vec<f64>,
    /// The same; not a number, too, where there is one token.
    tpot: Vec<f64>,
    tokens: f64,
    prompts: f64,
    found: f64,
    brought: [f64; TIERS],
    answered: u64,
    refused: u64,
    first_arrival: f64,
    last_answer: f64,
    objectives: Objectives,
    /// How many broke each promise.
    late: [u64; 2],
}

/// One measured request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    pub(super) place: usize,
    pub(super) arrival: f64,
    pub(super) first_token: f64,
    pub(super) end: f64,
    pub(super) output: u32,
    pub(super) prompt: u32,
    /// Tokens of the prompt that were found in the prefix cache.
    pub(super) found: u32,
    /// Of these, tokens that came from each memory behind the engine.
    pub(super) brought: [u32; TIERS],
}

impl Measured {
    pub(super) fn new(requests: usize, objectives: Objectives) -> Self {
        Self {
            objectives,
            ttft: vec![f64::NAN; requests],
            tpot: vec![f64::NAN; requests],
            first_arrival: f64::INFINITY,
            ..Self::default()
        }
    }

    /// Of how many it is known what became of them.
    pub(super) fn known(&self) -> u64 {
        self.answered + self.refused
    }

    /// Whether nothing more has to be known of it.
    pub(super) fn is_enough(&self) -> bool {
        let all = self.ttft.len() as u64;
        let are_late = |share: f64| {
            self.late
                .into_iter()
                .any(|late| real(late) > share * real(all))
        };
        self.known() >= all || self.objectives.most_late.is_some_and(are_late)
    }

    pub(super) fn add(&mut self, sample: Sample) {
        let behind = f64::from(sample.output) - 1.0;
        let (ttft, most) = (sample.first_token - sample.arrival, self.objectives);
        self.ttft[sample.place] = ttft;
        self.late[0] += u64::from(is_late(ttft, most.ttft_seconds));
        if behind > 0.0 {
            let tpot = (sample.end - sample.first_token) / behind;
            self.tpot[sample.place] = tpot;
            self.late[1] += u64::from(is_late(tpot, most.tpot_seconds));
        }
        self.tokens += f64::from(sample.output);
        self.prompts += f64::from(sample.prompt);
        self.found += f64::from(sample.found);
        for (all, tokens) in self.brought.iter_mut().zip(sample.brought) {
            *all += f64::from(tokens);
        }
        self.answered += 1;
        self.first_arrival = self.first_arrival.min(sample.arrival);
        self.last_answer = self.last_answer.max(sample.end);
    }

    /// Somebody whom no engine could ever hold.
    pub(super) fn refuse(&mut self, place: usize) {
        self.ttft[place] = f64::INFINITY;
        self.tpot[place] = f64::INFINITY;
        self.refused += 1;
    }

    /// What was answered over the time until the last answer, as benchmarks that end count it.
    pub(super) fn until_answered(&self) -> Rates {
        let seconds = (self.last_answer - self.first_arrival).max(f64::MIN_POSITIVE);
        Rates {
            seconds,
            requests_per_second: real(self.answered) / seconds,
            tokens_per_second: self.tokens / seconds,
        }
    }

    /// Latencies, rates and what was late; what the engines know is left to be filled in.
    pub(super) fn report(&self, rates: Rates) -> LoadReport {
        if self.answered == 0 {
            return LoadReport {
                refused: self.refused,
                ..LoadReport::default()
            };
        }
        let slo_violation = self.slo_violation();
        LoadReport {
            ttft_seconds: latency(&self.ttft),
            tpot_seconds: latency(&self.tpot),
            requests: self.answered,
            refused: self.refused,
            seconds: rates.seconds,
            requests_per_second: rates.requests_per_second,
            tokens_per_second: rates.tokens_per_second,
            hit_rate: self.found / self.prompts,
            tier_hit_rates: self.brought.map(|tokens| tokens / self.prompts),
            slo_violation,
            goodput_share: 1.0 - slo_violation.any.mean,
            goodput_requests_per_second: (1.0 - slo_violation.any.mean) * rates.requests_per_second,
            ..LoadReport::default()
        }
    }

    /// Who waited for too long; of whom nothing is known, as the run was stopped, is left out.
    fn slo_violation(&self) -> SloViolation {
        let objectives = self.objectives;
        let known: Vec<(bool, Option<bool>)> = (self.ttft.iter().zip(&self.tpot))
            .filter(|(ttft, _)| !ttft.is_nan())
            .map(|(ttft, tpot)| {
                let has_further = !tpot.is_nan();
                (
                    is_late(*ttft, objectives.ttft_seconds),
                    has_further.then(|| is_late(*tpot, objectives.tpot_seconds)),
                )
            })
            .collect();
        let further: Vec<bool> = known.iter().filter_map(|late| late.1).collect();
        SloViolation {
            ttft: share(&known, |late| late.0),
            tpot: share(&further, |is_late| is_late),
            any: share(&known, |late| late.0 || late.1 == Some(true)),
        }
    }
}

fn is_late(seconds: f64, most: Option<f64>) -> bool {
    seconds.is_infinite() || most.is_some_and(|most| seconds > most)
}

fn share<T: Copy>(all: &[T], of: impl Fn(T) -> bool) -> Share {
    if all.is_empty() {
        return Share::default();
    }
    let one = |each: &T| f64::from(u8::from(of(*each)));
    let batches: Vec<f64> = all
        .chunks(all.len().div_ceil(BATCHES).max(1))
        .map(|batch| batch.iter().map(one).sum::<f64>() / real(batch.len() as u64))
        .collect();
    Share {
        mean: all.iter().map(one).sum::<f64>() / real(all.len() as u64),
        error: standard_error(&batches),
    }
}

/// Batches for batch means: as many as are usual (Law, "Simulation Modeling and Analysis").
const BATCHES: usize = 20;

/// Student's t for 95 % and one degree of freedom less than there are batches.
const STUDENT_T: f64 = 2.093;

fn latency(samples: &[f64]) -> Latency {
    let known = |samples: &[f64]| -> Vec<f64> {
        samples.iter().copied().filter(|s| s.is_finite()).collect()
    };
    let mut all = known(samples);
    if all.is_empty() {
        return Latency::default();
    }
    let mut batches: Vec<Vec<f64>> = samples
        .chunks(samples.len().div_ceil(BATCHES))
        .map(known)
        .filter(|batch| !batch.is_empty())
        .collect();
    let means: Vec<f64> = batches.iter().map(|batch| mean(batch)).collect();
    let p95s: Vec<f64> = batches
        .iter_mut()
        .map(|batch| percentile(batch, 0.95))
        .collect();
    Latency {
        mean: mean(&all),
        p50: percentile(&mut all, 0.5),
        p90: percentile(&mut all, 0.9),
        p95: percentile(&mut all, 0.95),
        p99: percentile(&mut all, 0.99),
        half_width_mean: half_width(&means),
        half_width_p95: half_width(&p95s),
    }
}

fn mean(samples: &[f64]) -> f64 {
    samples.iter().sum::<f64>() / real(samples.len() as u64)
}

/// The smallest sample that at least a share of all are not above (nearest rank).
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a rank within the samples"
)]
fn percentile(samples: &mut [f64], share: f64) -> f64 {
    let rank = (share * real(samples.len() as u64)).ceil() as usize;
    let place = rank.clamp(1, samples.len()) - 1;
    *samples.select_nth_unstable_by(place, f64::total_cmp).1
}

/// Standard error of the mean of batches.
fn standard_error(batches: &[f64]) -> f64 {
    let count = real(batches.len() as u64);
    if batches.len() < 2 {
        return 0.0;
    }
    let middle = mean(batches);
    let squares: f64 = batches.iter().map(|each| (each - middle).powi(2)).sum();
    (squares / (count - 1.0) / count).sqrt()
}

fn half_width(batches: &[f64]) -> f64 {
    let middle = mean(batches);
    if middle <= 0.0 {
        return 0.0;
    }
    STUDENT_T * standard_error(batches) / middle
}
