//! A level of load.

use super::decoding::{Decoding, Source, decoding};
use super::estimator::Estimator;
use super::machine::{Machine, Reading};
use crate::catalog::Policy;

/// A rate of arrivals with what follows from it at once.
pub(super) struct Point<'e> {
    pub(super) machine: Machine<'e>,
    pub(super) source: Source,
    /// Arrivals per second.
    pub(super) all: f64,
    /// Of one micro-batch.
    pub(super) rate: f64,
    pub(super) decoding: Decoding,
    pub(super) reading: Reading,
    /// Share of the time that reading takes from decoding.
    pub(super) share: f64,
}

impl<'e> Point<'e> {
    pub(crate) fn new(estimator: &'e Estimator, all: f64, source: Source) -> Self {
        let machine = estimator.machine();
        let rate = all / machine.micro_batches;
        let decoding = decoding(estimator, rate, source);
        let others = decoding.population.decoding;
        let reading = machine.reading(match source {
            Source::Open { .. } => others,
            Source::Users { .. } => others.max(1.0),
        });
        Self {
            machine,
            source,
            all,
            rate,
            share: machine.share(&reading, rate, estimator.places),
            decoding,
            reading,
        }
    }

    /// Chance that the next of several micro-batches to start takes a prompt. It is the emptiest if
    /// somebody has left it in its last step, and else half of the time.
    pub(super) fn next_takes_it(&self) -> f64 {
        let left = self.rate * self.decoding.tpot;
        1.0 - (-left).exp() / 2.0
    }

    /// Share of a step that a prompt waits for, on average twice of it.
    pub(super) fn emptiest(&self) -> f64 {
        let next = self.next_takes_it();
        next / self.machine.micro_batches + 1.0 - next
    }

    /// Users who began together and whose answers are all as long stay in step with each other: who is read in a step is
    /// answered in one, and asks again together with the others.
    pub(super) fn in_step(&self) -> f64 {
        let traffic = self.machine.traffic;
        match self.source {
            Source::Users {
                users,
                together: true,
            } if traffic.output.cv2() <= 0.0 => {
                // Where a step has no room for all of them, they drift apart.
                let filled = users * traffic.mean_read() / self.reading.chunk;
                (users - 1.0).max(0.0) * (1.0 - filled).max(0.0)
            }
            _ => 0.0,
        }
    }

    /// Where nobody gets a token while prompts are read, no user asks again meanwhile.
    pub(super) fn nobody_asks_while_prompts_are_read(&self) -> bool {
        self.machine.policy == Policy::PrefillFirst && matches!(self.source, Source::Users { .. })
    }
}

/// A chance that is as good as none.
pub(super) const RARE: f64 = 1e-9;
