//! Prompts before tokens: how long nobody decodes.
//!
//! Between two steps that decode, prompts are read in rounds: whoever arrived during one is read in
//! the next, until nobody arrives (gated service, as in polling systems; Takagi, "Analysis of
//! Polling Systems", 1986). A round that reads `k` prompts takes `loss + k each`. With `T` the time
//! of the round before it, whose arrivals are Poisson, all rounds behind it take
//! `(rate each T + loss rounds) / (1 - rate each)`.

use super::machine::{MOST_SHARE, Machine, Reading};

/// Rounds of reading at a rate of arrivals.
pub(super) struct Gates {
    rate: f64,
    /// What a prompt takes in a round of several.
    pub(super) each: f64,
    /// What a round takes on top.
    pub(super) loss: f64,
    /// Share of the time that `each` takes.
    busy: f64,
    /// A usual round.
    pub(super) usual: f64,
    /// Rounds that follow a usual one.
    following: f64,
}

/// Times after which a usual round has settled, or once it has to this part of it.
const ROUNDS: u32 = 6;

const CLOSE: f64 = 1e-3;

impl Gates {
    pub(super) fn new(machine: &Machine, reading: &Reading, rate: f64) -> Self {
        let alone = machine.read_together(reading, 0.0);
        let tokens = machine.traffic.mean_read();
        let (mut usual, mut each, mut busy) = (alone, alone, 0.0);
        for _ in 0..ROUNDS {
            let together = arrived(rate * usual).max(2.0);
            let more = machine.read_together(reading, (together - 1.0) * tokens) - alone;
            each = more / (together - 1.0);
            busy = (rate * each).min(MOST_SHARE);
            let next = (alone - each).max(0.0) + each * arrived(rate * usual);
            let change = (next - usual).abs();
            usual = next;
            if change < CLOSE * usual {
                break;
            }
        }
        let loss = (alone - each).max(0.0);
        // Variance of a round: of who arrives and of their prompts, and of the round before.
        let sizes = 1.0 + machine.traffic.prompt.cv2();
        let variance = each * each * rate * usual * sizes / (1.0 - busy * busy);
        let goes_on = 1.0 - nobody(rate, usual, variance);
        Self {
            rate,
            each,
            loss,
            busy,
            usual,
            following: goes_on / (1.0 - goes_on).max(1.0 - MOST_SHARE),
        }
    }

    /// Seconds of all rounds behind something that took so long, with places for so many prompts.
    pub(super) fn seconds_after(&self, seconds: f64, room: f64) -> f64 {
        let rounds = -(-self.rate * seconds).exp_m1() * (1.0 + self.following);
        let all = (self.busy * seconds + self.loss * rounds) / (1.0 - self.busy);
        // As many prompts as a geometric distribution has, cut off where no place is left.
        let prompts = all / (self.each + self.loss);
        all * (1.0 - (prompts / (1.0 + prompts)).powf(room))
    }
}

/// Arrivals of which there is at least one.
fn arrived(usual: f64) -> f64 {
    if usual > 1e-6 {
        usual / -(-usual).exp_m1()
    } else {
        1.0
    }
}

/// Chance that nobody arrives within a time, taken as a gamma distribution.
fn nobody(rate: f64, mean: f64, variance: f64) -> f64 {
    let scale = variance / mean;
    if rate * scale > 1e-6 {
        (1.0 + rate * scale).powf(-mean / scale)
    } else {
        (-rate * mean).exp()
    }
}

#[cfg(test)]
mod tests {
    use super::Gates;

    #[test]
    fn the_more_places_there_are_the_longer_is_read() {
        let gates = Gates {
            rate: 2.0,
            each: 0.1,
            loss: 0.05,
            busy: 0.2,
            usual: 0.15,
            following: 0.5,
        };
        let all = gates.seconds_after(3.0, f64::INFINITY);
        let mut before = 0.0;
        for room in [1.0, 2.0, 8.0, 32.0] {
            let seconds = gates.seconds_after(3.0, room);
            assert!(before < seconds && seconds < all, "{seconds} of {all}");
            before = seconds;
        }
    }
}
