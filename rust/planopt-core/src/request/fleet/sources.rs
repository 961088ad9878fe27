//! Where hardware comes from: bought, owned or rented.

use super::names::{Names, one_of};
use crate::catalog::{Fields, LIMITED_TO, Spot};
use crate::diagnostic::{Diagnostic, code};
use serde::Serialize;

/// Hosts that can be bought.
#[derive(Clone, Debug, Serialize)]
pub struct Bought {
    /// Accelerator id.
    pub accelerator: String,
    /// Host id.
    pub host: String,
    /// Accelerators of a host; none for as many as fit.
    pub accelerators: Option<u32>,
    /// Network id, where replicas may span hosts.
    pub network: Option<String>,
    /// Where; none for every region.
    pub region: Option<String>,
    /// Accelerators that can be had, in all regions together.
    pub stock: Option<u32>,
}

/// Hosts that are there already.
#[derive(Clone, Debug, Serialize)]
pub struct Owned {
    /// Accelerator id.
    pub accelerator: String,
    /// Host id.
    pub host: String,
    /// Accelerators of a host; none for as many as fit.
    pub accelerators: Option<u32>,
    /// Where.
    pub region: String,
    /// How many hosts.
    pub hosts: u32,
}

/// Instances that can be rented.
#[derive(Clone, Debug, Serialize)]
pub struct Rented {
    /// Offer id: `provider/instance/region`.
    pub offer: String,
    /// Accelerator of the offer.
    pub accelerator: String,
    /// Accelerators of the offer.
    pub accelerators: u32,
    /// Region of the file that it serves.
    pub region: String,
    /// Instances that the provider lets have at once.
    pub quota: Option<u32>,
    /// `on-demand`, or `spot`.
    pub terms: String,
    /// Price of an hour on these terms.
    pub micro_usd_per_hour: i64,
    /// Share of the time that an instance is there on them.
    pub goodput: f64,
}

fn accelerator(fields: &mut Fields<'_>, names: &Names<'_>) -> String {
    fields.named("accelerator", |name| {
        if let Some((known, limit)) = name.split_once(LIMITED_TO) {
            let id = &names.catalog.accelerator(known)?.id;
            let limited = format!("{id}{LIMITED_TO}{limit}");
            names.catalog.with_power_limit(&limited)?;
            return Ok(limited);
        }
        Ok(names.catalog.accelerator(name)?.id.clone())
    })
}

fn host(fields: &mut Fields<'_>, names: &Names<'_>) -> String {
    let id = |name: &str| Ok(names.catalog.host(name)?.id.clone());
    fields.named("host", id)
}

fn network(fields: &mut Fields<'_>, names: &Names<'_>) -> String {
    let id = |name: &str| Ok(names.catalog.network(name)?.id.clone());
    fields.named("network", id)
}

pub(super) fn bought(fields: &mut Fields<'_>, names: &Names<'_>) -> Bought {
    Bought {
        accelerator: accelerator(fields, names),
        host: host(fields, names),
        accelerators: fields.optional("accelerators", Fields::positive),
        network: fields.optional("network", |fields, _| network(fields, names)),
        region: fields.optional("region", |fields, key| {
            one_of(fields, key, "region", &names.regions)
        }),
        stock: fields.optional("stock", Fields::counted),
    }
}

pub(super) fn owned(fields: &mut Fields<'_>, names: &Names<'_>) -> Owned {
    Owned {
        accelerator: accelerator(fields, names),
        host: host(fields, names),
        accelerators: fields.optional("accelerators", Fields::positive),
        region: names.region(fields),
        hosts: fields.positive("hosts"),
    }
}

pub(super) fn rented(fields: &mut Fields<'_>, names: &Names<'_>) -> Rented {
    let terms = fields.or("terms", "on-demand".to_owned(), |fields, key| {
        fields.word(key, &["on-demand", "spot"])
    });
    let id = fields.text("offer");
    let offers = || {
        names.providers.iter().flat_map(|(provider, entry)| {
            let offers = entry.entity.offers.iter();
            offers.map(move |offer| (offer.id(provider), &entry.entity, offer))
        })
    };
    let found = offers().find(|(known, ..)| *known == id);
    if found.is_none() && !id.is_empty() {
        let known: Vec<String> = offers().map(|(known, ..)| known).collect();
        let problem = Diagnostic::new(code::UNKNOWN_REFERENCE, format!("no offer `{id}`"))
            .help("`planopt catalog list offers` has them all")
            .one_of(&id, known.iter().map(String::as_str));
        fields.reject("offer", problem);
    }
    let (price, goodput) = match (&found, terms.as_str()) {
        (None, _) => (None, 1.0),
        (Some((_, provider, offer)), "spot") => (
            offer.spot,
            provider.spot.as_ref().map_or(1.0, Spot::goodput),
        ),
        (Some((.., offer)), _) => (offer.price, 1.0),
    };
    if found.is_some() && price.is_none() {
        let message = format!("`{id}` is not offered {terms}");
        fields.reject("offer", Diagnostic::new(code::UNKNOWN_REFERENCE, message));
    }
    Rented {
        accelerators: found.as_ref().map_or(0, |(.., offer)| offer.count),
        accelerator: found.map_or_else(String::new, |(.., offer)| offer.accelerator.clone()),
        micro_usd_per_hour: price.map_or(0, |price| price.0),
        goodput,
        region: names.region(fields),
        quota: fields.optional("quota", Fields::quantity),
        offer: id,
        terms,
    }
}
