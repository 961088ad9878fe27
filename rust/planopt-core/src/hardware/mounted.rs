//! An accelerator mounted in a host.

use super::fabric::{Fabric, Links};
use super::line::NetworkLine;
use crate::catalog::{Accelerator, Assumptions, BusBandwidth, Host, ScaleUp};
use crate::quantity::BytesPerSecond;

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

/// Accelerators that a host takes by its slots, by their width and by its power supply. A board or
/// a complete machine was built for what it holds.
pub(crate) fn slots_for(host: &Host, accelerator: &Accelerator) -> u32 {
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
pub(crate) fn bus_of_class(host: &Host, class: &str) -> Option<BusBandwidth> {
    let of = |name: &str| {
        host.all_reduce
            .iter()
            .find(|(id, _)| id == name)
            .map(|(_, bus)| *bus)
    };
    of(class).or_else(|| of("default"))
}
