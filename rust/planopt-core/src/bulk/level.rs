//! What candidates have in common on one level of their axes.

use rayon::prelude::*;

/// Values that are worked out before any candidate is looked at: some hundred megabytes at most.
const MOST_VALUES: u64 = 1 << 21;

/// A few values for each key, shared by all threads. Of a space with too many keys nothing is kept
/// but the values of the last one, by each thread.
#[derive(Clone, Debug)]
pub(super) struct Level<T> {
    /// Values of a key.
    width: usize,
    values: Vec<T>,
}

impl<T> Default for Level<T> {
    fn default() -> Self {
        Self {
            width: 0,
            values: Vec::new(),
        }
    }
}

impl<T: Clone + Default + Send> Level<T> {
    /// The values of `keys` keys, `width` of each.
    pub(super) fn new(keys: u64, width: usize, work_out: impl Fn(u64, &mut [T]) + Sync) -> Self {
        let count = keys.saturating_mul(width as u64);
        let kept = if count <= MOST_VALUES { count } else { 0 };
        let mut values = vec![T::default(); usize::try_from(kept).unwrap_or_default()];
        values
            .par_chunks_mut(width.max(1))
            .enumerate()
            .for_each(|(key, values)| work_out(key as u64, values));
        Self { width, values }
    }

    /// The values of `key`, worked out into `last` unless they are known.
    #[inline]
    pub(super) fn get<'v>(
        &'v self,
        key: u64,
        last: &'v mut Last<T>,
        work_out: impl FnOnce(&mut [T]),
    ) -> &'v [T] {
        let known = self.known(key);
        if known.is_empty() {
            return last.get(key, self.width, work_out);
        }
        known
    }

    /// The values of `key`, if they are known.
    #[inline]
    pub(super) fn known(&self, key: u64) -> &[T] {
        let start = usize::try_from(key).map_or(usize::MAX, |key| key.saturating_mul(self.width));
        let values = self.values.get(start..start.saturating_add(self.width));
        values.unwrap_or_default()
    }
}

/// The values of one key.
#[derive(Clone, Debug, Default)]
pub(super) struct Last<T> {
    key: Option<u64>,
    values: Vec<T>,
}

impl<T: Clone + Default> Last<T> {
    fn get(&mut self, key: u64, width: usize, work_out: impl FnOnce(&mut [T])) -> &[T] {
        if self.key != Some(key) {
            self.values.resize(width, T::default());
            work_out(&mut self.values);
            self.key = Some(key);
        }
        &self.values
    }
}

#[cfg(test)]
mod tests {
    use super::{Last, Level, MOST_VALUES};

    const WIDTH: usize = 3;

    fn values(key: u64, values: &mut [u64]) {
        values.fill(key * key);
    }

    #[test]
    fn values_are_those_of_their_key_whether_or_not_they_are_kept() {
        for keys in [5, MOST_VALUES] {
            let level = Level::new(keys, WIDTH, values);
            let mut last = Last::default();
            for key in [4, 4, 0, 3] {
                let found = level.get(key, &mut last, |own| values(key, own));
                assert_eq!(found, [key * key; WIDTH]);
            }
        }
    }

    #[test]
    fn what_is_kept_is_worked_out_once() {
        let level = Level::new(5, WIDTH, values);
        let mut unused = Last::default();
        let found = level.get(2, &mut unused, |_| panic!("it is known"));
        assert_eq!(found, [4; WIDTH]);
        let many = Level::new(MOST_VALUES, WIDTH, |_, _| panic!("too many to keep"));
        let mut last = Last::default();
        let mut times = 0;
        for key in [7, 7, 8] {
            many.get(key, &mut last, |own| {
                times += 1;
                values(key, own);
            });
        }
        assert_eq!(times, 2);
    }
}
