//! Text to quantity: a number, with thousands set apart by `,` or `_` if at all, and a unit.
//!
//! Upper and lower case differ, as `Gb` and `GB` do. The units are those of [`super::units`].

use super::units::{Dimension, Prefix, Unit};
use crate::diagnostic::{did_you_mean, nearest};
use std::fmt;

/// Why a text is not a quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuantityFault {
    /// There is no text.
    Empty,
    /// It does not begin with a number.
    NotANumber,
    /// The number stands alone where a unit is needed.
    MissingUnit,
    /// The unit is none of this dimension.
    WrongUnit,
    /// Part of a thing that comes whole.
    NotWhole,
    /// Less than nothing.
    Negative,
    /// Infinite, or no number at all.
    NotFinite,
    /// A share of more than all.
    MoreThanAll,
}

/// A text that is not a quantity of the dimension asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuantityError {
    /// The text, as given.
    pub text: String,
    /// What it was to be.
    pub dimension: Dimension,
    /// What is wrong with it.
    pub fault: QuantityFault,
    /// The question that offers a unit that may be meant.
    pub help: Option<String>,
}

impl QuantityError {
    /// Whether it could be read, but not be true: negative, not finite, more than all.
    pub fn is_out_of_range(&self) -> bool {
        use QuantityFault::{MoreThanAll, Negative, NotFinite};
        matches!(self.fault, Negative | NotFinite | MoreThanAll)
    }

    /// What would be accepted in its place.
    pub fn accepted(&self) -> &'static str {
        self.dimension.accepted()
    }
}

impl fmt::Display for QuantityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = &self.text;
        match self.fault {
            QuantityFault::Empty => write!(f, "there is no value"),
            QuantityFault::NotANumber => write!(f, "`{text}` does not begin with a number"),
            QuantityFault::MissingUnit => write!(f, "`{text}` has no unit"),
            QuantityFault::WrongUnit => write!(f, "`{text}` has a unit that is not accepted"),
            QuantityFault::NotWhole => write!(f, "`{text}` is not a whole number"),
            QuantityFault::Negative => write!(f, "`{text}` is negative"),
            QuantityFault::NotFinite => write!(f, "`{text}` is not a finite number"),
            QuantityFault::MoreThanAll => write!(f, "`{text}` is more than the whole"),
        }
    }
}

impl std::error::Error for QuantityError {}

/// The quantity that `text` says, in the base unit of `dimension` (bytes, bytes/s, FLOP/s,
/// seconds, watts, dollars, tokens ...). A unit in powers of ten gives the number nearest to what
/// is written, as if it had been written without the unit.
///
/// # Errors
///
/// If it is not one number of that dimension that is finite and not negative.
pub fn parse(text: &str, dimension: Dimension) -> Result<f64, QuantityError> {
    let fail = |fault, help| QuantityError {
        text: text.to_owned(),
        dimension,
        fault,
        help,
    };
    let written = Written::of(text).map_err(|fault| fail(fault, None))?;
    let Some((unit, prefix)) = find(dimension, &written.unit) else {
        return Err(if written.unit.is_empty() {
            fail(QuantityFault::MissingUnit, None)
        } else {
            fail(
                QuantityFault::WrongUnit,
                suggestion(dimension, &written.unit),
            )
        });
    };
    let value = written.times_ten_to(unit.exponent + prefix.exponent) * prefix.factor * unit.factor;
    fault_of(value, written.negative, dimension).map_or(Ok(value), |fault| Err(fail(fault, None)))
}

fn fault_of(value: f64, negative: bool, dimension: Dimension) -> Option<QuantityFault> {
    let whole = matches!(dimension, Dimension::Count | Dimension::Tokens);
    if !value.is_finite() {
        Some(QuantityFault::NotFinite)
    } else if negative {
        Some(QuantityFault::Negative)
    } else if whole && value.fract() > 0.0 {
        Some(QuantityFault::NotWhole)
    } else if dimension == Dimension::Share && value > 1.0 {
        Some(QuantityFault::MoreThanAll)
    } else {
        None
    }
}

/// A text taken apart.
struct Written {
    negative: bool,
    /// Digits with at most one point.
    digits: String,
    exponent: i32,
    /// With the currency sign in its place (`$20k` is `20k$`) and without spaces.
    unit: String,
}

impl Written {
    fn of(text: &str) -> Result<Self, QuantityFault> {
        let text = text.trim();
        if text.is_empty() {
            return Err(QuantityFault::Empty);
        }
        let (minus, unsigned) = without_sign(text);
        let (dollars, unsigned) = match unsigned.strip_prefix('$') {
            Some(rest) => (true, rest.trim_start()),
            None => (false, unsigned),
        };
        let (inner_minus, unsigned) = without_sign(unsigned);
        if ["nan", "inf", "infinity"].contains(&unsigned.to_ascii_lowercase().as_str()) {
            return Err(QuantityFault::NotFinite);
        }
        let (digits, rest) = leading_digits(unsigned).ok_or(QuantityFault::NotANumber)?;
        let (exponent, rest) = leading_exponent(rest);
        let mut unit: String = rest.split_whitespace().collect();
        if dollars {
            unit.insert(unit.find('/').unwrap_or(unit.len()), '$');
        }
        Ok(Self {
            negative: minus || inner_minus,
            digits,
            exponent,
            unit,
        })
    }

    /// The number, shifted by so many decimal places before it is rounded to a float.
    fn times_ten_to(&self, places: i32) -> f64 {
        let exponent = self.exponent.saturating_add(places);
        // `leading_digits` lets only digits and a point through, so this always is a number.
        format!("{}e{exponent}", self.digits)
            .parse()
            .unwrap_or(f64::NAN)
    }
}

fn without_sign(text: &str) -> (bool, &str) {
    match text.strip_prefix('-') {
        Some(rest) => (true, rest.trim_start()),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    }
}

/// The digits that `text` begins with, freed of separators, and what follows them.
fn leading_digits(text: &str) -> Option<(String, &str)> {
    let end = text
        .find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | ',' | '_')))
        .unwrap_or(text.len());
    let (number, rest) = text.split_at(end);
    let (whole, fraction) = match number.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (number, None),
    };
    if fraction.is_some_and(|digits| !all_digits(digits)) {
        return None;
    }
    let whole = joined_groups(whole)?;
    Some((format!("{whole}.{}", fraction.unwrap_or("0")), rest))
}

/// `20,000` and `20_000` as `20000`. A comma must set thousands apart: `1,5` may mean 1.5.
fn joined_groups(whole: &str) -> Option<String> {
    let underscored = whole.contains('_');
    let groups: Vec<&str> = whole.split(if underscored { '_' } else { ',' }).collect();
    let thousands = groups[0].len() <= 3 && groups[1..].iter().all(|group| group.len() == 3);
    let regular = underscored || groups.len() == 1 || thousands;
    (regular && groups.iter().all(|group| all_digits(group))).then(|| groups.concat())
}

fn all_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The exponent that `text` begins with, if it does, and what follows it.
fn leading_exponent(text: &str) -> (i32, &str) {
    let Some(rest) = text.strip_prefix(['e', 'E']) else {
        return (0, text);
    };
    let (negative, rest) = without_sign(rest);
    let end = rest
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(rest.len());
    if end == 0 {
        return (0, text);
    }
    // More digits than an i32 holds are an exponent beyond every float all the same.
    let magnitude: i32 = rest[..end].parse().unwrap_or(i32::MAX);
    (if negative { -magnitude } else { magnitude }, &rest[end..])
}

fn find(dimension: Dimension, written: &str) -> Option<(&'static Unit, &'static Prefix)> {
    spellings(dimension).find(|(unit, prefix)| {
        written
            .strip_suffix(unit.name)
            .is_some_and(|before| before == prefix.name)
    })
}

fn spellings(dimension: Dimension) -> impl Iterator<Item = (&'static Unit, &'static Prefix)> {
    dimension
        .units()
        .iter()
        .flat_map(|unit| unit.prefixes.iter().map(move |prefix| (unit, prefix)))
}

/// Offers the units that differ from `written` in case or spelling alone, else the most similar.
fn suggestion(dimension: Dimension, written: &str) -> Option<String> {
    let mut offered: Vec<(i32, f64, String)> = Vec::new();
    for (unit, prefix) in spellings(dimension) {
        let (exponent, factor) = (unit.exponent + prefix.exponent, unit.factor * prefix.factor);
        #[expect(
            clippy::float_cmp,
            reason = "the same table entries give the same factor"
        )]
        let known = offered
            .iter()
            .any(|(e, f, _)| *e == exponent && *f == factor);
        if !known {
            offered.push((exponent, factor, format!("{}{}", prefix.name, unit.name)));
        }
    }
    let names = || {
        offered
            .iter()
            .map(|(_, _, name)| name.as_str())
            .filter(|name| !name.is_empty())
    };
    let same: Vec<&str> = names()
        .filter(|name| loosely(name) == loosely(written))
        .collect();
    let most_similar = || nearest(written, names()).into_iter().take(1).collect();
    did_you_mean(&if same.is_empty() {
        most_similar()
    } else {
        same
    })
}

/// Without what distinguishes `GBps`, `Gbit/s`, `gb/s` and `Gbps`.
fn loosely(unit: &str) -> String {
    let lower = unit.to_lowercase().replace("bit", "b");
    lower
        .strip_suffix("ps")
        .map_or(lower.clone(), |rate| format!("{rate}/s"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const DIMENSIONS: [Dimension; 15] = [
        Dimension::Bytes,
        Dimension::BytesPerSecond,
        Dimension::FlopsPerSecond,
        Dimension::Seconds,
        Dimension::Watts,
        Dimension::Usd,
        Dimension::UsdPerKwh,
        Dimension::UsdPerHour,
        Dimension::UsdPerMonth,
        Dimension::TokensPerSecond,
        Dimension::RequestsPerSecond,
        Dimension::Tokens,
        Dimension::Count,
        Dimension::Share,
        Dimension::Number,
    ];

    #[test]
    fn quantities_of_the_contract_are_read_exactly() {
        use Dimension as D;
        let cases: &[(&str, Dimension, f64)] = &[
            ("5tok/s", D::TokensPerSecond, 5.0),
            ("5 tokens/s", D::TokensPerSecond, 5.0),
            ("20000", D::TokensPerSecond, 20_000.0),
            ("300ms", D::Seconds, 0.3),
            ("3 us", D::Seconds, 3e-6),
            ("0.25 \u{b5}s", D::Seconds, 0.25e-6),
            ("30d", D::Seconds, 2_592_000.0),
            ("20000", D::Usd, 20_000.0),
            ("$20k", D::Usd, 20_000.0),
            ("20k$", D::Usd, 20_000.0),
            ("20 k$", D::Usd, 20_000.0),
            ("$20,000", D::Usd, 20_000.0),
            ("$1_599.99", D::Usd, 1599.99),
            ("12/h", D::RequestsPerSecond, 12.0 / 3600.0),
            ("3/s", D::RequestsPerSecond, 3.0),
            ("2T", D::Tokens, 2e12),
            ("1.5B tokens", D::Tokens, 1.5e9),
            ("512", D::Tokens, 512.0),
            ("80GB", D::Bytes, 80e9),
            ("80GiB", D::Bytes, 85_899_345_920.0),
            ("0 GB", D::Bytes, 0.0),
            ("10Gbps", D::BytesPerSecond, 1.25e9),
            ("200Gb/s", D::BytesPerSecond, 25e9),
            ("100 Gbit/s", D::BytesPerSecond, 12.5e9),
            ("31.508 GB/s", D::BytesPerSecond, 31.508e9),
            ("400W", D::Watts, 400.0),
            ("1.2 kW", D::Watts, 1200.0),
            ("1.5 PFLOPS", D::FlopsPerSecond, 1.5e15),
            ("1.5 PFLOP/s", D::FlopsPerSecond, 1.5e15),
            ("989.4 TFLOPS", D::FlopsPerSecond, 989.4e12),
            ("1979 TOPS", D::FlopsPerSecond, 1979e12),
            ("1e3 GFLOPS", D::FlopsPerSecond, 1e12),
            ("0.12$/kWh", D::UsdPerKwh, 0.12),
            ("$0.10/kWh", D::UsdPerKwh, 0.10),
            ("$1500/month", D::UsdPerMonth, 1500.0),
            ("$1500/month", D::UsdPerHour, 1500.0 / 730.0),
            ("$2.5/h", D::UsdPerHour, 2.5),
            ("15%", D::Share, 0.15),
            ("0.15", D::Share, 0.15),
            ("1e-9", D::Number, 1e-9),
            ("+8", D::Count, 8.0),
        ];
        for (text, dimension, expected) in cases {
            let value = parse(text, *dimension).unwrap_or_else(|error| panic!("{error}"));
            assert!(
                (value - expected).abs() <= f64::EPSILON * expected,
                "{text} is {value}"
            );
        }
    }

    #[test]
    fn decimal_units_round_only_once() {
        for (text, written_out) in [("82.58 TFLOPS", 82.58e12), ("0.7 TFLOPS", 0.7e12)] {
            let value = parse(text, Dimension::FlopsPerSecond).map(f64::to_bits);
            assert_eq!(value, Ok(f64::to_bits(written_out)), "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_told_apart() {
        use Dimension as D;
        use QuantityFault as F;
        let cases: &[(&str, Dimension, QuantityFault)] = &[
            ("", D::Bytes, F::Empty),
            ("  ", D::Usd, F::Empty),
            ("GB", D::Bytes, F::NotANumber),
            ("$", D::Usd, F::NotANumber),
            (".", D::Usd, F::NotANumber),
            ("1.2.3", D::Number, F::NotANumber),
            ("1,5", D::Usd, F::NotANumber),
            ("1,5000", D::Usd, F::NotANumber),
            ("1__0", D::Usd, F::NotANumber),
            ("24", D::Bytes, F::MissingUnit),
            ("5", D::Seconds, F::MissingUnit),
            ("5", D::RequestsPerSecond, F::MissingUnit),
            ("0.10", D::UsdPerKwh, F::MissingUnit),
            ("24 GB/s", D::Bytes, F::WrongUnit),
            ("24 Gb", D::Bytes, F::WrongUnit),
            ("5 tok", D::TokensPerSecond, F::WrongUnit),
            ("15%", D::Number, F::WrongUnit),
            ("8.5", D::Count, F::NotWhole),
            ("-5 W", D::Watts, F::Negative),
            ("-$5", D::Usd, F::Negative),
            ("$-5", D::Usd, F::Negative),
            ("nan", D::Number, F::NotFinite),
            ("-inf", D::Number, F::NotFinite),
            ("1e999 W", D::Watts, F::NotFinite),
            ("1e99999999999 W", D::Watts, F::NotFinite),
            ("75", D::Share, F::MoreThanAll),
        ];
        for (text, dimension, fault) in cases {
            let found = parse(text, *dimension).map_err(|error| error.fault);
            assert_eq!(found, Err(*fault), "{text:?}");
        }
    }

    #[test]
    fn the_unit_that_may_be_meant_is_offered() {
        use Dimension as D;
        let cases = [
            (
                "10 GBps",
                D::BytesPerSecond,
                "did you mean `GB/s` or `Gbps`?",
            ),
            (
                "10 gb/s",
                D::BytesPerSecond,
                "did you mean `GB/s` or `Gbps`?",
            ),
            ("5 tok", D::TokensPerSecond, "did you mean `tok/s`?"),
            ("$0.1/kwh", D::UsdPerKwh, "did you mean `$/kWh`?"),
            ("24 gib", D::Bytes, "did you mean `GiB`?"),
        ];
        for (text, dimension, help) in cases {
            let found = parse(text, dimension).map_err(|error| error.help);
            assert_eq!(found, Err(Some(help.to_owned())), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics_or_gives_an_impossible_number(text in "\\PC*") {
            for dimension in DIMENSIONS {
                if let Ok(value) = parse(&text, dimension) {
                    prop_assert!(value.is_finite() && value >= 0.0);
                }
            }
        }

        #[test]
        fn nothing_like_a_quantity_panics_either(
            text in "[-+$]{0,2} ?[0-9.,_]{0,6}([eE][-+]?[0-9]{0,12})? ?[kKMGTPEium$%]{0,3}(B|b|W|s|FLOPS|tok)?(/s|/h|/kWh)?"
        ) {
            for dimension in DIMENSIONS {
                match parse(&text, dimension) {
                    Ok(value) => prop_assert!(value.is_finite() && value >= 0.0),
                    Err(error) => prop_assert_eq!(&error.text, &text),
                }
            }
        }
    }
}
