//! Files of a catalog as they are, for plans that carry their facts.

use super::Catalog;
use super::entry::Entry;
use super::kind::Kind;
use super::read::read_json;
use crate::diagnostic::Diagnostic;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

impl Catalog {
    /// Whole files of entities, and of what they name: an accelerator inside of a host, links. By kind
    /// and id; what there is not is left out.
    ///
    /// # Errors
    ///
    /// A file that has gone or changed beyond reading since the catalog was read; every problem of the
    /// files of offers, if one of them is asked for.
    pub fn tables(
        &self,
        names: impl IntoIterator<Item = (Kind, String)>,
    ) -> Result<BTreeMap<String, Value>, Vec<Diagnostic>> {
        let mut found = BTreeMap::new();
        let mut open: Vec<(Kind, String)> = names.into_iter().collect();
        while let Some((kind, id)) = open.pop() {
            let name = format!("{}/{id}", kind.folder());
            if found.contains_key(&name) {
                continue;
            }
            if let Some(table) = self.table(kind, &id)? {
                open.extend(named(kind, &table));
                found.insert(name, table);
            }
        }
        Ok(found)
    }

    /// The whole file of an entity, of an offer that of its provider; none where there is no such
    /// entity.
    ///
    /// # Errors
    ///
    /// A file that cannot be read any more.
    fn table(&self, kind: Kind, id: &str) -> Result<Option<Value>, Vec<Diagnostic>> {
        fn file<T>(entry: Option<&Entry<T>>) -> Option<&Path> {
            entry.map(|entry| entry.file.as_path())
        }
        let file = match kind {
            Kind::Accelerator => file(self.accelerators.get(id)),
            Kind::Host => file(self.hosts.get(id)),
            Kind::Link => file(self.links.get(id)),
            Kind::Network => file(self.networks.get(id)),
            Kind::Model => file(self.models.get(id)),
            Kind::Workload => file(self.workloads.get(id)),
            Kind::Offer => file(self.providers()?.get(id)),
            Kind::Assumptions => Some(self.assumptions.file.as_path()),
        };
        file.map(read_json).transpose()
    }
}

/// What an entity names.
fn named(kind: Kind, table: &Value) -> impl Iterator<Item = (Kind, String)> {
    let inside = text(&table["includes"]["accelerator"]);
    let slot = &table["pcie"];
    let slot = text(&slot["generation"])
        .zip(text(&slot["lanes"]))
        .filter(|_| kind == Kind::Accelerator)
        .map(|(generation, lanes)| format!("pcie{generation}-x{lanes}"));
    let links = [text(&table["link"]), slot].into_iter().flatten();
    let links = links.map(|id| (Kind::Link, id));
    links.chain(inside.map(|id| (Kind::Accelerator, id)))
}

/// A figure without its source.
fn text(figure: &Value) -> Option<String> {
    match figure.get("value").unwrap_or(figure) {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}
