//! What a question allows of what can be had.

use super::inventory::Inventory;
use super::system::{Connection, System};
use crate::catalog::{Accelerator, Assumptions, Host};
use serde::{Deserialize, Serialize};

/// Which of the inventory a question allows.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Selection {
    /// Accelerator ids; empty for all.
    pub accelerators: Vec<String>,
    /// Accelerator ids that are out.
    pub exclude: Vec<String>,
    /// Host ids; empty for all.
    pub hosts: Vec<String>,
    /// Network ids; empty for all.
    pub networks: Vec<String>,
    /// Only replicas within a host: no networks.
    pub within_host: bool,
    /// Only parts whose licence allows a data center.
    pub datacenter: bool,
}

/// Everything a question may be answered with.
#[derive(Clone, Debug)]
pub struct Space<'a> {
    /// Accelerators in hosts, each host alone.
    pub systems: Vec<System<'a>>,
    /// Networks with a number of NICs per host.
    pub networks: Vec<Connection<'a>>,
}

impl<'a> Space<'a> {
    /// Whatever of `inventory` has a price and `selection` allows.
    pub fn available(
        inventory: &Inventory<'a>,
        selection: &Selection,
        assumptions: &Assumptions,
    ) -> Self {
        let listed = |ids: &[String], id: &String| ids.is_empty() || ids.contains(id);
        let systems = inventory
            .accelerators
            .iter()
            .filter(|accelerator| {
                listed(&selection.accelerators, &accelerator.id)
                    && !selection.exclude.contains(&accelerator.id)
                    && (accelerator.datacenter_licence || !selection.datacenter)
            })
            .flat_map(|accelerator| {
                inventory
                    .hosts
                    .iter()
                    .filter(|host| listed(&selection.hosts, &host.id))
                    .filter(|host| !host.on_request || selection.hosts.contains(&host.id))
                    .filter(|host| can_be_had(accelerator, host))
                    .filter_map(|host| inventory.mount(accelerator, host, assumptions))
            })
            .collect();
        let networks = inventory
            .networks
            .iter()
            .filter(|_| !selection.within_host)
            .filter(|network| listed(&selection.networks, &network.id))
            .filter(|network| network.nic.price.is_some())
            .flat_map(|network| {
                network.nics_per_host.iter().filter_map(|&nics_per_host| {
                    Some((*network, inventory.line(network, nics_per_host)?))
                })
            })
            .collect();
        Self { systems, networks }
    }
}

/// Whether the accelerator fits the host and both have a price, or come together. Whoever buys
/// must know the power; whoever rents does not pay for it.
fn can_be_had(accelerator: &Accelerator, host: &Host) -> bool {
    if host.price.is_none() || (accelerator.power.is_none() && host.rent.is_none()) {
        return false;
    }
    match &host.includes {
        Some(included) => included.accelerator == accelerator.model_id(),
        None => accelerator.price.is_some() && host.form_factors.contains(&accelerator.form_factor),
    }
}
