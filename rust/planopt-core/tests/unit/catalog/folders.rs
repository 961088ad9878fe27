//! Reading folders: what is seen, what is laid over what, and what must fit together.

use crate::catalog::Catalog;
use crate::catalog::assumptions::SwitchSale;
use crate::catalog::entry::Entry;
use crate::catalog::kind::Kind;
use crate::diagnostic::{Diagnostic, Position, code};
use crate::quantity::{Bytes, BytesPerSecond, MicroUsd};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn fixture(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/catalogs")
        .join(path)
}

fn load(overlays: &[&str], assumptions: &str) -> Result<Catalog, Vec<Diagnostic>> {
    let overlays: Vec<PathBuf> = overlays.iter().map(|overlay| fixture(overlay)).collect();
    Catalog::load(&fixture("base"), &overlays, assumptions)
}

fn ids<T>(entries: &BTreeMap<String, Entry<T>>) -> Vec<&str> {
    entries.keys().map(String::as_str).collect()
}

#[test]
fn assumptions_of_their_own_hardware_see_only_that() {
    let general = load(&[], "plain").expect("the fixtures are right");
    assert_eq!(ids(&general.accelerators), ["card"]);
    assert_eq!(ids(&general.workloads), ["chat"]);
    let special = load(&[], "seed").expect("the fixtures are right");
    assert_eq!(ids(&special.accelerators), ["old-card"]);
    assert_eq!(ids(&special.workloads), ["chat", "old-chat"]);
    assert_eq!(
        special.assumptions.entity.switch_sale,
        SwitchSale::PortBlocks(8)
    );
    assert!(special.hosts.is_empty());
}

#[test]
fn an_overlay_replaces_and_adds() {
    let catalog = load(&["overlay"], "plain").expect("the fixtures are right");
    assert_eq!(ids(&catalog.accelerators), ["card", "new-card"]);
    let card = catalog.accelerator("card").expect("it is there");
    assert_eq!(card.memory, Bytes(48e9));
    let special = load(&["overlay"], "seed").expect("the fixtures are right");
    assert_eq!(ids(&special.accelerators), ["card", "new-card", "old-card"]);
}

#[test]
fn assumptions_may_be_a_file() {
    let file = fixture("base/assumptions/plain.toml");
    let catalog = load(&[], &file.to_string_lossy()).expect("the fixtures are right");
    assert_eq!(catalog.assumptions.entity.id, "plain");
    let problems = load(&[], "absent").expect_err("there are none of that name");
    assert_eq!(problems[0].accepted.as_deref(), Some("plain, seed"));
}

#[test]
fn what_cannot_be_found_is_said() {
    let code_of =
        |result: Result<Catalog, Vec<Diagnostic>>| result.expect_err("it is not there")[0].code;
    assert_eq!(code_of(load(&[], "plian")), code::UNKNOWN_NAME);
    assert_eq!(code_of(load(&[], "absent.toml")), code::UNREADABLE);
    assert_eq!(code_of(load(&["absent"], "plain")), code::UNREADABLE);
    let catalog = load(&[], "plain").expect("the fixtures are right");
    let problem = catalog.accelerator("crad").expect_err("it is not there");
    assert_eq!(
        (problem.code, problem.help.as_deref()),
        ("E001", Some("did you mean `card`?"))
    );
    assert!(Kind::from_name("accelerator").is_ok() && Kind::from_name("gpu").is_err());
}

#[test]
fn references_that_lead_nowhere_are_said_with_their_place() {
    let all = load(&["broken"], "plain").expect_err("the overlay is wrong");
    let found: Vec<_> = all
        .iter()
        .map(|problem| (problem.code, problem.field.as_deref()))
        .collect();
    assert_eq!(
        found,
        [
            (code::UNKNOWN_REFERENCE, Some("link")),
            (code::UNKNOWN_REFERENCE, Some("includes.accelerator")),
            (code::UNKNOWN_REFERENCE, Some("link")),
        ]
    );
    assert_eq!(all[0].position, Some(Position { line: 6, column: 8 }));
    assert_eq!(all[0].help.as_deref(), Some("did you mean `pcie4-x16`?"));
}

#[test]
fn an_id_of_two_files_is_refused() {
    let all = load(&["twice"], "seed").expect_err("two files describe `chat`");
    assert_eq!(
        all.iter().map(|problem| problem.code).collect::<Vec<_>>(),
        [code::WRONG_ID]
    );
}

#[test]
fn a_model_may_be_an_id_or_a_file() {
    let catalog = load(&[], "plain").expect("the fixtures are right");
    let file = fixture("base/models/tiny.toml");
    assert_eq!(
        catalog.architecture("tiny"),
        catalog.architecture(&file.to_string_lossy())
    );
    let code_of = |name| {
        catalog
            .architecture(name)
            .map_err(|problems| problems[0].code)
    };
    assert_eq!(code_of("absent"), Err(code::UNKNOWN_NAME));
    assert_eq!(code_of("absent/config.json"), Err(code::UNREADABLE));
}

#[test]
fn a_description_tells_every_value_and_its_source() {
    let catalog = load(&[], "plain").expect("the fixtures are right");
    let card = catalog
        .describe(Kind::Accelerator, "card")
        .expect("it is there");
    assert_eq!(card.name, "Card");
    let told = serde_json::to_value(&card).expect("it is plain data");
    assert_eq!(told["kind"], "accelerator");
    assert_eq!(told["figures"][0]["text"], "card");
    let memory = card.figures.iter().find(|figure| figure.field == "memory");
    let memory = serde_json::to_value(memory).expect("it is plain data");
    assert_eq!(memory["text"], "24 GiB");
    assert_eq!(memory["status"], "from-memory");
    for (kind, ..) in Kind::ALL {
        for entity in catalog.list(kind).expect("the fixtures are right") {
            assert_eq!(
                catalog.describe(kind, &entity.id).map(|told| told.name),
                Ok(entity.name)
            );
        }
        assert!(catalog.describe(kind, "absent").is_err());
    }
}

#[test]
fn an_offer_is_read_with_the_terms_of_its_provider() {
    let catalog = load(&[], "plain").expect("the fixtures are right");
    let providers = catalog.providers().expect("the fixtures are right");
    assert_eq!(ids(providers), ["cloud"]);
    let cloud = &providers["cloud"].entity;
    let [one, eight] = cloud.offers.as_slice() else {
        panic!("two offers, not {}", cloud.offers.len());
    };
    assert_eq!(one.id(&cloud.id), "cloud/one/here");
    assert_eq!(
        (one.price, one.spot),
        (Some(MicroUsd(2_500_000)), Some(MicroUsd(1_000_000)))
    );
    assert_eq!(eight.network, Some(BytesPerSecond(50e9)));
    assert!(eight.rdma && !one.rdma);
    let goodput = cloud.spot.expect("there is a market").goodput();
    assert!((goodput - 0.9).abs() < 1e-12, "9 of 10 hours: {goodput}");
    assert_eq!(cloud.reserved[0].months, 12);
}

#[test]
fn offers_are_read_only_when_they_are_asked_for_and_then_with_all_their_problems() {
    let catalog = load(&["rented"], "plain").expect("nothing else is wrong");
    let all = catalog.providers().expect_err("the overlay is wrong");
    let found: Vec<_> = all
        .iter()
        .map(|problem| (problem.code, problem.field.as_deref().unwrap_or_default()))
        .collect();
    assert_eq!(
        found,
        [
            (code::UNKNOWN_REFERENCE, "offer[0].accelerator"),
            (code::MISSING_KEY, "offer[1].instance"),
            (code::MISSING_KEY, "offer[2].spot"),
            (code::WRONG_ID, "offer[3].instance"),
        ]
    );
    assert_eq!(
        all[0].position,
        Some(Position {
            line: 6,
            column: 15
        })
    );
}
