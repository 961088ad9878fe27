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
    /// Whether it could be read, but not be true: negative, or more than all.
    pub fn is_out_of_range(&self) -> bool {
        matches!(
            self.fault,
            QuantityFault::Negative | QuantityFault::MoreThanAll
        )
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
    if let (Dimension::TokensPerSecond, Some(time)) = (dimension, time_of_a_token(text)) {
        let speed = 1.0 / parse(time, Dimension::Seconds).map_err(|e| fail(e.fault, e.help))?;
        let infinite = || fail(QuantityFault::NotFinite, None);
        return Some(speed).filter(|s| s.is_finite()).ok_or_else(infinite);
    }
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

/// `30 ms` of `30 ms/tok`: a speed, told as the time of a token.
fn time_of_a_token(text: &str) -> Option<&str> {
    let text = text.trim_end();
    text.strip_suffix("/tok")
        .or_else(|| text.strip_suffix("/token"))
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
#[path = "../../tests/unit/quantity_parse.rs"]
mod tests;
