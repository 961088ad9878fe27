//! Quantity to text, in the shortest of its usual forms that loses nothing: what is printed is
//! read back as the same quantity. A precision, as in `{:.1}`, rounds instead.

use super::units::{DAY, GIBI, HOUR, KIBI, MEBI, MINUTE, PEBI, TEBI};
use super::{Bytes, BytesPerSecond, Flops, FlopsPerSecond, MicroUsd, Seconds, Watts};
use std::fmt;

/// Prefixes with their powers of ten, ascending.
type Prefixes = [(&'static str, i32)];

const LARGE: &Prefixes = &[
    ("", 0),
    ("k", 3),
    ("M", 6),
    ("G", 9),
    ("T", 12),
    ("P", 15),
    ("E", 18),
];

const SMALL: &Prefixes = &[("n", -9), ("u", -6), ("m", -3), ("", 0)];

const BINARY: &[(&str, f64)] = &[
    ("KiB", KIBI),
    ("MiB", MEBI),
    ("GiB", GIBI),
    ("TiB", TEBI),
    ("PiB", PEBI),
];

const CLOCK: &[(&str, f64)] = &[("min", MINUTE), ("h", HOUR), ("d", DAY)];

macro_rules! display {
    ($($name:ident: $unit:literal, $prefixes:expr, $others:expr;)*) => { $(
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&match f.precision() {
                    Some(places) => rounded(self.0, places, $unit, $prefixes),
                    None => shortest(self.0, $unit, $prefixes, $others),
                })
            }
        }
    )* };
}

display! {
    Bytes: "B", LARGE, BINARY;
    BytesPerSecond: "B/s", LARGE, &[];
    Flops: "FLOP", LARGE, &[];
    FlopsPerSecond: "FLOPS", LARGE, &[];
    Seconds: "s", SMALL, CLOCK;
    Watts: "W", LARGE, &[];
}

impl fmt::Display for MicroUsd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const MICROS: u64 = 1_000_000;
        let micros = self.0.unsigned_abs();
        let sign = if self.0 < 0 { "-" } else { "" };
        let dollars = thousands(micros / MICROS);
        match micros % MICROS {
            0 => write!(f, "{sign}${dollars}"),
            // Cents are written in full, anything finer as far as it goes.
            part if part % 10_000 == 0 => write!(f, "{sign}${dollars}.{:02}", part / 10_000),
            part => write!(
                f,
                "{sign}${dollars}.{}",
                format!("{part:06}").trim_end_matches('0')
            ),
        }
    }
}

pub(crate) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// The decimal form, unless another unit that says the same is shorter.
fn shortest(value: f64, unit: &str, prefixes: &Prefixes, others: &[(&str, f64)]) -> String {
    let decimal = decimal(value, unit, prefixes);
    others
        .iter()
        .filter(|(_, factor)| value.abs() >= *factor && same(value / factor * factor, value))
        .map(|(name, factor)| format!("{} {name}", value / factor))
        .fold(decimal, |best, other| {
            if other.len() < best.len() {
                other
            } else {
                best
            }
        })
}

fn same(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits()
}

/// `value` with the largest prefix not above it, every digit kept.
fn decimal(value: f64, unit: &str, prefixes: &Prefixes) -> String {
    let Some((sign, digits, exponent)) = scientific(value) else {
        return format!("{value} {unit}");
    };
    let (prefix, shift) = prefix_for(exponent, prefixes);
    format!(
        "{sign}{} {prefix}{unit}",
        positioned(&digits, exponent - shift)
    )
}

fn rounded(value: f64, places: usize, unit: &str, prefixes: &Prefixes) -> String {
    let exponent = scientific(value).map_or(0, |(_, _, exponent)| exponent);
    let (prefix, shift) = prefix_for(exponent, prefixes);
    format!("{:.places$} {prefix}{unit}", value / 10_f64.powi(shift))
}

fn prefix_for(exponent: i32, prefixes: &Prefixes) -> (&'static str, i32) {
    let fitting = prefixes.iter().rev().find(|(_, power)| *power <= exponent);
    fitting.or(prefixes.first()).copied().unwrap_or(("", 0))
}

/// Sign, digits and the power of ten of the first digit; none where there are no digits.
fn scientific(value: f64) -> Option<(&'static str, String, i32)> {
    let sign = if value < 0.0 { "-" } else { "" };
    let text = format!("{:e}", value.abs());
    let (digits, exponent) = text.split_once('e')?;
    Some((sign, digits.replace('.', ""), exponent.parse().ok()?))
}

/// `digits` with the point so placed that the first digit counts `10^exponent`.
fn positioned(digits: &str, exponent: i32) -> String {
    let Ok(last_whole) = usize::try_from(exponent) else {
        let zeros = usize::try_from(-exponent - 1).unwrap_or(0);
        return format!("0.{}{digits}", "0".repeat(zeros));
    };
    let whole = last_whole + 1;
    if digits.len() <= whole {
        format!("{digits}{}", "0".repeat(whole - digits.len()))
    } else {
        format!("{}.{}", &digits[..whole], &digits[whole..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quantity::parse::parse;
    use crate::quantity::units::Dimension;
    use proptest::prelude::*;

    #[test]
    fn the_usual_form_is_chosen() {
        assert_eq!(Bytes(24.0 * GIBI).to_string(), "24 GiB");
        assert_eq!(Bytes(1.5 * GIBI).to_string(), "1.5 GiB");
        assert_eq!(Bytes(25.25e9).to_string(), "25.25 GB");
        assert_eq!(Bytes(80e9).to_string(), "80 GB");
        assert_eq!(Bytes(0.0).to_string(), "0 B");
        assert_eq!(BytesPerSecond(1008e9).to_string(), "1.008 TB/s");
        assert_eq!(FlopsPerSecond(82.58e12).to_string(), "82.58 TFLOPS");
        assert_eq!(Flops(2e9).to_string(), "2 GFLOP");
        assert_eq!(Seconds(3e-6).to_string(), "3 us");
        assert_eq!(Seconds(0.25).to_string(), "250 ms");
        assert_eq!(Seconds(90.0).to_string(), "90 s");
        assert_eq!(Seconds(30.0 * DAY).to_string(), "30 d");
        assert_eq!(Seconds(1e-12).to_string(), "0.001 ns");
        assert_eq!(Seconds(0.0).to_string(), "0 s");
        assert_eq!(Watts(450.0).to_string(), "450 W");
        assert_eq!(Watts(f64::NAN).to_string(), "NaN W");
    }

    #[test]
    fn a_precision_rounds() {
        assert_eq!(format!("{:.1}", Bytes(25.25e9 / 3.0)), "8.4 GB");
        assert_eq!(format!("{:.0}", Seconds(0.012_345)), "12 ms");
    }

    #[test]
    fn thousands_stand_apart() {
        let said = [0, 12, 999, 1000, 16_384, 1_234_567].map(thousands);
        assert_eq!(said, ["0", "12", "999", "1,000", "16,384", "1,234,567"]);
    }

    #[test]
    fn money_is_written_in_thousands() {
        assert_eq!(MicroUsd::from_usd(20_000.0).to_string(), "$20,000");
        assert_eq!(MicroUsd::from_usd(1599.5).to_string(), "$1,599.50");
        assert_eq!(MicroUsd(1).to_string(), "$0.000001");
        assert_eq!(MicroUsd(-2_000_000).to_string(), "-$2");
        assert_eq!(MicroUsd(i64::MIN).to_string(), "-$9,223,372,036,854.775808");
    }

    /// Every positive float, tiny and huge ones included.
    fn floats() -> impl Strategy<Value = f64> {
        use proptest::num::f64::{NORMAL, POSITIVE, SUBNORMAL, ZERO};
        prop_oneof![
            POSITIVE | NORMAL | SUBNORMAL | ZERO,
            1e-9..1e18,
            (1_u32..5000).prop_map(|count| f64::from(count) * GIBI / 4.0),
        ]
    }

    fn read_back(text: &str, dimension: Dimension) -> Option<u64> {
        parse(text, dimension).map(f64::to_bits).ok()
    }

    proptest! {
        #[test]
        fn what_is_printed_is_read_back_as_the_same(value in floats()) {
            let same = Some(value.to_bits());
            prop_assert_eq!(read_back(&Bytes(value).to_string(), Dimension::Bytes), same);
            prop_assert_eq!(
                read_back(&BytesPerSecond(value).to_string(), Dimension::BytesPerSecond), same);
            prop_assert_eq!(
                read_back(&FlopsPerSecond(value).to_string(), Dimension::FlopsPerSecond), same);
            prop_assert_eq!(read_back(&Seconds(value).to_string(), Dimension::Seconds), same);
            prop_assert_eq!(read_back(&Watts(value).to_string(), Dimension::Watts), same);
        }

        #[test]
        fn money_is_read_back_to_the_micro_dollar(micros in 0_i64..1_000_000_000_000_000) {
            let text = MicroUsd(micros).to_string();
            let usd = parse(&text, Dimension::Usd).map(MicroUsd::from_usd);
            prop_assert_eq!(usd, Ok(MicroUsd(micros)));
        }
    }
}
