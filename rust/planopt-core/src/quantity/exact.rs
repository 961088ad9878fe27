//! Figures as the decimals that they were written as: sums and comparisons of them are exact.

use std::cmp::Ordering;
use std::fmt;
use std::ops::{Add, Mul, Sub};

use num_bigint::BigInt;

/// Digits of a figure that count; those after them are noise of binary arithmetic.
pub const SIGNIFICANT_DIGITS: usize = 12;

/// A decimal of any length: `digits` times ten to the power of `exponent`.
#[derive(Clone, Debug, Default)]
pub struct Exact {
    digits: BigInt,
    exponent: i32,
}

impl Exact {
    /// The decimal that a finite figure was written as, to twelve digits: so `0.1 + 0.2` watts fit
    /// a limit of 0.3 watts.
    pub fn of(figure: f64) -> Self {
        let written = format!("{figure:.*e}", SIGNIFICANT_DIGITS - 1);
        let (digits, exponent) = written.split_once('e').unwrap_or((&written, "0"));
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let digits: i64 = format!("{whole}{fraction}").parse().unwrap_or(0);
        let exponent: i32 = exponent.parse().unwrap_or(0);
        let places = i32::try_from(fraction.len()).unwrap_or(0);
        Self {
            digits: BigInt::from(digits),
            exponent: exponent - places,
        }
    }

    /// Ten to some power.
    pub fn ten_to(exponent: i32) -> Self {
        Self {
            digits: BigInt::from(1),
            exponent,
        }
    }

    /// The figure without its noise, as near as binary numbers come.
    pub fn plain(figure: f64) -> f64 {
        let written = format!("{figure:.*e}", SIGNIFICANT_DIGITS - 1);
        written.parse().unwrap_or(figure)
    }

    /// The nearest binary number.
    pub fn near(&self) -> f64 {
        self.to_string().parse().unwrap_or(f64::NAN)
    }

    /// Whether it is above 0.
    pub fn is_positive(&self) -> bool {
        self.digits.sign() == num_bigint::Sign::Plus
    }

    /// How often `part` goes into it, neither below 0; none if that is beyond any count.
    pub fn times_at_most(&self, part: &Self) -> Option<u64> {
        let (whole, part) = aligned(self, part);
        if part == BigInt::ZERO {
            return None;
        }
        u64::try_from(whole / part).ok()
    }

    /// How many of `part` make it up, neither below 0; none if that is beyond any count.
    pub fn times_at_least(&self, part: &Self) -> Option<u64> {
        let (whole, part) = aligned(self, part);
        if part == BigInt::ZERO {
            return (whole == BigInt::ZERO).then_some(0);
        }
        u64::try_from((whole + &part - 1_u32) / part).ok()
    }
}

/// The digits of both at one exponent.
fn aligned(one: &Exact, other: &Exact) -> (BigInt, BigInt) {
    let least = one.exponent.min(other.exponent);
    let at_least = |each: &Exact| {
        let more = each.exponent.abs_diff(least);
        if more == 0 {
            each.digits.clone()
        } else {
            &each.digits * BigInt::from(10_u32).pow(more)
        }
    };
    (at_least(one), at_least(other))
}

macro_rules! whole_numbers {
    ($($whole:ty),+) => { $(
        impl From<$whole> for Exact {
            fn from(whole: $whole) -> Self {
                Self { digits: BigInt::from(whole), exponent: 0 }
            }
        }
    )+ };
}
whole_numbers!(u64, i64, i128);

impl Add<&Exact> for &Exact {
    type Output = Exact;
    fn add(self, other: &Exact) -> Exact {
        let (one, other_digits) = aligned(self, other);
        Exact {
            digits: one + other_digits,
            exponent: self.exponent.min(other.exponent),
        }
    }
}

impl Sub<&Exact> for &Exact {
    type Output = Exact;
    fn sub(self, other: &Exact) -> Exact {
        let (one, other_digits) = aligned(self, other);
        Exact {
            digits: one - other_digits,
            exponent: self.exponent.min(other.exponent),
        }
    }
}

impl Mul<&Exact> for &Exact {
    type Output = Exact;
    fn mul(self, other: &Exact) -> Exact {
        Exact {
            digits: &self.digits * &other.digits,
            exponent: self.exponent + other.exponent,
        }
    }
}

impl Ord for Exact {
    fn cmp(&self, other: &Self) -> Ordering {
        let (one, other) = aligned(self, other);
        one.cmp(&other)
    }
}

impl PartialOrd for Exact {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Exact {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Exact {}

impl fmt::Display for Exact {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}e{}", self.digits, self.exponent)
    }
}

impl serde::Serialize for Exact {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A quotient of two of them, the lower one above 0; compared without dividing.
#[derive(Clone, Debug)]
pub struct Quotient(pub Exact, pub Exact);

impl Ord for Quotient {
    fn cmp(&self, other: &Self) -> Ordering {
        (&self.0 * &other.1).cmp(&(&other.0 * &self.1))
    }
}

impl PartialOrd for Quotient {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Quotient {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Quotient {}

#[cfg(test)]
mod tests {
    use super::{Exact, Quotient};

    #[test]
    fn decimals_add_up_as_written() {
        let sum = &Exact::of(0.1) + &Exact::of(0.2);
        assert_eq!(sum, Exact::of(0.3));
        assert_eq!(&Exact::of(0.1 + 0.2) - &Exact::of(0.3), Exact::default());
        assert!((Exact::plain(0.1 + 0.2) - 0.3).abs() < f64::MIN_POSITIVE);
    }

    #[test]
    fn counts_are_whole_and_beyond_any_there_is_none() {
        let (twelve, five) = (Exact::from(12_i64), Exact::of(5.0));
        assert_eq!(twelve.times_at_most(&five), Some(2));
        assert_eq!(twelve.times_at_least(&five), Some(3));
        assert_eq!(Exact::of(2.1).times_at_least(&Exact::of(0.7)), Some(3));
        assert_eq!(twelve.times_at_least(&Exact::of(1e-305)), None);
        assert_eq!(twelve.times_at_least(&Exact::default()), None);
    }

    #[test]
    fn figures_of_any_size_compare() {
        assert!(Exact::of(-1e-300) < Exact::of(1e-305));
        assert!(Exact::of(1e300) > Exact::from(i128::MAX));
        assert!(Exact::ten_to(3) == Exact::of(1000.0));
    }

    #[test]
    fn quotients_are_not_rounded() {
        let third = Quotient(Exact::from(1_i64), Exact::from(3_i64));
        assert!(third > Quotient(Exact::of(0.333_333_333_333), Exact::from(1_i64)));
        assert_eq!(third, Quotient(Exact::of(0.2), Exact::of(0.6)));
    }
}
