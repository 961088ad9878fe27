//! How many sequences are in an engine: a chain of births and deaths.
//!
//! Sequences that decode share the engine evenly, so that the chain has a product form that does
//! not depend on how output lengths are distributed (Kelly, "Reversibility and Stochastic
//! Networks", 1979, chapter 3). Beyond the places that there are, requests wait in a line, whose
//! length falls off geometrically.

/// The chain, summed up.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Population {
    /// Mean number of those who decode.
    pub(super) decoding: f64,
    /// Its variance.
    pub(super) variance: f64,
    /// Chance that all places are taken.
    pub(super) full: f64,
    /// By how much the chance falls from one more in line to the next; 0 where nobody waits.
    pub(super) falls_by: f64,
    /// Seconds until a place is free when all are taken, with exponential service.
    pub(super) until_free: f64,
    /// Share of that in which the prompts of those before are read.
    pub(super) reads_in_line: f64,
}

/// Utilisation beyond which an engine counts as overloaded.
pub(super) const MOST_BUSY: f64 = 0.985;

impl Population {
    /// `rate` arrivals per second, of which each decodes for `decode_seconds(n)` where `n` are in the
    /// engine, for `seconds_in_line` where others are in line, and has its prompt read for
    /// `read_seconds` in one of `places`.
    pub(super) fn new(
        rate: f64,
        places: f64,
        read_seconds: f64,
        decode_seconds: impl Fn(f64) -> f64,
        seconds_in_line: f64,
    ) -> Self {
        let (mut sum, mut first, mut second) = (1.0, 0.0, 0.0);
        let (mut chance, mut highest, mut n) = (1.0_f64, 1.0_f64, 0.0);
        let mut is_full = false;
        while n < places {
            n += 1.0;
            let decodes = decode_seconds(n);
            chance *= rate * (decodes + read_seconds) / n;
            let decoding = n * decodes / (decodes + read_seconds);
            sum += chance;
            first += decoding * chance;
            second += decoding * decoding * chance;
            highest = highest.max(chance);
            is_full = n >= places;
            if chance > VAST {
                let down = 1.0 / chance;
                sum *= down;
                first *= down;
                second *= down;
                highest *= down;
                chance = 1.0;
            }
            if chance < NEGLIGIBLE * highest && rate * (decodes + read_seconds) < n {
                break;
            }
        }
        let mut population = Self::default();
        if is_full {
            let decodes = seconds_in_line;
            let held = decodes + read_seconds;
            let falls_by = rate * held / places;
            let bounded = falls_by.min(MOST_BUSY);
            let line = chance * bounded / (1.0 - bounded);
            let decoding = places * decodes / held;
            sum += line;
            first += decoding * line;
            second += decoding * decoding * line;
            population.full = (chance + line) / sum;
            population.falls_by = falls_by;
            population.until_free = held / places / (1.0 - bounded);
        }
        population.decoding = first / sum;
        population.variance = (second / sum - population.decoding.powi(2)).max(0.0);
        population
    }

    /// Either of two that are as likely.
    pub(super) fn either(one: Self, other: Self) -> Self {
        let full = one.full + other.full;
        let when_full = |first: f64, second: f64| {
            if full > 0.0 {
                (one.full * first + other.full * second) / full
            } else {
                0.0
            }
        };
        Self {
            decoding: f64::midpoint(one.decoding, other.decoding),
            variance: f64::midpoint(one.variance, other.variance),
            full: full / 2.0,
            falls_by: when_full(one.falls_by, other.falls_by),
            until_free: when_full(one.until_free, other.until_free),
            reads_in_line: one.reads_in_line,
        }
    }

    /// Those of one of several micro-batches that share the line.
    pub(super) fn of_one(self, micro_batches: f64) -> Self {
        Self {
            decoding: self.decoding / micro_batches,
            variance: self.variance / (micro_batches * micro_batches),
            ..self
        }
    }
}

/// Before a chance overflows, all are scaled down.
const VAST: f64 = 1e200;

/// Chances so much smaller than the highest are left out.
const NEGLIGIBLE: f64 = 1e-12;
