//! Those who decode at a rate of arrivals, and how long their tokens take.

use super::population::Population;
use super::reading::Machine;

/// Who arrives.
#[derive(Clone, Copy, Debug)]
pub(super) enum Source {
    /// At random, with a squared coefficient of variation of the times between arrivals.
    Open { cv2: f64 },
    /// So many users per micro-batch.
    Users(f64),
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

/// Numbers of decoding sequences that token times are worked out for.
const GRID: usize = 10;

/// Token times on a grid of the number of those who decode.
struct TokenTimes {
    at: [f64; GRID],
    seconds: [f64; GRID],
}

impl TokenTimes {
    fn new(machine: &Machine, places: f64, rate: f64) -> Self {
        let mut at = [0.0; GRID];
        for (place, n) in at.iter_mut().enumerate() {
            let share = f64::from(u32::try_from(place).unwrap_or(0)) / (real(GRID) - 1.0);
            *n = 1.0 + (places - 1.0) * share * share;
        }
        let seconds = at.map(|n| {
            let reading = machine.reading(n);
            reading.decode / (1.0 - machine.share(&reading, rate))
        });
        Self { at, seconds }
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

pub(super) fn decoding(
    machine: &Machine,
    places: f64,
    rate: f64,
    behind: f64,
    source: Source,
) -> Decoding {
    match source {
        Source::Open { .. } => {
            let times = TokenTimes::new(machine, places, rate);
            let usual = (rate * behind * times.at(1.0)).clamp(1.0, places);
            let reading = machine.reading(usual);
            let read = reading.own_mean();
            let population = Population::new(rate, places, read, |n| behind * times.at(n));
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
        Source::Users(users) => {
            // As many decode as the rate and the time they take make.
            let time = |n: f64| {
                let reading = machine.reading(n.max(1.0));
                reading.decode / (1.0 - machine.share(&reading, rate))
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
