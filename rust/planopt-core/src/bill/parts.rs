//! The parts of what is bought, and the bill and the price that they make.

use super::line::BillLine;
use crate::catalog::{Accelerator, Cable, Connecting, Host, Network, Nic, PartKind, Switch};
use crate::quantity::MicroUsd;

/// A part.
#[derive(Clone, Copy, Debug)]
pub(super) enum Part<'a> {
    Accelerator(&'a Accelerator),
    Host(&'a Host),
    Nic(&'a Nic),
    Cable(&'a Cable),
    Switch(&'a Switch),
    /// One of a tree whose leaves have so many ports to hosts for one to spines.
    Oversubscribed(&'a Switch, u32),
    SwitchPorts(&'a Switch),
    /// A line of what racks cost.
    Line(PartKind),
}

/// Is shown each part with its number and the price of one; none of what is there already.
pub(super) type Line<'l, 'a> = &'l mut dyn FnMut(Part<'a>, u32, Option<MicroUsd>);

impl Part<'_> {
    fn bill_line(self, quantity: u32, unit_price: Option<MicroUsd>) -> BillLine {
        let (kind, id, name) = match self {
            Self::Accelerator(part) => (PartKind::Accelerator, part.id.as_str(), &part.name),
            Self::Host(part) if part.rent.is_some() => (PartKind::Instance, &*part.id, &part.name),
            Self::Host(part) => (PartKind::Host, &*part.id, &part.name),
            Self::Nic(part) => (PartKind::Nic, &*part.id, &part.name),
            Self::Cable(part) => (PartKind::Cable, &*part.id, &part.name),
            Self::Switch(part) => (PartKind::Switch, &*part.id, &part.name),
            Self::Oversubscribed(part, ratio) => (
                PartKind::Switch,
                &*part.id,
                &format!("{}, leaves {ratio}:1", part.name),
            ),
            Self::SwitchPorts(part) => (
                PartKind::SwitchPorts,
                &*part.id,
                &format!("ports of {}", part.name),
            ),
            Self::Line(kind) => {
                let (name, id) = kind.line().unwrap_or_default();
                (kind, id, &name.to_owned())
            }
        };
        BillLine {
            kind,
            id: id.to_owned(),
            name: name.clone(),
            quantity,
            unit_price: unit_price.unwrap_or_default(),
            owned: unit_price.is_none(),
        }
    }
}

/// The bill of `parts`, alike lines together; nothing if a part has no price.
pub(super) fn bill_of<'a>(parts: impl FnOnce(Line<'_, 'a>) -> Option<()>) -> Option<Vec<BillLine>> {
    let mut bill: Vec<BillLine> = Vec::with_capacity(4);
    parts(&mut |part, quantity, unit_price| {
        let line = part.bill_line(quantity, unit_price).summed();
        let what = |line: &BillLine| (line.kind, line.owned);
        let alike = |known: &&mut BillLine| what(known) == what(&line) && known.id == line.id;
        match bill.iter_mut().find(alike) {
            Some(known) if known.kind.is_sum() => known.unit_price += line.unit_price,
            Some(known) => known.quantity += quantity,
            None => bill.push(line),
        }
    })?;
    Some(bill)
}

/// The price of `parts`; nothing if one has none.
pub(super) fn price_of<'a>(parts: impl FnOnce(Line<'_, 'a>) -> Option<()>) -> Option<MicroUsd> {
    let mut price = MicroUsd::ZERO;
    parts(&mut |_, quantity, unit_price| price += unit_price.unwrap_or_default() * quantity)?;
    Some(price)
}

/// Shows `parts` to `line`, and adds them up; nothing if one has no price.
pub(super) fn summed<'a>(
    parts: impl FnOnce(Line<'_, 'a>) -> Option<()>,
    line: Line<'_, 'a>,
) -> Option<MicroUsd> {
    price_of(|add| {
        parts(&mut |part, quantity, price| {
            add(part, quantity, price);
            line(part, quantity, price);
        })
    })
}

/// So many of a part, of which some are there already; nothing if the rest has no price.
pub(super) fn some_owned<'a>(
    part: Part<'a>,
    quantity: u32,
    owned: u32,
    price: Option<MicroUsd>,
    line: Line<'_, 'a>,
) -> Option<()> {
    let owned = owned.min(quantity);
    if owned > 0 {
        line(part, owned, None);
    }
    if quantity > owned {
        line(part, quantity - owned, Some(price?));
    }
    Some(())
}

/// NICs and cables that join hosts. A cable goes from each NIC to its switch, and so many from switch
/// to switch where there are switches; between two hosts, one joins two NICs.
pub(super) fn joining<'a>(
    network: &'a Network,
    Connecting { nics, cabled }: Connecting,
    uplinks: Option<u32>,
    line: Line<'_, 'a>,
) -> Option<()> {
    if nics > 0 {
        line(Part::Nic(&network.nic), nics, Some(network.nic.price?));
    }
    let joined = uplinks.map_or(cabled / 2, |_| cabled);
    let cables = [
        (network.cable.as_ref(), joined),
        (network.between_switches(), uplinks.unwrap_or(0)),
    ];
    for (cable, many) in cables {
        if let Some(cable) = cable
            && many > 0
        {
            line(Part::Cable(cable), many, Some(cable.price?));
        }
    }
    Some(())
}
