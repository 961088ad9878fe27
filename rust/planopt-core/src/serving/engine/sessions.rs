//! Turns of sessions, drawn at random, and what they come to on average.

use super::beginning::Beginning;
use super::draws::{Deck, quantile};
use super::limits::{EngineLimits, TIERS};
use super::random::{Random, normal_quantile};
use super::reuse::{Begins, Drawn, Keeping, Reuse};
use crate::load::{Lengths, Sessions};
use serde::Serialize;

/// A session that is alive.
#[derive(Clone, Copy, Debug)]
struct Alive {
    /// Its run in the cache.
    run: u64,
    group: u64,
    /// Tokens that its next prompt begins with.
    said: u32,
    /// Turns that it has left; none, and another session takes its place.
    left: u32,
    /// Whether its next turn is its first.
    is_new: bool,
}

/// Sessions of which each is followed by another when it ends.
#[derive(Clone, Debug)]
pub(super) struct Talks<'a> {
    sessions: &'a Sessions,
    first: Deck,
    grow: Deck,
    output: Deck,
    turns: Deck,
    think: Deck,
    alive: Vec<Alive>,
    /// Seconds that each thinks before its first turn here, and how long it has done so.
    starts: Vec<(f64, f64)>,
    /// Runs given away: those of groups come first.
    runs: u64,
    /// Sessions that have ended.
    ended: u64,
}

/// Sessions of which what is alive at any moment is drawn.
const SAMPLED: u32 = 256;

/// Seconds that any turn is taken to last beside its thinking, where it is drawn which is under way.
const SHORTEST_TURN: f64 = 1e-3;

impl<'a> Talks<'a> {
    /// So many that are alive at the same time, of which about so many `turns` will be asked for:
    /// each is found at any moment of its life, as if they had always been there.
    pub(super) fn new(sessions: &'a Sessions, alive: u32, seed: u64, turns: u32) -> Self {
        let mut talks = Self::of(sessions, seed, turns);
        let mut sample = Self::of(
            sessions,
            seed,
            SAMPLED.saturating_mul(usual_turns(sessions)),
        );
        let mut moments = Vec::new();
        let mut until = 0.0;
        while sample.ended < u64::from(SAMPLED) {
            let before = sample.alive[0];
            let think = sample.think();
            until += think + SHORTEST_TURN;
            moments.push((until, think, before));
            sample.turn(0);
        }
        let mut any = Random::new(seed, 16);
        talks.alive.clear();
        for slot in 0..alive {
            let at = (f64::from(slot) + any.uniform()) / f64::from(alive) * until;
            let found = moments.partition_point(|&(end, ..)| end < at);
            let (end, think, before) = moments[found.min(moments.len() - 1)];
            let run = talks.next_run();
            let group = run % u64::from(sessions.groups);
            talks.alive.push(Alive {
                run,
                group,
                ..before
            });
            let left = (end - at).clamp(0.0, think);
            talks.starts.push((left, think - left));
        }
        talks
    }

    /// One session, and what is drawn of it.
    fn of(sessions: &'a Sessions, seed: u64, turns: u32) -> Self {
        let each = turns / usual_turns(sessions);
        let deck = |cards, stream| Deck::new(cards, Random::new(seed, stream));
        let mut talks = Self {
            sessions,
            first: deck(each, 11),
            grow: deck(turns, 12),
            output: deck(turns, 13),
            turns: deck(each, 14),
            think: deck(turns, 15),
            alive: Vec::new(),
            starts: Vec::new(),
            runs: u64::from(sessions.groups),
            ended: 0,
        };
        let fresh = talks.fresh();
        talks.alive.push(fresh);
        talks
    }

    fn next_run(&mut self) -> u64 {
        self.runs += 1;
        self.runs - 1
    }

    fn fresh(&mut self) -> Alive {
        let run = self.next_run();
        Alive {
            run,
            group: run % u64::from(self.sessions.groups),
            said: self.sessions.shared,
            left: quantile(&self.sessions.turns, self.turns.draw()),
            is_new: true,
        }
    }

    /// The next turn of a session: tokens of its prompt and of its answer, and what it begins with.
    pub(super) fn turn(&mut self, at: usize) -> (u32, u32, Option<Beginning<'static>>) {
        let sessions = self.sessions;
        let output = quantile(&sessions.output, self.output.draw());
        let mut session = self.alive[at];
        let mut prompt = self.prompt(&session);
        if session.left == 0 || prompt.saturating_add(output) > sessions.max_context {
            if !session.is_new {
                self.ended += 1;
                session = self.fresh();
                prompt = self.prompt(&session);
            }
            prompt = prompt.min(sessions.max_context.saturating_sub(output).max(1));
        }
        let begins = Beginning::Session {
            group: session.group,
            shared: sessions.shared.min(prompt),
            own: session.run,
        };
        self.alive[at] = Alive {
            said: prompt + output,
            left: session.left.saturating_sub(1),
            is_new: false,
            ..session
        };
        (prompt, output, Some(begins))
    }

    fn prompt(&mut self, session: &Alive) -> u32 {
        let added = if session.is_new {
            quantile(&self.sessions.first, self.first.draw())
        } else {
            quantile(&self.sessions.grow, self.grow.draw())
        };
        session.said.saturating_add(added)
    }

    /// Seconds between an answer and the next prompt.
    pub(super) fn think(&mut self) -> f64 {
        let u = self.think.draw();
        let mut below = 0.0;
        let mut seconds = 0.0;
        for think in &self.sessions.think {
            let within = ((u - below) / think.share).clamp(f64::MIN_POSITIVE, 1.0 - f64::EPSILON);
            let variance = (1.0 + think.cv * think.cv).ln();
            let spread = variance.sqrt() * normal_quantile(within) - variance / 2.0;
            seconds = think.mean_seconds * spread.exp();
            below += think.share;
            if u < below {
                break;
            }
        }
        seconds.min(self.sessions.longest_think_seconds)
    }

    /// When each asks for the first time, and what it has left in the cache by then: from those
    /// whose last turn was long ago to those who have just been answered.
    pub(super) fn starts(&self) -> Vec<(usize, f64, Beginning<'static>, u32)> {
        let mut starts: Vec<(usize, (f64, f64))> =
            self.starts.iter().copied().enumerate().collect();
        starts.sort_by(|one, other| other.1.1.total_cmp(&one.1.1));
        let each = starts.into_iter().map(|(at, (wait, _))| {
            let session = self.alive[at];
            let begins = Beginning::Session {
                group: session.group,
                shared: self.sessions.shared,
                own: session.run,
            };
            (at, wait, begins, session.said)
        });
        each.collect()
    }

    /// Sessions that have ended.
    pub(super) fn ended(&self) -> u64 {
        self.ended
    }
}

/// What sessions come to, from a sample of their turns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Turns {
    /// Tokens of a prompt on average, and their standard deviation over it.
    pub prompt: (f64, f64),
    /// The same of answers.
    pub output: (f64, f64),
    /// Share of the tokens of prompts that are found where nothing is ever forgotten.
    pub all_hit_rate: f64,
    /// The share that is found, where it is given and no outcome.
    pub given: Option<f64>,
    /// Tokens of its own that a session has left after a turn, on average.
    pub own: f64,
    /// Turns of a session on average, with those that end at the longest context.
    pub turns: f64,
    /// Seconds between an answer and the next prompt, on average.
    pub think_seconds: f64,
    pub(super) begins: Begins,
    reuse: Reuse,
}

impl SessionsKept {
    /// What is needed beside what an engine has.
    pub(crate) fn of(all_hit_rate: f64, needed_kv_tokens: f64, limits: &EngineLimits) -> Self {
        Self {
            all_hit_rate,
            needed_kv_tokens,
            kv_tokens: limits.kv_tokens,
            tier_tokens: limits.tiers.map(|tier| tier.map(|tier| tier.tokens)),
        }
    }
}

/// What the sessions of a replica keep between their turns, beside what there is room for.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct SessionsKept {
    /// Share of the tokens of prompts that is found where nothing is ever forgotten.
    pub all_hit_rate: f64,
    /// Tokens that the sessions of one replica keep, on average; of a trace, those of which 99 % of
    /// what could be is found.
    pub needed_kv_tokens: f64,
    /// Tokens that its KV cache holds.
    pub kv_tokens: u64,
    /// Tokens that the memory of its hosts holds, and their disks, where these have caches.
    pub tier_tokens: [Option<u64>; TIERS],
}

/// Sessions of a sample: the means are within 1 % of those of many more.
const OF_SAMPLE: u32 = 1_500;

impl Turns {
    /// Draws a sample, always the same.
    pub fn of(sessions: &Sessions) -> Self {
        let turns = OF_SAMPLE.saturating_mul(usual_turns(sessions));
        let mut sample = Talks::of(sessions, 1, turns);
        let (mut prompts, mut outputs) = ([0.0; 2], [0.0; 2]);
        let (mut found, mut common, mut count) = (0.0, 0.0, 0.0);
        let mut drawn = Drawn::default();
        while sample.ended < u64::from(OF_SAMPLE) {
            let before = sample.alive[0];
            let (prompt, output, begins) = sample.turn(0);
            let goes_on = begins.is_some_and(|begins| begins.own() == before.run);
            let (prompt, output) = (f64::from(prompt), f64::from(output));
            let begins = f64::from(sessions.shared).min(prompt);
            let known = if goes_on {
                let history = f64::from(before.said) - begins;
                drawn.histories.push(history.max(0.0));
                f64::from(before.said)
            } else {
                drawn.at_end.extend(drawn.after_turn.last());
                begins
            };
            found += known.min(prompt);
            common += begins;
            drawn.after_turn.push(prompt + output - begins);
            for (sums, each) in [(&mut prompts, prompt), (&mut outputs, output)] {
                sums[0] += each;
                sums[1] += each * each;
            }
            drawn.pauses.push(sample.think());
            count += 1.0;
        }
        let spread = |[sum, squares]: [f64; 2]| {
            let mean = sum / count;
            (mean, (squares / count - mean * mean).max(0.0).sqrt() / mean)
        };
        let reuse = Reuse::of(drawn);
        Self {
            prompt: spread(prompts),
            output: spread(outputs),
            all_hit_rate: found / prompts[0],
            given: None,
            own: reuse.after_turn.mean,
            turns: reuse.turns,
            think_seconds: reuse.pause,
            begins: Begins {
                in_common: common / count,
                of_all: f64::from(sessions.groups) * f64::from(sessions.shared),
                groups: f64::from(sessions.groups),
            },
            reuse,
        }
    }

    /// What so many sessions on one replica keep, beside what it has room for.
    pub fn kept(&self, alive: f64, limits: &EngineLimits) -> SessionsKept {
        SessionsKept::of(self.all_hit_rate, self.footprint(alive), limits)
    }

    /// Share of the tokens of prompts that sessions find. It is low below five contexts of room; where
    /// a router looks at caches it is that of sessions that stay where they are.
    pub fn hit_rate(&self, keeping: &Keeping) -> f64 {
        let found = || self.reuse.found(self.begins, keeping) / self.prompt.0;
        self.given.unwrap_or_else(|| found().min(self.all_hit_rate))
    }

    /// Tokens that so many sessions on one replica keep between their turns.
    pub fn footprint(&self, alive: f64) -> f64 {
        alive * self.own + self.begins.of_all
    }
}

/// Turns of a session that has as many as half of all, at least 1.
fn usual_turns(sessions: &Sessions) -> u32 {
    match sessions.turns {
        Lengths::Fixed { tokens } => tokens.max(1),
        ref other => quantile(other, 0.5),
    }
}
