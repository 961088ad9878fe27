//! Requests of a simulation, drawn at random.

use super::random::Random;
use crate::load::{Arrivals, LONGEST, Lengths, Load, Sizes};

pub(crate) fn draw(lengths: &Lengths, random: &mut Random) -> u32 {
    match lengths {
        Lengths::Fixed { tokens } => (*tokens).max(1),
        Lengths::Uniform { least, most } => {
            let span = f64::from(*most) - f64::from(*least) + 1.0;
            // The uniform number may be 1 itself.
            whole((f64::from(*least) + (span * random.uniform()).ceil() - 1.0).max(1.0))
        }
        Lengths::Exponential { mean } => {
            if *mean <= 1.0 {
                1
            } else {
                // A geometric one by inversion: ends after each token with chance 1/mean.
                whole((random.uniform().ln() / (1.0 - 1.0 / mean).ln()).ceil())
            }
        }
        Lengths::Lognormal { mean, cv } => {
            let variance = (1.0 + cv * cv).ln();
            let log = mean.ln() - variance / 2.0 + variance.sqrt() * random.normal();
            whole(log.exp().round())
        }
        Lengths::Histogram { tokens, weights } => {
            let mut left = random.uniform() * weights.iter().sum::<f64>();
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

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "held between 1 and ten million"
)]
fn whole(tokens: f64) -> u32 {
    tokens.clamp(1.0, LONGEST) as u32
}

/// A request as it arrives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Request {
    /// Which one it is, in order of arrival.
    pub(super) number: u64,
    /// When it arrived.
    pub(super) arrival: f64,
    /// Tokens of the prompt.
    pub(super) prompt: u32,
    /// Of these, tokens found in the prefix cache.
    pub(super) cached: u32,
    /// Tokens to put out.
    pub(super) output: u32,
    /// Tokens that another pool puts out behind these.
    pub(super) later: u32,
    /// When it reached the engine: later than it arrived if its prompt was read elsewhere.
    pub(super) reached: f64,
}

/// The requests of a load, one after the other.
#[derive(Clone, Debug)]
pub(super) struct Source<'a> {
    load: &'a Load,
    arrivals: Random,
    prompts: Random,
    outputs: Random,
    number: u64,
    next: f64,
}

impl<'a> Source<'a> {
    pub(super) fn new(load: &'a Load, seed: u64) -> Self {
        let mut source = Self {
            load,
            arrivals: Random::new(seed, 1),
            prompts: Random::new(seed, 2),
            outputs: Random::new(seed, 3),
            number: 0,
            next: 0.0,
        };
        if !matches!(load.arrivals, Arrivals::Closed { .. }) {
            source.next = source.following(0.0);
        }
        source
    }

    /// When the next request comes that waits for nobody's answer; never is infinity.
    pub(super) fn next_arrival(&self) -> f64 {
        self.next
    }

    /// The request of [`Self::next_arrival`].
    pub(super) fn arrive(&mut self) -> Request {
        let request = self.ask(self.next);
        self.next = self.following(self.next);
        request
    }

    /// A request at a time that its user chose.
    pub(super) fn ask(&mut self, arrival: f64) -> Request {
        let (prompt, output) = self.size();
        let number = self.number;
        self.number += 1;
        let hit = f64::from(prompt) * self.load.prefix_hit_rate;
        Request {
            number,
            arrival,
            prompt,
            cached: if hit >= 1.0 {
                whole(hit.floor()).min(prompt - 1)
            } else {
                0
            },
            output,
            later: 0,
            reached: arrival,
        }
    }

    /// How many have asked.
    pub(super) fn asked(&self) -> u64 {
        self.number
    }

    /// Seconds that a user thinks, if users wait for answers.
    pub(super) fn think_seconds(&self) -> Option<f64> {
        match self.load.arrivals {
            Arrivals::Closed { think_seconds, .. } => Some(think_seconds),
            _ => None,
        }
    }

    fn following(&mut self, now: f64) -> f64 {
        match &self.load.arrivals {
            Arrivals::Poisson { per_second } => now + self.arrivals.exponential() / per_second,
            Arrivals::Gamma { per_second, cv } => now + self.arrivals.gamma(*cv) / per_second,
            Arrivals::Closed { users, .. } => {
                if self.number < u64::from(*users) {
                    0.0
                } else {
                    f64::INFINITY
                }
            }
            Arrivals::Trace { seconds } => usize::try_from(self.number)
                .ok()
                .and_then(|number| seconds.get(number).copied())
                .unwrap_or(f64::INFINITY),
        }
    }

    fn size(&mut self) -> (u32, u32) {
        match &self.load.sizes {
            Sizes::Independent { prompt, output } => (
                draw(prompt, &mut self.prompts),
                draw(output, &mut self.outputs),
            ),
            Sizes::Pairs { prompt, output } => {
                let place = |lengths: &[u32]| {
                    let place = self.number % lengths.len().max(1) as u64;
                    usize::try_from(place)
                        .ok()
                        .and_then(|place| lengths.get(place).copied())
                        .unwrap_or(1)
                        .max(1)
                };
                (place(prompt), place(output))
            }
        }
    }
}
