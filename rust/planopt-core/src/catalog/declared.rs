//! Tables of a file as their structs declare them: how a key is read stands beside its field.

use super::fields::Fields;
use crate::quantity::Dimension;

/// What a table of a file holds.
pub(crate) trait Table: Sized {
    /// Reads it; what it lacks is as in the one below, where one lies there.
    fn over(fields: &mut Fields<'_>, below: Option<&Self>) -> Self;

    /// Reads it by itself.
    fn read(fields: &mut Fields<'_>) -> Self {
        Self::over(fields, None)
    }
}

/// Declares a struct that is read from a table: each field from the key of its name, or from the one
/// behind `as`, by the function behind it.
macro_rules! table {
    ($(#[$about:meta])* $vis:vis struct $name:ident {
        $($(#[$of:meta])* $own:vis $field:ident: $type:ty $(as $key:literal)? = $read:expr,)*
    }) => {
        $(#[$about])*
        $vis struct $name {
            $($(#[$of])* $own $field: $type,)*
        }

        impl $crate::catalog::Table for $name {
            fn over(fields: &mut $crate::catalog::Fields<'_>, below: Option<&Self>) -> Self {
                Self {
                    $($field: fields.laid_over(
                        // The first of two names, where there are two.
                        [$($key,)? stringify!($field)][0],
                        below.map(|own| Clone::clone(&own.$field)),
                        $read,
                    ),)*
                }
            }
        }
    };
}

pub(crate) use table;

/// A table under a key.
pub(crate) fn inner<T: Table>(fields: &mut Fields<'_>, key: &'static str) -> T {
    fields.section(key, T::read)
}

/// What is part of the same table.
pub(crate) fn same<T: Table>(fields: &mut Fields<'_>, _key: &'static str) -> T {
    T::read(fields)
}

/// A table of which nothing is said.
pub(crate) fn unsaid<T: Table>(fields: &mut Fields<'_>, key: &'static str) -> T {
    fields.enter(None, fields.start, key, T::read)
}

/// Tables under `[[key]]`.
pub(crate) fn list<T: Table>(fields: &mut Fields<'_>, key: &'static str) -> Vec<T> {
    fields.sections(key, T::read)
}

/// What may be left out.
pub(crate) fn maybe<'s, T>(
    read: impl FnOnce(&mut Fields<'s>, &'static str) -> T,
) -> impl FnOnce(&mut Fields<'s>, &'static str) -> Option<T> {
    |fields, key| fields.optional(key, read)
}

/// What is so where it is left out.
pub(crate) fn or<'s, T>(
    usual: T,
    read: impl FnOnce(&mut Fields<'s>, &'static str) -> T,
) -> impl FnOnce(&mut Fields<'s>, &'static str) -> T {
    |fields, key| fields.or(key, usual, read)
}

/// What no file says.
pub(crate) fn unread<'s, T>(value: T) -> impl FnOnce(&mut Fields<'s>, &'static str) -> T {
    |_, _| value
}

/// What one of a few words stands for.
pub(crate) fn choice<'s, T: Clone>(
    choices: &[(&str, T)],
) -> impl FnOnce(&mut Fields<'s>, &'static str) -> T {
    move |fields, key| fields.choice(key, choices)
}

/// A number in a unit that has no type, 0 or more.
pub(crate) fn number_of<'s>(
    dimension: Dimension,
) -> impl FnOnce(&mut Fields<'s>, &'static str) -> f64 {
    move |fields, key| fields.number(key, dimension)
}

/// The same, more than 0.
pub(crate) fn some_of<'s>(
    dimension: Dimension,
) -> impl FnOnce(&mut Fields<'s>, &'static str) -> f64 {
    move |fields, key| fields.positive_number(key, dimension)
}
