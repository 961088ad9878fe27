//! What a question allows of what can be had.

use super::inventory::Shelf;
use super::line::NetworkLine;
use super::mounted::{Fit, bus_of_class, slots_for};
use crate::catalog::{Accelerator, Assumptions, Host, Network};
use serde::Deserialize;

/// Which of the shelf a question allows.
#[derive(Clone, Debug, Default, Deserialize)]
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
    /// Accelerators in hosts.
    pub fits: Vec<Fit<'a>>,
    /// Networks with a number of NICs per host.
    pub networks: Vec<(&'a Network, NetworkLine)>,
}

impl<'a> Space<'a> {
    /// Whatever of `shelf` has a price and `selection` allows.
    pub fn available(shelf: &Shelf<'a>, selection: &Selection, assumptions: &Assumptions) -> Self {
        let listed = |ids: &[String], id: &String| ids.is_empty() || ids.contains(id);
        let fits = shelf
            .accelerators
            .iter()
            .filter(|accelerator| {
                listed(&selection.accelerators, &accelerator.id)
                    && !selection.exclude.contains(&accelerator.id)
                    && (accelerator.datacenter_licence || !selection.datacenter)
            })
            .flat_map(|accelerator| {
                shelf
                    .hosts
                    .iter()
                    .filter(|host| listed(&selection.hosts, &host.id))
                    .filter(|host| !host.on_request || selection.hosts.contains(&host.id))
                    .filter(|host| can_be_had(accelerator, host))
                    .filter_map(|host| Self::fit(shelf, accelerator, host, assumptions))
            })
            .collect();
        let networks = shelf
            .networks
            .iter()
            .filter(|_| !selection.within_host)
            .filter(|network| listed(&selection.networks, &network.id))
            .filter(|network| network.nic.price.is_some())
            .flat_map(|network| {
                network.nics_per_host.iter().filter_map(|&nics_per_host| {
                    Some((*network, shelf.line(network, nics_per_host)?))
                })
            })
            .collect();
        Self { fits, networks }
    }

    /// An accelerator in a host, whether or not they can be bought; nothing if the host has no link
    /// to it, or neither width nor power for one.
    pub fn fit(
        shelf: &Shelf<'a>,
        accelerator: &'a Accelerator,
        host: &'a Host,
        assumptions: &Assumptions,
    ) -> Option<Fit<'a>> {
        let slots = if assumptions.host_limits {
            slots_for(host, accelerator)
        } else {
            host.slots
        };
        if slots == 0 {
            return None;
        }
        Some(Fit {
            accelerator,
            host,
            slots,
            pcie: shelf.pcie(accelerator, host)?,
            all_reduce_bus: bus_of_class(host, &assumptions.pcie_all_reduce),
        })
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
