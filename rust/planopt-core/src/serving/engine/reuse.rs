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

use super::random::normal_share;
use std::f64::consts::PI;

/// Equal shares that pauses are cut into: their tails are long.
const PAUSES: usize = 48;

/// The same of histories.
const HISTORIES: usize = 8;

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

    /// Tokens of a prompt that so many sessions find on average, where `room` tokens are kept and a
    /// turn takes `service` seconds.
    pub(super) fn found(&self, begins: Begins, alive: f64, room: f64, service: f64) -> f64 {
        let Reuse {
            pauses,
            histories,
            goes_on,
            after_turn,
            at_end,
            turns,
            pause: pause_mean,
        } = self;
        let others = (alive - 1.0).max(0.0);
        let cycle = service + pause_mean;
        let (mut head, mut found) = (0.0, 0.0);
        for &pause in pauses {
            let until = mean_of(pauses, |other| other.min(pause));
            let back = ((service + until) / cycle).min(1.0);
            let ended = alive / (turns * cycle) * (pause - until).max(0.0);
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
            found += mean_of(histories, |history| left(room) - left(room - history));
            let alone = (1.0 - back).powf(others / begins.groups);
            head += 1.0 - alone * normal_share((used - room) / spread);
        }
        (head * begins.in_common + goes_on * found) / count(pauses)
    }
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
