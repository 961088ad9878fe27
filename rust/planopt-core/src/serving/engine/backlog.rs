//! The most that an engine carries with first tokens in time: prompts are read in order of arrival,
//! and each waits for those before it.
//!
//! What is still to be read when a request arrives is no less than with an engine that reads at its
//! best all the time and does nothing else: the work of an M/G/1 queue (Pollaczek and Khinchine: the
//! sum of residual times, of which there are `n` with `P(n) = (1 - rho) rho^n`). With `v` of that work
//! ahead, `s` what a prompt takes at the best speed and `o` what it takes alone,
//!
//! ```text
//! ttft >= max(v + s, o)         with one micro-batch
//! ttft >= max(v - r + o, o)     with any number of them
//! ```
//!
//! where `r` is what may be in the same step, or under way in other micro-batches. A rate at which
//! that is too late for too many violates the SLO.

use super::bound::LARGEST_STEP;
use super::estimate::Traffic;
use super::limits::EngineLimits;
use super::step::{StepTime, StepWork};

/// Parts of the longest wait that is in time: work is rounded down to them.
const PARTS: u8 = 64;

/// Share to which the highest load is found.
const CLOSE: f64 = 0.01;

/// What prompts of a stratum take, in seconds.
#[derive(Clone, Copy, Debug)]
struct Prompt {
    /// Of all prompts.
    share: f64,
    /// At the best speed.
    work: f64,
    /// What is left of the promise if nobody is ahead.
    spare: f64,
    /// Work ahead of one that is in time, at most.
    wait: f64,
}

impl Prompt {
    /// One at the lower end of a stratum.
    fn between(self, other: Self) -> Self {
        Self {
            spare: f64::midpoint(self.spare, other.spare),
            wait: f64::midpoint(self.wait, other.wait),
            ..self
        }
    }
}

/// Requests per second beyond which more than a `share` of them wait for their first tokens for
/// longer than `ttft` seconds, where they come independently of each other.
pub fn most_in_time(
    step: &impl StepTime,
    limits: &EngineLimits,
    traffic: &Traffic,
    (ttft, share): (f64, f64),
) -> f64 {
    let prompts = prompts(step, limits, traffic, ttft);
    let mean: f64 = prompts.iter().map(|each| each.share * each.work).sum();
    let longest = prompts.iter().map(|each| each.wait).fold(0.0, f64::max);
    let part = longest / f64::from(PARTS);
    let residual = residual(&prompts, mean, part);
    let in_time = |busy: f64| {
        let ahead = ahead(busy, &residual);
        let is_late = |one: Prompt| {
            if one.spare < 0.0 {
                1.0
            } else {
                beyond(one.wait / part, &ahead)
            }
        };
        late(&prompts, is_late) <= share
    };
    if longest <= 0.0 || !in_time(0.0) {
        return 0.0;
    }
    let (mut least, mut most) = (0.0, 1.0);
    while most - least > CLOSE * most {
        let middle = f64::midpoint(least, most);
        if in_time(middle) {
            least = middle;
        } else {
            most = middle;
        }
    }
    most / mean
}

/// Whether no more than a `share` of requests waits for its first token for longer than `ttft` seconds
/// where nobody is ahead of it, however they come.
pub fn alone_in_time(
    step: &impl StepTime,
    limits: &EngineLimits,
    traffic: &Traffic,
    (ttft, share): (f64, f64),
) -> bool {
    let prompts = prompts(step, limits, traffic, ttft);
    late(&prompts, |one| f64::from(u8::from(one.spare < 0.0))) <= share
}

/// Share of all prompts that is late, each half of a stratum as at its lower end.
fn late(prompts: &[Prompt], is_late: impl Fn(Prompt) -> f64) -> f64 {
    let of_stratum = |at: usize| {
        let one = prompts[at];
        let below = prompts[at.saturating_sub(1)];
        one.share * f64::midpoint(is_late(one.between(below)), is_late(one))
    };
    (0..prompts.len()).map(of_stratum).sum()
}

/// What prompts take, by their length.
fn prompts(
    step: &impl StepTime,
    limits: &EngineLimits,
    traffic: &Traffic,
    ttft: f64,
) -> Vec<Prompt> {
    let budget = f64::from(limits.token_budget).clamp(1.0, LARGEST_STEP);
    let micro_batches = f64::from(limits.micro_batches.max(1));
    let seconds = |tokens: f64, read: f64, attended: f64| {
        step.seconds(&StepWork {
            prefill_tokens: tokens,
            chunks: (tokens / read).max(1.0),
            prefill_context: attended,
            ..StepWork::default()
        })
    };
    let longest = traffic.prompts().map(|(_, read, _)| read.max(budget));
    let overlapped_tokens = (micro_batches - 1.0).max(1.0) * longest.fold(0.0, f64::max);
    let of_stratum = |(share, read, attended): (f64, f64, f64)| {
        let full = seconds(budget, read, attended);
        let cycle = full.latency.max(micro_batches * full.interval);
        let at_best = cycle / micro_batches / budget;
        let steps = (read / budget).ceil() - 1.0;
        let last = seconds(read - steps * budget, read, attended).latency;
        let (work, spare) = (read * at_best, ttft - steps * cycle - last);
        let overlapped = spare + overlapped_tokens * at_best;
        let wait = if limits.micro_batches > 1 {
            overlapped
        } else {
            overlapped.min(ttft - work)
        };
        Prompt {
            share,
            work,
            spare,
            wait,
        }
    };
    traffic.prompts().map(of_stratum).collect()
}

/// How likely what is left of a prompt that is being read is so many parts long, rounded down.
fn residual(prompts: &[Prompt], mean: f64, part: f64) -> Vec<f64> {
    let of_part = |at: u8| {
        let (from, to) = (part * f64::from(at), part * f64::from(at + 1));
        let within = |each: &Prompt| each.share * (each.work.min(to) - from).max(0.0);
        prompts.iter().map(within).sum::<f64>() / mean
    };
    (0..=PARTS).map(of_part).collect()
}

/// How likely so many parts of work are ahead of a request, if the engine reads for such a share of
/// the time.
fn ahead(busy: f64, residual: &[f64]) -> Vec<f64> {
    let again = busy / (1.0 - busy * residual[0]);
    let mut ahead = Vec::with_capacity(residual.len());
    ahead.push((1.0 - busy) / (1.0 - busy * residual[0]));
    for parts in 1..residual.len() {
        let left = ahead.iter().rev();
        let pairs = residual[1..=parts].iter().zip(left);
        ahead.push(again * pairs.map(|(one, rest)| one * rest).sum::<f64>());
    }
    ahead
}

/// How likely more than so many parts of work are ahead.
fn beyond(parts: f64, ahead: &[f64]) -> f64 {
    let within = ahead.iter().zip(0_u8..);
    let within = within.take_while(|(_, at)| f64::from(*at) <= parts);
    1.0 - within.map(|(share, _)| share).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prompt(work: f64) -> Prompt {
        Prompt {
            share: 1.0,
            work,
            spare: 1.0,
            wait: 1.0,
        }
    }

    #[test]
    fn what_is_left_of_a_prompt_is_any_part_of_it_alike() {
        let left = residual(&[prompt(10.0)], 10.0, 2.0);
        let (within, beyond) = left.split_at(5);
        for share in within {
            assert!((share - 0.2).abs() < 1e-12, "{left:?}");
        }
        assert!(beyond.iter().all(|share| *share < 1e-12), "{left:?}");
    }

    /// What a queue of equal services has ahead of who arrives (Erlang 1909): of `k` whole services and
    /// `y` of another, the probability of less is `(1 - rho) sum (-rho (k - n + y))^n / n! e^(rho (k - n + y))`.
    #[test]
    fn work_ahead_is_that_of_equal_services() {
        let (busy, part) = (0.7, 1.0 / 64.0);
        let ahead = ahead(busy, &residual(&[prompt(0.5)], 0.5, part));
        let less = |time: f64| {
            let services = time / 0.5;
            let mut term_sum = 0.0;
            let mut factorial = 1.0;
            for n in 0..=2_u32 {
                let left = services - f64::from(n);
                if left < 0.0 {
                    break;
                }
                factorial *= f64::from(n.max(1));
                term_sum += (-busy * left).powi(n.cast_signed()) / factorial * (busy * left).exp();
            }
            (1.0 - busy) * term_sum
        };
        for parts in [8.0, 20.0, 40.0] {
            let (below, above) = (less(parts * part), 1.0 - beyond(parts, &ahead));
            // Work is rounded down to its parts: a little more of it is said to be so short.
            assert!(below <= above && above - below < 0.05, "{below} {above}");
        }
    }
}
