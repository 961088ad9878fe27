//! Which units of one bill of materials are worth keeping.

/// What a unit gives.
pub(crate) trait Gives {
    /// More of each is better.
    fn gives(&self) -> [f64; 4];
}

/// Adds `candidate` unless another one gives no less of everything, and drops what it beats.
/// Of equals the first stays, so that the order of insertion decides and nothing else.
pub(crate) fn keep<T: Gives>(front: &mut Vec<T>, candidate: T) {
    let gives = candidate.gives();
    if front.iter().any(|other| no_less(&other.gives(), &gives)) {
        return;
    }
    front.retain(|other| !no_less(&gives, &other.gives()));
    front.push(candidate);
}

fn no_less(one: &[f64; 4], other: &[f64; 4]) -> bool {
    one.iter().zip(other).all(|(one, other)| one >= other)
}

#[cfg(test)]
mod tests {
    use super::{Gives, keep};

    impl Gives for [f64; 4] {
        fn gives(&self) -> [f64; 4] {
            *self
        }
    }

    #[test]
    fn only_the_undominated_stay() {
        let mut front = Vec::new();
        for point in [
            [1.0, 2.0, 0.0, 0.0],
            [2.0, 1.0, 0.0, 0.0],
            [2.0, 2.0, 0.0, 0.0],
            [2.0, 2.0, 0.0, 0.0],
            [1.0, 1.0, 0.0, 1.0],
        ] {
            keep(&mut front, point);
        }
        assert_eq!(front, [[2.0, 2.0, 0.0, 0.0], [1.0, 1.0, 0.0, 1.0]]);
    }
}
