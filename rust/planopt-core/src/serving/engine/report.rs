//! What came of a load: latencies, rates, and how full the engine was.

use crate::quantity::real;
use serde::Serialize;

/// A latency from request to request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Latency {
    /// Mean, in seconds.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Half of the 95 % confidence interval of the mean over the mean, by batch means.
    pub half_width_mean: f64,
    /// The same of the 95th percentile.
    pub half_width_p95: f64,
}

/// What a user is promised.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Objectives {
    /// Time to the first token, at most.
    pub ttft_seconds: Option<f64>,
    /// Time per output token, at most.
    pub tpot_seconds: Option<f64>,
}

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
    /// From the arrival of the first of them until the last of them is answered.
    pub seconds: f64,
    /// Their number over that time.
    pub requests_per_second: f64,
    /// Their output tokens over that time.
    pub tokens_per_second: f64,
    /// Share of the measured requests that kept every promise.
    pub goodput_share: f64,
    /// Their number per second.
    pub goodput_requests_per_second: f64,
    /// Mean share of the KV cache in use; of the engines that decode.
    pub kv_occupancy: f64,
    /// Sequences that lost their pages and were read again.
    pub preemptions: u64,
    /// Requests that no empty engine could hold.
    pub refused: u64,
    /// Whether the simulation was told to stop.
    pub interrupted: bool,
}

/// Latencies of the measured requests, in order of their arrival.
#[derive(Clone, Debug, Default)]
pub(super) struct Measured {
    /// By place among the measured requests; not a number until it is known.
    ttft: Vec<f64>,
    tpot: Vec<f64>,
    tokens: f64,
    kept: u64,
    answered: u64,
    first_arrival: f64,
    last_answer: f64,
}

/// One measured request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    pub(super) place: usize,
    pub(super) arrival: f64,
    pub(super) first_token: f64,
    pub(super) end: f64,
    pub(super) output: u32,
}

impl Measured {
    pub(super) fn new(requests: usize) -> Self {
        Self {
            ttft: vec![f64::NAN; requests],
            tpot: vec![f64::NAN; requests],
            first_arrival: f64::INFINITY,
            ..Self::default()
        }
    }

    /// How many have been answered.
    pub(super) fn answered(&self) -> u64 {
        self.answered
    }

    pub(super) fn add(&mut self, sample: Sample, objectives: Objectives) {
        let ttft = sample.first_token - sample.arrival;
        let behind = f64::from(sample.output) - 1.0;
        let tpot = if behind > 0.0 {
            (sample.end - sample.first_token) / behind
        } else {
            f64::NAN
        };
        self.ttft[sample.place] = ttft;
        self.tpot[sample.place] = tpot;
        self.tokens += f64::from(sample.output);
        self.answered += 1;
        self.first_arrival = self.first_arrival.min(sample.arrival);
        self.last_answer = self.last_answer.max(sample.end);
        let late = objectives.ttft_seconds.is_some_and(|most| ttft > most)
            || objectives.tpot_seconds.is_some_and(|most| tpot > most);
        self.kept += u64::from(!late);
    }

    /// Latencies and rates; what the engines know is left to be filled in.
    pub(super) fn report(&self) -> LoadReport {
        let seconds = (self.last_answer - self.first_arrival).max(f64::MIN_POSITIVE);
        if self.answered == 0 {
            return LoadReport::default();
        }
        LoadReport {
            ttft_seconds: latency(&self.ttft),
            tpot_seconds: latency(&self.tpot),
            requests: self.answered,
            seconds,
            requests_per_second: real(self.answered) / seconds,
            tokens_per_second: self.tokens / seconds,
            goodput_share: real(self.kept) / real(self.answered),
            goodput_requests_per_second: real(self.kept) / seconds,
            ..LoadReport::default()
        }
    }
}

/// Batches for batch means: as many as are usual (Law, "Simulation Modeling and Analysis").
const BATCHES: usize = 20;

/// Student's t for 95 % and one degree of freedom less than there are batches.
const STUDENT_T: f64 = 2.093;

fn latency(samples: &[f64]) -> Latency {
    let known =
        |samples: &[f64]| -> Vec<f64> { samples.iter().copied().filter(|s| !s.is_nan()).collect() };
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

fn half_width(batches: &[f64]) -> f64 {
    let count = real(batches.len() as u64);
    let middle = mean(batches);
    if batches.len() < 2 || middle <= 0.0 {
        return 0.0;
    }
    let squares: f64 = batches.iter().map(|each| (each - middle).powi(2)).sum();
    STUDENT_T * (squares / (count - 1.0) / count).sqrt() / middle
}
