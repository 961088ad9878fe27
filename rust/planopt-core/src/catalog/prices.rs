//! Every price of a catalog, with where it comes from.

use super::Catalog;
use super::accelerator::Accelerator;
use super::entry::{Entry, Figure, Source, Status, Tag};
use super::host::Host;
use super::network::Network;
use super::part::PartKind;
use crate::diagnostic::{Diagnostic, Position};
use crate::quantity::MicroUsd;

/// A price of a part, and whether it is the one that a purchase pays.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct PriceTag {
    /// Kind of part, as a line of a bill of materials names it.
    pub kind: PartKind,
    /// Catalog or part id.
    pub id: String,
    /// Full name.
    pub name: String,
    /// How it is to be had.
    pub condition: SoldAs,
    /// Price of one; of an instance, that of an hour.
    pub usd: f64,
    /// The lowest that one is seen at.
    pub low_usd: Option<f64>,
    /// The highest.
    pub high_usd: Option<f64>,
    /// How many accelerators the price that was read is for: 8 of a board of eight.
    pub per: u32,
    /// Whether it is paid in the condition that is asked for.
    pub decides: bool,
    /// Whether new ones can be bought today; none where nobody says.
    pub on_sale: Option<bool>,
    /// Where it comes from; none for a bare value of somebody's own file.
    pub source: Option<Source>,
}

/// How a part is to be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SoldAs {
    /// New.
    New,
    /// Used.
    Used,
    /// Rented as long as it is needed.
    OnDemand,
    /// Rented as long as nobody pays more.
    Spot,
}

/// A part of a network: what a bill calls it, where the file has it, and its id.
pub(crate) struct NetworkPart<'a> {
    /// What it is.
    pub(crate) kind: PartKind,
    /// Its table in the file.
    pub(crate) table: String,
    /// Its id.
    pub(crate) id: &'a str,
}

impl Network {
    /// The parts that it is built of.
    pub(crate) fn parts(&self) -> Vec<NetworkPart<'_>> {
        let part = |kind, table: String, id| NetworkPart { kind, table, id };
        let mut parts = vec![part(PartKind::Nic, "nic".to_owned(), self.nic.id.as_str())];
        for (place, switch) in self.switches.iter().enumerate() {
            parts.push(part(
                PartKind::Switch,
                format!("switch[{place}]"),
                &switch.id,
            ));
        }
        for (table, cable) in [("cable", &self.cable), ("uplink", &self.uplink)] {
            let cable = cable.as_ref();
            parts.extend(cable.map(|cable| part(PartKind::Cable, table.to_owned(), &cable.id)));
        }
        parts
    }
}

impl Catalog {
    /// The prices of all that can be bought.
    pub fn price_tags(&self) -> Vec<PriceTag> {
        let accelerators = self.accelerators.values().flat_map(of_accelerator);
        let hosts = self.hosts.values().filter_map(of_host);
        let networks = self.networks.values().flat_map(of_network);
        accelerators.chain(hosts).chain(networks).collect()
    }

    /// The prices of an hour of all that can be rented.
    ///
    /// # Errors
    ///
    /// Every problem of the files of offers, which are read only now.
    pub fn rent_tags(&self) -> Result<Vec<PriceTag>, Vec<Diagnostic>> {
        let mut tags = Vec::new();
        for provider in self.providers()?.values() {
            for (place, offer) in provider.entity.offers.iter().enumerate() {
                let id = offer.id(&provider.entity.id);
                for (field, terms) in [("price", SoldAs::OnDemand), ("spot", SoldAs::Spot)] {
                    let figure = provider.figure(&format!("offer[{place}].{field}"));
                    tags.extend(figure.and_then(|figure| {
                        tag(PartKind::Instance, &id, &offer.full_name(), terms, figure)
                    }));
                }
            }
        }
        Ok(tags)
    }
}

impl<T> Entry<T> {
    /// Puts what somebody says in the place of a price that was read.
    pub(crate) fn say(&mut self, field: &str, price: MicroUsd) {
        let said = Figure {
            field: field.to_owned(),
            text: format!("${}", price.usd()),
            source: Some(Source {
                cite: "said by whoever asks".to_owned(),
                date: String::new(),
                status: Status::Given,
                changes: Vec::new(),
            }),
            tag: Some(Tag::of(price)),
            position: Position::START,
        };
        self.figures.retain(|figure| figure.field != field);
        self.figures.push(said);
    }
}

impl Tag {
    /// The price of one, without a range.
    pub(super) fn of(price: MicroUsd) -> Self {
        Self {
            each: price,
            low: None,
            high: None,
            per: 1,
        }
    }
}

fn of_accelerator(entry: &Entry<Accelerator>) -> Vec<PriceTag> {
    let Accelerator {
        id,
        name,
        price,
        offered,
        ..
    } = &entry.entity;
    let mut tags = Vec::new();
    for (field, condition) in [("price", SoldAs::New), ("price_used", SoldAs::Used)] {
        let figure = entry.figure(field);
        tags.extend(figure.and_then(|figure| {
            let tag = tag(PartKind::Accelerator, id, name, condition, figure)?;
            Some(PriceTag {
                decides: figure.tag.map(|tag| tag.each) == *price,
                on_sale: offered.on_sale,
                ..tag
            })
        }));
    }
    // Of two that cost the same the new one is bought.
    if let [new, used] = tags.as_mut_slice() {
        used.decides &= !new.decides;
    }
    tags
}

fn of_host(entry: &Entry<Host>) -> Option<PriceTag> {
    let host = &entry.entity;
    let tag = tag(
        PartKind::Host,
        &host.id,
        &host.name,
        SoldAs::New,
        entry.figure("price")?,
    )?;
    Some(PriceTag {
        decides: host.price.is_some(),
        on_sale: host.on_sale,
        ..tag
    })
}

fn of_network(entry: &Entry<Network>) -> impl Iterator<Item = PriceTag> {
    entry.entity.parts().into_iter().filter_map(|part| {
        let name = entry.figure(&format!("{}.name", part.table))?;
        let price = entry.figure(&format!("{}.price", part.table))?;
        tag(part.kind, part.id, &name.text, SoldAs::New, price)
    })
}

fn tag(
    kind: PartKind,
    id: &str,
    name: &str,
    condition: SoldAs,
    figure: &Figure,
) -> Option<PriceTag> {
    let tag = figure.tag?;
    Some(PriceTag {
        kind,
        id: id.to_owned(),
        name: name.to_owned(),
        condition,
        usd: tag.each.usd(),
        low_usd: tag.low.map(MicroUsd::usd),
        high_usd: tag.high.map(MicroUsd::usd),
        per: tag.per,
        decides: true,
        on_sale: None,
        source: figure.source.clone(),
    })
}
