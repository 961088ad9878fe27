//! Problems of options.

use super::{Diagnostic, code};

/// An option with a name that is not known.
pub(crate) fn unknown_name(option: &str, value: &str, accepted: impl Into<String>) -> Diagnostic {
    Diagnostic::new(code::UNKNOWN_NAME, format!("unknown {option} `{value}`"))
        .field(flag(option))
        .value(value)
        .accepted(accepted)
}

/// An option with a value that cannot be.
pub(crate) fn wrong_option(
    option: &str,
    value: &(impl ToString + ?Sized),
    accepted: impl Into<String>,
) -> Diagnostic {
    let value = value.to_string();
    let message = format!("{option} cannot be {value}");
    Diagnostic::new(code::OPTION_OUT_OF_RANGE, message)
        .field(flag(option))
        .value(value)
        .accepted(accepted)
}

fn flag(option: &str) -> String {
    format!("--{}", option.replace('_', "-"))
}

/// Every count that is none: 0, or absurdly large.
pub(crate) fn wrong_counts<'o>(
    counts: impl IntoIterator<Item = (&'o str, Option<u32>, u32)>,
) -> impl Iterator<Item = Diagnostic> {
    counts.into_iter().filter_map(|(option, count, largest)| {
        let count = count.filter(|count| !(1..=largest).contains(count))?;
        let accepted = format!("a whole number from 1 to {largest}");
        Some(wrong_option(option, &count, accepted))
    })
}

/// All that is wrong, if anything is.
pub(crate) fn none_of(problems: impl Iterator<Item = Diagnostic>) -> Result<(), Vec<Diagnostic>> {
    let problems: Vec<Diagnostic> = problems.collect();
    if problems.is_empty() {
        Ok(())
    } else {
        Err(problems)
    }
}

/// Largest count of anything in a configuration.
pub(crate) const LARGEST_COUNT: u32 = 1 << 16;

/// Accelerators of all replicas, at most: beyond the largest cluster ever built, and few enough
/// that every part of it is counted, and paid for, without overflow.
pub(crate) const LARGEST_CLUSTER: u64 = 1 << 20;

/// NICs of a host, at most: beyond what any host holds.
pub(crate) const LARGEST_NICS: u32 = 64;
