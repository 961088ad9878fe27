//! The steps that read prompts with so many decoding sequences.

use super::gates::Gates;
use super::machine::{MOST_SHARE, Machine, Reading};
use super::traffic::{STRATA, mean};
use crate::catalog::Policy;

/// Numbers of decoding sequences that token times are worked out for.
pub(super) const GRID: usize = 10;

/// The last of them, counted from none.
const LAST: f64 = 9.0;

/// How prompts are read with each of these numbers.
pub(super) type Readings = [(f64, Reading); GRID];

impl Reading {
    /// Seconds of all steps of a stratum of prompts.
    pub(super) fn own(&self, at: usize) -> f64 {
        let (steps, each) = self.full[at];
        steps * each + self.last[at].1
    }

    /// The same of all prompts, on average.
    pub(super) fn own_mean(&self) -> f64 {
        mean(|at| self.own(at))
    }

    /// A step that reads a prompt, on average.
    pub(super) fn usual_step(&self) -> f64 {
        self.own_mean() / (1.0 + mean(|at| self.full[at].0))
    }

    /// Sum of a power of the lengths of a prompt's steps, on average.
    pub(super) fn step_powers(&self, power: i32) -> f64 {
        mean(|at| {
            let (steps, each) = self.full[at];
            steps * each.powi(power) + self.last[at].1.powi(power)
        })
    }
}

impl Machine<'_> {
    /// How prompts are read with numbers up to all places, at any rate.
    pub(super) fn readings(&self, places: f64) -> Readings {
        std::array::from_fn(|cell| {
            let share = f64::from(u32::try_from(cell).unwrap_or(0)) / LAST;
            let n = 1.0 + (places - 1.0) * share * share;
            (n, self.reading(n))
        })
    }

    pub(super) fn reading(&self, decoding: f64) -> Reading {
        let mixed = match self.policy {
            Policy::DecodeFirst => decoding,
            Policy::PrefillFirst => 0.0,
        };
        let mixed_steps = self.surface.mixed(mixed);
        let chunk = (self.budget - mixed).max(1.0);
        let mut full = [(0.0, 0.0); STRATA];
        let mut last = [(0.0, 0.0); STRATA];
        let alike = self.traffic.prompts_are_alike;
        for at in 0..STRATA {
            if alike && at > 0 {
                (full[at], last[at]) = (full[0], last[0]);
                continue;
            }
            let tokens = self.traffic.read(at);
            let attended_tokens = self.traffic.attended_tokens(at);
            let steps = ((tokens / chunk).ceil() - 1.0).max(0.0);
            let rest = tokens - steps * chunk;
            let full_step = mixed_steps.attending_to(chunk, attended_tokens);
            full[at] = (steps, full_step);
            last[at] = (rest, mixed_steps.attending_to(rest, attended_tokens));
        }
        let full_step = mixed_steps.at(chunk);
        let half_step = mixed_steps.at(chunk / 2.0);
        Reading {
            mixed,
            steps: mixed_steps,
            chunk,
            decode: self.surface.decode(decoding),
            full,
            last,
            per_token: ((full_step - half_step) / (chunk / 2.0)).max(0.0),
            full_step,
        }
    }

    /// Share of the time that reading takes from decoding at `rate` prompts per second and
    /// micro-batch. Prompts that arrive within one step are read together in the next one, which
    /// costs more or less than each alone: solved by iteration.
    pub(super) fn share(&self, reading: &Reading, rate: f64, room: f64) -> f64 {
        if self.policy == Policy::PrefillFirst {
            let gates = Gates::new(self, reading, rate);
            let read = gates.seconds_after(reading.decode, room);
            let share = read / (read + reading.decode);
            return (share * self.held_up(reading, share)).min(MOST_SHARE);
        }
        let mut share = 0.0;
        let mut step = reading.decode;
        for _ in 0..FEW_ROUNDS {
            let others = rate * self.traffic.mean_read() * step;
            let work = self.work_while_decoding(reading, others);
            let alone = rate * work;
            let found = (alone * self.held_up(reading, share)).min(MOST_SHARE);
            step = f64::midpoint(step, reading.decode / (1.0 - found));
            let change = (found - share).abs();
            share = found;
            if change < 1e-4 {
                break;
            }
        }
        share
    }

    /// Time of a token of those who decode, where `arriving` prompts at most can be read between it
    /// and the one before: as many as there are places for.
    pub(super) fn token_time_with(&self, reading: &Reading, arriving: f64) -> f64 {
        let more = match self.policy {
            Policy::DecodeFirst => {
                // Whether anybody else does matters more than how many on average.
                let alone = (-arriving).exp();
                let others = arriving / (1.0 - alone).max(f64::MIN_POSITIVE);
                let others = others * self.traffic.mean_read();
                let work = alone * self.work_while_decoding(reading, 0.0)
                    + (1.0 - alone) * self.work_while_decoding(reading, others);
                arriving * work
            }
            Policy::PrefillFirst => {
                let gates = Gates::new(self, reading, 0.0);
                gates.loss * -(-arriving).exp_m1() + gates.each * arriving
            }
        };
        let share = more / (more + reading.decode);
        reading.decode + more * self.held_up(reading, share)
    }

    /// What a prompt adds to steps that decode anyhow, with `others` tokens in its last one.
    fn work_while_decoding(&self, reading: &Reading, others: f64) -> f64 {
        self.traffic.mean(|at| {
            let (steps, each) = reading.full[at];
            let (rest, _) = reading.last[at];
            let tokens = (rest + others).min(reading.chunk);
            let attended_tokens = self.traffic.attended_tokens(at);
            let last = reading.steps.attending_to(tokens, attended_tokens);
            steps * (each - reading.decode) + (last - reading.decode) * rest / tokens
        })
    }

    /// A step of one micro-batch that takes longer than the others holds them up, unless they do
    /// too: each waits for its part of it.
    fn held_up(&self, reading: &Reading, share: f64) -> f64 {
        let others = 1.0 - 1.0 / self.micro_batches;
        let longer = match self.policy {
            Policy::DecodeFirst => 1.0,
            // It takes the place of one that decodes.
            Policy::PrefillFirst => (1.0 - reading.decode / reading.usual_step()).max(0.0),
        };
        1.0 + others * longer * (1.0 - share).max(0.0)
    }
}

const FEW_ROUNDS: u32 = 25;
