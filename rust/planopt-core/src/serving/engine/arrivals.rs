//! Requests of a simulation, drawn at random.

use super::random::{Random, normal_quantile};
use crate::load::{Arrivals, LONGEST, Lengths, Load, Sizes, Start};
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
    /// The engine that it is given to.
    pub(super) engine: usize,
    /// When it reached the engine: later than it arrived if its prompt was read elsewhere.
    pub(super) reached: f64,
}

/// Even shares of a distribution, shuffled: of as many draws the mean is exact, and so is every
/// percentile, which halves the error of independent ones; their order is as random.
#[derive(Clone, Debug)]
struct Deck {
    cards: Vec<u32>,
    next: usize,
    random: Random,
}

impl Deck {
    fn new(cards: u32, random: Random) -> Self {
        Self {
            cards: (0..cards.max(1)).collect(),
            next: 0,
            random,
        }
    }

    /// Above 0 and below 1.
    fn draw(&mut self) -> f64 {
        if self.next == 0 {
            self.random.shuffle(&mut self.cards);
        }
        let card = self.cards[self.next];
        self.next = (self.next + 1) % self.cards.len();
        (f64::from(card) + 0.5) / real(self.cards.len() as u64)
    }
}

/// Cards of a deck, at most; behind them it is shuffled again.
const MOST_CARDS: u64 = 1 << 20;

/// The requests of a load, one after the other.
#[derive(Clone, Debug)]
pub(super) struct Source<'a> {
    load: &'a Load,
    arrivals: Random,
    prompts: Deck,
    outputs: Deck,
    /// Parts of their first answers that users have behind them.
    behind: Deck,
    number: u64,
    next: f64,
}

impl<'a> Source<'a> {
    /// Of which about so many `requests` will be asked for.
    pub(super) fn new(load: &'a Load, seed: u64, requests: u64) -> Self {
        let cards = u32::try_from(requests.min(MOST_CARDS)).unwrap_or(u32::MAX);
        let users = match load.arrivals {
            Arrivals::Closed { users, .. } => users,
            _ => 1,
        };
        let mut source = Self {
            load,
            arrivals: Random::new(seed, 1),
            prompts: Deck::new(cards, Random::new(seed, 2)),
            outputs: Deck::new(cards, Random::new(seed, 3)),
            behind: Deck::new(users, Random::new(seed, 4)),
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
        let (prompt, mut output) = self.size();
        let number = self.number;
        if number < self.spread_users() {
            let left = 1.0 - self.behind.draw();
            output = whole((f64::from(output) * left).ceil());
        }
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
            engine: 0,
            reached: arrival,
        }
    }

    /// Users whose first answers are cut, so that they are not in step.
    pub(super) fn spread_users(&self) -> u64 {
        match self.load.arrivals {
            Arrivals::Closed {
                users,
                start: Start::Spread,
                ..
            } => u64::from(users),
            _ => 0,
        }
    }

    /// Requests per second, where they come of their own accord and without an end.
    pub(super) fn per_second(&self) -> Option<f64> {
        match self.load.arrivals {
            Arrivals::Poisson { per_second } | Arrivals::Gamma { per_second, .. } => {
                Some(per_second)
            }
            _ => None,
        }
    }

    /// Whether no more come at some time, whatever is answered.
    pub(super) fn ends(&self) -> bool {
        matches!(self.load.arrivals, Arrivals::Trace { .. })
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
                quantile(prompt, self.prompts.draw()),
                quantile(output, self.outputs.draw()),
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
