//! The largest load at which requests are served in time.

/// Loads are found to a hundredth: closer than the closed form knows them.
const CLOSE: f64 = 0.01;

/// Ratio of the ends beyond which the middle is that by ratio: the answer is rarely a few.
const FAR_APART: f64 = 4.0;

/// The largest load from `low` on, which is in time, to below `most` that is `in_time` too; below
/// `least` none is looked for. Numbers of users are `whole`.
///
/// The way between the ends is halved. From the fluid bound that takes seven to nine looks; false
/// position takes as many, since most of the way to the bound an engine only is overloaded.
pub(super) fn largest_in_time(
    mut low: f64,
    most: f64,
    least: f64,
    whole: bool,
    mut in_time: impl FnMut(f64) -> bool,
) -> f64 {
    let mut high = most;
    let apart = if whole { 1.0 } else { 0.0 };
    while high - low > (CLOSE * high).max(apart) && high > least {
        let middle = if low > 0.0 && low * FAR_APART < high {
            (low * high).sqrt()
        } else {
            f64::midpoint(low, high)
        };
        let load = if whole { middle.ceil() } else { middle };
        if in_time(load) {
            low = load;
        } else {
            high = load;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::{CLOSE, largest_in_time};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_largest_rate_is_found_to_a_hundredth(sought in 1e-3..1.0_f64, most in 1.0..1e3_f64) {
            let sought = sought * most;
            let mut looks = 0;
            let found = largest_in_time(0.0, most, 0.0, false, |rate| {
                looks += 1;
                rate <= sought
            });
            prop_assert!(found <= sought && found >= sought * (1.0 - 1.02 * CLOSE), "{found}");
            prop_assert!(looks <= 17, "{looks}");
        }

        #[test]
        fn of_whole_numbers_none_larger_is_in_time(sought in 1_u32..90, most in 1_u32..150) {
            let (sought, most) = (f64::from(sought), f64::from(most) + 1.0);
            let found = largest_in_time(1.0, most, 0.0, true, |users| users <= sought);
            prop_assert!((found - sought.min(most - 1.0)).abs() < 0.5, "{found}");
        }
    }
}
