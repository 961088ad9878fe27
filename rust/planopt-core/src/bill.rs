//! Bills of materials.

use serde::Serialize;

use crate::catalog::{Connecting, Network};
use crate::purchase::Unit;
use crate::quantity::MicroUsd;
use crate::training::Switching;

/// One line of a bill of materials.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BillLine {
    /// `accelerator`, `host` (complete machines too), `nic`, `switch`, `switch_ports` or `cable`;
    /// `instance` of what is rented.
    pub kind: &'static str,
    /// Catalog or part id.
    pub id: String,
    /// Full name.
    pub name: String,
    /// How many.
    pub quantity: u32,
    /// Price of one; of an instance, that of an hour.
    pub unit_price: MicroUsd,
}

impl BillLine {
    /// Price of the line.
    pub fn price(&self) -> MicroUsd {
        self.unit_price * self.quantity
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

/// Cables: one for each NIC and each uplink of a tree; between two hosts, one for two NICs.
pub fn cables(connecting: Connecting, switching: Option<Switching>) -> u32 {
    switching.map_or(connecting.cabled / 2, |all| connecting.cabled + all.uplinks)
}

/// What joins hosts, a line for each part, or nothing if a part has no price.
pub fn network_bill(
    network: &Network,
    connecting: Connecting,
    switching: Option<Switching>,
) -> Option<Vec<BillLine>> {
    let line = |kind, id: &str, name: &str, quantity, unit_price| BillLine {
        kind,
        id: id.to_owned(),
        name: name.to_owned(),
        quantity,
        unit_price,
    };
    let mut bill = Vec::new();
    let nic = &network.nic;
    if connecting.nics > 0 {
        let price = nic.price?;
        bill.push(line("nic", &nic.id, &nic.name, connecting.nics, price));
    }
    let cables = cables(connecting, switching);
    if let Some(cable) = &network.cable
        && cables > 0
    {
        bill.push(line("cable", &cable.id, &cable.name, cables, cable.price));
    }
    if let Some(Switching { switch, count, .. }) = switching {
        let (id, name) = (&switch.id, &switch.name);
        bill.push(line("switch", id, name, count, switch.price?));
    }
    Some(bill)
}
