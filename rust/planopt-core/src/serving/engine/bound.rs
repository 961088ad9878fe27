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

/// Share to which the most sequences are found that are fast enough.
const CLOSE: f64 = 1e-3;

/// Tokens of a step where the engine sets no limit: prompts are read whole.
pub(super) const LARGEST_STEP: f64 = 65536.0;

/// Requests per second that no engine of such limits exceeds in the long run, with a time per
/// output token of at most `tpot` seconds on average; 0 if a single sequence is too slow.
#[expect(clippy::cast_precision_loss, reason = "fewer tokens than 2^53")]
pub fn most_per_second(
    step: &impl StepTime,
    limits: &EngineLimits,
    traffic: &Traffic,
    tpot: Option<f64>,
) -> f64 {
    let micro_batches = f64::from(limits.micro_batches.max(1));
    let budget = f64::from(limits.token_budget).clamp(1.0, LARGEST_STEP);
    let (behind, read) = (traffic.mean_output() - 1.0, traffic.mean_read());
    let again = |prompt: f64, sequences: f64| {
        let chunks = if prompt > 0.0 {
            (prompt / read).max(1.0)
        } else {
            0.0
        };
        let seconds = step.seconds(&StepWork {
            prefill_tokens: prompt,
            chunks,
            prefill_context: traffic.mean_attended_tokens(),
            decode_sequences: sequences,
            decode_context: traffic.decode_context(),
        });
        seconds.latency.max(micro_batches * seconds.interval)
    };
    let reads = micro_batches * budget / (read * again(budget, 0.0));
    if behind <= 0.0 {
        return reads;
    }
    let resident =
        limits.kv_tokens as f64 / traffic.resident_tokens(limits.kv_policy) / micro_batches;
    let places = f64::from(limits.max_sequences)
        .min(resident)
        .min(budget)
        .max(1.0);
    let carried = |sequences: f64| {
        let mixed = (sequences * read / behind).min(budget - sequences).max(0.0);
        let hidden = (sequences / behind).min(mixed / read) / again(mixed, sequences);
        let decode = again(0.0, sequences);
        let added = (again(budget, sequences) - decode).max(0.0) / budget;
        let full = 1.0 / (behind * decode / sequences + read * added);
        hidden.max(full)
    };
    let in_time =
        |sequences| tpot.is_none_or(|most| sequences / (behind * carried(sequences)) <= most);
    if tpot.is_some_and(|most| again(0.0, 1.0) > most) {
        return 0.0;
    }
    let (mut sequences, mut beyond) = (0.0, places);
    if in_time(places) {
        sequences = places;
    }
    while beyond - sequences > CLOSE * beyond {
        let middle = f64::midpoint(sequences, beyond);
        if in_time(middle) {
            sequences = middle;
        } else {
            beyond = middle;
        }
    }
    let sequences = beyond;
    // One number is best, and what is carried falls to both sides of it: coarse steps find about
    // where.
    let mut best = (sequences, carried(sequences));
    for apart in [COARSE, APART] {
        let (middle, most) = (best.0, sequences);
        let mut at = (middle * COARSE).min(most);
        let least = if apart == COARSE {
            most.min(1.0)
        } else {
            (middle / COARSE).max(most.min(1.0))
        };
        while at >= least {
            let found = carried(at);
            if found > best.1 {
                best = (at, found);
            }
            at /= apart;
        }
    }
    let most = best.1;
    reads.min(micro_batches * most)
}
