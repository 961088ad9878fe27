//! Which units of one bill of materials are worth keeping.

/// Adds `candidate` unless another one gives no less of everything, and drops what it beats.
/// Of equals the first stays, so that the order of insertion decides and nothing else.
pub(crate) fn keep<T, const N: usize>(
    front: &mut Vec<T>,
    candidate: T,
    gives: impl Fn(&T) -> [f64; N],
) {
    let given = gives(&candidate);
    if front.iter().any(|other| no_less(&gives(other), &given)) {
        return;
    }
    front.retain(|other| !no_less(&given, &gives(other)));
    front.push(candidate);
}

fn no_less<const N: usize>(one: &[f64; N], other: &[f64; N]) -> bool {
    one.iter().zip(other).all(|(one, other)| one >= other)
}

#[cfg(test)]
mod tests {
    use super::keep;

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
            keep(&mut front, point, |point| *point);
        }
        assert_eq!(front, [[2.0, 2.0, 0.0, 0.0], [1.0, 1.0, 0.0, 1.0]]);
    }
}
