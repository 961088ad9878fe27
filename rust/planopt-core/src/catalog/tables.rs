//! Files of a catalog as they are, for plans that carry their facts.

use super::Catalog;
use super::entry::Entry;
use super::kind::Kind;
use super::read::read_json;
use crate::diagnostic::Diagnostic;
use serde_json::Value;
use std::path::Path;

impl Catalog {
    /// The whole file of an entity, of an offer that of its provider; none where there is no such
    /// entity.
    ///
    /// # Errors
    ///
    /// A file that cannot be read any more.
    pub fn table(&self, kind: Kind, id: &str) -> Result<Option<Value>, Vec<Diagnostic>> {
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
