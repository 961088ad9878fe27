//! Names that people use in a question become the ids that the catalog knows.

use crate::catalog::Catalog;
use crate::options::{Entry, Kind};
use serde_json::Value;

/// The value of an option with the id for each name of an entity. What nothing is called stays, to
/// be refused where it is looked up.
pub(super) fn by_id(entry: &Entry, value: Value, catalog: &Catalog) -> Value {
    let Some(of) = entry.of.as_deref() else {
        return value;
    };
    let id = |name: &str| catalog.id_of(of, name.trim()).map(str::to_owned);
    // A number may follow a name of a list.
    let part = |part: &str| {
        let (name, number) = part.split_at(part.find([':', '=']).unwrap_or(part.len()));
        id(name).map_or_else(|| part.to_owned(), |id| id + number)
    };
    match value {
        Value::String(name) if entry.kind == Kind::Name => id(&name).unwrap_or(name).into(),
        Value::String(names) => {
            let ids: Vec<String> = names.split(',').map(part).collect();
            ids.join(",").into()
        }
        Value::Array(names) => {
            let ids = names.into_iter().map(|name| match name {
                Value::String(name) => part(&name).into(),
                other => other,
            });
            ids.collect()
        }
        Value::Object(pairs) => {
            let ids = pairs.into_iter();
            ids.map(|(name, value)| (part(&name), value)).collect()
        }
        other => other,
    }
}
