//! The ids of a selection.

use crate::catalog::Catalog;
use crate::diagnostic::Diagnostic;
use crate::diagnostic::option::unknown_name;
use crate::hardware::{Instances, Selection};

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
        let accepted = "ids of offers that the question leaves open".to_owned();
        return Err(vec![unknown_name("host", id, accepted)]);
    }
    selection.hosts.clone_from(&asked.hosts);
    Ok(selection)
}

/// Checks that every id of a selection exists.
pub(crate) fn known(catalog: &Catalog, selection: Selection) -> Result<Selection, Vec<Diagnostic>> {
    let mut problems = Vec::new();
    for (option, ids) in [
        ("--accelerators", &selection.accelerators),
        ("--exclude", &selection.exclude),
    ] {
        let unknown = ids.iter().filter_map(|id| catalog.accelerator(id).err());
        problems.extend(unknown.map(|problem| problem.field(option)));
    }
    for id in &selection.hosts {
        problems.extend(
            catalog
                .host(id)
                .err()
                .map(|problem| problem.field("--host")),
        );
    }
    for id in &selection.networks {
        let unknown = catalog.network(id).err();
        problems.extend(unknown.map(|problem| problem.field("--network")));
    }
    if problems.is_empty() {
        Ok(selection)
    } else {
        Err(problems)
    }
}
