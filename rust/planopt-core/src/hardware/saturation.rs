//! The smooth efficiency of a rate.

/// Share of its full rate that a product reaches at `size` in one dimension: one half at `half`.
pub(crate) fn saturation(size: f64, half: f64) -> f64 {
    size / (size + half)
}
