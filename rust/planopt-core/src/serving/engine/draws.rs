//! Lengths drawn at random.

use super::random::{Random, normal_quantile};
use crate::load::{LONGEST, Lengths, Load, Sizes};
use crate::quantity::real;

/// The length that a share `u` of all are not above, `u` above 0 and up to 1.
pub(super) fn quantile(lengths: &Lengths, u: f64) -> u32 {
    match lengths {
        Lengths::Fixed { tokens } => (*tokens).max(1),
        Lengths::Uniform { least, most } => {
            let span = f64::from(*most) - f64::from(*least) + 1.0;
            whole((f64::from(*least) + (span * u).ceil() - 1.0).max(1.0))
        }
        Lengths::Exponential { mean } => {
            if *mean <= 1.0 {
                1
            } else {
                // A geometric one by inversion: ends after each token with chance 1/mean.
                whole(((1.0 - u).ln() / (1.0 - 1.0 / mean).ln()).ceil())
            }
        }
        Lengths::Lognormal { mean, cv } => {
            let variance = (1.0 + cv * cv).ln();
            let log = mean.ln() - variance / 2.0 + variance.sqrt() * normal_quantile(u);
            whole(log.exp().round())
        }
        Lengths::Histogram { tokens, weights } => {
            let mut left = u * weights.iter().sum::<f64>();
            for (tokens, weight) in tokens.iter().zip(weights) {
                left -= weight;
                if left <= 0.0 {
                    return (*tokens).max(1);
                }
            }
            tokens.last().map_or(1, |&tokens| tokens.max(1))
        }
    }
}

/// A length that more than a `share` of the prompts of a load have at least: nearly the longest such.
/// None where prompts are found in part:
/// those of sessions, which grow, and those of traces with hashes.
pub(crate) fn long_prompt(load: &Load, share: f64) -> Option<u32> {
    let at = 1.0 - MORE * share;
    match &load.sizes {
        _ if load.sessions.is_some() || at <= 0.0 => None,
        Sizes::Pairs {
            hashed: Some(_), ..
        } => None,
        Sizes::Independent { prompt, .. } => Some(quantile(prompt, at)),
        Sizes::Pairs { prompt, .. } => {
            let each_once = vec![1.0; prompt.len()];
            let mut tokens = prompt.clone();
            tokens.sort_unstable();
            let lengths = Lengths::Histogram {
                tokens,
                weights: each_once,
            };
            Some(quantile(&lengths, at))
        }
    }
}

/// By how much more: runs are of so many requests, and their longest ones are no exact share.
const MORE: f64 = 1.2;

/// Whole tokens, at least one.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "held between 1 and ten million"
)]
pub(super) fn whole(tokens: f64) -> u32 {
    tokens.clamp(1.0, LONGEST) as u32
}

/// Even shares of a distribution, shuffled: of as many draws the mean is exact, and so is every
/// percentile, which halves the error of independent ones; their order is as random.
#[derive(Clone, Debug)]
pub(super) struct Deck {
    cards: Vec<u32>,
    next: usize,
    random: Random,
}

impl Deck {
    pub(super) fn new(cards: u32, random: Random) -> Self {
        Self {
            cards: (0..cards.max(1)).collect(),
            next: 0,
            random,
        }
    }

    /// Above 0 and below 1.
    pub(super) fn draw(&mut self) -> f64 {
        if self.next == 0 {
            self.random.shuffle(&mut self.cards);
        }
        let card = self.cards[self.next];
        self.next = (self.next + 1) % self.cards.len();
        (f64::from(card) + 0.5) / real(self.cards.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::{Deck, long_prompt, quantile};
    use crate::load::{Arrivals, Lengths, Load, Sizes};
    use crate::serving::engine::random::Random;

    #[test]
    fn more_prompts_are_that_long_than_may_be_late() {
        const DRAWS: u32 = 10_000;
        let output = Lengths::Fixed { tokens: 1 };
        for prompt in [
            Lengths::Fixed { tokens: 512 },
            Lengths::Uniform {
                least: 10,
                most: 900,
            },
            Lengths::Lognormal {
                mean: 800.0,
                cv: 1.5,
            },
        ] {
            let sizes = Sizes::Independent {
                prompt: prompt.clone(),
                output: output.clone(),
            };
            let load = Load {
                arrivals: Arrivals::Poisson { per_second: 1.0 },
                sizes,
                prefix_hit_rate: 0.0,
                sessions: None,
            };
            for share in [0.5, 0.05, 0.01] {
                let long = long_prompt(&load, share).expect("some are longer");
                let mut deck = Deck::new(DRAWS, Random::new(1, 1));
                let drawn = (0..DRAWS).map(|_| quantile(&prompt, deck.draw()));
                let longer = u32::try_from(drawn.filter(|&tokens| tokens >= long).count());
                let longer = f64::from(longer.expect("few")) / f64::from(DRAWS);
                assert!(longer > share, "{longer} of {prompt:?} for {share}");
            }
        }
    }
}
