//! Lengths of texts, as they differ.

use serde::Deserialize;

/// How many tokens a prompt or an output has.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Lengths {
    /// Always as many.
    Fixed {
        /// Tokens.
        tokens: u32,
    },
    /// Evenly between two lengths, as the random data sets of benchmarks are.
    Uniform {
        /// Fewest tokens.
        least: u32,
        /// Most tokens.
        most: u32,
    },
    /// Geometric: an output that may end after every token.
    Exponential {
        /// Tokens on average.
        mean: f64,
    },
    /// Lognormal: what traces of production look like.
    Lognormal {
        /// Tokens on average.
        mean: f64,
        /// Standard deviation over the mean.
        cv: f64,
    },
    /// As counted in one's own traffic.
    Histogram {
        /// Tokens.
        tokens: Vec<u32>,
        /// How often each was seen.
        weights: Vec<f64>,
    },
}

/// Longest prompt or output that is drawn: far beyond any context.
pub(crate) const LONGEST: f64 = 1e7;
