//! Those who decode at a rate of arrivals, and how long their tokens take.

use super::estimator::Estimator;
use super::machine::Machine;
use super::population::Population;
use super::reading::GRID;
use super::surface::Linear;
use crate::catalog::Policy;

/// Who arrives.
#[derive(Clone, Copy, Debug)]
pub(super) enum Source {
    /// At random, with a squared coefficient of variation of the times between arrivals.
    Open { cv2: f64 },
    /// Users who wait for their answers.
    Users {
        /// Per micro-batch.
        users: f64,
        /// Whether they began at the same time.
        together: bool,
    },
}

/// Those who decode, and how long their tokens take.
pub(super) struct Decoding {
    pub(super) population: Population,
    /// Seconds per token, by the number of those who decode.
    pub(super) tpot: f64,
    /// By how much one more slows it down.
    pub(super) slope: f64,
}

/// Rounds after which the number of those who decode has settled, or once it has to this share of the
/// most.
const ROUNDS: u32 = 40;

const CLOSE: f64 = 1e-3;

/// Turns after which the time of a token in a full engine has settled.
const FEW_TURNS: u32 = 3;

/// Token times by the number of those who decode in a micro-batch.
struct TokenTimes {
    /// With as many prompts read as arrive.
    seconds: Linear<GRID>,
    places: f64,
    /// With all places taken and others in line: one is read for each that leaves.
    in_line: f64,
    /// With all places taken and no prompt to read.
    alone: f64,
}

impl TokenTimes {
    fn new(estimator: &Estimator, machine: &Machine, rate: f64, behind: f64) -> Self {
        let readings = &estimator.readings;
        let (places, reading) = &readings[GRID - 1];
        let seconds = readings.each_ref().map(|(n, reading)| {
            reading.decode / (1.0 - machine.share(reading, rate, places - n + 1.0))
        });
        // One leaves, and another is read, for each that has been read and answered.
        let mut in_line = seconds[GRID - 1];
        for _ in 0..FEW_TURNS {
            let leaving = match machine.policy {
                Policy::DecodeFirst => places * in_line / (behind * in_line + reading.own_mean()),
                // Nobody's tokens are put out while prompts are read.
                Policy::PrefillFirst => places / behind.max(1.0),
            };
            in_line = machine.token_time_with(reading, leaving);
        }
        Self {
            seconds: Linear::new(readings.each_ref().map(|(n, _)| *n), seconds),
            places: *places,
            in_line,
            alone: reading.decode,
        }
    }

    fn at(&self, n: f64) -> f64 {
        self.seconds.at(n.min(self.places))
    }
}

/// The number up to `most` that `settled` leaves as it is: by secants, and by turns where these lead
/// away from it.
fn fixed_point(settled: impl Fn(f64) -> f64, most: f64) -> f64 {
    let (mut n, mut next) = (most, settled(most));
    let mut before = None;
    for _ in 0..ROUNDS {
        let gap = next - n;
        if gap.abs() < CLOSE * most {
            break;
        }
        let secant = before.map(|(other, gap_then)| n - gap * (n - other) / (gap - gap_then));
        before = Some((n, gap));
        n = secant
            .filter(|secant| (0.0..n).contains(secant))
            .unwrap_or(next);
        next = settled(n);
    }
    next
}

/// At `rate` prompts per second and micro-batch.
pub(super) fn decoding(estimator: &Estimator, rate: f64, source: Source) -> Decoding {
    let machine = &estimator.machine();
    let places = estimator.places;
    let behind = machine.traffic.output.mean - 1.0;
    match source {
        Source::Open { .. } => {
            let times = TokenTimes::new(estimator, machine, rate, behind);
            let micro_batches = machine.micro_batches;
            let usual = (rate * behind * times.at(1.0)).clamp(1.0, places);
            let reading = machine.reading(usual);
            let read = reading.own_mean();
            // All micro-batches share one line.
            let with = |places: f64| {
                let of_all = Population::new(
                    rate * micro_batches,
                    places * micro_batches,
                    read,
                    |n| behind * times.at(n / micro_batches),
                    behind * times.in_line,
                );
                of_all.of_one(micro_batches)
            };
            // Pages hold more of short sequences and fewer of long ones.
            let off = estimator.places_deviation;
            let mut population = if off > 0.0 {
                Population::either(with((places - off).max(1.0)), with(places + off))
            } else {
                with(places)
            };
            population.reads_in_line = 1.0 - times.alone / times.in_line;
            let n = population.decoding;
            Decoding {
                population,
                tpot: if rate * behind > 0.0 {
                    n / (rate * behind)
                } else {
                    times.at(1.0)
                },
                slope: (times.at(n + 1.0) - times.at((n - 1.0).max(0.5))) / 2.0,
            }
        }
        Source::Users { users, .. } => {
            // Nobody is held up by his own prompt.
            let all = users * machine.micro_batches;
            let fellows = ((all - 1.0) / all).max(0.0);
            // As many decode as the rate and the time they take make.
            let time = |n: f64| {
                let reading = machine.reading(n.max(1.0));
                let answered = match machine.policy {
                    Policy::DecodeFirst => n,
                    // What is read while somebody decodes is read while nobody else is.
                    Policy::PrefillFirst => n + rate * reading.own_mean(),
                };
                machine.token_time_with(&reading, fellows * answered / behind.max(1.0))
            };
            let most = places.min(users);
            let settled = |n: f64| (rate * behind * time(n)).min(most);
            let n = fixed_point(settled, most);
            Decoding {
                population: Population {
                    decoding: n,
                    ..Population::default()
                },
                tpot: time(n),
                slope: 0.0,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{CLOSE, fixed_point};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_settles_is_left_as_it_is(share in 0.0..1.0_f64, slope in 0.0..0.99_f64, most in 1.0..4096.0_f64) {
            let settled = |n: f64| (share * most * (1.0 - slope) + slope * n).min(most);
            let found = fixed_point(settled, most);
            prop_assert!((settled(found) - found).abs() <= CLOSE * most, "{found}");
        }
    }
}
