//! Choices between two numbers that compile to one instruction each, for any width of vectors.

/// `yes` or `no`.
#[inline]
pub(super) fn pick(condition: bool, yes: f64, no: f64) -> f64 {
    if condition { yes } else { no }
}

/// The smaller one; neither may be NaN, which `f64::min` spends instructions on.
#[inline]
pub(super) fn least(one: f64, other: f64) -> f64 {
    pick(one < other, one, other)
}

/// The larger one; neither may be NaN.
#[inline]
pub(super) fn most(one: f64, other: f64) -> f64 {
    pick(one > other, one, other)
}
