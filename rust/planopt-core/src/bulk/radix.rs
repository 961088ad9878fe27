//! Places of candidates among the values of each axis.

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

    /// The value of each axis at a place.
    pub fn digits(&self, mut place: u64) -> [usize; AXES] {
        let mut digits = [0; AXES];
        for (digit, size) in digits.iter_mut().zip(self.sizes).rev() {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "below the length of a list in memory"
            )]
            let value = (place % size) as usize;
            *digit = value;
            place /= size;
        }
        digits
    }

    /// The place of a value of each axis.
    pub fn place(&self, digits: [usize; AXES]) -> u64 {
        digits
            .iter()
            .zip(self.sizes)
            .fold(0, |place, (&digit, size)| place * size + digit as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::Radix;

    #[test]
    fn every_place_has_its_own_digits() {
        let radix = Radix::new([3, 1, 4]);
        assert_eq!(radix.count(), 12);
        assert_eq!(radix.digits(0), [0, 0, 0]);
        assert_eq!(radix.digits(11), [2, 0, 3]);
        for place in 0..radix.count() {
            assert_eq!(radix.place(radix.digits(place)), place);
        }
    }
}
