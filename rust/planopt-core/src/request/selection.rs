//! The ids of a selection.

use crate::catalog::Catalog;
use crate::diagnostic::option::unknown_name;
use crate::diagnostic::{Diagnostic, Problems};
use crate::hardware::{Instances, Inventory, LeftOut, RentRequest, Selection};
use serde::Deserialize;

/// What may be bought, or rented where that is said.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Considered {
    /// What the question allows.
    pub hardware: Selection,
    /// From whom it rents.
    pub rent: Option<RentRequest>,
}

/// Accelerators that a question would allow and that nothing can be built of, and offers that it
/// would take of another class.
pub fn left_out(catalog: &Catalog, request: &Considered) -> Result<LeftOut, Vec<Diagnostic>> {
    let hardware = &request.hardware;
    let Some(rent) = &request.rent else {
        return Ok(known(catalog, hardware.clone())?.left_out(&Inventory::of(catalog)));
    };
    let rented = Instances::rented(catalog, rent, &hardware.hosts)?;
    let selection = select(catalog, hardware, Some(&rented))?;
    let of_any = RentRequest {
        classes: Vec::new(),
        ..rent.clone()
    };
    let every = Instances::rented(catalog, &of_any, &hardware.hosts)?;
    Ok(LeftOut {
        class: every.beyond(&rented, &selection),
        ..selection.left_out(&rented.inventory(catalog))
    })
}

/// What the question allows.
pub(super) fn select(
    catalog: &Catalog,
    asked: &Selection,
    rented: Option<&Instances>,
) -> Result<Selection, Vec<Diagnostic>> {
    let Some(rented) = rented else {
        return known(catalog, asked.clone());
    };
    let selection = Selection {
        hosts: Vec::new(),
        networks: Vec::new(),
        ..asked.clone()
    };
    // An instance brings its network, so that only the hosts are left to choose.
    let mut selection = known(catalog, selection)?;
    if let Some(id) = asked.hosts.iter().find(|id| rented.host(id).is_none()) {
        let accepted = "ids of offers that the question leaves open";
        return Err(vec![unknown_name("host", id, accepted)]);
    }
    selection.hosts.clone_from(&asked.hosts);
    Ok(selection)
}

/// The ids of what a selection names.
pub(crate) fn known(
    catalog: &Catalog,
    mut selection: Selection,
) -> Result<Selection, Vec<Diagnostic>> {
    let mut problems = Problems::default();
    let mut named = |option, names: &mut Vec<String>, id: &dyn Fn(&str) -> Found| {
        for name in names {
            match id(name) {
                Ok(id) => *name = id,
                Err(problem) => problems.push(problem.field(option)),
            }
        }
    };
    let accelerator = |name: &str| catalog.accelerator(name).map(|own| own.id.clone());
    let host = |name: &str| catalog.host(name).map(|own| own.id.clone());
    let network = |name: &str| catalog.network(name).map(|own| own.id.clone());
    named("--accelerators", &mut selection.accelerators, &accelerator);
    named("--exclude", &mut selection.exclude, &accelerator);
    named("--host", &mut selection.hosts, &host);
    named("--network", &mut selection.networks, &network);
    problems.unless_any(selection)
}

type Found = Result<String, Diagnostic>;
