//! Physical quantities and money: the unit of every number in the core is its type.
//!
//! Bandwidths are bytes per second in one direction; GB is 10^9 bytes and GiB 2^30. Money is an
//! integer number of micro-dollars, so that a bill of materials sums to the last cent.

mod exact;
mod number;
mod parse;
mod units;

pub use self::exact::{Exact, Quotient, SIGNIFICANT_DIGITS};
pub(crate) use self::number::{real, thousands};
pub use self::parse::{QuantityError, QuantityFault, parse};
pub use self::units::Dimension;

use std::ops::{Add, AddAssign, Div, Mul, Sub};

/// Seconds of an hour.
pub const SECONDS_PER_HOUR: f64 = 3600.0;

/// Hours of a day.
pub const HOURS_PER_DAY: f64 = 24.0;

/// Tokens that prices are told for.
pub const TOKENS_PER_MILLION: f64 = 1e6;

/// Bits of a byte.
pub const BITS_PER_BYTE: f64 = 8.0;

/// Times in a smaller ratio than this are equally long: rounding must not decide which of them is
/// told.
pub const EQUALLY_LONG: f64 = 1.0 + 1e-10;

macro_rules! quantity {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, serde::Serialize)]
        #[serde(transparent)]
        pub struct $name(pub f64);

        impl $name {
            /// Nothing of it.
            pub const ZERO: Self = Self(0.0);

            /// The larger of the two.
            #[must_use]
            pub fn max(self, other: Self) -> Self {
                Self(self.0.max(other.0))
            }

            /// The smaller of the two.
            #[must_use]
            pub fn min(self, other: Self) -> Self {
                Self(self.0.min(other.0))
            }
        }

        impl Add for $name {
            type Output = Self;
            fn add(self, other: Self) -> Self {
                Self(self.0 + other.0)
            }
        }

        impl AddAssign for $name {
            fn add_assign(&mut self, other: Self) {
                self.0 += other.0;
            }
        }

        impl Sub for $name {
            type Output = Self;
            fn sub(self, other: Self) -> Self {
                Self(self.0 - other.0)
            }
        }

        impl Mul<f64> for $name {
            type Output = Self;
            fn mul(self, factor: f64) -> Self {
                Self(self.0 * factor)
            }
        }

        impl Div<f64> for $name {
            type Output = Self;
            fn div(self, divisor: f64) -> Self {
                Self(self.0 / divisor)
            }
        }

        impl Div for $name {
            type Output = f64;
            fn div(self, other: Self) -> f64 {
                self.0 / other.0
            }
        }

        impl std::iter::Sum for $name {
            fn sum<I: Iterator<Item = Self>>(values: I) -> Self {
                values.fold(Self::ZERO, Add::add)
            }
        }
    };
}

quantity!(
    /// An amount of memory or traffic, in bytes.
    Bytes
);

quantity!(
    /// A one-directional bandwidth, in bytes per second.
    BytesPerSecond
);

quantity!(
    /// An amount of arithmetic, in floating-point operations.
    Flops
);

quantity!(
    /// A rate of arithmetic, in floating-point operations per second.
    FlopsPerSecond
);

quantity!(
    /// A duration, in seconds.
    Seconds
);

quantity!(
    /// An electrical power, in watts.
    Watts
);

impl Div<BytesPerSecond> for Bytes {
    type Output = Seconds;
    fn div(self, bandwidth: BytesPerSecond) -> Seconds {
        Seconds(self.0 / bandwidth.0)
    }
}

impl Div<FlopsPerSecond> for Flops {
    type Output = Seconds;
    fn div(self, rate: FlopsPerSecond) -> Seconds {
        Seconds(self.0 / rate.0)
    }
}

/// An amount of money: an exact integer number of millionths of a US dollar.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(transparent)]
pub struct MicroUsd(pub i64);

impl MicroUsd {
    /// No money.
    pub const ZERO: Self = Self(0);

    /// The nearest whole number of micro-dollars.
    #[must_use]
    pub fn from_usd(usd: f64) -> Self {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "catalog prices are below 1e12 dollars, checked when read"
        )]
        Self((usd * 1e6).round() as i64)
    }

    /// One of so many equal parts, rounded up: parts never cost less than the whole.
    #[must_use]
    pub fn split(self, parts: u32) -> Self {
        let parts = i64::from(parts);
        Self(self.0.div_euclid(parts) + i64::from(self.0.rem_euclid(parts) > 0))
    }

    /// So many times the amount, to the nearest micro-dollar.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Self {
        Self::from_usd(self.usd() * factor)
    }

    /// The amount in dollars, for ratios; sums stay in micro-dollars.
    pub fn usd(self) -> f64 {
        #[expect(
            clippy::cast_precision_loss,
            reason = "below 2^53 micro-dollars, nine billion dollars"
        )]
        let micro = self.0 as f64;
        micro / 1e6
    }
}

impl Add for MicroUsd {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl AddAssign for MicroUsd {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl Mul<u32> for MicroUsd {
    type Output = Self;
    fn mul(self, quantity: u32) -> Self {
        Self(self.0 * i64::from(quantity))
    }
}

impl std::iter::Sum for MicroUsd {
    fn sum<I: Iterator<Item = Self>>(values: I) -> Self {
        values.fold(Self::ZERO, Add::add)
    }
}
