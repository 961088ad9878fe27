//! Machines that come and go.

use crate::quantity::{Bytes, Seconds};
use crate::training::Failures;

/// How long a machine stays, and how long it is away: both exponential.
#[derive(Clone, Copy, Debug)]
pub struct Churn {
    /// Mean time until it leaves; without it, it stays.
    pub lifetime: Option<Seconds>,
    /// Mean time until it is back.
    pub away: Seconds,
}

impl Churn {
    /// Share of the time that a machine is there (an alternating renewal process).
    pub fn presence(&self) -> f64 {
        self.lifetime
            .map_or(1.0, |lifetime| lifetime.0 / (lifetime + self.away).0)
    }

    /// Islands of `each` machines that run, in the mean, as a share of `islands` out of `machines`:
    /// those there are binomial, and whoever is over waits to take a place.
    pub fn running(&self, machines: u32, each: u32, islands: u32) -> f64 {
        let presence = self.presence();
        let mut sum = 0.0;
        for (there, chance) in (0..).zip(binomial(machines, presence)) {
            sum += chance * f64::from(islands.min(there / each));
        }
        sum / f64::from(islands)
    }

    /// Share of the time of an island of `each` machines that counts: what one holds is copied to
    /// another over its line, at Daly's interval, and whoever takes its place fetches it.
    pub fn goodput(&self, each: u32, held: Bytes, copy: Seconds, fetch: Seconds) -> f64 {
        match self.lifetime {
            // Alone, it comes back to its own disk.
            Some(lifetime) if each > 1 => {
                Failures::new(lifetime / f64::from(each), held, copy, fetch).goodput
            }
            _ => 1.0,
        }
    }
}

/// Chances that 0, 1, 2 ... of `trials` succeed, in logarithms: none underflows before its time.
pub(super) fn binomial(trials: u32, chance: f64) -> Vec<f64> {
    if chance >= 1.0 {
        return (0..=trials)
            .map(|k| f64::from(u8::from(k == trials)))
            .collect();
    }
    let odds = (chance / (1.0 - chance)).ln();
    let mut log = f64::from(trials) * (1.0 - chance).ln();
    let mut chances = vec![log.exp()];
    for k in 0..trials {
        log += odds + (f64::from(trials - k) / f64::from(k + 1)).ln();
        chances.push(log.exp());
    }
    chances
}
