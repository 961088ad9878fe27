//! `networks/ID.toml`.

use super::entities::{Cable, Network, Nic, Switch};
use super::fields::Fields;
use crate::quantity::{Dimension, Seconds};

pub(super) fn read(fields: &mut Fields<'_>) -> Network {
    Network {
        id: fields.id(),
        name: fields.text("name"),
        link: fields.text("link"),
        rdma: fields.choice("transport", &[("tcp", false), ("rdma", true)]),
        nics_per_host: fields.counts("nics_per_host"),
        nic: fields.section("nic", nic),
        switches: fields.sections("switch", switch),
        oversubscription: fields.or("oversubscription", 1, Fields::positive),
        cable: fields.optional_section("cable", cable),
        uplink: fields.optional_section("uplink", cable),
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
}

fn nic(fields: &mut Fields<'_>) -> Nic {
    Nic {
        id: fields.text("id"),
        name: fields.text("name"),
        power: fields.quantity("power"),
        pcie_generation: fields.optional("pcie_generation", Fields::positive),
        price: fields.optional("price", Fields::price),
    }
}

fn switch(fields: &mut Fields<'_>) -> Switch {
    Switch {
        id: fields.text("id"),
        name: fields.text("name"),
        ports: fields.positive("ports"),
        latency: fields.or("latency", Seconds::ZERO, Fields::quantity),
        power: fields.quantity("power"),
        rack_units: fields.number("rack_units", Dimension::Number),
        price: fields.optional("price", Fields::price),
    }
}

fn cable(fields: &mut Fields<'_>) -> Cable {
    Cable {
        id: fields.text("id"),
        name: fields.text("name"),
        price: fields.optional("price", Fields::price),
    }
}
