//! The bundled catalog is right, whichever of its assumptions it is seen with.

use planopt_core::catalog::Catalog;
use planopt_core::diagnostic::Diagnostic;

use std::path::Path;

fn said(problems: &[Diagnostic]) -> String {
    problems
        .iter()
        .map(Diagnostic::to_string)
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn the_bundled_catalog_loads_with_each_of_its_assumptions() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../catalogs");
    let ids = Catalog::assumption_ids(&root, &[]).expect("there is a catalog");
    assert!(!ids.is_empty());
    for id in ids {
        if let Err(problems) = Catalog::load(&root, &[], &id) {
            panic!("with `{id}`:\n{}", said(&problems));
        }
    }
}
