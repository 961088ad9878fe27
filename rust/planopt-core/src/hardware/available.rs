//! What a question allows of what can be had.

use super::inventory::Inventory;
use super::owned::Owned;
use super::system::{Connection, System};
use crate::catalog::{Accelerator, Assumptions, Host};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

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
    /// Only hosts with so much memory, in bytes, or whose memory nobody knows.
    pub host_memory_bytes: f64,
    /// Accelerators and hosts that are there already, by id.
    pub own: BTreeMap<String, u32>,
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
    /// Offers whose class is not asked for.
    pub class: Vec<String>,
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
            let comes_in = |host: &&&Host| host.comes_with(accelerator.model_id());
            let is_sold = accelerator.price.is_some()
                || self.own.contains_key(accelerator.model_id())
                || hosts().filter(comes_in).any(|host| host.price.is_some());
            let reason = if !self.licenses(accelerator) {
                &mut left_out.licence
            } else if !is_sold {
                &mut left_out.price
            } else if hosts().any(|host| self.has(accelerator, host)) {
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

    /// Bytes of the largest memory of a host that may be had with what is named; none where nothing can
    /// be, or where one is not known.
    pub fn most_memory(&self, inventory: &Inventory<'_>) -> Option<f64> {
        let named = |each: &&&Accelerator| self.names(each);
        let taken = |host: &&&Host| {
            let mut cards = inventory.accelerators.iter().filter(named);
            self.opens(host) && cards.any(|card| self.has(card, host))
        };
        let hosts = inventory.hosts.iter().filter(taken);
        let sizes: Option<Vec<f64>> = hosts.map(|host| Some(host.stores.memory?.0)).collect();
        sizes?.into_iter().reduce(f64::max)
    }

    /// Whether an accelerator may be used, by its own name or as what it is without a power limit.
    fn names(&self, accelerator: &Accelerator) -> bool {
        self.names_any(&[&accelerator.id, accelerator.model_id()])
    }

    /// Whether what has these ids may be used.
    pub(super) fn names_any(&self, ids: &[&str]) -> bool {
        let is_in = |list: &[String]| list.iter().any(|name| ids.contains(&name.as_str()));
        (self.accelerators.is_empty() || is_in(&self.accelerators)) && !is_in(&self.exclude)
    }

    fn licenses(&self, accelerator: &Accelerator) -> bool {
        accelerator.datacenter_licence || !self.datacenter
    }

    fn opens(&self, host: &Host) -> bool {
        let is_asked = || self.hosts.contains(&host.id) || self.own.contains_key(&host.id);
        // What stands in no rack is a desktop; where instances stand is their vendor's affair.
        let stands = !self.datacenter || host.rack_units > 0.0 || host.rent.is_some();
        let memory = host.stores.memory;
        let keeps = memory.is_none_or(|memory| memory.0 >= self.host_memory_bytes);
        listed(&self.hosts, &host.id) && ((stands && keeps && !host.on_request) || is_asked())
    }

    fn owned(&self, accelerator: &Accelerator, host: &Host) -> Owned {
        Owned::of(&self.own, accelerator, host)
    }

    /// Whether an accelerator in a host can be had, bought or there already.
    fn has(&self, accelerator: &Accelerator, host: &Host) -> bool {
        can_be_had(accelerator, host, self.owned(accelerator, host))
    }
}

/// Whether a name is among those that are listed; all are where none is.
pub(super) fn listed<T: PartialEq>(ids: &[T], id: &T) -> bool {
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
                    .filter(|host| selection.has(accelerator, host))
                    .filter_map(|host| {
                        Some(System {
                            owned: selection.owned(accelerator, host),
                            ..inventory.mount(accelerator, host, assumptions)?
                        })
                    })
            })
            .collect();
        let networks = inventory
            .networks
            .iter()
            .filter(|_| !selection.within_host)
            .filter(|network| listed(&selection.networks, &network.id))
            .filter(|network| network.is_sold())
            .flat_map(|network| {
                network.nics_per_host.iter().filter_map(|&nics_per_host| {
                    Some((*network, inventory.line(network, nics_per_host)?))
                })
            })
            .collect();
        Self { systems, networks }
    }
}

/// Whether the accelerator fits the host and both have a price or are there, or come together.
/// Whoever pays for the power must know it; whoever rents does not.
fn can_be_had(accelerator: &Accelerator, host: &Host, owned: Owned) -> bool {
    let has_host = host.price.is_some() || owned.hosts > 0;
    if !has_host || (accelerator.power.is_none() && host.rent.is_none()) {
        return false;
    }
    let has_one = accelerator.price.is_some() || owned.accelerators > 0;
    host.fits(accelerator) && (has_one || host.includes.is_some())
}
