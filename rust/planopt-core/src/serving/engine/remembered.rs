//! Steps that only decode, remembered: nearly all of a run are such, and between two numbers of
//! cached tokens that are close their time is a line.

use super::step::{StepSeconds, StepTime, StepWork};
use crate::quantity::real;
use std::cell::RefCell;
use std::collections::HashMap;

/// Cached tokens of a stretch.
const STRETCH: f64 = 64.0;

/// Share of a time by which the middle of a stretch may be off the line: far below what any time is
/// known by.
const STRAIGHT: f64 = 1e-6;

/// Sequences beyond which a step is worked out each time.
const MOST_SEQUENCES: f64 = 65_536.0;

/// Times of steps, of which those that only decode are worked out once per stretch.
#[derive(Debug)]
pub struct Remembered<'s, S> {
    steps: &'s S,
    lines: RefCell<HashMap<(u32, u32), Option<Line>>>,
}

/// Where a stretch begins, and what each token adds.
#[derive(Clone, Copy, Debug)]
struct Line {
    first: StepSeconds,
    each: StepSeconds,
}

impl<'s, S: StepTime> Remembered<'s, S> {
    /// The steps of an engine.
    pub fn of(steps: &'s S) -> Self {
        Self {
            steps,
            lines: RefCell::default(),
        }
    }

    /// The line of a stretch; none where its middle is off it.
    fn line(&self, sequences: u32, stretch: u32) -> Option<Line> {
        let at = |share: f64| {
            let context = (f64::from(stretch) + share) * STRETCH;
            self.steps
                .seconds(&StepWork::decode(f64::from(sequences), context))
        };
        let (first, middle, last) = (at(0.0), at(0.5), at(1.0));
        let is_off = |first: f64, middle: f64, last: f64| {
            (f64::midpoint(first, last) - middle).abs() > STRAIGHT * middle
        };
        let is_bent = is_off(first.latency, middle.latency, last.latency)
            || is_off(first.interval, middle.interval, last.interval);
        let each = StepSeconds {
            latency: (last.latency - first.latency) / STRETCH,
            interval: (last.interval - first.interval) / STRETCH,
        };
        (!is_bent).then_some(Line { first, each })
    }
}

impl<S: StepTime> StepTime for Remembered<'_, S> {
    fn seconds(&self, work: &StepWork) -> StepSeconds {
        let (sequences, context) = (work.decode_sequences, work.decode_context);
        let is_plain = work.prefill_tokens <= 0.0 && sequences.fract() == 0.0;
        let is_known = (1.0..MOST_SEQUENCES).contains(&sequences)
            && (0.0..STRETCH * f64::from(u32::MAX)).contains(&context);
        if !is_plain || !is_known {
            return self.steps.seconds(work);
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "within the limits above"
        )]
        let at = (sequences as u32, (context / STRETCH) as u32);
        let known = self.lines.borrow().get(&at).copied();
        let line = known.unwrap_or_else(|| {
            let line = self.line(at.0, at.1);
            self.lines.borrow_mut().insert(at, line);
            line
        });
        line.map_or_else(
            || self.steps.seconds(work),
            |line| {
                let beyond = context - real(u64::from(at.1)) * STRETCH;
                StepSeconds {
                    latency: beyond.mul_add(line.each.latency, line.first.latency),
                    interval: beyond.mul_add(line.each.interval, line.first.interval),
                }
            },
        )
    }
}
