//! A whole run: failures, checkpoints and what is left of the time.

use crate::catalog::{Spares, TrainingAssumptions};
use crate::hardware::System;
use crate::quantity::{Bytes, BytesPerSecond, Seconds};
use serde::Serialize;

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
    /// Hosts that are away at any time, in the mean: failures while one is mended.
    pub hosts_away: f64,
    /// Hosts that wait to take their place.
    pub spare_hosts: u32,
    /// Share of the time in which spares make up for all that are away.
    pub availability: f64,
    /// Share of the time that goes into work which counts.
    pub goodput: f64,
}

/// Accelerators at work and the hosts they are in.
#[derive(Clone, Copy, Debug)]
pub struct AtWork {
    /// Accelerators.
    pub accelerators: u32,
    /// Hosts.
    pub hosts: u32,
}

impl AtWork {
    /// So many accelerators in as few hosts of a system as hold them.
    pub fn on(system: &System, accelerators: u32) -> Self {
        Self {
            accelerators,
            hosts: accelerators.div_ceil(system.slots),
        }
    }

    /// Failures per second.
    fn failure_rate(self, assumptions: &TrainingAssumptions) -> f64 {
        f64::from(self.accelerators) / assumptions.accelerator_mtbf.0
            + f64::from(self.hosts) / assumptions.host_mtbf.0
    }

    /// Hosts away at any time, in the mean (Little's law).
    fn hosts_away(self, assumptions: &TrainingAssumptions) -> f64 {
        self.failure_rate(assumptions) * assumptions.repair.0
    }

    /// Spare hosts that go with these, and the share of the time in which they make up for all
    /// that are away.
    pub fn spares(self, assumptions: &TrainingAssumptions) -> (u32, f64) {
        let away = self.hosts_away(assumptions);
        let mut known = (0..).zip(at_most(away));
        let found = match assumptions.spares {
            Spares::Hosts(hosts) => known.nth(hosts as usize),
            // Beyond what 64-bit numbers tell from 1, more spares change nothing.
            Spares::For(share) => known.find(|(_, sum)| *sum >= share.min(1.0 - ROUNDING)),
        };
        found.map_or((0, 0.0), |(spares, sum)| (spares, sum.min(1.0)))
    }
}

/// What sums of probabilities are rounded by, at most.
const ROUNDING: f64 = 1e-9;

/// Probabilities that at most 0, 1, 2 ... hosts are away, where `mean` are in the mean: hosts fail
/// at random and are mended beside one another, so that their number has the Poisson distribution
/// whatever that of the repair (Palm's theorem, the queue M/G/infinity). Terms are kept as
/// logarithms: large means start with terms below the smallest 64-bit number.
fn at_most(mean: f64) -> impl Iterator<Item = f64> {
    let mut log_term = -mean;
    let mut sum = 0.0;
    (1_u32..).map(move |next| {
        sum += log_term.exp();
        log_term += mean.ln() - f64::from(next).ln();
        sum
    })
}

impl Failures {
    /// Of a cluster that writes checkpoints of so many bytes; hosts of each kind have spares of their
    /// own.
    pub fn of_kinds(
        kinds: &[AtWork],
        checkpoint: Bytes,
        assumptions: &TrainingAssumptions,
    ) -> Self {
        let mut rate = 0.0;
        let mut hosts = 0.0;
        let mut hosts_away = 0.0;
        let mut spare_hosts = 0;
        let mut availability = 1.0;
        for kind in kinds {
            let (spares, enough) = kind.spares(assumptions);
            rate += kind.failure_rate(assumptions);
            hosts += f64::from(kind.hosts);
            hosts_away += kind.hosts_away(assumptions);
            spare_hosts += spares;
            availability *= enough;
        }
        let storage = BytesPerSecond(
            (assumptions.storage_bandwidth.0 * hosts).min(assumptions.storage_limit.0),
        );
        let failures = Self::new(
            Seconds(1.0 / rate),
            checkpoint,
            checkpoint / storage,
            assumptions.restart,
        );
        Self {
            hosts_away,
            spare_hosts,
            availability,
            goodput: failures.goodput * availability,
            ..failures
        }
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
            hosts_away: 0.0,
            spare_hosts: 0,
            availability: 1.0,
            goodput: work / wall,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: f64 = 60.0;

    #[test]
    fn ten_minutes_lost_every_twenty_one_leave_half_of_the_cluster() {
        // Of 2,048 cards that each fail once in thirty days.
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
    fn probabilities_are_those_of_poisson() {
        let sums: Vec<f64> = at_most(2.0).take(4).collect();
        let e = (-2.0_f64).exp();
        for (sum, terms) in sums.iter().zip([1.0, 3.0, 5.0, 5.0 + 4.0 / 3.0]) {
            assert!((sum - e * terms).abs() < 1e-15, "{sums:?}");
        }
        // As good as none away, and many thousands.
        assert!((at_most(1e-300).next().expect("endless") - 1.0).abs() < 1e-15);
        let large = at_most(5000.0).nth(5000).expect("endless");
        assert!((large - 0.5).abs() < 0.01, "{large}");
    }

    #[test]
    fn the_interval_is_youngs_where_checkpoints_are_short() {
        let failures = Failures::new(Seconds(1e6), Bytes(1.0), Seconds(1.0), Seconds(0.0));
        let young = (2.0 * 1e6_f64).sqrt();
        assert!((failures.checkpoint_interval.0 / young - 1.0).abs() < 1e-3);
    }
}
