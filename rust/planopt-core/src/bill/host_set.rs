//! Hosts full of accelerators, whatever runs on them.

use super::parts::{Line, Part, price_of, some_owned};
use crate::catalog::{Assumptions, Connecting, PartKind};
use crate::hardware::{Hardware, Owned, System};
use crate::quantity::{MicroUsd, Watts};

/// Height of a rack (EIA-310).
const UNITS_OF_A_RACK: f64 = 42.0;

/// Hosts of one kind, with their accelerators and NICs.
#[derive(Clone, Copy, Debug)]
pub struct HostSet<'a> {
    /// What each is made of; it has a network where it is joined with others.
    pub hardware: Hardware<'a>,
    /// Accelerators that one takes.
    pub slots: u32,
    /// Accelerators at work.
    pub accelerators: u32,
    /// Hosts at work.
    pub hosts: u32,
    /// Full hosts beside them, which are connected and switched off.
    pub spares: u32,
}

impl<'a> HostSet<'a> {
    /// Accelerators in as few hosts as hold them, with so many spare hosts.
    pub fn of(system: &System<'a>, accelerators: u32, spares: u32) -> Self {
        Self {
            hardware: system.parts(),
            slots: system.slots,
            accelerators,
            hosts: accelerators.div_ceil(system.slots),
            spares,
        }
    }

    /// Hosts bought.
    pub fn hosts_bought(&self) -> u32 {
        self.hosts + self.spares
    }

    /// Accelerators that come with them: whole cards, also where these are divided.
    pub fn accelerators_bought(&self) -> u32 {
        let host = self.hardware.host;
        if host.whole || host.includes.is_some() {
            self.hosts_bought() * host.slots
        } else {
            let slices = self.hardware.accelerator.slices;
            (self.accelerators + self.spares * self.slots).div_ceil(slices)
        }
    }

    /// NICs of all of them.
    pub fn nics(&self) -> u32 {
        let network = self.hardware.network;
        network.map_or(0, |(_, nics)| nics * self.hosts_bought())
    }

    /// NICs that their price does not include, and those whose cable it does not.
    pub fn connecting(&self) -> Connecting {
        let Hardware { host, network, .. } = self.hardware;
        let one = network.map(|(network, nics)| host.connecting(network, nics));
        one.unwrap_or_default().of_hosts(self.hosts_bought())
    }

    /// Shows accelerators and hosts to `line`; nothing if one has no price.
    pub(super) fn parts(&self, line: Line<'_, 'a>) -> Option<()> {
        let Hardware {
            accelerator, host, ..
        } = self.hardware;
        let owned = self.owned();
        if host.includes.is_none() {
            let (part, number) = (Part::Accelerator(accelerator), self.accelerators_bought());
            some_owned(part, number, owned.accelerators, accelerator.price, line)?;
        }
        some_owned(
            Part::Host(host),
            self.hosts_bought(),
            owned.hosts,
            host.price,
            line,
        )
    }

    /// What of them is there already.
    pub fn owned(&self) -> Owned {
        let (accelerators, hosts) = (self.accelerators_bought(), self.hosts_bought());
        self.hardware.owned.within(accelerators, hosts)
    }

    /// Shows to `line` what stands around those that are bought in racks: ports, racks, storage of a
    /// run. Switches stand in the height that hosts, which fill racks by their power, leave.
    pub(super) fn in_racks(&self, stores: bool, line: Line<'_, 'a>) {
        let Hardware {
            accelerator, host, ..
        } = self.hardware;
        let lines = &host.lines;
        let cards = accelerator.power.unwrap_or(Watts::ZERO) * f64::from(self.slots);
        let kilowatts = (host.power + cards).0 / 1e3;
        let racks = (host.rack_units / UNITS_OF_A_RACK).max(kilowatts / lines.rack_kilowatts);
        let hosts = self.hosts_bought() - self.owned().hosts;
        let all = u64::from(self.accelerators_bought());
        // Cards in the host of another set are told here, and it there.
        let of_these = match u64::from(self.hosts_bought()) {
            0 => all,
            bought => all * u64::from(hosts) / bought,
        };
        let accelerators = u32::try_from(of_these).unwrap_or(u32::MAX);
        let stored = if stores { accelerators } else { 0 };
        // A set without racks has no power of one either.
        let racks_usd = if lines.racks_usd_per_rack > 0.0 {
            racks * lines.racks_usd_per_rack
        } else {
            0.0
        };
        for (kind, quantity, usd) in [
            (
                PartKind::FrontEnd,
                accelerators,
                lines.front_end_usd_per_accelerator,
            ),
            (PartKind::Management, hosts, lines.management_usd_per_host),
            (PartKind::Storage, stored, lines.storage_usd_per_accelerator),
            (PartKind::Racks, hosts, racks_usd),
            (PartKind::Memory, hosts, lines.memory_usd_per_host),
            (PartKind::Disks, hosts, lines.disks_usd_per_host),
        ] {
            if quantity > 0 && usd > 0.0 {
                line(Part::Line(kind), quantity, Some(MicroUsd::from_usd(usd)));
            }
        }
    }

    /// Shows to `line` what the way there and spares of parts cost that come to `sum`.
    pub(super) fn carried(&self, sum: MicroUsd, line: Line<'_, 'a>) {
        let lines = &self.hardware.host.lines;
        for (kind, share) in [
            (PartKind::Freight, lines.freight),
            (PartKind::Spares, lines.spares),
        ] {
            if share > 0.0 && sum > MicroUsd::ZERO {
                line(Part::Line(kind), 1, Some(sum.scaled(share)));
            }
        }
    }

    /// Price of accelerators and hosts; nothing if one has none.
    pub fn price(&self) -> Option<MicroUsd> {
        price_of(|line| self.parts(line))
    }

    /// Draw of accelerators and hosts at work; nothing if the vendor publishes no power of the
    /// accelerator, or if whoever rents it out pays for it.
    pub(super) fn power(&self, assumptions: &Assumptions) -> Option<Watts> {
        let Hardware {
            accelerator, host, ..
        } = self.hardware;
        if host.rent.is_some() {
            return None;
        }
        let load = assumptions.cost.load_fraction * f64::from(self.accelerators);
        Some(accelerator.power? * load + host.power * f64::from(self.hosts))
    }

    /// Draw of the NICs of hosts at work.
    pub(super) fn nic_power(&self) -> Watts {
        let network = self.hardware.network;
        network.map_or(Watts::ZERO, |(network, nics)| {
            network.nic.power * f64::from(self.hosts * nics)
        })
    }

    /// Rack units; none for desktops, which are not hosted.
    pub(super) fn rack_units(&self) -> f64 {
        self.hardware.host.rack_units * f64::from(self.hosts_bought())
    }
}
