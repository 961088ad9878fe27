//! What a run is bought on: hosts with accelerators, NICs, and switches of a non-blocking tree.

use super::line::BillLine;
use super::switching::{Switching, network_bill};
use super::unit::Unit;
use crate::catalog::Assumptions;
use crate::hardware::Hardware;
use crate::quantity::{MicroUsd, Watts};

impl Unit<'_> {
    /// The same without what joins its hosts.
    pub(super) fn alone(self) -> Self {
        let hardware = Hardware {
            network: None,
            ..self.hardware
        };
        Self { hardware, ..self }
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
