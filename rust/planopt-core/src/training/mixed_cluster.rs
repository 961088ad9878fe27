//! What a job over several kinds of accelerator is bought on: hosts of each kind, joined by one
//! network.

use super::cluster::Switching;
use crate::catalog::{Assumptions, Network};
use crate::degrees::Degrees;
use crate::placement::Placement;
use crate::purchase::{BillLine, Hardware, Unit};
use crate::quantity::Watts;

/// Hosts of several kinds, their NICs, and switches where more than two hosts are connected.
#[derive(Clone, Debug)]
pub struct MixedCluster<'a> {
    hosts: Vec<Unit<'a>>,
    network: &'a Network,
    nics: u32,
    /// Switches.
    pub switching: Option<Switching<'a>>,
}

impl<'a> MixedCluster<'a> {
    /// So many accelerators of each kind of hardware; all of it is on the network of the first.
    /// Nothing without a network, or if that has no switches for so many NICs.
    pub fn new(kinds: &[(Hardware<'a>, u32)]) -> Option<Self> {
        let (network, _) = kinds.first()?.0.network?;
        let unit = |&(hardware, accelerators): &(Hardware<'a>, u32)| {
            let slots = hardware.host.slots;
            let placement = Placement {
                degrees: Degrees::tensor(accelerators),
                pp: 1,
                slots,
                hosts: accelerators.div_ceil(slots),
            };
            let nics = hardware.network.map_or(0, |(_, nics)| nics) * placement.hosts;
            let alone = Unit {
                // NICs are counted together, whichever host they are in.
                hardware: Hardware {
                    network: None,
                    ..hardware
                },
                placement,
                replicas: 1,
                switch: None,
            };
            (alone, nics)
        };
        let (hosts, nics): (Vec<Unit>, Vec<u32>) = kinds.iter().map(unit).unzip();
        let nics = nics.into_iter().sum();
        let connected_directly = hosts.iter().map(Unit::hosts).sum::<u32>() <= 2;
        let switching = if connected_directly {
            None
        } else {
            Some(Switching::cheapest(network, nics)?)
        };
        Some(Self {
            hosts,
            network,
            nics,
            switching,
        })
    }

    /// Hosts.
    pub fn hosts(&self) -> u32 {
        self.hosts.iter().map(Unit::hosts).sum()
    }

    /// Bill of materials, a line for each part, or nothing if a part has no price.
    pub fn bill_of_materials(&self) -> Option<Vec<BillLine>> {
        let mut bill: Vec<BillLine> = Vec::new();
        for kind in &self.hosts {
            for line in kind.bill_of_materials()? {
                match bill.iter_mut().find(|known| known.id == line.id) {
                    Some(known) => known.quantity += line.quantity,
                    None => bill.push(line),
                }
            }
        }
        let mut add = |kind, id: &str, name: &str, quantity, unit_price| {
            bill.push(BillLine {
                kind,
                id: id.to_owned(),
                name: name.to_owned(),
                quantity,
                unit_price,
            });
        };
        let nic = &self.network.nic;
        add("nic", &nic.id, &nic.name, self.nics, nic.price?);
        if let Some(cable) = &self.network.cable {
            let cables = self
                .switching
                .map_or(self.nics / 2, |all| self.nics + all.uplinks);
            add("cable", &cable.id, &cable.name, cables, cable.price);
        }
        if let Some(Switching { switch, count, .. }) = self.switching {
            add("switch", &switch.id, &switch.name, count, switch.price?);
        }
        Some(bill)
    }

    /// Draw at work, or nothing if the vendor of an accelerator publishes none.
    pub fn power(&self, assumptions: &Assumptions) -> Option<Watts> {
        let nics = self.network.nic.power * f64::from(self.nics);
        let mut power = self.switching.map_or(nics, |all| nics + all.power());
        for kind in &self.hosts {
            power += kind.power(assumptions)?;
        }
        Some(power)
    }

    /// Rack units; none for desktops, which are not hosted.
    pub fn rack_units(&self) -> f64 {
        let hosts: f64 = self.hosts.iter().map(Unit::rack_units).sum();
        let switches = self.switching.map_or(0.0, |all| all.rack_units());
        if hosts > 0.0 { hosts + switches } else { 0.0 }
    }
}
