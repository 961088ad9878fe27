//! Metrics of candidates, side by side.

/// Candidates that stand side by side.
pub const LANES: usize = 64;

/// One metric of up to [`LANES`] candidates.
pub type Column = [f64; LANES];

/// All metrics of up to [`LANES`] candidates.
pub trait Metrics: Default + Clone + Send {
    /// Their names.
    const NAMES: &'static [&'static str];

    /// Shows `work` every column, in the order of the names.
    fn with<T>(&self, work: impl FnOnce(&[&Column]) -> T) -> T;
}

/// A struct of columns, with the names of its fields.
macro_rules! columns {
    ($(#[$about:meta])* $name:ident { $($metric:ident),+ $(,)? }) => {
        $(#[$about])*
        #[derive(Clone, Debug)]
        #[expect(missing_docs, reason = "the evaluation's metrics under their names, with units")]
        pub struct $name {
            $(pub $metric: $crate::bulk::Column),+
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($metric: [0.0; $crate::bulk::LANES]),+ }
            }
        }

        impl $crate::bulk::Metrics for $name {
            const NAMES: &'static [&'static str] = &[$(stringify!($metric)),+];

            fn with<T>(&self, work: impl FnOnce(&[&$crate::bulk::Column]) -> T) -> T {
                work(&[$(&self.$metric),+])
            }
        }
    };
}

pub(crate) use columns;
