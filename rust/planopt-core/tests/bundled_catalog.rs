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
    let problems = Catalog::load(&root, &[], "absent").expect_err("there are none of that name");
    let ids = problems[0]
        .accepted
        .as_deref()
        .expect("those that there are");
    for id in ids.split(", ") {
        if let Err(problems) = Catalog::load(&root, &[], id) {
            panic!("with `{id}`:\n{}", said(&problems));
        }
    }
}

#[test]
fn a_name_of_the_bundled_catalog_is_one_entity() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../catalogs");
    let catalog = Catalog::load(&root, &[], "calibrated").expect("the catalog is right");
    for (id, entry) in &catalog.models {
        for name in [id, &entry.entity.name].into_iter().chain(&entry.aliases) {
            let found = catalog.model(name).map(|model| model.id.as_str());
            assert_eq!(found, Ok(id.as_str()), "{name}");
        }
    }
    for (id, entry) in &catalog.accelerators {
        for name in [id, &entry.entity.name].into_iter().chain(&entry.aliases) {
            let found = catalog.accelerator(name).map(|card| card.id.as_str());
            assert_eq!(found, Ok(id.as_str()), "{name}");
        }
    }
}

#[test]
fn people_spell_names_in_their_way() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../catalogs");
    let catalog = Catalog::load(&root, &[], "calibrated").expect("the catalog is right");
    let model = |name| catalog.model(name).ok().map(|model| model.id.as_str());
    let card = |name| catalog.accelerator(name).ok().map(|card| card.id.as_str());
    assert_eq!(
        model("meta-llama/Llama-3.3-70B-Instruct"),
        Some("llama-3.3-70b")
    );
    assert_eq!(model("llama-3.3-70b-instruct"), Some("llama-3.3-70b"));
    assert_eq!(model("Llama_3.3 70B"), Some("llama-3.3-70b"));
    assert_eq!(card("RTX 4090"), Some("rtx-4090"));
    assert_eq!(card("H100"), Some("h100-sxm"));
    // Several have the name, or nobody has: then the nearest ids are offered.
    assert_eq!(card("A100"), None);
    let problem = catalog
        .model("someone/Qwen3-9B")
        .expect_err("there is none");
    assert_eq!(problem.value.as_deref(), Some("someone/Qwen3-9B"));
    assert!(problem.help.is_some_and(|help| help.contains("`qwen3-8b`")));
}
