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
    /// Every kind, in the order that messages list them.
    pub const ALL: [Self; 8] = [
        Self::Accelerator,
        Self::Host,
        Self::Link,
        Self::Network,
        Self::Model,
        Self::Workload,
        Self::Offer,
        Self::Assumptions,
    ];

    /// The folder of its files.
    pub fn folder(self) -> &'static str {
        match self {
            Self::Accelerator => "accelerators",
            Self::Host => "hosts",
            Self::Link => "links",
            Self::Network => "networks",
            Self::Model => "models",
            Self::Workload => "workloads",
            Self::Offer => "offers",
            Self::Assumptions => "assumptions",
        }
    }

    /// What one of it is called.
    pub fn name(self) -> &'static str {
        match self {
            Self::Accelerator => "accelerator",
            Self::Host => "host",
            Self::Link => "link",
            Self::Network => "network",
            Self::Model => "model",
            Self::Workload => "workload",
            Self::Offer => "offer",
            Self::Assumptions => "assumptions",
        }
    }

    /// The kind of that folder, or of that name.
    ///
    /// # Errors
    ///
    /// E001 with the nearest folder, if there is none.
    pub fn from_name(name: &str) -> Result<Self, Diagnostic> {
        let called = |kind: &Self| kind.folder() == name || kind.name() == name;
        Self::ALL.into_iter().find(called).ok_or_else(|| {
            Diagnostic::unknown_name("kind of entity", name, Self::ALL.map(Self::folder))
        })
    }
}
