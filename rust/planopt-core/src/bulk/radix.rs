//! Indices of candidates among the values of each axis.

/// A mixed-radix number: one digit per axis, the last axis the fastest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Radix<const AXES: usize> {
    sizes: [u64; AXES],
}

impl<const AXES: usize> Radix<AXES> {
    /// Axes of so many values each.
    pub fn new(sizes: [usize; AXES]) -> Self {
        Self {
            sizes: sizes.map(|size| size as u64),
        }
    }

    /// Numbers there are.
    pub fn count(&self) -> u64 {
        self.sizes.iter().product()
    }

    /// The value of each axis at an index.
    pub fn digits(&self, mut index: u64) -> [usize; AXES] {
        let mut digits = [0; AXES];
        for (digit, size) in digits.iter_mut().zip(self.sizes).rev() {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "below the length of a list in memory"
            )]
            let value = (index % size) as usize;
            *digit = value;
            index /= size;
        }
        digits
    }

    /// The index of a value of each axis.
    pub fn index(&self, digits: [usize; AXES]) -> u64 {
        digits
            .iter()
            .zip(self.sizes)
            .fold(0, |index, (&digit, size)| index * size + digit as u64)
    }
}

/// Some of the axes of a space, numbered apart.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part<const AXES: usize, const SOME: usize> {
    axes: [usize; SOME],
    radix: Radix<SOME>,
    /// How far apart neighbours on each axis are; 0 for the axes that are not of this part.
    strides: [u64; AXES],
}

impl<const AXES: usize, const SOME: usize> Part<AXES, SOME> {
    /// Of these axes of `whole`.
    pub(super) fn of(whole: &Radix<AXES>, axes: [usize; SOME]) -> Self {
        let sizes = axes.map(|axis| whole.sizes[axis]);
        let mut strides = [0; AXES];
        let mut stride = 1;
        for (axis, size) in axes.into_iter().zip(sizes).rev() {
            strides[axis] = stride;
            stride *= size;
        }
        Self {
            axes,
            radix: Radix { sizes },
            strides,
        }
    }

    /// Numbers there are.
    pub(super) fn count(&self) -> u64 {
        self.radix.count()
    }

    /// Whether an axis is of this part.
    pub(super) fn has(&self, axis: usize) -> bool {
        self.axes.contains(&axis)
    }

    /// The number of a value of each axis; the axes that are not of this part do not matter.
    #[inline]
    pub(super) fn index(&self, digits: &[usize; AXES]) -> u64 {
        let offsets = digits.iter().zip(self.strides);
        offsets.map(|(&digit, stride)| digit as u64 * stride).sum()
    }

    /// The value of each axis at an index, and the first one of the axes that are not of this part.
    pub(super) fn digits(&self, index: u64) -> [usize; AXES] {
        let mut digits = [0; AXES];
        for (axis, digit) in self.axes.into_iter().zip(self.radix.digits(index)) {
            digits[axis] = digit;
        }
        digits
    }
}

#[cfg(test)]
mod tests {
    use super::{Part, Radix};

    #[test]
    fn every_place_has_its_own_digits() {
        let radix = Radix::new([3, 1, 4]);
        assert_eq!(radix.count(), 12);
        assert_eq!(radix.digits(0), [0, 0, 0]);
        assert_eq!(radix.digits(11), [2, 0, 3]);
        for index in 0..radix.count() {
            assert_eq!(radix.index(radix.digits(index)), index);
        }
    }

    #[test]
    fn a_part_knows_its_axes_alone() {
        let part = Part::of(&Radix::new([3, 2, 4]), [0, 2]);
        assert_eq!(part.count(), 12);
        assert_eq!(part.index(&[2, 1, 3]), part.index(&[2, 0, 3]));
        for index in 0..12 {
            assert_eq!(part.index(&part.digits(index)), index);
        }
    }
}
