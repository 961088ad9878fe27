//! When something happens next, and to whom: the next one in front.

use std::collections::VecDeque;

/// Who has something to come, in order of time; of those of one time in order of place.
#[derive(Clone, Debug, Default)]
pub(super) struct Calendar(VecDeque<(f64, usize)>);

impl Calendar {
    pub(super) fn of(dates: impl Iterator<Item = (f64, usize)>) -> Self {
        let mut calendar = Self::default();
        for (time, who) in dates {
            calendar.put(time, who);
        }
        calendar
    }

    /// When the next is, and of whom.
    #[inline]
    pub(super) fn first(&self) -> Option<(f64, usize)> {
        self.0.front().copied()
    }

    /// When the next is; never is infinity.
    pub(super) fn next(&self) -> f64 {
        self.first().map_or(f64::INFINITY, |(time, _)| time)
    }

    /// How many have something to come.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Takes the next out.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<usize> {
        self.0.pop_front().map(|(_, who)| who)
    }

    /// Mostly steps end in the order in which they begin, and who waits for the first stage is next: it
    /// goes to one of the ends.
    #[inline]
    pub(super) fn put(&mut self, time: f64, who: usize) {
        let new = (time, who);
        let is_before = |other: &(f64, usize)| *other < new;
        if self.0.back().is_none_or(is_before) {
            self.0.push_back(new);
        } else if !self.0.front().is_some_and(is_before) {
            self.0.push_front(new);
        } else {
            self.0.insert(self.0.partition_point(is_before), new);
        }
    }

    /// Takes somebody out.
    pub(super) fn remove(&mut self, who: usize) {
        self.0.retain(|&(_, other)| other != who);
    }
}

#[cfg(test)]
mod tests {
    use super::Calendar;

    #[test]
    fn who_is_first_comes_first_and_of_one_time_who_stands_first() {
        let dates = [(3.0, 0), (1.0, 2), (2.0, 1), (1.0, 0), (1.0, 1), (4.0, 3)];
        let mut calendar = Calendar::of(dates.into_iter());
        calendar.remove(1);
        calendar.put(1.5, 1);
        assert_eq!(calendar.first(), Some((1.0, 0)));
        let order: Vec<usize> = std::iter::from_fn(|| calendar.pop()).collect();
        assert_eq!(order, [0, 2, 1, 0, 3]);
        assert!(calendar.next() > f64::MAX);
    }
}
