//! The hardware of a space.

use crate::catalog::Catalog;
use crate::diagnostic::{Diagnostic, Problems, code};
use crate::hardware::{Connection, Inventory, Selection, Space, System};
use crate::request::selection::known;

/// Accelerators in hosts over networks, each with as many NICs as the host takes.
///
/// # Errors
///
/// Each name that is not known, and each accelerator that was named and goes with none of the
/// hosts and networks: a space without it would not be the one that was asked for.
pub(super) fn connected(
    catalog: &Catalog,
    selection: Selection,
) -> Result<Vec<System<'_>>, Vec<Diagnostic>> {
    let selection = known(catalog, selection)?;
    let assumptions = &catalog.assumptions.entity;
    let space = Space::available(&Inventory::of(catalog), &selection, assumptions);
    let mut systems: Vec<System> = Vec::new();
    for system in space.systems.iter().filter(|own| own.host.rent.is_none()) {
        let mut widest: Vec<Connection> = Vec::new();
        for &(network, line) in &space.networks {
            if !system.takes(&(network, line)) {
                continue;
            }
            match widest.iter_mut().find(|(other, _)| other.id == network.id) {
                Some((_, other)) if other.nics_per_host < line.nics_per_host => *other = line,
                Some(_) => {}
                None => widest.push((network, line)),
            }
        }
        let over = widest.into_iter();
        systems.extend(over.map(|connection| system.over(Some(connection))));
    }
    let is_there = |name: &str| {
        let mut accelerators = systems.iter().map(|system| system.accelerator);
        accelerators.any(|accelerator| accelerator.id == name || accelerator.model_id() == name)
    };
    let mut problems = Problems::default();
    for name in &selection.accelerators {
        if !is_there(name) {
            problems.push(unconnected("accelerators", name));
        }
    }
    if systems.is_empty() && selection.accelerators.is_empty() {
        let named = [selection.hosts.join(", "), selection.networks.join(", ")];
        problems.push(unconnected("hosts, networks", &named.join("; ")));
    }
    problems.unless_any(systems)
}

fn unconnected(field: &str, value: &str) -> Diagnostic {
    let message =
        format!("nothing of `{value}` can be bought with hosts and networks of the space");
    Diagnostic::new(code::OUT_OF_RANGE, message)
        .field(field)
        .value(value)
        .accepted("accelerators that fit a host, and hosts that take NICs of a network")
        .help("`planopt catalog list` shows what there is")
}
