//! Names that people use in a question become the ids that the catalog knows.

use crate::catalog::Catalog;
use crate::options::{Entry, Kind};
use crate::request::Given;

/// The value of an option with the id for each name of an entity. What nothing is called stays, to
/// be refused where it is looked up.
pub(super) fn by_id(entry: &Entry, value: Given, catalog: &Catalog) -> Given {
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
        Given::Text(name) if entry.kind == Kind::Name => Given::Text(id(&name).unwrap_or(name)),
        Given::Text(names) => {
            let ids: Vec<String> = names.split(',').map(part).collect();
            Given::Text(ids.join(","))
        }
        Given::List(names) => {
            let ids = names.into_iter().map(|name| match name {
                Given::Text(name) => Given::Text(part(&name)),
                other => other,
            });
            Given::List(ids.collect())
        }
        Given::Table(pairs) => {
            let ids = pairs.into_iter();
            Given::Table(ids.map(|(name, value)| (part(&name), value)).collect())
        }
        other => other,
    }
}
