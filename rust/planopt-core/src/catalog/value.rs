//! The values in a TOML table: quantities by type, lists, and values with a source beside them.

use crate::quantity::{Bytes, BytesPerSecond, Dimension, FlopsPerSecond, MicroUsd, Seconds, Watts};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A number whose unit is its type.
pub(crate) trait Quantity {
    const DIMENSION: Dimension;
    /// The largest that is accepted, in the base unit.
    const MOST: f64 = f64::MAX;
    fn from_base(value: f64) -> Self;
}

macro_rules! quantity {
    ($($name:ident),*) => { $(
        impl Quantity for $name {
            const DIMENSION: Dimension = Dimension::$name;
            fn from_base(value: f64) -> Self {
                Self(value)
            }
        }
    )* };
}

quantity!(Bytes, BytesPerSecond, FlopsPerSecond, Seconds, Watts);

impl Quantity for MicroUsd {
    const DIMENSION: Dimension = Dimension::Usd;
    /// A billion dollars, so that ten thousand of anything still fit into an integer.
    const MOST: f64 = 1e9;
    fn from_base(value: f64) -> Self {
        Self::from_usd(value)
    }
}

macro_rules! count {
    ($($name:ident at most $most:expr;)*) => { $(
        impl Quantity for $name {
            const DIMENSION: Dimension = Dimension::Count;
            const MOST: f64 = $most;
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "`Dimension::Count` is whole and not negative, and `MOST` fits"
            )]
            fn from_base(value: f64) -> Self {
                value as Self
            }
        }
    )* };
}

/// 2^53: up to here every whole number is a float.
const MOST_EXACT: f64 = 9_007_199_254_740_992.0;

const MOST_U32: f64 = 4_294_967_295.0;

count! {
    u32 at most MOST_U32;
    u64 at most MOST_EXACT;
}

/// The value inside of a `{ value, source }`, and that table; any other value as it is.
pub(super) fn without_source<'s>(
    found: &'s Spanned<DeValue<'s>>,
) -> (&'s Spanned<DeValue<'s>>, Option<&'s DeTable<'s>>) {
    let table = found.get_ref().as_table();
    match table.and_then(|table| table.get("value")) {
        Some(value) => (value, table),
        None => (found, None),
    }
}

/// The elements of a list that is not empty, if `convert` understands them all.
pub(super) fn list_of<T>(
    value: &DeValue<'_>,
    convert: impl Fn(&DeValue<'_>) -> Option<T>,
) -> Option<Vec<T>> {
    let items = value.as_array().filter(|items| !items.is_empty())?;
    items.iter().map(|item| convert(item.get_ref())).collect()
}

/// A value as JSON has it.
pub(super) fn json_of(value: &DeValue<'_>) -> serde_json::Value {
    match value {
        DeValue::Boolean(flag) => (*flag).into(),
        DeValue::Integer(_) | DeValue::Float(_) => {
            let text = text_of(value);
            serde_json::from_str(&text).unwrap_or_else(|_| text.into())
        }
        DeValue::Array(items) => items.iter().map(|item| json_of(item.get_ref())).collect(),
        DeValue::Table(table) => {
            let pairs = table.iter();
            let named =
                pairs.map(|(key, item)| (key.get_ref().to_string(), json_of(item.get_ref())));
            serde_json::Value::Object(named.collect())
        }
        DeValue::String(_) | DeValue::Datetime(_) => text_of(value).into(),
    }
}

/// A value as messages quote it.
pub(super) fn text_of(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => text.to_string(),
        DeValue::Integer(number) => number.to_string(),
        DeValue::Float(number) => number.to_string(),
        DeValue::Boolean(flag) => flag.to_string(),
        DeValue::Datetime(moment) => moment.to_string(),
        DeValue::Array(items) => {
            let texts: Vec<String> = items.iter().map(|item| text_of(item.get_ref())).collect();
            format!("[{}]", texts.join(", "))
        }
        DeValue::Table(_) => "{ ... }".to_owned(),
    }
}
