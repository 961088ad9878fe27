//! Reading single files, the broken ones above all.

#[path = "catalog/folders.rs"]
mod folders;

use super::accelerator::Accelerator;
use super::condition::Condition;
use super::entry::Entry;
use super::fields::Fields;
use super::read::read_text;
use super::{Network, Table, Workload, accelerator, assumption, host, link, model};
use crate::diagnostic::{Diagnostic, Position, code};
use crate::quantity::{Bytes, MicroUsd};
use crate::transformer::{Experts, MlpShape};
use proptest::prelude::*;
use std::path::PathBuf;

const ACCELERATOR: &str = r#"id = "card"
name = "Card"
vendor = "NVIDIA"
family = "ada"
year = 2022
form_factor = "pcie"
datacenter_licence = false
peer_to_peer = "no"
unified_memory = false
memory = { value = "24 GiB", source = "sheet" }
memory_bandwidth = "1008 GB/s"
price = "$1,599.99"

[peak]
bf16 = { value = "165.2 TFLOPS", source = "sheet" }

[pcie]
generation = 4
lanes = 16

[sources.sheet]
cite = "data sheet"
date = "2022-09"
status = "stored"
"#;

const MODEL: &str = r#"id = "tiny"
name = "Tiny"
hidden = 8
vocabulary = 100
max_context = 64
weights = "bf16"
tied = true
norm = "rms"
layers = 3
pattern = [0, 1]

[[block]]
norms = 2
[block.attention]
kind = "grouped"
heads = 4
kv_heads = 2
head_dim = 2
[block.mlp]
kind = "dense"
width = 16
gated = true

[[block]]
norms = 2
[block.attention]
kind = "latent"
heads = 4
latent = 4
rope = 2
nope = 2
value = 2
[block.mlp]
kind = "experts"
experts = 8
active = 2
width = 4
gated = true

[[outside]]
what = "buffers"
parameters = 5
"#;

fn read<T>(
    name: &str,
    text: &str,
    reader: fn(&mut Fields<'_>) -> T,
) -> Result<Entry<T>, Vec<Diagnostic>> {
    read_text(&PathBuf::from(format!("{name}.toml")), text, reader)
}

fn read_card(text: &str) -> Result<Entry<Accelerator>, Vec<Diagnostic>> {
    read("card", text, accelerator::read)
}

/// The problems of `text`, as code, line, column and field.
fn problems<T>(
    result: Result<Entry<T>, Vec<Diagnostic>>,
) -> Vec<(&'static str, usize, usize, String)> {
    let place = |problem: Diagnostic| {
        let at = problem.position.unwrap_or(Position { line: 0, column: 0 });
        (
            problem.code,
            at.line,
            at.column,
            problem.field.unwrap_or_default(),
        )
    };
    result
        .err()
        .unwrap_or_default()
        .into_iter()
        .map(place)
        .collect()
}

/// The only problem of the accelerator above with one line replaced.
fn problem_of_card(line: &str, replacement: &str) -> Diagnostic {
    assert!(ACCELERATOR.contains(line), "{line:?} is in the text");
    let mut all = read_card(&ACCELERATOR.replace(line, replacement)).expect_err(replacement);
    assert_eq!(all.len(), 1, "{all:#?}");
    all.remove(0)
}

#[test]
fn an_accelerator_is_read_with_its_sources() {
    let entry = read_card(ACCELERATOR).expect("the text is right");
    assert_eq!(entry.entity.memory, Bytes(24.0 * 1024.0 * 1024.0 * 1024.0));
    assert_eq!(entry.entity.price, Some(MicroUsd(1_599_990_000)));
    assert_eq!(entry.entity.pcie.map(|own| own.lanes), Some(16));
    assert!(entry.entity.peak.fp16.is_none());
    let memory = entry.figure("memory").expect("it was read");
    assert_eq!(
        memory.position,
        Position {
            line: 10,
            column: 20
        }
    );
    assert_eq!(
        memory.source.as_ref().map(|source| source.cite.as_str()),
        Some("data sheet")
    );
    assert_eq!(
        entry
            .figure("memory_bandwidth")
            .map(|figure| &figure.source),
        Some(&None)
    );
    assert_eq!(
        entry.figure("peak.bf16").map(|figure| figure.text.as_str()),
        Some("165.2 TFLOPS")
    );
    assert!(entry.figures.is_sorted_by_key(|figure| figure.position));
}

/// What stands in the text, what is put there, and the code, line, column and field of a problem
/// that this makes.
#[rustfmt::skip]
const DAMAGES: &[(&str, &str, &str, usize, usize, &str)] = &[
    ("year = 2022", "", code::MISSING_KEY, 1, 1, "year"),
    ("lanes = 16", "", code::MISSING_KEY, 17, 1, "pcie.lanes"),
    ("year = 2022", "year = 2022\nyaer = 1", code::UNKNOWN_KEY, 6, 1, "yaer"),
    ("lanes = 16", "lanes = 16\nlane = 1", code::UNKNOWN_KEY, 20, 1, "pcie.lane"),
    ("GiB\", source", "GiB\", src", code::UNKNOWN_KEY, 10, 30, "memory"),
    ("\"NVIDIA\"", "3", code::WRONG_TYPE, 3, 10, "vendor"),
    ("= false\npeer", "= \"no\"\npeer", code::WRONG_TYPE, 7, 22, "datacenter_licence"),
    ("\"pcie\"", "\"pci\"", code::WRONG_TYPE, 6, 15, "form_factor"),
    ("\"1008 GB/s\"", "true", code::WRONG_TYPE, 11, 20, "memory_bandwidth"),
    ("[peak]\nbf16", "peak = 3\n[pcie2]\nbf16", code::WRONG_TYPE, 14, 8, "peak"),
    ("\"stored\"", "\"sotred\"", code::WRONG_TYPE, 24, 10, "sources.sheet.status"),
    ("\"24 GiB\"", "\"24 GiB/s\"", code::MALFORMED_QUANTITY, 10, 20, "memory"),
    ("\"24 GiB\"", "24", code::MALFORMED_QUANTITY, 10, 20, "memory"),
    ("year = 2022", "year = 2022.5", code::MALFORMED_QUANTITY, 5, 8, "year"),
    ("\"24 GiB\"", "\"-24 GiB\"", code::OUT_OF_RANGE, 10, 20, "memory"),
    ("\"24 GiB\"", "\"0 GiB\"", code::OUT_OF_RANGE, 10, 20, "memory"),
    ("year = 2022", "year = nan", code::MALFORMED_QUANTITY, 5, 8, "year"),
    ("year = 2022", "year = 5_000_000_000", code::OUT_OF_RANGE, 5, 8, "year"),
    ("\"$1,599.99\"", "\"$5B\"", code::OUT_OF_RANGE, 12, 9, "price"),
    ("GiB\", source = \"sheet\"", "GiB\", source = \"shet\"", code::UNKNOWN_REFERENCE, 10, 39, "memory"),
    ("\"card\"", "\"other\"", code::WRONG_ID, 1, 6, "id"),
];

#[test]
fn a_price_has_a_range_and_may_be_of_several() {
    let line = r#"price = { value = "$80000", low = "$72000", high = "$88000.001", per = 8, source = "sheet" }"#;
    let card = read_card(&ACCELERATOR.replace("price = \"$1,599.99\"", line)).expect("it is read");
    assert_eq!(card.entity.price, Some(MicroUsd::from_usd(10_000.0)));
    let tag = card
        .figure("price")
        .and_then(|figure| figure.tag)
        .expect("a price");
    assert_eq!(tag.per, 8);
    assert_eq!(tag.low, Some(MicroUsd::from_usd(9_000.0)));
    // A thousandth of a dollar for eight is rounded up to a whole micro-dollar for each.
    assert_eq!(tag.high, Some(MicroUsd(11_000_000_125)));
}

#[test]
fn a_price_outside_of_its_range_is_refused() {
    for (line, field) in [
        (r#"price = { value = "$5", low = "$6" }"#, "price"),
        (r#"price = { value = "$5", high = "$4" }"#, "price"),
        (r#"price = { value = "$5", low = "cheap" }"#, "price.low"),
        (r#"price = { value = "$5", per = 0 }"#, "price.per"),
        (r#"price = { value = "$5", per = "eight" }"#, "price.per"),
        (r#"price = { value = "$5", lowest = "$4" }"#, "price"),
        (r#"memory = { value = "24 GiB", low = "12 GiB" }"#, "memory"),
    ] {
        let key = line.split(' ').next();
        let own = ACCELERATOR.lines().find(|own| own.split(' ').next() == key);
        let problem = problem_of_card(own.expect("the card has it"), line);
        assert_eq!(problem.field.as_deref(), Some(field), "{line}");
    }
}

#[test]
fn accelerators_are_bought_in_the_condition_that_is_asked_for() {
    let line = "price = \"$900\"\nprice_used = \"$500\"";
    let of = |on_sale: &str| {
        let text = ACCELERATOR.replace("price = \"$1,599.99\"", &format!("{line}\n{on_sale}"));
        let card = read_card(&text).expect("it is read").entity;
        [Condition::New, Condition::Used, Condition::Any]
            .map(|condition| card.clone().bought(condition).price.map(MicroUsd::usd))
    };
    assert_eq!(of(""), [Some(900.0), Some(500.0), Some(500.0)]);
    assert_eq!(
        of("on_sale = true"),
        [Some(900.0), Some(500.0), Some(500.0)]
    );
    assert_eq!(of("on_sale = false"), [None, Some(500.0), Some(500.0)]);
}

#[test]
fn every_problem_has_its_code_and_place() {
    for (there, put, code, line, column, field) in DAMAGES {
        let found = problems(read_card(&ACCELERATOR.replace(there, put)));
        let expected = (*code, *line, *column, (*field).to_owned());
        assert!(found.contains(&expected), "{put:?} gives {found:#?}");
    }
}

#[test]
fn problems_say_what_is_accepted_and_what_may_be_meant() {
    let unit = problem_of_card("\"1008 GB/s\"", "\"1008 GBps\"");
    assert_eq!(
        unit.to_string(),
        "error[E105]: `1008 GBps` has a unit that is not accepted\n  \
         --> card.toml:11:20\n  field     memory_bandwidth\n  value     1008 GBps\n  \
         accepted  a bandwidth, in bytes such as `1008 GB/s` or in bits such as `200 Gbps`\n  \
         help      did you mean `GB/s` or `Gbps`?"
    );
    let key = problem_of_card("price =", "prize =");
    assert_eq!(key.help.as_deref(), Some("did you mean `price`?"));
    let source = problem_of_card("GiB\", source = \"sheet\"", "GiB\", source = \"shet\"");
    assert_eq!(source.help.as_deref(), Some("did you mean `sheet`?"));
    let word = problem_of_card("\"pcie\"", "\"PCIe\"");
    assert_eq!(word.help.as_deref(), Some("did you mean `pcie`?"));
}

#[test]
fn all_problems_of_a_file_come_at_once_in_its_order() {
    let text = ACCELERATOR
        .replace("24 GiB", "24 GB/s")
        .replace("\"NVIDIA\"", "1")
        .replace("lanes", "lane");
    let found: Vec<&str> = problems(read_card(&text))
        .iter()
        .map(|problem| problem.0)
        .collect();
    let expected = [
        code::WRONG_TYPE,
        code::MALFORMED_QUANTITY,
        code::MISSING_KEY,
        code::UNKNOWN_KEY,
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_missing_table_is_one_problem() {
    let text = MODEL.replacen(
        "[block.mlp]\nkind = \"dense\"\nwidth = 16\ngated = true\n",
        "",
        1,
    );
    let found = problems(read("tiny", &text, model::read));
    assert_eq!(
        found,
        [(code::MISSING_KEY, 12, 1, "block[0].mlp".to_owned())]
    );
}

#[test]
fn text_that_is_not_toml_is_said_with_its_place() {
    let found = problems(read_card("id = \"card\"\nname = = 3\n"));
    assert_eq!(
        found.first().map(|problem| (problem.0, problem.1)),
        Some((code::SYNTAX, 2))
    );
    let twice = problems(read_card("id = \"card\"\nid = \"card\"\n"));
    assert_eq!(twice, [(code::SYNTAX, 2, 1, String::new())]);
}

#[test]
fn a_model_becomes_an_architecture() {
    let entity = read("tiny", MODEL, model::read)
        .expect("the text is right")
        .entity;
    assert_eq!(entity.layers, [0, 1, 0]);
    assert_eq!(entity.outside, [("buffers".to_owned(), 5)]);
    assert!(matches!(
        entity.blocks[1].mlp,
        MlpShape::Experts(Experts {
            experts: 8,
            active: 2,
            ..
        })
    ));
}

#[test]
fn a_nominal_model_shares_its_parameters_among_its_layers() {
    let text = "nominal_parameters = 1000\nnominal_depth = 10\n".to_owned() + MODEL;
    let text = text.replacen(
        "[block.mlp]\nkind = \"dense\"\nwidth = 16\ngated = true\n",
        "",
        1,
    );
    let (text, _) = text.split_at(text.rfind("[[block]]").expect("there are two"));
    let text = text.replace("pattern = [0, 1]", "pattern = [0]");
    let entity = read("tiny", &text, model::read)
        .expect("the text is right")
        .entity;
    // 1000 / (3 layers * 10 inputs), to the nearest.
    assert_eq!(
        entity.blocks[0].mlp,
        MlpShape::Nominal {
            depth: 10,
            width: 33
        }
    );
}

#[test]
fn a_model_must_agree_with_itself() {
    let cases = [
        ("pattern = [0, 1]", "pattern = [0, 2]", "pattern"),
        ("pattern = [0, 1]", "layer_blocks = [0, 1]", "layer_blocks"),
        (
            "kv_heads = 2",
            "kv_heads = 3",
            "block[0].attention.kv_heads",
        ),
        ("active = 2", "active = 9", "block[1].mlp.active"),
        ("layers = 3", "layers = 4000000000", "layers"),
    ];
    for (line, replacement, field) in cases {
        let found = problems(read("tiny", &MODEL.replace(line, replacement), model::read));
        let expected = [(code::OUT_OF_RANGE, field)];
        let found: Vec<_> = found
            .iter()
            .map(|problem| (problem.0, problem.3.as_str()))
            .collect();
        assert_eq!(found, expected, "{replacement}");
    }
}

#[test]
fn an_efficiency_of_nothing_is_refused() {
    let text = include_str!("../catalogs/base/assumptions/plain.toml");
    let text = text.replace("duty = 1.0", "duty = 0.0");
    let found = problems(read("plain", &text, assumption::read));
    assert_eq!(
        found.iter().map(|problem| problem.0).collect::<Vec<_>>(),
        [code::OUT_OF_RANGE]
    );
}

proptest! {
    #[test]
    fn no_text_panics(text in "\\PC*") {
        let _ = read_card(&text);
    }

    #[test]
    fn no_damage_to_a_right_text_panics(
        at in 0..ACCELERATOR.len(), length in 0_usize..40, put in "[-0-9a-z\\[\\]{}=\".\n ]{0,6}"
    ) {
        let mut text = ACCELERATOR.to_owned();
        text.replace_range(at..(at + length).min(text.len()), &put);
        let _ = read_card(&text);
        let mut text = MODEL.to_owned();
        let at = at.min(text.len());
        text.replace_range(at..(at + length).min(text.len()), &put);
        for reader in [reads(model::read), reads(host::read), reads(Network::read)] {
            reader(&text);
        }
        for reader in [reads(link::read), reads(Workload::read), reads(assumption::read)] {
            reader(&text);
        }
    }
}

fn reads<T: 'static>(reader: fn(&mut Fields<'_>) -> T) -> Box<dyn Fn(&str)> {
    Box::new(move |text| drop(read("tiny", text, reader)))
}
