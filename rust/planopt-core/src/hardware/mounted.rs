//! Which accelerators a host takes, and what it gives them.

use super::inventory::Inventory;
use super::owned::Owned;
use super::system::System;
use crate::catalog::{
    Accelerator, Assumptions, BusBandwidth, DEFAULT_CLASS, Host, PEER_CLASS, PeerToPeer,
};

impl<'a> Inventory<'a> {
    /// An accelerator in a host, whether or not they can be bought; nothing if the host has no link
    /// to it, or neither width nor power for one.
    pub fn mount(
        &self,
        accelerator: &'a Accelerator,
        host: &'a Host,
        assumptions: &Assumptions,
    ) -> Option<System<'a>> {
        let slots = if assumptions.host_limits {
            slots_for(host, accelerator)
        } else {
            host.slots
        };
        if slots == 0 {
            return None;
        }
        Some(System {
            accelerator,
            host,
            slots: slots * accelerator.slices,
            pcie: self.pcie(accelerator, host)?,
            all_reduce_bus: bus_of_class(accelerator, host, &assumptions.pcie_all_reduce),
            network: None,
            owned: Owned::default(),
        })
    }
}

/// Cards that a host takes by its slots, by their width and by its power supply. A board or
/// a complete machine was built for what it holds.
fn slots_for(host: &Host, accelerator: &Accelerator) -> u32 {
    if host.whole || host.includes.is_some() {
        return host.slots;
    }
    let by_width = match (host.card_slots, accelerator.slots) {
        (Some(there), Some(each)) => there / each.max(1),
        _ => host.slots,
    };
    let by_power = match (host.power_supply, accelerator.power) {
        (Some(supply), Some(each)) => {
            let cards = (1..=host.slots).rev();
            let card = each * f64::from(accelerator.slices);
            let mut fitting = cards.filter(|&n| (host.power + card * f64::from(n)).0 <= supply.0);
            fitting.next().unwrap_or(0)
        }
        _ => host.slots,
    };
    host.slots.min(by_width).min(by_power)
}

/// Whether a host takes so many of each of some cards together: by its slots, by their width and by
/// its power supply.
pub(crate) fn takes_together(
    host: &Host,
    cards: &[(&Accelerator, u32)],
    assumptions: &Assumptions,
) -> bool {
    let many: u32 = cards.iter().map(|(_, many)| many).sum();
    let fits = |(card, _): &(&Accelerator, u32)| host.form_factors.contains(&card.form_factor);
    if host.whole || host.includes.is_some() || many > host.slots || !cards.iter().all(fits) {
        return false;
    }
    if !assumptions.host_limits {
        return true;
    }
    let width = |(card, many): &(&Accelerator, u32)| Some(card.slots? * many);
    let wide: Option<u32> = cards.iter().map(width).sum();
    let by_width = host.card_slots.zip(wide);
    let power = |(card, many): &(&Accelerator, u32)| Some((card.power? * f64::from(*many)).0);
    let drawn: Option<f64> = cards.iter().map(power).sum();
    let by_power = host.power_supply.zip(drawn);
    by_width.is_none_or(|(there, wide)| wide <= there)
        && by_power.is_none_or(|(supply, drawn)| host.power.0 + drawn <= supply.0)
}

/// All-reduce bus bandwidth of the class that the assumptions name, else the default one: that of
/// peers where the accelerators read each other's memory.
fn bus_of_class(accelerator: &Accelerator, host: &Host, class: &str) -> Option<BusBandwidth> {
    let of = |name: &str| {
        let mut classes = host.all_reduce.iter();
        classes.find(|(id, _)| id == name).map(|(_, bus)| *bus)
    };
    let are_peers = class == DEFAULT_CLASS && accelerator.peer_to_peer == PeerToPeer::Yes;
    let named = of(if are_peers { PEER_CLASS } else { class });
    named.or_else(|| of(DEFAULT_CLASS))
}
