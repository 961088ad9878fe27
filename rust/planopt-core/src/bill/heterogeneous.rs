//! What a job over several kinds of accelerator is bought on: hosts of each kind, joined by one
//! network.

use super::line::BillLine;
use super::switching::{Switching, network_bill};
use super::unit::{Unit, bill_of};
use crate::catalog::{Assumptions, Connecting, Network};
use crate::hardware::Hardware;
use crate::quantity::Watts;

/// Hosts of several kinds, their NICs, and switches where more than two hosts are connected.
#[derive(Clone, Debug)]
pub struct MixedCluster<'a> {
    kinds: Vec<OfKind<'a>>,
    network: &'a Network,
    /// Switches.
    pub switching: Option<Switching<'a>>,
}

/// Hosts of one kind.
#[derive(Clone, Copy, Debug)]
struct OfKind<'a> {
    /// NICs are counted together, whichever host they are in: these have none.
    at_work: Unit<'a>,
    spare_hosts: u32,
    nics_per_host: u32,
}

impl<'a> OfKind<'a> {
    fn all(&self) -> Unit<'a> {
        self.at_work.with_spares(self.spare_hosts)
    }

    fn nics(&self) -> u32 {
        self.all().placement.hosts * self.nics_per_host
    }

    fn connecting(&self, network: &Network) -> Connecting {
        let host = self.at_work.hardware.host;
        let one = host.connecting(network, self.nics_per_host);
        one.of_hosts(self.all().placement.hosts)
    }
}

impl<'a> MixedCluster<'a> {
    /// Of each kind of hardware so many in a host, so many in all, and spare hosts; all of it is on the
    /// network of the first. Nothing without a network, or if that has no switches for so many
    /// NICs.
    pub fn new(kinds: &[(Hardware<'a>, u32, u32, u32)]) -> Option<Self> {
        let (network, _) = kinds.first()?.0.network?;
        let kinds: Vec<OfKind> = kinds
            .iter()
            .map(|&(hardware, slots, accelerators, spare_hosts)| OfKind {
                at_work: Unit::of_accelerators(hardware, accelerators, slots).alone(),
                spare_hosts,
                nics_per_host: hardware.network.map_or(0, |(_, nics)| nics),
            })
            .collect();
        let hosts: u32 = kinds.iter().map(|kind| kind.all().placement.hosts).sum();
        let switching = if hosts <= 2 {
            None
        } else {
            let nics = kinds.iter().map(OfKind::nics).sum();
            Some(Switching::cheapest(network, nics)?)
        };
        Some(Self {
            kinds,
            network,
            switching,
        })
    }

    /// Bill of materials, a line for each part, or nothing if a part has no price.
    pub fn bill_of_materials(&self) -> Option<Vec<BillLine>> {
        let mut bill = bill_of(self.kinds.iter().map(|kind| (kind.all(), 1)))?;
        let of_kind = |kind: &OfKind| kind.connecting(self.network);
        let connecting = self.kinds.iter().map(of_kind).sum();
        bill.extend(network_bill(self.network, connecting, self.switching)?);
        Some(bill)
    }

    /// Draw at work, or nothing if the vendor of an accelerator publishes none.
    pub fn power(&self, assumptions: &Assumptions) -> Option<Watts> {
        let mut power = self.switching.map_or(Watts::ZERO, |all| all.power());
        for kind in &self.kinds {
            let nics = kind.at_work.placement.hosts * kind.nics_per_host;
            power += kind.at_work.power(assumptions)? + self.network.nic.power * f64::from(nics);
        }
        Some(power)
    }

    /// Rack units; none for desktops, which are not hosted.
    pub fn rack_units(&self) -> f64 {
        let hosts: f64 = self.kinds.iter().map(|kind| kind.all().rack_units()).sum();
        let switches = self.switching.map_or(0.0, |all| all.rack_units());
        if hosts > 0.0 { hosts + switches } else { 0.0 }
    }
}
