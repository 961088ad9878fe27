//! The kinds of entities.

use crate::diagnostic::Diagnostic;

/// A kind of entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Accelerators.
    Accelerator,
    /// Hosts.
    Host,
    /// Links.
    Link,
    /// Networks across hosts.
    Network,
    /// Models.
    Model,
    /// Workloads.
    Workload,
    /// Instances for rent.
    Offer,
    /// Assumptions, of which a catalog holds the set in use.
    Assumptions,
}

impl Kind {
    /// Every kind, in the order that messages list them: what one of it is called, and the folder of
    /// its files.
    pub(super) const ALL: [(Self, &str, &str); 8] = [
        (Self::Accelerator, "accelerator", "accelerators"),
        (Self::Host, "host", "hosts"),
        (Self::Link, "link", "links"),
        (Self::Network, "network", "networks"),
        (Self::Model, "model", "models"),
        (Self::Workload, "workload", "workloads"),
        (Self::Offer, "offer", "offers"),
        (Self::Assumptions, "assumptions", "assumptions"),
    ];

    /// What one of it is called.
    pub fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    /// The folder of its files.
    pub fn folder(self) -> &'static str {
        Self::ALL[self as usize].2
    }

    /// The kind of that folder, or of that name.
    ///
    /// # Errors
    ///
    /// E001 with the nearest folder, if there is none.
    pub fn from_name(name: &str) -> Result<Self, Diagnostic> {
        let called = |(_, own, folder): &(Self, &str, &str)| [*own, *folder].contains(&name);
        let found = Self::ALL.into_iter().find(called).map(|(kind, ..)| kind);
        let folders = Self::ALL.map(|(.., folder)| folder);
        found.ok_or_else(|| Diagnostic::unknown_name("kind of entity", name, folders))
    }
}
