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

/// Accelerators that nothing can be built of, by id, under what keeps each out first.
#[derive(Clone, Debug, Default, Serialize)]
pub struct LeftOut {
    /// Vendors' licences that forbid a data center.
    pub licence: Vec<String>,
    /// Neither a price of its own nor a machine with one.
    pub price: Vec<String>,
    /// A power that is not known.
    pub power: Vec<String>,
    /// No host that holds it and can be had.
    pub host: Vec<String>,
}

impl Selection {
    /// What an inventory has and a question would allow, but nothing can be built of.
    pub fn left_out(&self, inventory: &Inventory<'_>) -> LeftOut {
        let mut left_out = LeftOut::default();
        for accelerator in inventory
            .accelerators
            .iter()
            .filter(|each| each.limited_from.is_none() && self.names(each))
        {
            let hosts = || inventory.hosts.iter().filter(|host| self.opens(host));
            let comes_in = |host: &&&Host| {
                let included = host.includes.as_ref();
                included.is_some_and(|own| own.accelerator == accelerator.model_id())
            };
            let is_sold = accelerator.price.is_some()
                || hosts().filter(comes_in).any(|host| host.price.is_some());
            let reason = if !self.licenses(accelerator) {
                &mut left_out.licence
            } else if !is_sold {
                &mut left_out.price
            } else if hosts().any(|host| can_be_had(accelerator, host)) {
                continue;
            } else if accelerator.power.is_none() {
                &mut left_out.power
            } else {
                &mut left_out.host
            };
            reason.push(accelerator.id.clone());
        }
        left_out
    }

    /// Whether an accelerator may be used, by its own name or as what it is without a power limit.
    fn names(&self, accelerator: &Accelerator) -> bool {
        let ids = [accelerator.id.as_str(), accelerator.model_id()];
        let is_in = |list: &[String]| list.iter().any(|name| ids.contains(&name.as_str()));
        (self.accelerators.is_empty() || is_in(&self.accelerators)) && !is_in(&self.exclude)
    }

    fn licenses(&self, accelerator: &Accelerator) -> bool {
        accelerator.datacenter_licence || !self.datacenter
    }

    fn opens(&self, host: &Host) -> bool {
        listed(&self.hosts, &host.id) && (!host.on_request || self.hosts.contains(&host.id))
    }
}

/// Whether a name is among those that are listed; all are where none is.
fn listed(ids: &[String], id: &String) -> bool {
    ids.is_empty() || ids.contains(id)
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
        let systems = inventory
            .accelerators
            .iter()
            .filter(|accelerator| selection.names(accelerator) && selection.licenses(accelerator))
            .flat_map(|accelerator| {
                inventory
                    .hosts
                    .iter()
                    .filter(|host| selection.opens(host))
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
