//! Counts as numbers.

/// A count as a real number.
#[inline]
pub(crate) fn real(count: u64) -> f64 {
    #[expect(
        clippy::cast_precision_loss,
        reason = "dimensions and counts stay below 2^53"
    )]
    let real = count as f64;
    real
}
