//! Those who decode at a rate of arrivals, and how long their tokens take.

use super::estimator::Estimator;
use super::machine::Machine;
use super::population::Population;
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

/// Rounds after which the number of those who decode has settled.
const ROUNDS: u32 = 40;

/// Turns after which the time of a token in a full engine has settled.
const FEW_TURNS: u32 = 3;

/// Numbers of decoding sequences that token times are worked out for.
const GRID: usize = 10;

/// Token times by the number of those who decode in a micro-batch.
struct TokenTimes {
    at: [f64; GRID],
    /// With as many prompts read as arrive.
    seconds: [f64; GRID],
    /// With all places taken and others in line: one is read for each that leaves.
    in_line: f64,
    /// With all places taken and no prompt to read.
    alone: f64,
}

impl TokenTimes {
    fn new(machine: &Machine, places: f64, rate: f64, behind: f64) -> Self {
        let mut at = [0.0; GRID];
        for (place, n) in at.iter_mut().enumerate() {
            let share = f64::from(u32::try_from(place).unwrap_or(0)) / (real(GRID) - 1.0);
            *n = 1.0 + (places - 1.0) * share * share;
        }
        let mut seconds = [0.0; GRID];
        let (mut in_line, mut alone) = (0.0, 0.0);
        for (cell, &n) in at.iter().enumerate() {
            let reading = machine.reading(n);
            seconds[cell] =
                reading.decode / (1.0 - machine.share(&reading, rate, places - n + 1.0));
            if cell + 1 == GRID {
                alone = reading.decode;
                // One leaves, and another is read, for each that has been read and answered.
                in_line = seconds[cell];
                for _ in 0..FEW_TURNS {
                    let leaving = match machine.policy {
                        Policy::DecodeFirst => {
                            n * in_line / (behind * in_line + reading.own_mean())
                        }
                        // Nobody's tokens are put out while prompts are read.
                        Policy::PrefillFirst => n / behind.max(1.0),
                    };
                    in_line = machine.token_time_with(&reading, leaving);
                }
            }
        }
        Self {
            at,
            seconds,
            in_line,
            alone,
        }
    }

    fn at(&self, n: f64) -> f64 {
        let mut cell = 0;
        while cell + 2 < GRID && n > self.at[cell + 1] {
            cell += 1;
        }
        let width = self.at[cell + 1] - self.at[cell];
        if width <= 0.0 {
            return self.seconds[cell];
        }
        let along = ((n - self.at[cell]) / width).clamp(0.0, 1.0);
        self.seconds[cell] + (self.seconds[cell + 1] - self.seconds[cell]) * along
    }
}

/// At `rate` prompts per second and micro-batch.
pub(super) fn decoding(estimator: &Estimator, rate: f64, source: Source) -> Decoding {
    let machine = &estimator.machine();
    let places = estimator.places;
    let behind = machine.traffic.output.mean - 1.0;
    match source {
        Source::Open { .. } => {
            let times = TokenTimes::new(machine, places, rate, behind);
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
            let mut n = most;
            for _ in 0..ROUNDS {
                let next = (rate * behind * time(n)).min(most);
                let change = (next - n).abs();
                n = next;
                if change < 1e-3 * most {
                    break;
                }
            }
            Decoding {
                population: Population {
                    decoding: n,
                    variance: 0.0,
                    full: 0.0,
                    falls_by: 0.0,
                    until_free: 0.0,
                    reads_in_line: 0.0,
                },
                tpot: time(n),
                slope: 0.0,
            }
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a handful")]
fn real(count: usize) -> f64 {
    count as f64
}
