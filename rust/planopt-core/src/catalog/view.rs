//! What `planopt catalog list` and `planopt catalog show` tell of a catalog.

use super::entry::{Entry, Figure, Status};
use super::kind::Kind;
use super::offer::{Offer, Provider};
use super::{Catalog, Network, found};
use crate::diagnostic::Diagnostic;
use crate::quantity::MicroUsd;
use std::collections::BTreeMap;

/// An entity in a list.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Listed {
    /// Catalog id.
    pub id: String,
    /// Full name.
    pub name: String,
}

/// An entity with all that its file says.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Description {
    /// Its kind.
    pub kind: Kind,
    /// Catalog id.
    pub id: String,
    /// Full name.
    pub name: String,
    /// The file it was read from.
    pub file: String,
    /// Every value of the file, in its order.
    pub figures: Vec<FigureView>,
}

/// A value and where it comes from; without a citation it stands for itself.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct FigureView {
    /// The key with the tables it is in.
    pub field: String,
    /// The value as written.
    pub text: String,
    /// The lowest that one is seen at, of a price.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low_usd: Option<f64>,
    /// The highest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high_usd: Option<f64>,
    /// How many the price is for, where it is divided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per: Option<u32>,
    /// The material.
    pub cite: Option<String>,
    /// When it was published or read.
    pub date: Option<String>,
    /// How well it is known.
    pub status: Option<Status>,
    /// What a question has done to it since.
    #[serde(skip)]
    pub changes: Vec<String>,
}

impl Catalog {
    /// The entities of a kind, by id.
    ///
    /// # Errors
    ///
    /// Every problem of the files of offers, which are read only now.
    pub fn list(&self, kind: Kind) -> Result<Vec<Listed>, Vec<Diagnostic>> {
        Ok(match kind {
            Kind::Accelerator => listed(&self.accelerators),
            Kind::Host => listed(&self.hosts),
            Kind::Link => listed(&self.links),
            Kind::Network => listed(&self.networks),
            Kind::Model => listed(&self.models),
            Kind::Workload => listed(&self.workloads),
            Kind::Offer => self.providers()?.values().flat_map(offers_of).collect(),
            Kind::Assumptions => vec![self.assumptions.listed(&self.assumptions.entity.id)],
        })
    }

    /// Networks with a price whose ports are one step slower than those of a network, and one step faster:
    /// what it is worth is seen against these.
    pub fn networks_beside(&self, id: &str) -> [Vec<String>; 2] {
        let rate = |network: &Network| {
            let link = self.links.get(&network.link)?;
            link.entity.bandwidth
        };
        let known = self.networks.values().map(|entry| &entry.entity);
        let Some(own) = self.networks.get(id).and_then(|own| rate(&own.entity)) else {
            return Default::default();
        };
        let sold = known.filter(|network| network.is_sold());
        let rated: Vec<_> = sold
            .filter_map(|network| Some((rate(network)?, network.id.as_str())))
            .collect();
        let slower = rated
            .iter()
            .map(|(rate, _)| rate.0)
            .filter(|rate| *rate < own.0);
        let faster = rated
            .iter()
            .map(|(rate, _)| rate.0)
            .filter(|rate| *rate > own.0);
        [slower.reduce(f64::max), faster.reduce(f64::min)].map(|step| {
            let of_step = rated.iter().filter(|(rate, _)| Some(rate.0) == step);
            of_step.map(|(_, id)| (*id).to_owned()).collect()
        })
    }

    /// What the file of an entity says, each value with its source.
    ///
    /// # Errors
    ///
    /// E001 with the nearest ids, if there is no such entity; what is wrong with the files of
    /// offers, which are read only now.
    pub fn describe(&self, kind: Kind, id: &str) -> Result<Description, Vec<Diagnostic>> {
        Ok(match kind {
            Kind::Offer => return self.describe_offer(id),
            Kind::Accelerator => described(&self.accelerators, kind, id)?,
            Kind::Host => described(&self.hosts, kind, id)?,
            Kind::Link => described(&self.links, kind, id)?,
            Kind::Network => described(&self.networks, kind, id)?,
            Kind::Model => described(&self.models, kind, id)?,
            Kind::Workload => described(&self.workloads, kind, id)?,
            Kind::Assumptions if id == self.assumptions.entity.id => {
                self.assumptions.described(kind, id)
            }
            Kind::Assumptions => {
                let known = [self.assumptions.entity.id.as_str()];
                return Err(Diagnostic::unknown_name(kind.name(), id, known).into());
            }
        })
    }

    /// A provider, or one of its offers.
    fn describe_offer(&self, id: &str) -> Result<Description, Vec<Diagnostic>> {
        let providers = self.providers()?;
        if let Some(provider) = providers.get(id) {
            return Ok(provider.described(Kind::Offer, id));
        }
        let place = |provider: &Entry<Provider>| {
            let offers = &provider.entity.offers;
            offers
                .iter()
                .position(|offer| offer.id(&provider.entity.id) == id)
        };
        let found = providers
            .values()
            .find_map(|provider| place(provider).map(|place| (provider, place)));
        let Some((provider, place)) = found else {
            let offers: Vec<Listed> = providers.values().flat_map(offers_of).collect();
            let known = offers.iter().map(|offer| offer.id.as_str());
            let kind = Kind::Offer.name();
            return Err(vec![Diagnostic::unknown_name(kind, id, known)]);
        };
        let prefix = format!("offer[{place}].");
        let mut described = provider.described(Kind::Offer, id);
        described.name = provider.entity.offers[place].full_name();
        described
            .figures
            .retain(|figure| figure.field.starts_with(&prefix));
        for figure in &mut described.figures {
            figure.field = figure.field.split_off(prefix.len());
        }
        Ok(described)
    }
}

/// The offers of a provider, each with what it is and costs.
fn offers_of(provider: &Entry<Provider>) -> Vec<Listed> {
    let listed = |offer: &Offer| Listed {
        id: offer.id(&provider.entity.id),
        name: offer.full_name(),
    };
    provider.entity.offers.iter().map(listed).collect()
}

impl Offer {
    pub(super) fn full_name(&self) -> String {
        let price = match (self.price, self.spot) {
            (Some(price), _) => format!("${:.2}/h", price.usd()),
            (None, Some(spot)) => format!("spot ${:.2}/h", spot.usd()),
            (None, None) => String::new(),
        };
        format!("{}x {}, {price}", self.count, self.accelerator)
    }
}

fn listed<T>(entries: &BTreeMap<String, Entry<T>>) -> Vec<Listed> {
    entries.iter().map(|(id, entry)| entry.listed(id)).collect()
}

fn described<T>(
    entries: &BTreeMap<String, Entry<T>>,
    kind: Kind,
    id: &str,
) -> Result<Description, Diagnostic> {
    found(entries, kind, id).map(|(id, entry)| entry.described(kind, id))
}

impl<T> Entry<T> {
    fn listed(&self, id: &str) -> Listed {
        Listed {
            id: id.to_owned(),
            name: self.full_name().to_owned(),
        }
    }

    fn described(&self, kind: Kind, id: &str) -> Description {
        Description {
            kind,
            id: id.to_owned(),
            name: self.full_name().to_owned(),
            file: self.file.display().to_string(),
            figures: self.figures.iter().map(FigureView::of).collect(),
        }
    }

    /// Assumptions have a description instead of a name.
    pub(super) fn full_name(&self) -> &str {
        let figure = self.figure("name").or_else(|| self.figure("description"));
        figure.map_or("", |figure| figure.text.as_str())
    }
}

impl FigureView {
    fn of(figure: &Figure) -> Self {
        let source = figure.source.as_ref();
        Self {
            field: figure.field.clone(),
            text: figure.text.clone(),
            low_usd: figure.tag.and_then(|tag| tag.low).map(MicroUsd::usd),
            high_usd: figure.tag.and_then(|tag| tag.high).map(MicroUsd::usd),
            per: figure.tag.map(|tag| tag.per).filter(|&per| per > 1),
            cite: source.map(|source| source.cite.clone()),
            date: source.map(|source| source.date.clone()),
            status: source.map(|source| source.status),
            changes: source.map_or_else(Vec::new, |source| source.changes.clone()),
        }
    }
}
