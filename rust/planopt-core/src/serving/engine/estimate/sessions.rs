//! What sessions find, and how fast they are served then: each depends on the other.

use super::{Estimate, Estimator, Traffic};
use crate::catalog::RequestOverhead;
use crate::load::{Arrivals, Start};
use crate::serving::engine::{EngineLimits, Keeping, StepTime};

/// How often hits are worked out again, at most, and how close they are then.
const ROUNDS: u32 = 20;
const CLOSE: f64 = 1e-3;

/// The share of their prompts that so many sessions find on `replicas` that are alike, and what one of
/// these does; nothing of a load without sessions.
pub fn of_sessions(
    step: &impl StepTime,
    limits: EngineLimits,
    traffic: Traffic,
    overhead: RequestOverhead,
    (alive, replicas): (f64, f64),
) -> Option<(f64, Estimate)> {
    let turns = traffic.turns()?;
    let each = (alive / replicas).max(1.0);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "at most 2^31 sessions"
    )]
    let arrivals = Arrivals::Closed {
        users: each.round() as u32,
        think_seconds: turns.think_seconds,
        start: Start::Spread,
    };
    let mut hits = turns.all_hit_rate;
    let mut round = 0;
    loop {
        let traffic = traffic.with_hits(hits);
        let estimate = Estimator::new(step, limits, traffic, overhead).at(&arrivals, 1.0);
        let turn = each / estimate.requests_per_second - turns.think_seconds;
        let found = turns.hit_rate(&Keeping::of(&limits, alive, replicas, turn.max(0.0)));
        round += 1;
        if (found - hits).abs() < CLOSE || round == ROUNDS {
            return Some((hits, estimate));
        }
        hits = f64::midpoint(hits, found);
    }
}
