//! The parts that are bought.

use serde::{Deserialize, Serialize};

/// What a part is, in bills and in lists of prices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PartKind {
    /// An accelerator.
    Accelerator,
    /// A host, or a complete machine.
    Host,
    /// A host that is rented: it has the price of an hour.
    Instance,
    /// A network adapter.
    Nic,
    /// A switch.
    Switch,
    /// Ports of a switch.
    SwitchPorts,
    /// A cable.
    Cable,
    /// What connects a host in a rack with whoever asks it.
    FrontEnd,
    /// Ports that hosts in racks are looked after by.
    Management,
    /// Storage of a run, by accelerator.
    Storage,
    /// Racks with their power strips.
    Racks,
    /// Memory of hosts for KV caches, beside their own.
    Memory,
    /// Disks of hosts for KV caches.
    Disks,
    /// Freight and integration.
    Freight,
    /// Spare parts.
    Spares,
}

impl PartKind {
    /// Its name and its figure of the assumptions, where it is a line of what racks cost.
    pub(crate) fn line(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::FrontEnd => Some(("Front-end network for an accelerator", "front_end")),
            Self::Management => Some(("Management ports of a host", "management")),
            Self::Storage => Some(("Storage for an accelerator", "storage")),
            Self::Racks => Some(("Racks and power strips", "racks")),
            Self::Memory => Some(("Memory of a host for KV caches", "memory")),
            Self::Disks => Some(("Disks of a host for KV caches", "disks")),
            Self::Freight => Some(("Freight and integration", "freight")),
            Self::Spares => Some(("Spare parts", "spares")),
            _ => None,
        }
    }

    /// Whether it is paid in one sum, however many units it is for.
    pub(crate) fn is_sum(self) -> bool {
        matches!(self, Self::Racks | Self::Freight | Self::Spares)
    }
}
