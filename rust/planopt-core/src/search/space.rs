//! What a question may be answered with: the accelerators and the hosts they fit, the networks
//! between hosts.

use crate::catalog::{Accelerator, Assumptions, BusBandwidth, Host, Link, Network, ScaleUp};
use crate::communication::{Fabric, Links, NetworkLine};
use crate::quantity::BytesPerSecond;

/// What is in stock: the entities of a catalog.
#[derive(Clone, Debug, Default)]
pub struct Shelf<'a> {
    /// Accelerators, by id.
    pub accelerators: Vec<&'a Accelerator>,
    /// Hosts, by id.
    pub hosts: Vec<&'a Host>,
    /// Networks, by id.
    pub networks: Vec<&'a Network>,
    /// Links, by id.
    pub links: Vec<&'a Link>,
}

impl<'a> Shelf<'a> {
    fn link(&self, id: &str) -> Option<&'a Link> {
        self.links.iter().find(|link| link.id == id).copied()
    }

    /// Bandwidth between an accelerator and its host: the slower of the host's slot and the
    /// accelerator's own link.
    pub fn pcie(&self, accelerator: &Accelerator, host: &Host) -> Option<BytesPerSecond> {
        let slot = self.link(&host.link)?.bandwidth?;
        let own = accelerator
            .pcie_generation
            .zip(accelerator.pcie_lanes)
            .and_then(|(generation, lanes)| {
                self.link(&format!("pcie{generation}-x{lanes}"))?.bandwidth
            });
        Some(own.map_or(slot, |own| own.min(slot)))
    }

    /// A network's line between hosts of so many NICs, with the latency of a switch between them.
    pub fn line(&self, network: &Network, nics_per_host: u32) -> Option<NetworkLine> {
        let link = self.link(&network.link)?;
        Some(NetworkLine {
            rate: link.bandwidth?,
            latency: link.latency.unwrap_or_default(),
            rdma: network.rdma,
            nics_per_host,
        })
    }
}

/// Which of the shelf a question allows.
#[derive(Clone, Debug, Default)]
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

/// An accelerator in a host it fits.
#[derive(Clone, Copy, Debug)]
pub struct Fit<'a> {
    /// The accelerator.
    pub accelerator: &'a Accelerator,
    /// The host.
    pub host: &'a Host,
    /// Accelerators that one host takes.
    pub slots: u32,
    /// Bandwidth between them.
    pub pcie: BytesPerSecond,
    /// All-reduce over PCIe in that host.
    pub all_reduce_bus: Option<BusBandwidth>,
}

impl Fit<'_> {
    /// The scale-up link between the accelerators of these hosts.
    pub fn scale_up(&self) -> Option<ScaleUp> {
        let link = self.accelerator.scale_up.as_ref()?;
        Some(link.in_hosts_of(self.slots))
    }

    /// Accelerators that it joins: 1 without any.
    pub fn scale_up_domain(&self) -> u32 {
        self.scale_up().map_or(1, |link| link.domain)
    }

    /// Whether its accelerators all-reduce over PCIe of which the host has figures.
    pub fn reduces_over_pcie(&self) -> bool {
        self.all_reduce_bus.is_some() && self.scale_up_domain() < self.slots
    }

    /// The links of a replica on this hardware, as reached.
    pub fn fabric(&self, network: Option<NetworkLine>, assumptions: &Assumptions) -> Fabric {
        let scale_up = self.scale_up();
        let links = Links {
            scale_up: scale_up.as_ref(),
            pcie: self.pcie,
            all_reduce_bus: self.all_reduce_bus,
            network,
        };
        Fabric::new(self.accelerator, &links, assumptions)
    }
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

/// Accelerators that a host takes by its slots, by their width and by its power supply. A board or
/// a complete machine was built for what it holds.
fn slots_for(host: &Host, accelerator: &Accelerator) -> u32 {
    if host.whole || host.includes.is_some() {
        return host.slots;
    }
    let by_width = match (host.card_slots, accelerator.slots) {
        (Some(there), Some(each)) => there / each.max(1),
        _ => host.slots,
    };
    let by_power = match (host.power_supply, accelerator.power) {
        (Some(supply), Some(each)) => {
            let cards = (1..=host.slots).rev();
            let mut fitting = cards.filter(|&n| (host.power + each * f64::from(n)).0 <= supply.0);
            fitting.next().unwrap_or(0)
        }
        _ => host.slots,
    };
    host.slots.min(by_width).min(by_power)
}

/// All-reduce bus bandwidth of the class that the assumptions name, else the default one.
fn bus_of_class(host: &Host, class: &str) -> Option<BusBandwidth> {
    let of = |name: &str| {
        host.all_reduce
            .iter()
            .find(|(id, _)| id == name)
            .map(|(_, bus)| *bus)
    };
    of(class).or_else(|| of("default"))
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
