//! Steps of several micro-batches that only decode, taken ahead.
//!
//! Until somebody ends or comes nothing but contexts changes: each micro-batch starts its next step
//! when the last has gone through all stages and the first stage is free. These are the very events of
//! the scheduler, without all that may happen at one and does not.

use super::micro_batch::Doing;
use super::step::StepSeconds;
use crate::quantity::real;

/// A micro-batch that only decodes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stepping {
    /// What it is doing.
    pub(super) doing: Doing,
    /// Steps that it has ended, of those looked ahead to.
    pub(super) ended: u64,
    /// Steps that it has begun.
    pub(super) begun: u64,
    /// How many it may end: with the last somebody leaves, or pages may run out.
    pub(super) most: u64,
    /// Time of a step behind none of them, and what each adds.
    pub(super) first: StepSeconds,
    pub(super) growth: StepSeconds,
}

impl Stepping {
    /// Time of the step behind those that it has ended.
    fn seconds(&self) -> StepSeconds {
        let ended = real(self.ended);
        StepSeconds {
            latency: ended.mul_add(self.growth.latency, self.first.latency),
            interval: ended.mul_add(self.growth.interval, self.first.interval),
        }
    }

    fn ends_with(&self, now: f64) -> bool {
        matches!(self.doing, Doing::Steps(until) if until <= now)
    }
}

/// The micro-batches of an engine that have somebody in them, and when its first stage can take the next one.
#[derive(Clone, Debug)]
pub(super) struct Ahead {
    pub(super) each: Vec<Stepping>,
    pub(super) accepts_from: f64,
}

impl Ahead {
    /// Takes all steps up to the first with which one has ended as many as it may, and before `now`.
    pub(super) fn go(&mut self, now: f64) {
        let mut next = self.next();
        // Events for which nobody can have ended as many as it may: each ends one step at most at one.
        let mut sure = 0;
        while next < now {
            if sure == 0 {
                let left = self
                    .each
                    .iter()
                    .map(|one| one.most.saturating_sub(one.ended));
                sure = left.min().unwrap_or(0).saturating_sub(1);
            }
            let is_last = |one: &Stepping| one.ended + 1 >= one.most && one.ends_with(next);
            if sure == 0 && self.each.iter().any(is_last) {
                return;
            }
            sure = sure.saturating_sub(1);
            next = self.step(next);
        }
    }

    fn next(&self) -> f64 {
        let until = self.each.iter().map(|one| one.doing.until());
        until.fold(f64::INFINITY, f64::min)
    }

    /// Whoever is through by `now` starts again, or waits for the first stage; tells when the next is.
    fn step(&mut self, now: f64) -> f64 {
        let mut next = f64::INFINITY;
        for one in &mut self.each {
            if one.doing.until() <= now {
                one.ended += u64::from(one.ends_with(now));
                one.doing = Doing::Idle;
            }
            if one.doing == Doing::Idle && self.accepts_from > now {
                one.doing = Doing::Waits(self.accepts_from);
            } else if one.doing == Doing::Idle {
                let seconds = one.seconds();
                one.begun += 1;
                one.doing = Doing::Steps(now + seconds.latency);
                self.accepts_from = now + seconds.interval;
            }
            next = next.min(one.doing.until());
        }
        next
    }
}
