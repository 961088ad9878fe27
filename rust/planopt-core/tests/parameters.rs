//! The bundled models: what is published of them, and what their operations add up to.

use std::path::Path;

use planopt_core::catalog::Catalog;
use planopt_core::transformer::{Architecture, Transformer};

/// Models whose published active parameters are not counted as ours are.
const ACTIVE_COUNTED_OTHERWISE: &[(&str, &str)] = &[
    (
        "falcon-40b",
        "the total, with the tied head that the checkpoint has again",
    ),
    (
        "falcon-180b",
        "the total, with the tied head that the checkpoint has again",
    ),
    ("gemma-3-27b", "the total, with the vision tower"),
    (
        "llama-4-scout-17b-16e",
        "the rounded figure of the model's name",
    ),
];

fn models(assumptions: &str) -> Vec<Architecture> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../catalogs");
    let catalog = Catalog::load(&root, &[], assumptions).expect("the bundled catalog is valid");
    catalog
        .models
        .into_values()
        .map(|entry| entry.entity)
        .collect()
}

#[test]
fn operations_and_what_is_outside_of_them_add_up_to_the_published_totals() {
    let mut compared = 0;
    for model in models("calibrated") {
        let Some(published) = model.published_parameters else {
            continue;
        };
        let outside: u64 = model.outside.iter().map(|(_, parameters)| parameters).sum();
        let transformer = Transformer::from(&model);
        let mtp = u64::from(model.mtp_modules) * transformer.mtp_parameters();
        let ours = transformer.parameters() + mtp;
        assert_eq!(ours + outside, published, "{}", model.id);
        compared += 1;
    }
    assert!(
        compared >= 50,
        "only {compared} models have a published total"
    );
}

#[test]
fn a_token_meets_the_published_active_parameters() {
    for model in models("calibrated") {
        let Some(published) = model.published_active else {
            continue;
        };
        let ours = Transformer::from(&model).active_parameters();
        let is_counted_otherwise = ACTIVE_COUNTED_OTHERWISE
            .iter()
            .any(|(id, _)| *id == model.id);
        assert_eq!(
            ours != published,
            is_counted_otherwise,
            "{}: {ours}",
            model.id
        );
    }
}

#[test]
fn the_article_counts_seventy_billion() {
    let article = models("article");
    let model = article
        .iter()
        .find(|model| model.id == "article-70b")
        .expect("article-70b");
    assert_eq!(Transformer::from(model).parameters(), 70_000_000_000);
}
