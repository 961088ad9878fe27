//! Steps of several micro-batches that only decode, taken ahead.
//!
//! Until somebody ends or comes nothing but contexts changes: each micro-batch starts its next step
//! when the last has gone through all stages and the first stage is free. These are the very events of
//! the scheduler, without all that may happen at one and does not.

use super::calendar::Calendar;
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
}

/// The micro-batches of an engine that have somebody in them, and when its first stage can take the next one.
#[derive(Clone, Debug)]
pub(super) struct Ahead {
    pub(super) each: Vec<Stepping>,
    pub(super) accepts_from: f64,
    /// When the last of what was taken happened.
    pub(super) taken_to: f64,
    calendar: Calendar,
}

impl Ahead {
    pub(super) fn new(each: Vec<Stepping>, accepts_from: f64) -> Self {
        let dates = each.iter().enumerate();
        let calendar = Calendar::of(dates.map(|(place, one)| (one.doing.until(), place)));
        Self {
            each,
            accepts_from,
            taken_to: 0.0,
            calendar,
        }
    }

    /// Takes all steps up to the first with which one has ended as many as it may, and before `now`: whoever
    /// is through with one starts the next, or waits for the first stage.
    pub(super) fn go(&mut self, now: f64) {
        while let Some((mut next, place)) = self.calendar.first()
            && next < now
        {
            let one = &mut self.each[place];
            if matches!(one.doing, Doing::Steps(_)) {
                if one.ended + 1 >= one.most {
                    return;
                }
                one.ended += 1;
            }
            self.calendar.pop();
            let accepts_from = self.accepts_from;
            // Half of all that waits is the next by then: it starts without being looked up again.
            let is_next = || {
                let others = self.calendar.first();
                accepts_from < now && others.is_none_or(|other| (accepts_from, place) < other)
            };
            if accepts_from > next && !is_next() {
                self.taken_to = next;
                one.doing = Doing::Waits(accepts_from);
                self.calendar.put(accepts_from, place);
                continue;
            }
            next = next.max(accepts_from);
            self.taken_to = next;
            let seconds = one.seconds();
            one.begun += 1;
            one.doing = Doing::Steps(next + seconds.latency);
            self.accepts_from = next + seconds.interval;
            self.calendar.put(next + seconds.latency, place);
        }
    }
}
