//! What sessions find of their prompts in a cache that does not hold all of them.
//!
//! A characteristic-time form for finitely many sessions (docs/reference/serving.md, section 18). After
//! a pause `z` a session finds of its history `h` what others have not displaced meanwhile. With `N`
//! sessions alive, each a turn of `S` seconds and a pause `Z` by turns, `m(z) = E min(Z, z)`:
//!
//! ```text
//! q     = (S + m(z)) / (S + E Z)                            another session was there within z
//! ended = N / (turns (S + E Z)) (z - m(z))                  sessions that ended, still in the cache
//! used  = (N - 1) q E h + ended E h_end + shared,  spread^2 = (N - 1)(q E h^2 - (q E h)^2) + ended E h_end^2
//! found = g(C) - g(C - h),  g(y) = E max(0, y - used), normal
//! head  = 1 - (1 - q)^((N - 1) / groups) P(used > C)
//! hits  = (head x in common + goes on x found) / E prompt
//! ```
//!
//! Behind a router that sends sessions where their numbers lead, others are here by chance: `q / R` of all,
//! and so are those that ended. Behind one that sends every turn anywhere a session was here last `k` turns
//! ago with `(1 - 1/R)^(k-1) / R`, so many pauses and with that much less said, and others were here within
//! a window with `q (1 - (1 - 1/R) exp(-(M/q - 1)/R))`, `M` turns of each fitting into it.

use super::limits::EngineLimits;
use super::random::{Random, normal_share};
use crate::load::Routing;
use crate::quantity::real;
use std::f64::consts::PI;

/// Equal shares that pauses are cut into: their tails are long.
const PAUSES: usize = 48;

/// The same of histories.
const HISTORIES: usize = 8;

/// Turns that are drawn where each goes anywhere.
const WANDERINGS: usize = 400;

/// Where sessions ask: on how many replicas, by which router, and what each of these keeps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Keeping {
    /// Sessions of all replicas.
    pub alive: f64,
    /// How many replicas there are.
    pub replicas: f64,
    /// Who gets which turn.
    pub routing: Routing,
    /// Tokens that each replica keeps.
    pub room: f64,
    /// Seconds that a turn takes.
    pub service: f64,
}

impl Keeping {
    /// As many as there are behind a router on engines like one of these: a store that all of them have
    /// finds what others left, wherever a turn goes.
    pub fn of(limits: &EngineLimits, alive: f64, replicas: f64, service: f64) -> Self {
        let room = real(limits.room());
        if limits.shares() {
            return Self::on_one(alive, replicas * room, service);
        }
        Self {
            alive,
            replicas,
            routing: limits.router.routing,
            room,
            service,
        }
    }

    /// Sessions on one replica.
    pub fn on_one(alive: f64, room: f64, service: f64) -> Self {
        Self {
            alive,
            replicas: 1.0,
            routing: Routing::Even,
            room,
            service,
        }
    }
}

/// Pauses and histories of a sample of turns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Reuse {
    /// Mean seconds of each share of the pauses, in growing order.
    pauses: [f64; PAUSES],
    /// Mean tokens of each share of the histories that turns begin with, but first ones.
    histories: [f64; HISTORIES],
    /// Share of turns that are not the first.
    goes_on: f64,
    /// Mean and mean square of a session's own tokens after a turn, and after its last.
    pub(super) after_turn: Moments,
    at_end: Moments,
    /// Turns of a session, and seconds behind one.
    pub(super) turns: f64,
    pub(super) pause: f64,
}

/// What prompts of groups begin with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Begins {
    /// Tokens of a prompt that its group has in common, on average.
    pub(super) in_common: f64,
    /// The same of all groups, each once, and how many these are.
    pub(super) of_all: f64,
    pub(super) groups: f64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Moments {
    pub(super) mean: f64,
    square: f64,
}

impl Moments {
    fn of(all: &[f64]) -> Self {
        Self {
            mean: mean(all),
            square: all.iter().map(|each| each * each).sum::<f64>() / count(all),
        }
    }
}

/// Turns as they were drawn.
#[derive(Clone, Debug, Default)]
pub(super) struct Drawn {
    /// Seconds behind each.
    pub(super) pauses: Vec<f64>,
    /// Tokens of its own that a session had said before each that was not its first.
    pub(super) histories: Vec<f64>,
    /// The same after each, and after each that was the last.
    pub(super) after_turn: Vec<f64>,
    pub(super) at_end: Vec<f64>,
}

impl Reuse {
    pub(super) fn of(mut drawn: Drawn) -> Self {
        Self {
            turns: count(&drawn.after_turn) / count(&drawn.at_end),
            pause: mean(&drawn.pauses),
            goes_on: count(&drawn.histories) / count(&drawn.after_turn),
            pauses: shares(&mut drawn.pauses),
            histories: shares(&mut drawn.histories),
            after_turn: Moments::of(&drawn.after_turn),
            at_end: Moments::of(&drawn.at_end),
        }
    }

    /// Tokens of a prompt that sessions find on average.
    pub(super) fn found(&self, begins: Begins, keeping: &Keeping) -> f64 {
        let Keeping {
            replicas, routing, ..
        } = *keeping;
        let mut all = Sum::default();
        if replicas > 1.0 && matches!(routing, Routing::Random | Routing::RoundRobin) {
            let mut any = Random::new(0, 19);
            for _ in 0..WANDERINGS {
                let (gap, history) = self.last_here(keeping, &mut any);
                all.add(self, begins, keeping, gap, &[history]);
            }
        } else {
            for &pause in &self.pauses {
                all.add(self, begins, keeping, pause, &self.histories);
            }
        }
        (all.head * begins.in_common + self.goes_on * all.found) / all.count
    }

    /// Seconds since a session was on the replica that its turn goes to, and what it had said then.
    fn last_here(&self, keeping: &Keeping, any: &mut Random) -> (f64, f64) {
        let growth = self.after_turn.mean - self.goes_on * mean(&self.histories);
        let mut history = one_of(&self.histories, any);
        let mut gap = one_of(&self.pauses, any);
        while history > 0.0 && any.uniform() * keeping.replicas > 1.0 {
            gap += keeping.service + one_of(&self.pauses, any);
            history -= growth;
        }
        (gap, history.max(0.0))
    }

    /// Share of the other sessions that left something here within a gap, and sessions that did so and
    /// ended.
    fn others(&self, keeping: &Keeping, gap: f64) -> (f64, f64) {
        let Keeping {
            alive,
            replicas,
            routing,
            service,
            ..
        } = *keeping;
        let cycle = service + self.pause;
        let until = mean_of(&self.pauses, |other| other.min(gap));
        let back = ((service + until) / cycle).min(1.0);
        let ended = alive / (self.turns * cycle) * (gap - until).max(0.0);
        match routing {
            _ if replicas <= 1.0 => (back, ended),
            Routing::Even | Routing::CacheAware => (back, ended / replicas),
            Routing::Hash => (back / replicas, ended / replicas),
            Routing::Random | Routing::RoundRobin => {
                let elsewhere = 1.0 - 1.0 / replicas;
                let turns = ((gap + service) / cycle).max(back) / back;
                let here = 1.0 - elsewhere * (-(turns - 1.0) / replicas).exp();
                (back * here, ended * (1.0 - elsewhere.powf(self.turns)))
            }
        }
    }
}

/// What is found after each gap, added up.
#[derive(Default)]
struct Sum {
    head: f64,
    found: f64,
    count: f64,
}

impl Sum {
    fn add(
        &mut self,
        reuse: &Reuse,
        begins: Begins,
        keeping: &Keeping,
        gap: f64,
        histories: &[f64],
    ) {
        let Reuse {
            after_turn, at_end, ..
        } = reuse;
        let Keeping { room, .. } = *keeping;
        let alike = match keeping.routing {
            Routing::Even | Routing::CacheAware => keeping.alive / keeping.replicas,
            Routing::Hash | Routing::Random | Routing::RoundRobin => keeping.alive,
        };
        let others = (alike - 1.0).max(0.0);
        let (back, ended) = reuse.others(keeping, gap);
        let used = others * back * after_turn.mean + ended * at_end.mean + begins.of_all;
        let of_others = back * after_turn.square - (back * after_turn.mean).powi(2);
        let spread = (others * of_others.max(0.0) + ended * at_end.square)
            .sqrt()
            .max(1.0);
        let left = |room: f64| {
            let at = (room - used) / spread;
            let density = (-at * at / 2.0).exp() / (2.0 * PI).sqrt();
            (room - used) * normal_share(at) + spread * density
        };
        self.found += mean_of(histories, |history| left(room) - left(room - history));
        let alone = (1.0 - back).powf(others / begins.groups);
        self.head += 1.0 - alone * normal_share((used - room) / spread);
        self.count += 1.0;
    }
}

/// Any of some figures.
fn one_of(all: &[f64], any: &mut Random) -> f64 {
    let place = any.below(all.len());
    all.get(place).copied().unwrap_or_default()
}

#[expect(clippy::cast_precision_loss, reason = "a sample")]
fn count(all: &[f64]) -> f64 {
    all.len().max(1) as f64
}

fn mean(all: &[f64]) -> f64 {
    all.iter().sum::<f64>() / count(all)
}

fn mean_of(all: &[f64], of: impl Fn(f64) -> f64) -> f64 {
    all.iter().map(|&each| of(each)).sum::<f64>() / count(all)
}

/// Means of equal shares, in growing order.
fn shares<const N: usize>(all: &mut [f64]) -> [f64; N] {
    all.sort_by(f64::total_cmp);
    std::array::from_fn(|at| {
        let (from, to) = (at * all.len() / N, (at + 1) * all.len() / N);
        if all.is_empty() {
            0.0
        } else {
            mean(&all[from..to.max(from + 1)])
        }
    })
}
