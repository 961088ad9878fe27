//! The question of a run over islands.

use super::market::{self, model};
use super::question::Question;
use super::reader::Reader;
use super::request::RunRequest;
use super::training::filled_in;
use crate::catalog::{Catalog, Kind};
use crate::diagnostic::{Diagnostic, code};
use crate::quantity::{SECONDS_PER_HOUR, thousands};
use crate::request::{Islands, Machines, TrainIslands};

/// Network of machines for which none is named.
const USUAL_NETWORK: &str = "wan-100m";

/// The option that names them.
const ISLANDS: &str = "islands";

/// What parts a number from what it counts.
const TIMES: char = 'x';

/// Reads a question; names are looked up in the catalog.
pub(super) fn question(
    mut reader: Reader,
    catalog: &Catalog,
    request: RunRequest,
) -> Result<Question<TrainIslands>, Vec<Diagnostic>> {
    let reading = &mut reader;
    model(reading, catalog, &request.model.name);
    reading.require("tokens", "a number of tokens, such as `140B`");
    let recipe = filled_in(reading, catalog, &request);
    let machines = machines(reading, catalog, (ISLANDS, &request.hardware.islands));
    market::look_up_prices(reading, catalog, &request.money);
    churn(reading, catalog);
    let hardware = &request.hardware;
    let asked = TrainIslands {
        model: request.model,
        recipe,
        run: request.run,
        islands: Islands {
            machines,
            deadline_seconds: request.promises.deadline,
            inner_steps: hardware.inner_steps,
            marginal: request.money.marginal,
            lifetime_seconds: hardware.lifetime,
            away_seconds: hardware.away,
        },
    };
    let recorded = reader.recorded();
    let model = asked.model.name.clone();
    Question::of_model(reader, catalog, &model, recorded, asked)
}

/// Says how long machines stay and are away, where that is not asked.
pub(super) fn churn(reader: &mut Reader, catalog: &Catalog) {
    let Some(islands) = &catalog.assumptions.entity.islands else {
        return;
    };
    for (argument, name, time) in [
        ("lifetime", "stay of a machine", islands.lifetime),
        ("away", "time until it is back", islands.away),
    ] {
        if !reader.is_given(argument) {
            let value = format!("{} hours", time.0 / SECONDS_PER_HOUR);
            let why = "homes come and go; say --lifetime and --away";
            reader.assume(name, value, Some(why));
        }
    }
}

/// Machines as people count them: `100xrtx-4090`, `2x4xrtx-3090` with four cards each, an offer, and
/// behind those that it joins the network between them.
pub(super) fn machines(
    reader: &mut Reader,
    catalog: &Catalog,
    (option, named): (&str, &[String]),
) -> Vec<Machines> {
    let mut machines: Vec<Machines> = Vec::new();
    let mut networks = 0;
    for name in named {
        let (counts, id) = counted(name);
        if let Some(network) = catalog.id_of(Kind::Network.name(), id) {
            networks += 1;
            for joined in machines.iter_mut().filter(|own| own.network.is_empty()) {
                network.clone_into(&mut joined.network);
            }
            continue;
        }
        let is_offer = id.contains('/');
        let known = catalog.id_of(Kind::Accelerator.name(), id);
        if known.is_none() && !is_offer {
            let ids = catalog.accelerators.keys().map(String::as_str);
            let problem = Diagnostic::unknown_name("accelerator", id, ids);
            reader.push(
                problem
                    .field(super::reader::flag(option))
                    .value(name.clone()),
            );
            continue;
        }
        let (many, each) = match counts.as_slice() {
            [] => (1, 1),
            [many] => (*many, 1),
            [many, each] if !is_offer => (*many, *each),
            _ => {
                let accepted = "NxID, or NxMxID with M accelerators in each of N machines";
                reader.wrong(
                    code::MALFORMED_OPTION,
                    option,
                    format!("what is `{name}`?"),
                    accepted,
                );
                continue;
            }
        };
        machines.push(Machines {
            in_one_host: false,
            machines: many,
            accelerators: each,
            id: known.unwrap_or(id).to_owned(),
            network: String::new(),
        });
    }
    let unconnected = machines.iter_mut().filter(|own| own.network.is_empty());
    let mut is_assumed = false;
    for own in unconnected {
        USUAL_NETWORK.clone_into(&mut own.network);
        is_assumed = true;
    }
    if is_assumed {
        reader.assume(
            "network",
            USUAL_NETWORK,
            Some("between homes; name another behind the machines, such as `wan-1g`"),
        );
    }
    let all: u32 = machines
        .iter()
        .fold(0, |sum, own| sum.saturating_add(own.machines));
    if all > MOST_MACHINES {
        let message = format!("{} machines", thousands(all.into()));
        let accepted = format!("at most {}", thousands(MOST_MACHINES.into()));
        reader.wrong(code::OPTION_OUT_OF_RANGE, option, message, accepted);
    }
    if named.is_empty() {
        reader.require(option, "machines, such as `100xrtx-4090`");
    } else if machines.is_empty() && networks == named.len() {
        let accepted = "machines in front of it, such as `8xrtx-3090,wan-100m`";
        reader.wrong(
            code::MISSING_OPTION,
            option,
            "a network joins nobody",
            accepted,
        );
    }
    machines
}

/// Machines that are looked at together, at most.
const MOST_MACHINES: u32 = 4096;

/// The numbers before a name.
fn counted(name: &str) -> (Vec<u32>, &str) {
    let mut counts = Vec::new();
    let mut rest = name.trim();
    while let Some((count, behind)) = rest.split_once(TIMES)
        && let Ok(count) = count.trim().parse::<u32>()
        && count > 0
    {
        counts.push(count);
        rest = behind.trim();
    }
    (counts, rest)
}
