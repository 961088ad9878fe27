//! A closed form of the engine: latencies under a load without simulating it.
//!
//! What a first token waits for is put together from what queueing theory knows of its parts: the
//! rest of the step under way, prompts that are read in the same step (a batch queue with gates),
//! prompts that do not fit it (M/G/1), and a place in the engine (M/G/c). How long a token takes
//! follows from how many decode, and how much of the time prompts take, which are read with tokens
//! or before them (rounds behind gates). The derivation stands in
//! `docs/reference/serving.md`; constants that theory does not give are fitted to the simulator,
//! and say so.

mod answer;
mod decoding;
mod estimator;
mod gates;
mod latency;
mod machine;
mod point;
mod population;
mod reading;
mod sessions;
mod surface;
mod tail;
mod traffic;
mod waiting;

pub use self::answer::{Estimate, Quantiles};
pub use self::estimator::Estimator;
pub use self::sessions::of_sessions;
pub use self::traffic::Traffic;

use self::estimator::gaps;
use crate::load::{Arrivals, Start};

impl Estimator {
    /// Latencies of an engine of which there are `replicas`.
    pub fn at(&self, arrivals: &Arrivals, replicas: f64) -> Estimate {
        match arrivals {
            Arrivals::Poisson { per_second } => self.open(*per_second, 1.0, replicas),
            Arrivals::Gamma { per_second, cv } => self.open(*per_second, cv * cv, replicas),
            Arrivals::Closed {
                users,
                think_seconds,
                start,
            } => self.closed(
                (f64::from(*users) / replicas).max(1.0),
                *think_seconds,
                *start == Start::Together,
            ),
            Arrivals::Trace { seconds } => {
                let (per_second, cv2) = gaps(seconds);
                self.open(per_second, cv2, replicas)
            }
        }
    }

    /// Every replica gets each `replicas`-th request, which come the more evenly.
    fn open(&self, per_second: f64, cv2: f64, replicas: f64) -> Estimate {
        latency::open(self, per_second / replicas, cv2 / replicas)
    }

    /// Users who wait for their answers make the rate at which their requests keep them all busy.
    fn closed(&self, users: f64, think_seconds: f64, together: bool) -> Estimate {
        let machine = self.machine();
        let alone = machine.reading(1.0);
        let fastest =
            alone.own_mean() + (self.traffic.output.mean - 1.0) * alone.decode + think_seconds;
        // The rate falls as turns get longer, and turns get longer as the rate grows: their
        // crossing is looked for by secants, and by halves where these lead away from it.
        let (mut low, mut high) = (0.0, users / fastest);
        let mut rate = high;
        let mut before = None;
        let mut estimate = latency::closed(self, users, rate, together);
        for _ in 0..ROUNDS {
            let possible = users / (estimate.turn() + think_seconds);
            let gap = possible - rate;
            if gap.abs() < CLOSE * rate {
                break;
            }
            if gap > 0.0 {
                low = rate;
            } else {
                high = rate;
            }
            let next = before.map_or(possible, |(other, gap_then)| {
                rate - gap * (rate - other) / (gap - gap_then)
            });
            before = Some((rate, gap));
            rate = if low < next && next < high {
                next
            } else {
                f64::midpoint(low, high)
            };
            estimate = latency::closed(self, users, rate, together);
        }
        estimate
    }
}

/// Rates are found to a part in 10^3: closer than the formulas know them.
const CLOSE: f64 = 1e-3;

const ROUNDS: u32 = 50;
