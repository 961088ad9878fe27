//! What all metrics of all candidates come to, whatever the order they are met in.

use super::columns::{Column, LANES, Metrics};
use multiversion::multiversion;

/// How far bits move between two metrics, so that none stands for another; odd, and no divisor of
/// the 64 bits.
const ROTATION: u32 = 23;

/// 2^64 over the golden ratio, as in Steele et al., "Fast splittable pseudorandom number
/// generators", 2014.
const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;

/// A sum of one number per candidate, which its index and the bits of all of its metrics make.
///
/// Sums do not depend on order: any number of threads and any size of chunks have the same one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checksum(pub u64);

impl Checksum {
    /// Adds `count` candidates, the first at `index`.
    pub fn fold(&mut self, index: u64, count: usize, columns: &impl Metrics) {
        let sum = columns.with(|metrics| sum(index, count, metrics));
        self.0 = self.0.wrapping_add(sum);
    }

    /// Adds those of another one.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self(self.0.wrapping_add(other.0))
    }
}

#[multiversion(targets(
    "x86_64+avx2+fma+avx512f+avx512dq+avx512vl+avx512bw",
    "x86_64+avx2+fma",
    "aarch64+neon"
))]
fn sum(index: u64, count: usize, metrics: &[&Column]) -> u64 {
    let count = count.min(LANES);
    let mut mixed = [0_u64; LANES];
    for (own, index) in mixed[..count].iter_mut().zip(index..) {
        *own = index.wrapping_mul(SPREAD);
    }
    for column in metrics {
        for (own, metric) in mixed[..count].iter_mut().zip(&column[..count]) {
            *own = (*own ^ metric.to_bits()).rotate_left(ROTATION);
        }
    }
    let mut sum = 0_u64;
    for own in &mixed[..count] {
        // Not linear: metrics that change places between candidates change the sum.
        let folded = (own ^ (own >> 32)).wrapping_mul(SPREAD);
        sum = sum.wrapping_add(folded ^ (folded >> 29));
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::sum;
    use crate::bulk::columns::{Column, LANES};

    fn of(columns: [&Column; 2], cuts: &[usize]) -> u64 {
        let mut whole = 0_u64;
        let mut start = 0;
        for &end in cuts {
            let mut part = [[0.0; LANES]; 2];
            for (part, column) in part.iter_mut().zip(columns) {
                part[..end - start].copy_from_slice(&column[start..end]);
            }
            let own = sum(start as u64, end - start, &[&part[0], &part[1]]);
            whole = whole.wrapping_add(own);
            start = end;
        }
        whole
    }

    #[test]
    fn cuts_do_not_change_it_and_any_figure_does() {
        let mut one = [0.0; LANES];
        let mut other = [0.0; LANES];
        for (lane, (one, other)) in (0..).zip(one.iter_mut().zip(&mut other)) {
            *one = f64::from(lane).sqrt();
            *other = f64::from(lane).exp();
        }
        let whole = of([&one, &other], &[LANES]);
        assert_eq!(of([&one, &other], &[1, 7, 8, 40, LANES]), whole);
        assert_ne!(of([&other, &one], &[LANES]), whole);
        one.swap(3, 4);
        assert_ne!(of([&one, &other], &[LANES]), whole);
    }
}
