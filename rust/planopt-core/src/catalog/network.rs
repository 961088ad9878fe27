//! `networks/ID.toml`.

use super::declared::{choice, inner, list, maybe, or, table};
use super::fields::{Fields, number};
use crate::quantity::{MicroUsd, Seconds, Watts};

/// Whether messages pass the kernel by.
pub(super) const TRANSPORTS: &[(&str, bool)] = &[("tcp", false), ("rdma", true)];

table! {
    /// A link across hosts with the parts that make it.
    #[derive(Clone, Debug)]
    pub struct Network {
        /// Catalog id.
        pub id: String = Fields::id,
        /// Full name.
        pub name: String = Fields::text,
        /// Link id: rate and latency of one NIC port.
        pub link: String = Fields::text,
        /// `tcp` or `rdma`: which software latency and efficiency of the assumptions apply.
        pub rdma: bool as "transport" = choice(TRANSPORTS),
        /// How many NICs a host may have.
        pub nics_per_host: Vec<u32> = Fields::counts,
        /// The adapter.
        pub nic: Nic = inner,
        /// Switches that fit; empty where only two hosts can be connected, directly.
        pub switches: Vec<Switch> as "switch" = list,
        /// Ports of a leaf to hosts over those to spines, at most; 1 where nothing waits for an uplink.
        pub oversubscription: u32 = or(1, Fields::positive),
        /// Cable, where it is priced apart.
        pub cable: Option<Cable> = maybe(inner),
        /// What joins switches, where it is another one.
        pub uplink: Option<Cable> = maybe(inner),
    }
}

table! {
    /// A network adapter.
    #[derive(Clone, Debug)]
    pub struct Nic {
        /// Part id.
        pub id: String = Fields::text,
        /// Full name.
        pub name: String = Fields::text,
        /// Draw.
        pub power: Watts = Fields::quantity,
        /// PCIe that it needs for its rate; accelerators of an older one do not use it.
        pub pcie_generation: Option<u32> = maybe(Fields::positive),
        /// Price.
        pub price: Option<MicroUsd> = maybe(Fields::price),
    }
}

table! {
    /// A switch, bought whole.
    #[derive(Clone, Debug)]
    pub struct Switch {
        /// Part id.
        pub id: String = Fields::text,
        /// Full name.
        pub name: String = Fields::text,
        /// Ports at the network's rate.
        pub ports: u32 = Fields::positive,
        /// Latency of a hop.
        pub latency: Seconds = or(Seconds::ZERO, Fields::quantity),
        /// Draw.
        pub power: Watts = Fields::quantity,
        /// Height in a rack.
        pub rack_units: f64 = number,
        /// Price.
        pub price: Option<MicroUsd> = maybe(Fields::price),
    }
}

table! {
    /// A cable, bought per port in use; between two hosts one cable replaces the switch.
    #[derive(Clone, Debug)]
    pub struct Cable {
        /// Part id.
        pub id: String = Fields::text,
        /// Full name.
        pub name: String = Fields::text,
        /// Price; without it nothing over the network can be bought.
        pub price: Option<MicroUsd> = maybe(Fields::price),
    }
}

impl Network {
    /// Whether its NICs and cables have a price, so that hosts can be joined.
    pub(crate) fn is_sold(&self) -> bool {
        let mut cables = self.cable.iter().chain(&self.uplink);
        self.nic.price.is_some() && cables.all(|cable| cable.price.is_some())
    }

    /// What joins its switches.
    pub(crate) fn between_switches(&self) -> Option<&Cable> {
        self.uplink.as_ref().or(self.cable.as_ref())
    }

    /// The id and the price of each of its parts.
    pub(super) fn prices(&mut self) -> impl Iterator<Item = (&str, &mut Option<MicroUsd>)> {
        let nic = (self.nic.id.as_str(), &mut self.nic.price);
        let switches = self.switches.iter_mut();
        let switches = switches.map(|own| (own.id.as_str(), &mut own.price));
        let cables = self.cable.iter_mut().chain(&mut self.uplink);
        let cables = cables.map(|own| (own.id.as_str(), &mut own.price));
        std::iter::once(nic).chain(switches).chain(cables)
    }
}
