//! What the closed form knows of a load: moments of prompts and outputs, and both cut into strata.

use crate::load::{KvPolicy, Lengths, Load, Sizes};
use crate::serving::engine::random::normal_share;
use crate::serving::engine::{Footprint, Turns};

/// Strata that lengths are cut into, finer towards the long ones that make the tail.
pub(super) const STRATA: usize = 12;

const EDGES: [f64; STRATA + 1] = [
    0.0, 0.15, 0.35, 0.55, 0.7, 0.8, 0.87, 0.92, 0.95, 0.975, 0.99, 0.998, 1.0,
];

/// Quantiles of the standard normal distribution at the inner edges.
const NORMAL_EDGES: [f64; STRATA - 1] = [
    -1.036_433_389_493_79,
    -0.385_320_466_407_568,
    0.125_661_346_855_074,
    0.524_400_512_708_041,
    0.841_621_233_572_914,
    1.126_391_129_038_801,
    1.405_071_560_309_633,
    1.644_853_626_951_473,
    1.959_963_984_540_054,
    2.326_347_874_040_841,
    2.878_161_739_095_483,
];

/// Mean of a figure over the strata.
pub(super) fn mean(of: impl Fn(usize) -> f64) -> f64 {
    (0..STRATA).map(|at| weight(at) * of(at)).sum()
}

/// Share of a stratum.
pub(super) fn weight(at: usize) -> f64 {
    EDGES[at + 1] - EDGES[at]
}

/// Lengths in short.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spread {
    pub(super) mean: f64,
    /// Mean of the squares.
    pub(super) square: f64,
    /// Mean of each stratum.
    pub(super) strata: [f64; STRATA],
}

impl Spread {
    /// Variance over the square of the mean.
    pub(super) fn cv2(&self) -> f64 {
        (self.square / (self.mean * self.mean) - 1.0).max(0.0)
    }

    fn of(lengths: &Lengths) -> Self {
        match lengths {
            Lengths::Fixed { tokens } => {
                let tokens = f64::from(*tokens).max(1.0);
                Self {
                    mean: tokens,
                    square: tokens * tokens,
                    strata: [tokens; STRATA],
                }
            }
            Lengths::Uniform { least, most } => {
                let (least, most) = (f64::from(*least), f64::from(*most));
                let mean = f64::midpoint(least, most);
                let span = most - least + 1.0;
                Self {
                    mean,
                    square: mean * mean + (span * span - 1.0) / 12.0,
                    strata: std::array::from_fn(|at| {
                        least + (most - least) * f64::midpoint(EDGES[at], EDGES[at + 1])
                    }),
                }
            }
            Lengths::Exponential { mean } => {
                let mean = mean.max(1.0);
                // Integral of the quantile -ln(1 - u) from 0.
                let up_to = |u: f64| {
                    if u >= 1.0 {
                        1.0
                    } else {
                        (1.0 - u) * (1.0 - u).ln() + u
                    }
                };
                Self {
                    mean,
                    square: mean * (2.0 * mean - 1.0),
                    strata: std::array::from_fn(|at| {
                        mean * (up_to(EDGES[at + 1]) - up_to(EDGES[at])) / weight(at)
                    }),
                }
            }
            Lengths::Lognormal { mean, cv } => {
                let sigma = (1.0 + cv * cv).ln().sqrt();
                // The share of the mean below a quantile is the normal distribution, shifted.
                let up_to = |edge: usize| match edge {
                    0 => 0.0,
                    STRATA => 1.0,
                    _ => normal_share(NORMAL_EDGES[edge - 1] - sigma),
                };
                Self {
                    mean: *mean,
                    square: mean * mean * (1.0 + cv * cv),
                    strata: std::array::from_fn(|at| {
                        mean * (up_to(at + 1) - up_to(at)) / weight(at)
                    }),
                }
            }
            Lengths::Histogram { tokens, weights } => Self::counted(tokens, weights),
        }
    }

    fn counted(tokens: &[u32], weights: &[f64]) -> Self {
        let mut counted: Vec<(f64, f64)> = tokens
            .iter()
            .zip(weights)
            .map(|(&tokens, &weight)| (f64::from(tokens).max(1.0), weight))
            .collect();
        counted.sort_by(|one, other| one.0.total_cmp(&other.0));
        let all: f64 = counted.iter().map(|(_, weight)| weight).sum();
        let moment = |power| {
            counted
                .iter()
                .map(|(tokens, weight)| tokens.powi(power) * weight / all)
                .sum()
        };
        let mut strata = [0.0; STRATA];
        let mut below = 0.0;
        for (tokens, weight_of_it) in &counted {
            let above = below + weight_of_it / all;
            for (at, stratum) in strata.iter_mut().enumerate() {
                let shared = above.min(EDGES[at + 1]) - below.max(EDGES[at]);
                *stratum += tokens * shared.max(0.0) / weight(at);
            }
            below = above;
        }
        Self {
            mean: moment(1),
            square: moment(2),
            strata,
        }
    }
}

/// A load in short.
#[derive(Clone, Copy, Debug)]
pub struct Traffic {
    pub(super) prompt: Spread,
    pub(super) output: Spread,
    pub(super) hit_rate: f64,
    /// Tokens to read, on average.
    mean_read: f64,
    /// Whether all prompts are as long as each other.
    pub(super) prompts_are_alike: bool,
    /// What its users come to, where these are sessions.
    turns: Option<Turns>,
    /// What its prompts find of each other, where that is known.
    footprint: Option<Footprint>,
}

impl Traffic {
    /// Sums up a load, whenever it arrives. Of sessions all is taken to be found that was said
    /// before: no engine finds more.
    pub fn of(load: &Load) -> Self {
        let given = Some(load.prefix_hit_rate).filter(|&rate| rate > 0.0);
        let mut turns = load.sessions.as_ref().map(Turns::of);
        if let Some(turns) = &mut turns {
            turns.given = given;
        }
        let footprint = match &load.sizes {
            Sizes::Pairs {
                prompt,
                hashed: Some(hashed),
                ..
            } if given.is_none() => Some(Footprint::of(hashed, prompt)),
            _ => None,
        };
        let of_turns = turns.map_or(0.0, |turns| turns.all_hit_rate);
        let found = footprint.map_or(of_turns, |footprint| footprint.all_hit_rate);
        let (prompt, output) = match &load.sizes {
            Sizes::Independent { prompt, output } => (Spread::of(prompt), Spread::of(output)),
            Sizes::Pairs { prompt, output, .. } => {
                let each_once = vec![1.0; prompt.len()];
                (
                    Spread::counted(prompt, &each_once),
                    Spread::counted(output, &each_once),
                )
            }
        };
        let [first, .., last] = prompt.strata;
        Self {
            prompt,
            output,
            hit_rate: 0.0,
            mean_read: 0.0,
            prompts_are_alike: first >= last,
            turns,
            footprint,
        }
        .with_hits(given.unwrap_or(found))
    }

    /// The same load of whose prompts such a share is found in a cache.
    #[must_use]
    pub fn with_hits(mut self, hit_rate: f64) -> Self {
        self.hit_rate = hit_rate;
        self.mean_read = self.mean(|at| self.read(at));
        self
    }

    /// The same load for a pool that reads prompts and puts out the first token of each answer.
    #[must_use]
    pub fn of_first_tokens(self) -> Self {
        Self {
            output: Spread::of(&Lengths::Fixed { tokens: 1 }),
            ..self
        }
    }

    /// The same load for a pool that answers prompts which others have read.
    #[must_use]
    pub fn of_read_prompts(self) -> Self {
        self.with_hits(1.0)
    }

    /// What its users come to, where these are sessions.
    pub fn turns(&self) -> Option<&Turns> {
        self.turns.as_ref()
    }

    /// What its prompts find of each other, where that is known.
    pub(crate) fn footprint(&self) -> Option<&Footprint> {
        self.footprint.as_ref()
    }

    /// Tokens of a prompt, on average.
    pub fn mean_prompt(&self) -> f64 {
        self.prompt.mean
    }

    /// Tokens cached for a sequence that decodes, on average.
    pub fn usual_context(&self) -> f64 {
        self.decode_context()
    }

    /// Tokens of an output, on average.
    pub fn mean_output(&self) -> f64 {
        self.output.mean
    }

    /// Tokens of a stratum of prompts that have to be read.
    pub(super) fn read(&self, at: usize) -> f64 {
        (self.prompt.strata[at] * (1.0 - self.hit_rate)).max(1.0)
    }

    /// Tokens that a token of it looks at: those found in the prefix cache, and half of the rest.
    pub(super) fn attended_tokens(&self, at: usize) -> f64 {
        self.prompt.strata[at] * f64::midpoint(1.0, self.hit_rate)
    }

    /// Prompts by their length: the share of each stratum, tokens to read, and tokens that one of
    /// these looks at.
    pub(in crate::serving::engine) fn prompts(&self) -> impl Iterator<Item = (f64, f64, f64)> {
        let strata = if self.prompts_are_alike { 1 } else { STRATA };
        (0..strata).map(move |at| {
            let share = if strata == 1 { 1.0 } else { weight(at) };
            (share, self.read(at), self.attended_tokens(at))
        })
    }

    /// Mean of a figure over the strata of prompts: that of one where all are as long.
    pub(super) fn mean(&self, of: impl Fn(usize) -> f64) -> f64 {
        if self.prompts_are_alike {
            of(0)
        } else {
            mean(of)
        }
    }

    /// Tokens to read, on average.
    pub(crate) fn mean_read(&self) -> f64 {
        self.mean_read
    }

    /// Tokens that a token of any prompt looks at, on average.
    pub(in crate::serving::engine) fn mean_attended_tokens(&self) -> f64 {
        let of_hits = self.prompt.square / self.prompt.mean * f64::midpoint(1.0, self.hit_rate);
        let at_best = self
            .footprint
            .map_or(of_hits, |footprint| footprint.attended);
        of_hits.min(at_best)
    }

    /// Tokens cached for a sequence that decodes: long ones do so for longer.
    pub(in crate::serving::engine) fn decode_context(&self) -> f64 {
        self.prompt.mean + self.output.square / (2.0 * self.output.mean)
    }

    /// Tokens that a sequence holds on average, long ones for longer; not those that prompts
    /// have in common, which are held once.
    pub(in crate::serving::engine) fn resident_tokens(&self, policy: KvPolicy) -> f64 {
        let all = match policy {
            KvPolicy::Reserve => self.prompt.mean + self.output.square / self.output.mean,
            KvPolicy::Preempt => self.decode_context(),
        };
        let of_turns = self.turns.map_or(0.0, |turns| turns.begins.in_common);
        let in_common = self
            .footprint
            .map_or(of_turns, |footprint| footprint.in_common);
        (all - in_common).max(1.0)
    }

    /// Tokens to read of the prompt that a token belongs to: long ones have more of them.
    pub(super) fn size_by_token(&self) -> f64 {
        self.prompt.square / self.prompt.mean * (1.0 - self.hit_rate)
    }

    /// Tokens behind the first of a stratum of outputs.
    pub(super) fn behind(&self, at: usize) -> f64 {
        (self.output.strata[at] - 1.0).max(1.0)
    }

    /// By how much the strata lose of the variance of prompts.
    pub(super) fn lost_square(&self) -> f64 {
        let kept = mean(|at| self.prompt.strata[at] * self.prompt.strata[at]);
        self.prompt.square / kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strata_have_the_mean_and_most_of_the_variance() {
        for lengths in [
            Lengths::Fixed { tokens: 512 },
            Lengths::Uniform {
                least: 100,
                most: 300,
            },
            Lengths::Exponential { mean: 700.0 },
            Lengths::Lognormal {
                mean: 900.0,
                cv: 1.3,
            },
            Lengths::Histogram {
                tokens: vec![900, 10, 4000, 300],
                weights: vec![2.0, 1.0, 0.5, 4.0],
            },
        ] {
            let spread = Spread::of(&lengths);
            let of_strata = mean(|at| spread.strata[at]);
            assert!((of_strata / spread.mean - 1.0).abs() < 1e-6, "{lengths:?}");
            let square = mean(|at| spread.strata[at].powi(2));
            let kept = square / spread.square;
            assert!((0.85..=1.0 + 1e-9).contains(&kept), "{lengths:?}: {kept}");
        }
    }
}
