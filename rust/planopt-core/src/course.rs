//! How far long work has come, and whether it goes on.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// How far long work has come, for others to look at, and whether it goes on.
#[derive(Debug, Default)]
pub struct Course {
    /// Told to stop: nobody waits for an answer.
    pub(crate) stopped: AtomicBool,
    /// Told that what is known must do.
    pub over: AtomicBool,
    done: AtomicU64,
    of: AtomicU64,
    /// Distance of the best from the bound, in millionths of it, and one more: none is 0.
    gap: AtomicU64,
}

/// Parts of a share that a gap is told in.
const MILLION: f64 = 1e6;

impl Course {
    /// What is done, and of how much: 0 where nobody knows yet.
    pub fn so_far(&self) -> (u64, u64) {
        let of = self.of.load(Ordering::Relaxed);
        let done = self.done.load(Ordering::Relaxed);
        (if of > 0 { done.min(of) } else { done }, of)
    }

    /// Share of its value by which the best that is known may be beaten, once both are known.
    pub fn gap(&self) -> Option<f64> {
        let told = self.gap.load(Ordering::Relaxed).checked_sub(1)?;
        #[expect(clippy::cast_precision_loss, reason = "a share in millionths")]
        Some(told as f64 / MILLION)
    }

    /// Tells that what is known must do.
    pub fn end(&self) {
        self.over.store(true, Ordering::Relaxed);
    }

    /// Tells that nobody waits for an answer.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
        self.end();
    }

    /// Whether what is known must do.
    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// Takes that there is so much more to do.
    pub(crate) fn begin(&self, of: u64) {
        self.of.fetch_add(of, Ordering::Relaxed);
    }

    /// Takes that so much more is done.
    pub(crate) fn step(&self, done: u64) {
        self.done.fetch_add(done, Ordering::Relaxed);
    }

    /// Takes what the best is worth, and what none is below.
    pub(crate) fn narrow(&self, best: f64, bound: f64) {
        let share = ((best - bound) / best.abs()).clamp(0.0, 1.0);
        if share.is_finite() {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a share in millionths"
            )]
            let told = (share * MILLION) as u64;
            self.gap.store(told + 1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Course;

    #[test]
    fn what_is_done_is_no_more_than_there_is() {
        let course = Course::default();
        course.step(1);
        assert_eq!(course.so_far(), (1, 0));
        course.begin(2);
        course.step(1);
        course.step(1);
        assert_eq!(course.so_far(), (2, 2));
    }

    #[test]
    fn a_gap_is_a_share_of_what_the_best_is_worth() {
        let course = Course::default();
        assert_eq!(course.gap(), None);
        course.narrow(200.0, 150.0);
        assert_eq!(course.gap(), Some(0.25));
        course.narrow(-80.0, -100.0);
        assert_eq!(course.gap(), Some(0.25));
        course.narrow(100.0, 100.0);
        assert_eq!(course.gap(), Some(0.0));
        course.narrow(0.0, 0.0);
        assert_eq!(course.gap(), Some(0.0));
    }
}
