//! The question of a model that neighbours serve together.

use super::islands::{churn, machines};
use super::market;
use super::question::Question;
use super::reader::Reader;
use super::request::{LoadKind, Money, Request};
use super::served::Lengths;
use crate::catalog::Catalog;
use crate::diagnostic::{Diagnostic, code};
use crate::request::machines::at_one_place;
use crate::request::{Machines, Neighbours, ServeNeighbours};

/// The option that names them.
const NEIGHBOURS: &str = "neighbours";

/// Reads a question; names are looked up in the catalog.
pub(super) fn question(
    mut reader: Reader,
    catalog: &Catalog,
    request: &Request,
) -> Result<Question<ServeNeighbours>, Vec<Diagnostic>> {
    let reading = &mut reader;
    market::model(reading, catalog, &request.model.name);
    market::look_up_model(reading, catalog, &request.model.name);
    let (asked, steady) = (&request.workload, LoadKind::Steady);
    let lengths = Lengths::of(reading, catalog, asked, steady, 0, None);
    let hardware = &request.hardware;
    let named = (NEIGHBOURS, hardware.neighbours.as_slice());
    let machines = machines(reading, catalog, named);
    one_card_each(reading, &machines);
    market::look_up_prices(reading, catalog, &request.money);
    if !at_one_place(catalog, &machines) {
        churn(reading, catalog);
    }
    if request.promises.target.is_none() {
        reading.assume(
            "target",
            "as fast as can be, a user to a stage",
            Some("say --target 5tok/s for as many users as that leaves room for"),
        );
    }
    let asked = ServeNeighbours {
        model: request.model.clone(),
        workload: lengths.prompts(),
        engine: request.engine.clone(),
        neighbours: Neighbours {
            machines,
            output: lengths.output,
            target: request.promises.target,
            repeat: hardware.repeat,
            sell: sold(&request.money),
            marginal: request.money.marginal,
            lifetime_seconds: hardware.lifetime,
            away_seconds: hardware.away,
        },
    };
    let recorded = reader.recorded();
    let model = asked.model.name.clone();
    Question::of_model(reader, catalog, &model, recorded, asked)
}

/// What a million tokens of prompts and of answers are sold for, where anything is.
fn sold(money: &Money) -> Option<(f64, f64)> {
    let usd = |name| money.sell.get(name).copied();
    let (prompts, answers) = (usd("in"), usd("out"));
    (prompts.is_some() || answers.is_some())
        .then(|| (prompts.unwrap_or(0.0), answers.unwrap_or(0.0)))
}

/// Refuses machines with several accelerators, and rented ones: a stage is a card in somebody's home.
fn one_card_each(reader: &mut Reader, machines: &[Machines]) {
    let others = machines
        .iter()
        .find(|own| own.accelerators > 1 || own.id.contains('/'));
    if let Some(other) = others {
        let message = format!("{} is no card in somebody's home", other.id);
        let accepted = "one accelerator to a home, such as 8xrtx-3090; `evaluate serving` lays \
                        hosts with several out";
        reader.wrong(code::MALFORMED_OPTION, NEIGHBOURS, message, accepted);
    }
}
