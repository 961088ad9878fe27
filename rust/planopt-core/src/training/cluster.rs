//! What a run is bought on: hosts with accelerators, NICs, and switches of a non-blocking tree.

use crate::bill::{BillLine, network_bill};
use crate::catalog::{Assumptions, Network, Switch};
use crate::degrees::Degrees;
use crate::placement::Placement;
use crate::purchase::{Hardware, Unit};
use crate::quantity::{MicroUsd, Watts};

/// Switches that join all NICs at full rate.
#[derive(Clone, Copy, Debug)]
pub struct Switching<'a> {
    /// The switch.
    pub switch: &'a Switch,
    /// How many.
    pub count: u32,
    /// Cables between switches.
    pub uplinks: u32,
}

impl<'a> Switching<'a> {
    /// A folded Clos network over `ends` NICs: one switch, leaves and spines, or three tiers (Al-Fares
    /// et al., "A scalable, commodity data center network architecture", 2008). Nothing beyond.
    pub fn over(switch: &'a Switch, ends: u32) -> Option<Self> {
        let ports = u64::from(switch.ports);
        let half = ports / 2;
        let all = u64::from(ends);
        let (count, uplinks) = if all <= ports {
            (1, 0)
        } else if half == 0 {
            return None;
        } else {
            let leaves = all.div_ceil(half);
            if leaves <= ports {
                (leaves + (leaves * half).div_ceil(ports), leaves * half)
            } else if all <= half * half * ports {
                let core = (leaves * half).div_ceil(ports);
                (2 * leaves + core, 2 * leaves * half)
            } else {
                return None;
            }
        };
        Some(Self {
            switch,
            count: u32::try_from(count).ok()?,
            uplinks: u32::try_from(uplinks).ok()?,
        })
    }
}

impl<'a> Switching<'a> {
    /// The cheapest switches of a network that join so many NICs.
    pub fn cheapest(network: &'a Network, ends: u32) -> Option<Self> {
        let all = network.switches.iter();
        all.filter_map(|switch| Self::over(switch, ends))
            .min_by_key(|all| {
                all.switch
                    .price
                    .map_or(i64::MAX, |price| (price * all.count).0)
            })
    }

    /// Draw of all of them.
    pub fn power(&self) -> Watts {
        self.switch.power * f64::from(self.count)
    }

    /// Rack units of all of them.
    pub fn rack_units(&self) -> f64 {
        self.switch.rack_units * f64::from(self.count)
    }
}

impl<'a> Unit<'a> {
    /// So many accelerators in as few hosts as hold `slots` each.
    pub(super) fn of_accelerators(hardware: Hardware<'a>, accelerators: u32, slots: u32) -> Self {
        Self {
            hardware,
            placement: Placement {
                degrees: Degrees::tensor(accelerators),
                pp: 1,
                slots,
                hosts: accelerators.div_ceil(slots),
            },
            replicas: 1,
            switch: None,
        }
    }

    /// The same without what joins its hosts.
    pub(super) fn alone(self) -> Self {
        let hardware = Hardware {
            network: None,
            ..self.hardware
        };
        Self { hardware, ..self }
    }

    /// The same with so many full hosts more.
    pub(super) fn with_spares(self, hosts: u32) -> Self {
        let placement = self.placement;
        Self {
            placement: Placement {
                degrees: Degrees::tensor(placement.accelerators() + hosts * placement.slots),
                hosts: placement.hosts + hosts,
                ..placement
            },
            ..self
        }
    }
}

/// All that is bought.
#[derive(Clone, Copy, Debug)]
pub struct Cluster<'a> {
    at_work: Unit<'a>,
    /// The same with spare hosts, which are connected and switched off.
    hosts_and_nics: Unit<'a>,
    /// Switches, where more than two hosts are connected.
    pub switching: Option<Switching<'a>>,
}

impl<'a> Cluster<'a> {
    /// `accelerators` in as few hosts as hold `slots` each, with so many spare hosts, joined by the
    /// cheapest switches. Nothing if the network has none for so many.
    pub fn new(hardware: Hardware<'a>, accelerators: u32, slots: u32, spares: u32) -> Option<Self> {
        let at_work = Unit::of_accelerators(hardware, accelerators, slots);
        let all = at_work.with_spares(spares);
        // Whoever rents instances out connects them.
        let switching = if all.placement.hosts <= 2 || hardware.host.rent.is_some() {
            None
        } else {
            let (network, _) = hardware.network?;
            Some(Switching::cheapest(network, all.nics())?)
        };
        Some(Self {
            at_work,
            hosts_and_nics: all,
            switching,
        })
    }

    /// Hosts, spares included.
    pub fn hosts(&self) -> u32 {
        self.hosts_and_nics.hosts()
    }

    /// Accelerators that come with them.
    pub fn accelerators(&self) -> u32 {
        self.hosts_and_nics.accelerators_bought()
    }

    /// Bill of materials, or nothing if a part has no price.
    pub fn bill_of_materials(&self) -> Option<Vec<BillLine>> {
        let all = self.hosts_and_nics;
        let Some((network, _)) = all.hardware.network.filter(|_| self.switching.is_some()) else {
            return all.bill_of_materials();
        };
        let mut bill = all.alone().bill_of_materials()?;
        bill.extend(network_bill(network, all.connecting(), self.switching)?);
        Some(bill)
    }

    /// Price, or nothing if a part has none.
    pub fn price(&self) -> Option<MicroUsd> {
        Some(self.bill_of_materials()?.iter().map(BillLine::price).sum())
    }

    /// Draw at work, or nothing if the vendor publishes no power of the accelerator.
    pub fn power(&self, assumptions: &Assumptions) -> Option<Watts> {
        let switches = self.switching.map_or(Watts::ZERO, |all| all.power());
        Some(self.at_work.power(assumptions)? + switches)
    }

    /// Rack units; none for desktops, which are not hosted.
    pub fn rack_units(&self) -> f64 {
        let hosts = self.hosts_and_nics.rack_units();
        let switches = self.switching.map_or(0.0, |all| all.rack_units());
        if hosts > 0.0 { hosts + switches } else { 0.0 }
    }
}
