//! What a job is bought on: hosts of one kind or of several, NICs, and the switches of a tree.

use super::host_set::HostSet;
use super::line::BillLine;
use super::parts::{Line, Part, bill_of, joining, price_of, summed};
use super::switching::Switching;
use crate::catalog::Assumptions;
use crate::hardware::Owned;
use crate::quantity::{MicroUsd, Watts};

/// Hosts joined by one network.
#[derive(Clone, Debug)]
pub struct Cluster<'a> {
    /// They have a network where there are several and nobody else connects them.
    sets: Vec<HostSet<'a>>,
    /// Switches, where more than two hosts are connected.
    pub switching: Option<Switching<'a>>,
    /// Whether it has storage of its own: a run keeps its data and its checkpoints there.
    stores: bool,
}

impl<'a> Cluster<'a> {
    /// Hosts joined by the network of the first of them and the cheapest of its switches. Nothing if
    /// it has none for so many.
    pub fn of(mut sets: Vec<HostSet<'a>>) -> Option<Self> {
        let hosts: u32 = sets.iter().map(HostSet::hosts_bought).sum();
        // Whoever rents instances out connects them.
        let is_rented = sets.iter().any(|set| set.hardware.host.rent.is_some());
        let connected = hosts > 1 && !is_rented;
        let network = sets.first()?.hardware.network.filter(|_| connected);
        for set in &mut sets {
            let own = network.zip(set.hardware.network);
            set.hardware.network = own.map(|((network, _), (_, nics))| (network, nics));
        }
        let switching = if connected && hosts > 2 {
            let nics = sets.iter().map(HostSet::nics).sum();
            Some(Switching::cheapest(network?.0, nics)?)
        } else {
            None
        };
        Some(Self {
            sets,
            switching,
            stores: false,
        })
    }

    /// Cards of several kinds in one host.
    pub fn of_one_host(mut sets: Vec<HostSet<'a>>) -> Option<Self> {
        for (place, set) in sets.iter_mut().enumerate() {
            set.hosts = u32::from(place == 0);
        }
        Self::of(sets)
    }

    /// Hosts that nothing joins: no purchase of them costs less.
    pub fn unjoined(mut hosts: HostSet<'a>) -> Self {
        hosts.hardware.network = None;
        Self {
            sets: vec![hosts],
            switching: None,
            stores: false,
        }
    }

    /// The same with the storage of a run.
    pub fn of_run(sets: Vec<HostSet<'a>>) -> Option<Self> {
        Some(Self {
            stores: true,
            ..Self::of(sets)?
        })
    }

    /// Hosts, spares included.
    pub fn hosts(&self) -> u32 {
        self.sets.iter().map(HostSet::hosts_bought).sum()
    }

    /// Accelerators that come with them.
    pub fn accelerators(&self) -> u32 {
        self.sets.iter().map(HostSet::accelerators_bought).sum()
    }

    /// What of it is there already.
    pub fn owned(&self) -> Owned {
        let each = self.sets.iter().map(HostSet::owned);
        each.fold(Owned::default(), |all, set| Owned {
            accelerators: all.accelerators + set.accelerators,
            hosts: all.hosts + set.hosts,
        })
    }

    /// The hosts of each kind.
    pub fn sets(&self) -> &[HostSet<'a>] {
        &self.sets
    }

    fn parts(&self, line: Line<'_, 'a>) -> Option<()> {
        let sum = summed(|line| self.hardware_parts(line), line)?;
        for set in &self.sets {
            set.in_racks(self.stores, line);
        }
        self.sets.first()?.carried(sum, line);
        Some(())
    }

    fn hardware_parts(&self, line: Line<'_, 'a>) -> Option<()> {
        for set in &self.sets {
            set.parts(line)?;
        }
        if let Some((network, _)) = self.sets.first()?.hardware.network {
            let connecting = self.sets.iter().map(HostSet::connecting).sum();
            let uplinks = self.switching.map(|all| all.uplinks);
            joining(network, connecting, uplinks, line)?;
        }
        if let Some(Switching { switch, count, .. }) = self.switching {
            let part = match self.sets.first()?.hardware.network {
                Some((network, _)) if count > 1 && network.oversubscription > 1 => {
                    Part::Oversubscribed(switch, network.oversubscription)
                }
                _ => Part::Switch(switch),
            };
            line(part, count, Some(switch.price?));
        }
        Some(())
    }

    /// Bill of materials, or nothing if a part has no price.
    pub fn bill_of_materials(&self) -> Option<Vec<BillLine>> {
        bill_of(|line| self.parts(line))
    }

    /// Price, or nothing if a part has none.
    pub fn price(&self) -> Option<MicroUsd> {
        price_of(|line| self.parts(line))
    }

    /// Draw at work, or nothing if the vendor of an accelerator publishes none.
    pub fn power(&self, assumptions: &Assumptions) -> Option<Watts> {
        let mut power = Watts::ZERO;
        for set in &self.sets {
            power += set.power(assumptions)?;
        }
        let at_work: u32 = self.sets.iter().map(|set| set.hosts).sum();
        if at_work > 1 {
            power += self.sets.iter().map(HostSet::nic_power).sum();
        }
        power += self.switching.map_or(Watts::ZERO, |all| all.power());
        Some(power)
    }

    /// Rack units; none for desktops, which are not hosted.
    pub fn rack_units(&self) -> f64 {
        let hosts: f64 = self.sets.iter().map(HostSet::rack_units).sum();
        let switches = self.switching.map_or(0.0, |all| all.rack_units());
        if hosts > 0.0 { hosts + switches } else { 0.0 }
    }
}
