//! Which units of one bill of materials are worth keeping.

use std::cmp::Ordering;

/// What a candidate gives; of each figure, more is better.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Gives {
    /// Figures that differ from one candidate to the next.
    pub(crate) figures: [f64; 3],
    /// Figures of which there are few values: candidates are grouped by them.
    pub(crate) traits: [f64; 2],
}

/// The candidates that no other one beats: that none gives no less of everything than. Of equals
/// the first stays, and all stay in the order in which they came.
#[derive(Clone, Debug)]
pub(crate) struct Front<T> {
    members: Vec<T>,
    /// Members after the last time that those beaten were dropped.
    settled: usize,
}

impl<T> Default for Front<T> {
    fn default() -> Self {
        Self {
            members: Vec::new(),
            settled: 0,
        }
    }
}

impl<T> Front<T> {
    /// Fewer newcomers than this are not worth a look.
    const FEW: usize = 64;

    /// Adds `candidate`. Those beaten are dropped whenever the members have doubled, so that each
    /// candidate costs the logarithm of their number.
    pub(crate) fn offer(&mut self, candidate: T, gives: impl Fn(&T) -> Gives) {
        self.members.push(candidate);
        if self.members.len() >= 2 * self.settled + Self::FEW {
            self.settle(gives);
        }
    }

    /// The candidates that are left, and some that may be beaten by them.
    pub(crate) fn members(&self) -> &[T] {
        &self.members
    }

    /// The candidates that are left.
    pub(crate) fn into_unbeaten(mut self, gives: impl Fn(&T) -> Gives) -> Vec<T> {
        self.settle(gives);
        self.members
    }

    fn settle(&mut self, gives: impl Fn(&T) -> Gives) {
        let given: Vec<Gives> = self.members.iter().map(gives).collect();
        let mut unbeaten = unbeaten(&given).into_iter();
        self.members.retain(|_| unbeaten.next().unwrap_or(false));
        self.settled = self.members.len();
    }
}

/// Of each candidate, whether no other one beats it.
///
/// What beats a candidate sorts before it, so looking at those before is enough, and of them the
/// first figure need not be looked at (H. T. Kung, F. Luccio, F. P. Preparata, "On finding the
/// maxima of a set of vectors", J. ACM 22, 1975). Each group has its stairs in the other two.
fn unbeaten(given: &[Gives]) -> Vec<bool> {
    let mut order: Vec<usize> = (0..given.len()).collect();
    order.sort_unstable_by(|&one, &other| {
        most_first(&given[one], &given[other]).then(one.cmp(&other))
    });
    let mut groups: Vec<([f64; 2], Stairs)> = Vec::new();
    let mut unbeaten = vec![false; given.len()];
    for place in order {
        let Gives { figures, traits } = given[place];
        let [_, across, up] = figures;
        let is_beaten = groups
            .iter()
            .any(|(other, stairs)| no_less(other, &traits) && stairs.cover(across, up));
        if is_beaten {
            continue;
        }
        unbeaten[place] = true;
        let alike = |other: &[f64; 2]| no_less(other, &traits) && no_less(&traits, other);
        match groups.iter_mut().find(|(other, _)| alike(other)) {
            Some((_, stairs)) => stairs.add(across, up),
            None => groups.push((traits, Stairs(vec![(across, up)]))),
        }
    }
    unbeaten
}

fn most_first(one: &Gives, other: &Gives) -> Ordering {
    let figures = other.figures.iter().zip(&one.figures);
    let traits = other.traits.iter().zip(&one.traits);
    figures
        .chain(traits)
        .map(|(other, one)| other.total_cmp(one))
        .find(|order| order.is_ne())
        .unwrap_or(Ordering::Equal)
}

fn no_less<const N: usize>(one: &[f64; N], other: &[f64; N]) -> bool {
    one.iter().zip(other).all(|(one, other)| one >= other)
}

/// Points of a plane that none of them beats: further across is less far up.
#[derive(Clone, Debug)]
struct Stairs(Vec<(f64, f64)>);

impl Stairs {
    /// Whether some point is no less far across and up.
    fn cover(&self, across: f64, up: f64) -> bool {
        let next = self.0.partition_point(|step| step.0 < across);
        self.0.get(next).is_some_and(|step| step.1 >= up)
    }

    /// Adds a point that is not covered, in place of those that it covers.
    fn add(&mut self, across: f64, up: f64) {
        let end = self.0.partition_point(|step| step.0 <= across);
        let start = self.0[..end].partition_point(|step| step.1 > up);
        self.0.splice(start..end, [(across, up)]);
    }
}

#[cfg(test)]
mod tests {
    use super::{Front, Gives};
    use proptest::prelude::*;
    use proptest::sample::select;

    fn front_of(points: &[Gives]) -> Vec<(usize, Gives)> {
        let mut front = Front::default();
        for candidate in points.iter().copied().enumerate() {
            front.offer(candidate, |&(_, gives)| gives);
        }
        front.into_unbeaten(|&(_, gives)| gives)
    }

    /// The definition: one by one, against all others.
    fn compared(points: &[Gives]) -> Vec<(usize, Gives)> {
        let no_less = |one: &Gives, other: &Gives| {
            let figures = one.figures.iter().zip(&other.figures);
            let traits = one.traits.iter().zip(&other.traits);
            figures.chain(traits).all(|(one, other)| one >= other)
        };
        let is_beaten = |place: usize, point: &Gives| {
            points.iter().enumerate().any(|(other_place, other)| {
                no_less(other, point) && (other != point || other_place < place)
            })
        };
        let places = points.iter().copied().enumerate();
        places
            .filter(|(place, point)| !is_beaten(*place, point))
            .collect()
    }

    /// Few values of each figure, so that ties are common.
    fn points() -> impl Strategy<Value = Vec<Gives>> {
        let figure = || select(vec![0.0, 0.5, 1.0, 1.5, 2.0, 8.0, 9.0]);
        let few = || select(vec![-2.0, 1.0, 4.0]);
        let point = ([figure(), figure(), figure()], [few(), few()])
            .prop_map(|(figures, traits)| Gives { figures, traits });
        prop::collection::vec(point, 0..300)
    }

    proptest! {
        #[test]
        fn a_front_is_what_comparing_each_with_each_leaves(points in points()) {
            prop_assert_eq!(front_of(&points), compared(&points));
        }
    }
}
