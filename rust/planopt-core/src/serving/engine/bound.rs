//! The most that an engine can carry: no promise about waits and no formula of queues is in it.
//!
//! Every request needs `b` tokens behind its first and `s` tokens read, and an engine is stable
//! only if its mean step makes as many. With step times convex in prompt tokens and sequences, one
//! kind of step is best in any stationary schedule. With `n` who decode in a micro-batch, of which
//! there are `m`, `t(p, n)` the time until the same one steps again, and `d(n) = t(0, n)`:
//!
//! ```text
//! f(n) = max( min(n/b, p/s) / t(p, n),  1 / (b d(n)/n + s (t(B, n) - d(n))/B) ),
//!     p = min(n s/b, B - n)
//! F = m max of f(n) over n with n/(b f(n)) <= tpot;   and F <= m B / (s t(B, 0))
//! ```
//!
//! The first term is for chunks that hide behind weights, the second for full ones. `n` is at most
//! what the cache holds on average (Little's law on tokens held), and `n/(b f(n))` is what a token
//! takes, prompts between tokens included (the same law on those who decode). That it is at most
//! `tpot` is a law for the mean; for a percentile, and for steps that are not quite convex, callers
//! leave room above.

use super::estimate::Traffic;
use super::limits::EngineLimits;
use super::step::{StepTime, StepWork};

/// By how much each number of sequences that is looked at is smaller than the one before.
const APART: f64 = 1.15;

/// The same of those that are looked at first.
const COARSE: f64 = 1.75;

/// Numbers that carry less, one after the other, behind which none carries more: there may be a dent
/// where a step grows by leaps.
const WORSE: u32 = 2;

/// Share to which the most sequences are found that are fast enough.
const CLOSE: f64 = 1e-3;

/// Tokens of a step where the engine sets no limit: prompts are read whole.
pub(super) const LARGEST_STEP: f64 = 65536.0;

/// Requests per second that no engine of such limits exceeds in the long run, with a time per
/// output token of at most `tpot` seconds on average; 0 if a single sequence is too slow.
pub fn most_per_second(
    step: &impl StepTime,
    limits: &EngineLimits,
    traffic: &Traffic,
    tpot: Option<f64>,
) -> f64 {
    let engine = Engine::of(step, limits, traffic);
    let Engine {
        micro_batches,
        budget,
        behind,
        read,
        ..
    } = engine;
    let again = |prompt, sequences| engine.again(prompt, sequences);
    let reads = engine.reads();
    if behind <= 0.0 {
        return reads;
    }
    let places = engine.places();
    let carried = |sequences: f64| {
        let mixed = (sequences * read / behind).min(budget - sequences).max(0.0);
        let hidden = (sequences / behind).min(mixed / read) / again(mixed, sequences);
        let decode = again(0.0, sequences);
        let added = (again(budget, sequences) - decode).max(0.0) / budget;
        let full = 1.0 / (behind * decode / sequences + read * added);
        hidden.max(full)
    };
    let sequences = match tpot {
        None => places,
        Some(most) => {
            let alone = again(0.0, 1.0);
            if alone > most {
                return 0.0;
            }
            let longer = |sequences| sequences / (behind * carried(sequences)) - most;
            crossing((0.0, alone - most), (places, longer(places)), longer)
        }
    };
    reads.min(micro_batches * highest(sequences, carried).1)
}

/// The same by two steps, whatever a token then takes, if the more decode the less each takes of a step:
/// what is read at best, and what is put out by as many as there is room for.
pub fn most_at_all(step: &impl StepTime, limits: &EngineLimits, traffic: &Traffic) -> f64 {
    let engine = Engine::of(step, limits, traffic);
    let reads = engine.reads();
    if engine.behind <= 0.0 {
        return reads;
    }
    let places = engine.places();
    let decodes = places / (engine.behind * engine.again(0.0, places));
    reads.min(engine.micro_batches * decodes)
}

/// What the bounds of an engine rest on.
struct Engine<'e, T> {
    step: &'e T,
    limits: &'e EngineLimits,
    traffic: &'e Traffic,
    micro_batches: f64,
    /// Tokens of a step, at most.
    budget: f64,
    /// Tokens behind the first of an output.
    behind: f64,
    /// Tokens of a prompt to read.
    read: f64,
}

impl<'e, T: StepTime> Engine<'e, T> {
    fn of(step: &'e T, limits: &'e EngineLimits, traffic: &'e Traffic) -> Self {
        Self {
            step,
            limits,
            traffic,
            micro_batches: f64::from(limits.micro_batches.max(1)),
            budget: f64::from(limits.token_budget).clamp(1.0, LARGEST_STEP),
            behind: traffic.mean_output() - 1.0,
            read: traffic.mean_read(),
        }
    }

    /// Seconds until the same micro-batch steps again.
    fn again(&self, prompt: f64, sequences: f64) -> f64 {
        let chunks = if prompt > 0.0 {
            (prompt / self.read).max(1.0)
        } else {
            0.0
        };
        let seconds = self.step.seconds(&StepWork {
            prefill_tokens: prompt,
            chunks,
            prefill_context: self.traffic.mean_attended_tokens(),
            decode_sequences: sequences,
            decode_context: self.traffic.decode_context(),
        });
        seconds.latency.max(self.micro_batches * seconds.interval)
    }

    /// Prompts per second, if nothing else is done.
    fn reads(&self) -> f64 {
        self.micro_batches * self.budget / (self.read * self.again(self.budget, 0.0))
    }

    /// Sequences of a micro-batch that decode, at most.
    #[expect(clippy::cast_precision_loss, reason = "fewer tokens than 2^53")]
    fn places(&self) -> f64 {
        let of_one = self.traffic.resident_tokens(self.limits.kv_policy);
        let resident = self.limits.kv_tokens as f64 / of_one / self.micro_batches;
        f64::from(self.limits.max_sequences)
            .min(resident)
            .min(self.budget)
            .max(1.0)
    }
}

/// The most up to the `high` end at which what grows from one end to the other is at most 0, or a
/// little more: false position, in which an end that stays counts half (the Illinois rule; Dowell and
/// Jarratt 1971).
fn crossing(
    (mut low, mut below): (f64, f64),
    (mut high, mut above): (f64, f64),
    grows: impl Fn(f64) -> f64,
) -> f64 {
    if above <= 0.0 {
        return high;
    }
    let mut stays = 0.0_f64;
    while high - low > CLOSE * high {
        let near = CLOSE / 2.0 * high;
        let at = (low * above - high * below) / (above - below);
        let at = at.clamp(low + near, high - near);
        let found = grows(at);
        if found <= 0.0 {
            if stays > 0.0 {
                above /= 2.0;
            }
            (low, below, stays) = (at, found, 1.0);
        } else {
            if stays < 0.0 {
                below /= 2.0;
            }
            (high, above, stays) = (at, found, -1.0);
        }
    }
    high
}

/// Where the most is carried, up to so many sequences: one number is best, and what is carried falls to
/// both sides of it.
fn highest(most: f64, carried: impl Fn(f64) -> f64) -> (f64, f64) {
    let coarse = climbed((most, carried(most)), 1.0 / COARSE, 1.0, &carried);
    let down = climbed(coarse, 1.0 / APART, 1.0, &carried);
    if down.0 < coarse.0 {
        down
    } else {
        climbed(coarse, APART, most, &carried)
    }
}

/// The best of numbers of sequences that are `apart`, from a known one on to the last before `end`: it
/// ends where they get worse.
fn climbed(mut best: (f64, f64), apart: f64, end: f64, carried: impl Fn(f64) -> f64) -> (f64, f64) {
    let (mut at, mut worse) = (best.0 * apart, 0);
    while (at - end) * (1.0 - apart) >= 0.0 && worse < WORSE {
        let found = carried(at);
        if found > best.1 {
            (best, worse) = ((at, found), 0);
        } else {
            worse += 1;
        }
        at *= apart;
    }
    best
}

#[cfg(test)]
mod tests {
    use super::{APART, CLOSE, crossing, highest};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn where_something_grows_past_nothing_is_found_from_above(
            sought in 1e-3..1.0_f64, bend in 0.2..6.0_f64, high in 1.0..4096.0_f64
        ) {
            let sought = sought * high;
            let grows = |at: f64| at.powf(bend) - sought.powf(bend);
            let found = crossing((0.0, grows(0.0)), (high, grows(high)), grows);
            prop_assert!(sought <= found && found <= sought / (1.0 - CLOSE) + 1e-9, "{found}");
        }

        #[test]
        fn the_top_of_a_hill_is_found_up_to_the_most(top in 1.0..512.0_f64, most in 1.0..512.0_f64) {
            let best = highest(most, |at| -(at / top).ln().powi(2));
            prop_assert!((best.0 / top.min(most)).ln().abs() <= APART.ln(), "{best:?} {top}");
        }
    }
}
