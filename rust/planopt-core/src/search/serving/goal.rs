//! What a search for units seeks.

use crate::load::{EngineOptions, Statistic};
use crate::quantity::Seconds;
use crate::serving::engine::{Estimate, Traffic};

/// What a layout must do for every user.
#[derive(Clone, Copy, Debug)]
pub struct Goal {
    /// Tokens per second of each user, at least.
    pub tokens_per_second_per_user: f64,
    /// Time to read a prompt alone, at most.
    pub prefill: Option<Seconds>,
    /// Batch, where it is given.
    pub batch: Option<u32>,
    /// Micro-batches in flight, where they are given; else one per stage.
    pub in_flight: Option<u32>,
    /// Which batches are kept.
    pub policy: BatchPolicy,
    /// What is judged under a load instead, where it is asked for.
    pub latency: Option<LatencyGoal>,
}

/// Which batches of a layout are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchPolicy {
    /// The largest that meets the goal.
    Largest,
    /// The largest that meets the goal, found by trying each: the check of [`Self::Largest`].
    LargestOfEach,
    /// Each that meets the goal, up to this many.
    Each(u32),
    /// The largest that meets the goal, and each that does and is an even share of so many users
    /// among some number of replicas: users of one layout are served fastest when they are shared
    /// evenly.
    SharesOf(u64),
}

/// What requests under a load are promised.
#[derive(Clone, Copy, Debug)]
pub struct LatencyGoal {
    /// What of their latencies.
    pub at: Statistic,
    /// Seconds to the first token, at most.
    pub ttft: Option<f64>,
    /// Seconds per output token, at most.
    pub tpot: Option<f64>,
    /// Prompts and outputs.
    pub traffic: Traffic,
    /// Tokens that more prompts have at least than may be late, and the share of them that is found
    /// in a cache.
    pub long_prompt: Option<(u32, f64)>,
    /// Tokens of an output, on average.
    pub output: f64,
    /// Whether requests arrive of their own accord; else every user waits for his answer.
    pub at_random: bool,
    /// Requests per second, or users who wait, of all that is asked.
    pub asked: f64,
    /// How the times between them vary, where they are not independent.
    pub arrival_cv: Option<f64>,
    /// What is asked of the engine.
    pub engine: EngineOptions,
}

impl LatencyGoal {
    /// Whether requests come independently of each other.
    pub(super) fn is_poisson(&self) -> bool {
        self.at_random && self.arrival_cv.is_none()
    }

    /// The time to the first token that is judged, as the closed form has it.
    pub(super) fn ttft_of(&self, estimate: &Estimate) -> f64 {
        match self.at {
            Statistic::Mean => estimate.ttft_mean(),
            Statistic::Percentile(share) => estimate.ttft(share),
        }
    }

    /// The same of the time per output token.
    pub(super) fn tpot_of(&self, estimate: &Estimate) -> f64 {
        match self.at {
            Statistic::Mean => estimate.tpot_mean(),
            Statistic::Percentile(share) => estimate.tpot(share),
        }
    }
}
