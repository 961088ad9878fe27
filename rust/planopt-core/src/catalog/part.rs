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
}
