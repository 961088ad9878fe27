//! What is bought on its own: a *unit*, with its bill of materials, price, power and space.
//! Formulas: `docs/reference/model.md`, section 7.

use super::host_set::HostSet;
use super::line::BillLine;
use super::parts::{Line, Part, bill_of, joining, price_of, summed};
use crate::catalog::{Assumptions, Switch, SwitchSale};
use crate::hardware::{Hardware, Owned};
use crate::parallel::Placement;
use crate::quantity::{MicroUsd, Watts};
use std::ops::ControlFlow;

/// A switch with the part of it that a unit takes.
#[derive(Clone, Copy, Debug)]
pub struct SwitchShare<'a> {
    /// The switch.
    pub switch: &'a Switch,
    /// Blocks of ports bought, of those it holds; none for a whole switch.
    pub blocks: Option<(u32, u32)>,
}

/// The smallest thing that is bought on its own.
#[derive(Clone, Copy, Debug)]
pub struct Unit<'a> {
    /// What it is made of.
    pub hardware: Hardware<'a>,
    /// Layout of a replica.
    pub placement: Placement,
    /// Replicas in it.
    pub replicas: u32,
    /// Switch of its hosts, where more than two are connected.
    pub switch: Option<SwitchShare<'a>>,
}

impl<'a> Unit<'a> {
    /// Hosts in the unit.
    pub fn hosts(&self) -> u32 {
        if self.placement.hosts == 1 {
            1
        } else {
            self.placement.hosts * self.replicas
        }
    }

    /// Accelerators at work.
    pub fn accelerators_used(&self) -> u32 {
        self.placement.accelerators() * self.replicas
    }

    /// Its hosts, on the network where a replica spans several of them.
    pub fn host_set(&self) -> HostSet<'a> {
        let network = self.hardware.network.filter(|_| self.placement.hosts > 1);
        HostSet {
            hardware: Hardware {
                network,
                ..self.hardware
            },
            slots: self.placement.slots,
            accelerators: self.accelerators_used(),
            hosts: self.hosts(),
            spares: 0,
        }
    }

    /// Accelerators that come with it.
    pub fn accelerators_bought(&self) -> u32 {
        self.host_set().accelerators_bought()
    }

    /// What of it is there already.
    pub fn owned(&self) -> Owned {
        self.host_set().owned()
    }

    /// Blocks of ports, where ports are sold in blocks.
    pub fn port_blocks(&self) -> u32 {
        self.switch
            .and_then(|share| share.blocks)
            .map_or(0, |(bought, _)| bought)
    }

    fn parts(&self, line: Line<'_, 'a>) -> Option<()> {
        let sum = summed(|line| self.hardware_parts(line), line)?;
        let hosts = self.host_set();
        hosts.in_racks(false, line);
        hosts.carried(sum, line);
        Some(())
    }

    fn hardware_parts(&self, line: Line<'_, 'a>) -> Option<()> {
        let hosts = self.host_set();
        hosts.parts(line)?;
        // Whoever rents instances out connects them.
        if let Some((network, _)) = hosts.hardware.network
            && self.hardware.host.rent.is_none()
        {
            let uplinks = self.switch.map(|_| 0);
            joining(network, hosts.connecting(), uplinks, line)?;
        }
        if let Some(SwitchShare { switch, blocks }) = self.switch {
            let price = switch.price?;
            match blocks {
                Some((bought, held)) => {
                    line(Part::SwitchPorts(switch), bought, Some(price.split(held)));
                }
                None => line(Part::Switch(switch), 1, Some(price)),
            }
        }
        Some(())
    }

    /// Price of the whole unit, or nothing if a part has no price.
    pub fn price(&self) -> Option<MicroUsd> {
        price_of(|line| self.parts(line))
    }

    /// Draw at work; nothing if the vendor publishes no power of the accelerator, or if whoever
    /// rents it out pays for it.
    pub fn power(&self, assumptions: &Assumptions) -> Option<Watts> {
        let hosts = self.host_set();
        let of_switch = |share: SwitchShare| share.switch.power * share.fraction();
        Some(
            hosts.power(assumptions)?
                + hosts.nic_power()
                + self.switch.map_or(Watts::ZERO, of_switch),
        )
    }

    /// Rack units; none for desktops, which are not hosted.
    pub fn rack_units(&self) -> f64 {
        let hosts = self.host_set().rack_units();
        let of_switch = |share: SwitchShare| share.switch.rack_units * share.fraction();
        if hosts > 0.0 {
            hosts + self.switch.map_or(0.0, of_switch)
        } else {
            0.0
        }
    }

    /// Hosts that a replica can stand in, at most; none where the accelerator does not fit them.
    pub fn most_hosts(hardware: Hardware, sale: SwitchSale) -> u32 {
        if !hardware.host.fits(hardware.accelerator) {
            return 0;
        }
        let Some((network, nics_per_host)) = hardware.network else {
            return 1;
        };
        if nics_per_host > hardware.host.room_for(network) {
            return 1;
        }
        if hardware.host.rent.is_some() {
            return u32::MAX;
        }
        let sold = |ports: u32| match sale {
            SwitchSale::Whole => ports,
            SwitchSale::PortBlocks(size) => ports / size * size,
        };
        let switches = network.switches.iter();
        let of_ports = switches.map(|switch| sold(switch.ports) / nics_per_host);
        of_ports.fold(2, u32::max)
    }

    /// Every way of buying replicas of `placement` together, one switch at most, that takes all that
    /// is owned; none where the accelerator or the NICs do not fit the host. Where `found` breaks, no
    /// more replicas of the same are shown: these cost no less.
    pub fn all(
        hardware: Hardware<'a>,
        placement: Placement,
        sale: SwitchSale,
        mut found: impl FnMut(Self) -> ControlFlow<()>,
    ) {
        let unit = Self {
            hardware,
            placement,
            replicas: 1,
            switch: None,
        };
        if placement.hosts > Self::most_hosts(hardware, sale) {
            return;
        }
        let mut each = |most: u32, unit: Self| {
            let units = (1..=most).map(|replicas| Self { replicas, ..unit });
            let _ = units
                .filter(|unit| unit.owned() == hardware.owned)
                .try_for_each(&mut found);
        };
        if placement.hosts == 1 {
            each(placement.slots / placement.accelerators(), unit);
            return;
        }
        let Some((network, nics_per_host)) = hardware.network else {
            return;
        };
        if placement.hosts == 2 || hardware.host.rent.is_some() {
            each(1, unit);
            return;
        }
        let ports = placement.hosts * nics_per_host;
        for switch in &network.switches {
            let (most, blocks) = match sale {
                SwitchSale::Whole => (switch.ports / ports, None),
                SwitchSale::PortBlocks(size) => {
                    let (bought, held) = (ports.div_ceil(size), switch.ports / size);
                    (u32::from(bought <= held), Some((bought, held)))
                }
            };
            let switch = Some(SwitchShare { switch, blocks });
            each(most, Self { switch, ..unit });
        }
    }
}

/// The cheapest units that hold `replicas`, by taking as many as fit of each size in turn. Those
/// with a part that has no price come last: they draw power all the same.
pub fn cheapest_units(
    hardware: Hardware,
    placement: Placement,
    replicas: u32,
    sale: SwitchSale,
) -> Vec<(Unit, u32)> {
    let mut sizes: Vec<Unit> = Vec::new();
    Unit::all(hardware, placement, sale, |unit| {
        sizes.push(unit);
        ControlFlow::Continue(())
    });
    let dearest = MicroUsd(i64::MAX);
    sizes.sort_by_cached_key(|unit| {
        let price = unit.price().unwrap_or(dearest);
        (std::cmp::Reverse(unit.replicas), price)
    });
    let mut units = Vec::new();
    let mut left = replicas;
    for unit in sizes {
        let count = left / unit.replicas;
        if count > 0 {
            units.push((unit, count));
            left -= count * unit.replicas;
        }
    }
    units
}

impl SwitchShare<'_> {
    /// Share of the switch.
    fn fraction(&self) -> f64 {
        self.blocks
            .map_or(1.0, |(bought, held)| f64::from(bought) / f64::from(held))
    }
}

/// The bill of several units, alike lines together; nothing if a part of one has no price.
pub fn bill_of_units<'a>(
    units: impl IntoIterator<Item = (Unit<'a>, u32)>,
) -> Option<Vec<BillLine>> {
    bill_of(|line| {
        for (unit, count) in units {
            unit.parts(&mut |part, quantity, price| line(part, quantity * count, price))?;
        }
        Some(())
    })
}
