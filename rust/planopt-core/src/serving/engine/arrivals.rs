//! Requests of a simulation, drawn at random.

use super::beginning::Beginning;
use super::draws::{Deck, quantile, whole};
use super::limits::TIERS;
use super::random::Random;
use super::sessions::Talks;
use crate::load::{Arrivals, Load, Sizes, Start};

/// A request as it arrives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Request<'a> {
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
    /// Which of the sessions asks, by its place among those that are alive.
    pub(super) session: usize,
    /// Tokens of its prompt up to which each memory behind the engine has it, and when they are here.
    pub(super) fetched: [u32; TIERS],
    pub(super) ready: f64,
    /// Tokens that came from each.
    pub(super) brought: [u32; TIERS],
    /// What its prompt begins with that others may have left in the cache.
    pub(super) begins: Option<Beginning<'a>>,
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
    talks: Option<Talks<'a>>,
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
            talks: load
                .sessions
                .as_ref()
                .map(|sessions| Talks::new(sessions, users, seed, cards)),
            number: 0,
            next: 0.0,
        };
        if source.talks.is_some() {
            source.next = f64::INFINITY;
        } else if !matches!(load.arrivals, Arrivals::Closed { .. }) {
            source.next = source.following(0.0);
        }
        source
    }

    /// When the next request comes that waits for nobody's answer; never is infinity.
    pub(super) fn next_arrival(&self) -> f64 {
        self.next
    }

    /// The request of [`Self::next_arrival`].
    pub(super) fn arrive(&mut self) -> Request<'a> {
        let request = self.ask(self.next, 0);
        self.next = self.following(self.next);
        request
    }

    /// A request at a time that its user chose, or his session.
    pub(super) fn ask(&mut self, arrival: f64, session: usize) -> Request<'a> {
        let (prompt, mut output, begins) = if let Some(talks) = &mut self.talks {
            talks.turn(session)
        } else {
            let (prompt, output) = self.size();
            (prompt, output, self.traced(prompt))
        };
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
            session,
            fetched: [0; TIERS],
            ready: arrival,
            brought: [0; TIERS],
            begins: begins.filter(|_| self.load.prefix_hit_rate <= 0.0),
        }
    }

    /// Users whose first answers are cut, so that they are not in step.
    pub(super) fn spread_users(&self) -> u64 {
        match self.load.arrivals {
            Arrivals::Closed {
                users,
                start: Start::Spread,
                ..
            } if self.talks.is_none() => u64::from(users),
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

    /// The sessions, if there are some.
    pub(super) fn talks(&self) -> Option<&Talks<'a>> {
        self.talks.as_ref()
    }

    /// Seconds that a user thinks, if users wait for answers.
    pub(super) fn think_seconds(&mut self) -> Option<f64> {
        match (&mut self.talks, &self.load.arrivals) {
            (Some(talks), _) => Some(talks.think()),
            (None, Arrivals::Closed { think_seconds, .. }) => Some(*think_seconds),
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

    /// What the prompt of a trace begins with, where that is known; who asks it again is somebody else.
    fn traced(&self, prompt: u32) -> Option<Beginning<'a>> {
        let Sizes::Pairs { hashed, .. } = &self.load.sizes else {
            return None;
        };
        let hashed = hashed.as_ref()?;
        let count = hashed.pieces.len().max(1) as u64;
        let place = usize::try_from(self.number % count).ok()?;
        Some(Beginning::Traced {
            pieces: hashed.pieces.get(place)?,
            tokens: hashed.tokens,
            prompt,
            again: self.number / count,
        })
    }

    fn size(&mut self) -> (u32, u32) {
        match &self.load.sizes {
            Sizes::Independent { prompt, output } => (
                quantile(prompt, self.prompts.draw()),
                quantile(output, self.outputs.draw()),
            ),
            Sizes::Pairs { prompt, output, .. } => {
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
