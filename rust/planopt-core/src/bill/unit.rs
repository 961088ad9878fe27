//! What is bought on its own: a *unit*, with its bill of materials, price, power and space.
//! Formulas: `docs/reference/model.md`, section 7.

use super::line::BillLine;
use crate::catalog::{Accelerator, Assumptions, Cable, Connecting, Host, Nic, Switch, SwitchSale};
use crate::hardware::Hardware;
use crate::parallel::Placement;
use crate::quantity::{MicroUsd, Watts};

/// A part of a unit.
#[derive(Clone, Copy, Debug)]
enum Part<'a> {
    Accelerator(&'a Accelerator),
    Host(&'a Host),
    Nic(&'a Nic),
    Cable(&'a Cable),
    Switch(&'a Switch),
    SwitchPorts(&'a Switch),
}

impl Part<'_> {
    /// Kind, id and name.
    fn names(self) -> (&'static str, String, String) {
        let (kind, id, name) = match self {
            Self::Accelerator(part) => ("accelerator", &part.id, part.name.clone()),
            Self::Host(part) if part.rent.is_some() => ("instance", &part.id, part.name.clone()),
            Self::Host(part) => ("host", &part.id, part.name.clone()),
            Self::Nic(part) => ("nic", &part.id, part.name.clone()),
            Self::Cable(part) => ("cable", &part.id, part.name.clone()),
            Self::Switch(part) => ("switch", &part.id, part.name.clone()),
            Self::SwitchPorts(part) => {
                ("switch_ports", &part.id, format!("ports of {}", part.name))
            }
        };
        (kind, id.clone(), name)
    }
}

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

    /// Accelerators that come with it.
    pub fn accelerators_bought(&self) -> u32 {
        let host = self.hardware.host;
        if host.whole || host.includes.is_some() {
            self.hosts() * host.slots
        } else {
            self.accelerators_used()
        }
    }

    /// Blocks of ports, where ports are sold in blocks.
    pub fn port_blocks(&self) -> u32 {
        self.switch
            .and_then(|share| share.blocks)
            .map_or(0, |(bought, _)| bought)
    }

    /// NICs, where hosts are connected.
    pub fn nics(&self) -> u32 {
        match self.hardware.network {
            Some((_, nics_per_host)) if self.placement.hosts > 1 => self.hosts() * nics_per_host,
            _ => 0,
        }
    }

    /// NICs that the price of its hosts does not include, and those whose cable it does not.
    pub fn connecting(&self) -> Connecting {
        match self.hardware.network {
            Some((network, nics_per_host)) if self.nics() > 0 => {
                let host = self.hardware.host.connecting(network, nics_per_host);
                host.of_hosts(self.hosts())
            }
            _ => Connecting::default(),
        }
    }

    /// Shows each part with its number and price to `line`; nothing if a part has no price.
    fn parts(&self, mut line: impl FnMut(Part<'a>, u32, MicroUsd)) -> Option<()> {
        let Hardware {
            accelerator,
            host,
            network,
        } = self.hardware;
        if host.includes.is_none() {
            line(
                Part::Accelerator(accelerator),
                self.accelerators_bought(),
                accelerator.price?,
            );
        }
        line(Part::Host(host), self.hosts(), host.price?);
        if let Some((network, _)) = network
            && self.nics() > 0
            && host.rent.is_none()
        {
            let Connecting { nics, cabled } = self.connecting();
            if nics > 0 {
                line(Part::Nic(&network.nic), nics, network.nic.price?);
            }
            if let Some(cable) = &network.cable
                && cabled > 0
            {
                let ends = if self.switch.is_some() { 1 } else { 2 };
                line(Part::Cable(cable), cabled / ends, cable.price);
            }
        }
        if let Some(SwitchShare { switch, blocks }) = self.switch {
            let price = switch.price?;
            match blocks {
                Some((bought, held)) => {
                    line(Part::SwitchPorts(switch), bought, price.split(held));
                }
                None => line(Part::Switch(switch), 1, price),
            }
        }
        Some(())
    }

    /// Bill of materials, or nothing if a part has no price.
    pub fn bill_of_materials(&self) -> Option<Vec<BillLine>> {
        let mut bill = Vec::with_capacity(4);
        self.parts(|part, quantity, unit_price| {
            let (kind, id, name) = part.names();
            bill.push(BillLine {
                kind,
                id,
                name,
                quantity,
                unit_price,
            });
        })?;
        Some(bill)
    }

    /// Price of the whole unit, or nothing if a part has no price.
    pub fn price(&self) -> Option<MicroUsd> {
        let mut price = MicroUsd::ZERO;
        self.parts(|_, quantity, unit_price| price += unit_price * quantity)?;
        Some(price)
    }

    /// Draw at work; nothing if the vendor publishes no power of the accelerator, or if whoever
    /// rents it out pays for it.
    pub fn power(&self, assumptions: &Assumptions) -> Option<Watts> {
        let Hardware {
            accelerator,
            host,
            network,
        } = self.hardware;
        if host.rent.is_some() {
            return None;
        }
        let load = assumptions.cost.load_fraction * f64::from(self.accelerators_used());
        let nic_power = network.map_or(Watts::ZERO, |(network, _)| network.nic.power);
        Some(
            accelerator.power? * load
                + host.power * f64::from(self.hosts())
                + nic_power * f64::from(self.nics())
                + self
                    .switch
                    .map_or(Watts::ZERO, |share| share.switch.power * share.fraction()),
        )
    }

    /// Rack units; none for desktops, which are not hosted.
    pub fn rack_units(&self) -> f64 {
        let hosts = self.hardware.host.rack_units * f64::from(self.hosts());
        if hosts > 0.0 {
            hosts
                + self
                    .switch
                    .map_or(0.0, |share| share.switch.rack_units * share.fraction())
        } else {
            0.0
        }
    }

    /// Every way of buying replicas of `placement` together, one switch at most; none where the
    /// accelerator or the NICs do not fit the host.
    pub fn all(
        hardware: Hardware<'a>,
        placement: Placement,
        sale: SwitchSale,
        mut found: impl FnMut(Self),
    ) {
        let unit = Self {
            hardware,
            placement,
            replicas: 1,
            switch: None,
        };
        if !hardware.accelerator_fits() {
            return;
        }
        if placement.hosts == 1 {
            for replicas in 1..=placement.slots / placement.accelerators() {
                found(Self { replicas, ..unit });
            }
            return;
        }
        let Some((network, nics_per_host)) = hardware.network else {
            return;
        };
        if nics_per_host > hardware.host.room_for(network) {
            return;
        }
        if placement.hosts == 2 || hardware.host.rent.is_some() {
            found(unit);
            return;
        }
        let ports = placement.hosts * nics_per_host;
        for switch in &network.switches {
            match sale {
                SwitchSale::Whole => {
                    for replicas in 1..=switch.ports / ports {
                        let share = SwitchShare {
                            switch,
                            blocks: None,
                        };
                        found(Self {
                            replicas,
                            switch: Some(share),
                            ..unit
                        });
                    }
                }
                SwitchSale::PortBlocks(size) => {
                    let (bought, held) = (ports.div_ceil(size), switch.ports / size);
                    if bought <= held {
                        let share = SwitchShare {
                            switch,
                            blocks: Some((bought, held)),
                        };
                        found(Self {
                            switch: Some(share),
                            ..unit
                        });
                    }
                }
            }
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
    Unit::all(hardware, placement, sale, |unit| sizes.push(unit));
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
pub fn bill_of<'a>(units: impl IntoIterator<Item = (Unit<'a>, u32)>) -> Option<Vec<BillLine>> {
    let mut bill: Vec<BillLine> = Vec::new();
    for (unit, count) in units {
        for line in unit.bill_of_materials()? {
            let quantity = line.quantity * count;
            let alike = |known: &&mut BillLine| known.kind == line.kind && known.id == line.id;
            match bill.iter_mut().find(alike) {
                Some(known) => known.quantity += quantity,
                None => bill.push(BillLine { quantity, ..line }),
            }
        }
    }
    Some(bill)
}
