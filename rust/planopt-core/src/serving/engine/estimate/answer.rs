//! What the closed form says of a load.

use super::tail::{FirstToken, Tail, above_at};
use super::traffic::{STRATA, weight};

/// A latency by its mean and any percentile.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Quantiles {
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
}

/// What the closed form says of a load.
#[derive(Clone, Copy, Debug)]
pub struct Estimate {
    /// Requests per second of one replica.
    pub requests_per_second: f64,
    /// Sequences that decode in one replica, on average.
    pub decoding: f64,
    /// Whether it cannot keep up.
    pub is_overloaded: bool,
    pub(super) ttft_mean: f64,
    pub(super) first: FirstToken,
    /// Tokens behind the first of an output.
    pub(super) behind: f64,
    pub(super) tpot_mean: f64,
    pub(super) tpot: TokenTime,
}

/// How long tokens take, from output to output.
#[derive(Clone, Copy, Debug)]
pub(super) struct TokenTime {
    /// Below which none is.
    pub(super) least: f64,
    /// Above which none is.
    pub(super) most: f64,
    /// By stratum of outputs.
    pub(super) spread: [Tail; STRATA],
}

impl Estimate {
    /// Time to the first token, at a share such as 0.95 of all requests.
    pub fn ttft(&self, share: f64) -> f64 {
        self.first.percentile(share)
    }

    /// Its mean.
    pub fn ttft_mean(&self) -> f64 {
        self.ttft_mean
    }

    /// Time per output token, at a share of all requests.
    pub fn tpot(&self, share: f64) -> f64 {
        let least = self.tpot.least;
        let above = |x: f64| -> f64 {
            (0..STRATA)
                .map(|at| weight(at) * self.tpot.spread[at].above(x))
                .sum()
        };
        let beyond = above_at(above, self.tpot_mean - least, 1.0 - share);
        (least + beyond).min(self.tpot.most)
    }

    /// Its mean.
    pub fn tpot_mean(&self) -> f64 {
        self.tpot_mean
    }

    /// Mean and usual percentiles of the time to the first token.
    pub fn ttft_seconds(&self) -> Quantiles {
        Quantiles {
            mean: self.ttft_mean,
            p50: self.ttft(0.5),
            p90: self.ttft(0.9),
            p95: self.ttft(0.95),
            p99: self.ttft(0.99),
        }
    }

    /// Mean and usual percentiles of the time per output token.
    pub fn tpot_seconds(&self) -> Quantiles {
        Quantiles {
            mean: self.tpot_mean,
            p50: self.tpot(0.5),
            p90: self.tpot(0.9),
            p95: self.tpot(0.95),
            p99: self.tpot(0.99),
        }
    }

    /// From a question to the end of its answer, on average.
    pub(super) fn turn(&self) -> f64 {
        self.ttft_mean + self.behind * self.tpot_mean
    }
}
