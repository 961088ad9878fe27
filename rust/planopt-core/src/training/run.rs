//! A whole run: failures, checkpoints and what is left of the time.

use serde::Serialize;

use crate::catalog::TrainingAssumptions;
use crate::quantity::{Bytes, BytesPerSecond, Seconds};

/// Failures of a cluster and what they cost.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Failures {
    /// Mean time between failures of the whole cluster.
    pub interval: Seconds,
    /// One checkpoint.
    pub checkpoint: Bytes,
    /// Time to write it.
    pub checkpoint_seconds: Seconds,
    /// Work between two checkpoints.
    pub checkpoint_interval: Seconds,
    /// From a failure until work goes on.
    pub restart: Seconds,
    /// Share of the time that goes into work which counts.
    pub goodput: f64,
}

/// Mean time between failures of `count` things that each fail once in `mtbf`.
pub fn failure_interval(mtbf: Seconds, count: f64) -> Seconds {
    mtbf / count
}

impl Failures {
    /// Of a cluster that writes checkpoints of so many bytes.
    pub fn of_cluster(
        accelerators: u32,
        hosts: u32,
        checkpoint: Bytes,
        assumptions: &TrainingAssumptions,
    ) -> Self {
        let rate = f64::from(accelerators) / assumptions.accelerator_mtbf.0
            + f64::from(hosts) / assumptions.host_mtbf.0;
        let storage = BytesPerSecond(
            (assumptions.storage_bandwidth.0 * f64::from(hosts)).min(assumptions.storage_limit.0),
        );
        Self::new(
            Seconds(1.0 / rate),
            checkpoint,
            checkpoint / storage,
            assumptions.restart,
        )
    }

    /// Checkpoints at the best interval (Daly, "A higher order estimate of the optimum checkpoint
    /// interval for restart dumps", 2006; Young's `sqrt(2 delta M)` is its first term).
    pub fn new(
        interval: Seconds,
        checkpoint: Bytes,
        checkpoint_seconds: Seconds,
        restart: Seconds,
    ) -> Self {
        let (between, writing) = (interval.0, checkpoint_seconds.0);
        let work = if writing < 2.0 * between {
            let ratio = (writing / (2.0 * between)).sqrt();
            (2.0 * writing * between).sqrt() * (1.0 + ratio / 3.0 + ratio * ratio / 9.0) - writing
        } else {
            between
        };
        // Nothing to write: as good as continuous checkpoints, still a positive interval.
        let work = work.max(between * f64::EPSILON.sqrt());
        // Daly's mean wall-clock time of a stretch of work with failures at random.
        let wall = between * (restart.0 / between).exp() * ((work + writing) / between).exp_m1();
        Self {
            interval,
            checkpoint,
            checkpoint_seconds,
            checkpoint_interval: Seconds(work),
            restart,
            goodput: work / wall,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: f64 = 60.0;

    #[test]
    fn cards_that_fail_monthly_fail_every_twenty_one_minutes() {
        let month = Seconds(30.0 * 24.0 * 3600.0);
        let interval = failure_interval(month, 2048.0);
        assert!((interval.0 / MINUTE - 21.094).abs() < 1e-3);
    }

    #[test]
    fn ten_minutes_lost_every_twenty_one_leave_half_of_the_cluster() {
        let interval = Seconds(21.094 * MINUTE);
        let failures = Failures::new(interval, Bytes(1.0), Seconds(1e-3), Seconds(10.0 * MINUTE));
        assert!((0.45..0.65).contains(&failures.goodput), "{failures:?}");
    }

    #[test]
    fn goodput_is_a_share_and_falls_with_every_loss() {
        let goodput = |interval: f64, writing: f64, restart: f64| {
            Failures::new(
                Seconds(interval),
                Bytes(1.0),
                Seconds(writing),
                Seconds(restart),
            )
            .goodput
        };
        for (interval, writing, restart) in [(1e4, 1.0, 60.0), (1e3, 1e4, 60.0), (1e6, 0.0, 0.0)] {
            let share = goodput(interval, writing, restart);
            assert!(share > 0.0 && share <= 1.0, "{share}");
            assert!(goodput(interval / 2.0, writing, restart) <= share);
            assert!(goodput(interval, writing * 2.0 + 1.0, restart) < share);
            assert!(goodput(interval, writing, restart + 60.0) < share);
        }
    }

    #[test]
    fn the_interval_is_youngs_where_checkpoints_are_short() {
        let failures = Failures::new(Seconds(1e6), Bytes(1.0), Seconds(1.0), Seconds(0.0));
        let young = (2.0 * 1e6_f64).sqrt();
        assert!((failures.checkpoint_interval.0 / young - 1.0).abs() < 1e-3);
    }
}
