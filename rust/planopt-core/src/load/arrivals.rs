//! What arrives: when, and of which size.

use super::lengths::Lengths;
use super::sessions::Sessions;
use crate::quantity::real;
use serde::Deserialize;

/// When requests arrive.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Arrivals {
    /// At random, independent of each other.
    Poisson {
        /// Requests per second.
        per_second: f64,
    },
    /// In bursts: gamma-distributed times between arrivals.
    Gamma {
        /// Requests per second.
        per_second: f64,
        /// Standard deviation of the time between arrivals over its mean: 1 is Poisson, above it
        /// is bursty.
        cv: f64,
    },
    /// From users of whom each waits for his answer before he asks again.
    Closed {
        /// Users.
        users: u32,
        /// Seconds between an answer and the next question.
        #[serde(default)]
        think_seconds: f64,
        /// How they begin.
        #[serde(default)]
        start: Start,
    },
    /// At given times, in growing order, once; sizes are taken in the same order.
    Trace {
        /// Seconds since the start.
        seconds: Vec<f64>,
    },
}

impl Arrivals {
    /// Requests per second, or users who wait for their answers.
    pub(crate) fn asked(&self) -> f64 {
        match self {
            Self::Poisson { per_second } | Self::Gamma { per_second, .. } => *per_second,
            Self::Closed { users, .. } => f64::from(*users),
            Self::Trace { seconds } => match (seconds.first(), seconds.last()) {
                (Some(first), Some(last)) if last > first => {
                    real(seconds.len() as u64 - 1) / (last - first)
                }
                _ => 0.0,
            },
        }
    }
}

/// How users who wait for their answers begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Start {
    /// As people are found at any moment: each has another part of his first answer behind him.
    #[default]
    Spread,
    /// All ask at once when the doors open, as benchmarks at a fixed concurrency do; where all
    /// lengths are alike, they stay in step.
    Together,
}

/// Prompts and outputs together.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Sizes {
    /// One does not depend on the other.
    Independent {
        /// Tokens of prompts.
        prompt: Lengths,
        /// Tokens of outputs.
        output: Lengths,
    },
    /// Pairs as they were seen, taken in their order and over again.
    Pairs {
        /// Tokens of prompts.
        prompt: Vec<u32>,
        /// Tokens of outputs.
        output: Vec<u32>,
        /// What prompts begin with, where that is known.
        hashed: Option<Hashed>,
    },
}

/// Prompts in pieces of which it is known which are alike, with all that stands before them.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hashed {
    /// Tokens of a piece; the last of a prompt may have fewer.
    pub tokens: u32,
    /// Pieces of each prompt: those alike have one number.
    pub pieces: Vec<Vec<u64>>,
}

/// A load.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Load {
    /// When requests arrive.
    pub arrivals: Arrivals,
    /// How large they are.
    pub sizes: Sizes,
    /// Share of every prompt that is found in the prefix cache; the last token never is.
    #[serde(default)]
    pub prefix_hit_rate: f64,
    /// How requests follow each other, where users of a closed load are sessions; sizes then say
    /// what a turn is by itself. Unless `prefix_hit_rate` is given, what is found comes of it.
    pub sessions: Option<Sessions>,
}
