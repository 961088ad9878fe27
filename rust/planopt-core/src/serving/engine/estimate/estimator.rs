//! The estimator, and what follows from an engine and its traffic alone.

use super::machine::Machine;
use super::reading::Readings;
use super::surface::Surface;
use super::traffic::Traffic;
use crate::catalog::RequestOverhead;
use crate::load::KvPolicy;
use crate::serving::engine::limits::EngineLimits;
use crate::serving::engine::step::StepTime;

/// An engine with a kind of traffic, ready to be asked about any rate of it.
#[derive(Clone, Debug)]
pub struct Estimator {
    pub(crate) traffic: Traffic,
    surface: Surface,
    pub(super) readings: Readings,
    pub(crate) limits: EngineLimits,
    /// Sequences of a micro-batch that places and pages allow.
    pub(crate) places: f64,
    /// By how many of them that differs from time to time; 0 where pages are enough.
    pub(crate) places_deviation: f64,
    /// What a request takes on top.
    pub(crate) overhead: f64,
}

/// Standard deviations of the sequences' sizes that pages keep in reserve; fitted.
const SPARE_DEVIATIONS: f64 = 0.5;

/// Share of the standard deviation of how many sequences pages hold that lasts for as long as a
/// request waits; fitted.
const LASTING: f64 = 0.8;

/// Share of the pages that are never given away: vLLM's `watermark`, as in the simulator.
const WATERMARK: f64 = 0.01;

/// Sequences that step times are asked for, at most.
const MOST_SEQUENCES: f64 = 4096.0;

impl Estimator {
    /// Asks `step` for the times of some fifty steps; nothing else is asked of it.
    #[expect(clippy::cast_precision_loss, reason = "fewer tokens than 2^53")]
    pub fn new(
        step: &impl StepTime,
        limits: EngineLimits,
        traffic: Traffic,
        request_overhead: RequestOverhead,
    ) -> Self {
        let (prompt, output) = (&traffic.prompt, &traffic.output);
        let micro_batches = f64::from(limits.micro_batches.max(1));
        let resident = traffic.resident_tokens(limits.kv_policy);
        // What a sequence needs to be admitted.
        let (needed, grown) = match limits.kv_policy {
            KvPolicy::Reserve => (prompt.mean + output.mean, 1.0),
            // On average a third of the variance of its whole growth, evenly spread.
            KvPolicy::Preempt => (prompt.mean, 1.0 / 3.0),
        };
        let variance =
            prompt.square - prompt.mean.powi(2) + (output.square - output.mean.powi(2)) * grown;
        let room = (limits.kv_tokens as f64 * (1.0 - WATERMARK) - needed / 2.0).max(0.0);
        let spare = SPARE_DEVIATIONS * variance.max(0.0).sqrt();
        // n resident + spare sqrt(n) = room.
        let root = ((spare * spare + 4.0 * resident * room).sqrt() - spare) / (2.0 * resident);
        let places = f64::from(limits.max_sequences)
            .min(root * root / micro_batches)
            .min(MOST_SEQUENCES)
            .floor()
            .max(1.0);
        let places_deviation = if places < f64::from(limits.max_sequences) {
            LASTING * variance.max(0.0).sqrt() * root / resident / micro_batches
        } else {
            0.0
        };
        let overhead = request_overhead.of(prompt.mean);
        let budget = f64::from(limits.token_budget).clamp(1.0, LARGEST_STEP);
        let surface = Surface::new(
            step,
            budget,
            places,
            traffic.mean_read(),
            traffic.mean_attended_tokens(),
            traffic.decode_context(),
        );
        let places = places.min((budget - 1.0).max(1.0));
        let readings = machine(&surface, &traffic, &limits).readings(places);
        Self {
            traffic,
            surface,
            readings,
            limits,
            places,
            places_deviation,
            overhead,
        }
    }

    pub(crate) fn machine(&self) -> Machine<'_> {
        machine(&self.surface, &self.traffic, &self.limits)
    }
}

fn machine<'e>(surface: &'e Surface, traffic: &'e Traffic, limits: &EngineLimits) -> Machine<'e> {
    Machine {
        surface,
        traffic,
        policy: limits.policy,
        budget: f64::from(limits.token_budget).min(LARGEST_STEP),
        micro_batches: f64::from(limits.micro_batches.max(1)),
    }
}

/// Rate of given arrivals, and the squared variation of the times between them.
pub(crate) fn gaps(seconds: &[f64]) -> (f64, f64) {
    let gaps = || seconds.windows(2).map(|pair| pair[1] - pair[0]);
    let count = gaps().map(|_| 1.0).sum::<f64>();
    let mean = gaps().sum::<f64>() / count;
    if count < 1.0 || mean <= 0.0 {
        // Nobody else is there, or all come at once and the first have nobody before them.
        return (f64::MIN_POSITIVE, 1.0);
    }
    let variance = gaps().map(|gap| (gap - mean).powi(2)).sum::<f64>() / count;
    (1.0 / mean, variance / (mean * mean))
}

/// Tokens of a step where the engine sets no limit: prompts are read whole.
const LARGEST_STEP: f64 = 65536.0;
