//! Distributions from their first two moments, and percentiles of what they make together.

use super::traffic::{STRATA, mean, weight};

/// A variable above 0 by its mean and variance: exponential where they say so, a sum of two
/// exponentials beyond, and a shifted exponential below (as in Tijms, "A First Course in
/// Stochastic Models", 2003, appendix B).
#[derive(Clone, Copy, Debug)]
pub(super) struct Tail {
    shift: f64,
    /// Share and rate of both exponentials.
    parts: [(f64, f64); 2],
}

/// A mean below which a variable counts as 0, in seconds.
const NOTHING: f64 = 1e-12;

impl Tail {
    pub(super) fn new(mean: f64, variance: f64) -> Self {
        let mean = mean.max(NOTHING);
        let cv2 = (variance / (mean * mean)).max(0.0);
        if cv2 >= 1.0 {
            // Balanced means.
            let share = f64::midpoint(1.0, ((cv2 - 1.0) / (cv2 + 1.0)).sqrt());
            Self {
                shift: 0.0,
                parts: [
                    (share, 2.0 * share / mean),
                    (1.0 - share, 2.0 * (1.0 - share) / mean),
                ],
            }
        } else {
            let cv = cv2.sqrt();
            Self {
                shift: mean * (1.0 - cv),
                parts: [(1.0, 1.0 / (mean * cv).max(NOTHING)), (0.0, 1.0)],
            }
        }
    }

    /// Chance to be above `x`.
    pub(super) fn above(&self, x: f64) -> f64 {
        let beyond = x - self.shift;
        if beyond <= 0.0 {
            return 1.0;
        }
        self.parts
            .iter()
            .filter(|(share, _)| *share > 0.0)
            .map(|(share, rate)| share * (-rate * beyond).exp())
            .sum()
    }
}

/// What a request waits for: its own steps, and either the rest of a decoding step alone or that
/// together with whatever else is in the way; some wait for a place before.
#[derive(Clone, Copy, Debug)]
pub(super) struct FirstToken {
    /// Its own steps, by stratum of prompts.
    pub(super) own: [f64; STRATA],
    /// Length of a decoding step.
    pub(super) step: f64,
    /// Micro-batches of which any may take it.
    pub(super) micro_batches: f64,
    /// Chance that the next of them to start does.
    pub(super) next: f64,
    /// Chance of the rest of a decoding step alone.
    pub(super) rest: f64,
    /// Chance of more in the way.
    pub(super) more: f64,
    /// What that is then.
    pub(super) in_the_way: Tail,
    /// Chance to wait for a place.
    pub(super) waits: f64,
    /// How long for, on average.
    pub(super) wait_mean: f64,
    /// How that is spread.
    pub(super) wait: Tail,
    /// What all wait for on average, a place not counted.
    pub(super) usual: f64,
    /// What every request takes on top.
    pub(super) overhead: f64,
}

impl FirstToken {
    pub(super) fn mean(&self) -> f64 {
        let own = mean(|at| self.own[at]);
        self.usual + own + self.waits * self.wait_mean + self.overhead
    }

    fn above(&self, x: f64) -> f64 {
        (0..STRATA)
            .map(|at| {
                let left = x - self.own[at];
                let above = if left <= 0.0 {
                    1.0
                } else {
                    let above =
                        self.rest * self.rest_above(left) + self.more * self.in_the_way.above(left);
                    if self.waits > 0.0 {
                        let waiting = self.wait.above(left - self.usual).max(above);
                        (1.0 - self.waits) * above + self.waits * waiting
                    } else {
                        above
                    }
                };
                weight(at) * above
            })
            .sum()
    }

    /// The rest of a step is anything up to all of it.
    fn rest_above(&self, left: f64) -> f64 {
        let within = |step: f64| {
            if step > 0.0 {
                (1.0 - left / step).max(0.0)
            } else {
                0.0
            }
        };
        self.next * within(self.step / self.micro_batches) + (1.0 - self.next) * within(self.step)
    }

    pub(super) fn percentile(&self, share: f64) -> f64 {
        let longest = self.own[STRATA - 1];
        self.overhead + above_at(|x| self.above(x), longest + self.step, 1.0 - share)
    }
}

/// Where a falling chance is `chance`; `scale` is of the order of the answer.
pub(super) fn above_at(above: impl Fn(f64) -> f64, scale: f64, chance: f64) -> f64 {
    let mut high = scale.max(NOTHING);
    for _ in 0..60 {
        if above(high) <= chance {
            break;
        }
        high *= 2.0;
    }
    let mut low = 0.0;
    // A percentile to a part in 10^4 is closer than what it is made of.
    for _ in 0..40 {
        let middle = f64::midpoint(low, high);
        if above(middle) > chance {
            low = middle;
        } else {
            high = middle;
        }
        if high - low < 1e-4 * high {
            break;
        }
    }
    high
}
