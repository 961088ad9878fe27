//! How parts are paid for: new or used, below list prices, at prices of one's own, with tax.

use super::Catalog;
use super::changes::PriceChoice;
use super::condition::Condition;
use super::entry::{Entry, Tag};
use crate::diagnostic::Diagnostic;
use crate::quantity::MicroUsd;
use serde::Deserialize;
use std::collections::BTreeMap;

/// How parts are paid for.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pricing {
    /// In which condition accelerators are bought.
    pub condition: Condition,
    /// Dollars in place of prices of the catalog, by part; of an hour, by offer.
    pub prices: BTreeMap<String, f64>,
    /// Share of list prices that a vendor of accelerators takes off: of new ones, and of machines
    /// that they come in.
    pub discount: BTreeMap<String, f64>,
    /// Value-added tax on every price and rent, as a share of it.
    pub vat: f64,
}

impl Catalog {
    /// The same catalog, as it was read, with its parts paid for so: a discount is on list prices, a
    /// price that is given is paid as it is, tax comes on top of all.
    ///
    /// # Errors
    ///
    /// As of [`Catalog::sells`].
    pub fn paid(&self, pricing: &Pricing) -> Result<Self, Vec<Diagnostic>> {
        let mut catalog = self.clone();
        for (vendor, share) in &pricing.discount {
            catalog.take_off(vendor, *share);
        }
        catalog.buy(pricing.condition);
        let choices = pricing.prices.iter().map(|(id, usd)| PriceChoice {
            id: id.clone(),
            usd: *usd,
            terms: None,
        });
        let mut catalog = catalog.at_prices(&choices.collect::<Vec<_>>())?;
        if pricing.vat > 0.0 {
            catalog.tax(pricing.vat)?;
            catalog.gross = 1.0 + pricing.vat;
        }
        catalog.furnish();
        Ok(catalog)
    }

    /// The vendors of accelerators, as `--vendor` and `--discount` name them.
    pub(crate) fn vendors(&self) -> Vec<String> {
        let all = self.accelerators.values();
        let mut vendors: Vec<String> = all.map(|own| own.entity.vendor.to_lowercase()).collect();
        vendors.sort();
        vendors.dedup();
        vendors
    }

    fn take_off(&mut self, vendor: &str, share: f64) {
        let note = format!("less {} % for {vendor}", percent(share));
        let is_its = |name: &str| name.eq_ignore_ascii_case(vendor);
        for entry in self.hosts.values_mut() {
            let included = entry.entity.includes.as_ref();
            let card = included.and_then(|part| self.accelerators.get(&part.accelerator));
            if card.is_some_and(|card| is_its(&card.entity.vendor)) {
                entry.entity.price = entry.scale("price", entry.entity.price, 1.0 - share, &note);
            }
        }
        for entry in self.accelerators.values_mut() {
            if is_its(&entry.entity.vendor) {
                let new = entry.entity.offered.new;
                entry.entity.offered.new = entry.scale("price", new, 1.0 - share, &note);
            }
        }
    }

    /// Hosts and networks are bought new: of used accelerators, none comes in a machine of its own.
    fn buy(&mut self, condition: Condition) {
        for Entry { entity, .. } in self.accelerators.values_mut() {
            entity.price = entity.offered.price(condition);
        }
        for Entry { entity, .. } in self.hosts.values_mut() {
            if condition == Condition::Used && entity.includes.is_some() {
                entity.price = None;
            }
        }
    }

    fn tax(&mut self, vat: f64) -> Result<(), Vec<Diagnostic>> {
        let note = format!("with {} % VAT", percent(vat));
        let gross = 1.0 + vat;
        for entry in self.accelerators.values_mut() {
            let price = entry.entity.price;
            for field in ["price", "price_used"] {
                entry.scale(field, None, gross, &note);
            }
            entry.entity.price = price.map(|price| price.scaled(gross));
        }
        for entry in self.hosts.values_mut() {
            entry.entity.price = entry.scale("price", entry.entity.price, gross, &note);
        }
        for entry in self.networks.values_mut() {
            let tables: Vec<String> = entry.entity.parts().into_iter().map(|p| p.table).collect();
            for table in tables {
                entry.scale(&format!("{table}.price"), None, gross, &note);
            }
            for (_, price) in entry.entity.prices() {
                *price = price.map(|price| price.scaled(gross));
            }
        }
        let mut providers = self.providers()?.clone();
        for entry in providers.values_mut() {
            for place in 0..entry.entity.offers.len() {
                let offer = &entry.entity.offers[place];
                let (price, spot) = (offer.price, offer.spot);
                let mut scale = |key: &str, usd| {
                    entry.scale(&format!("offer[{place}].{key}"), usd, gross, &note)
                };
                let (price, spot) = (scale("price", price), scale("spot", spot));
                let offer = &mut entry.entity.offers[place];
                (offer.price, offer.spot) = (price, spot);
            }
        }
        self.offers.put(providers);
        Ok(())
    }
}

impl<T> Entry<T> {
    /// A price times a factor, as its figure is then; the note is said beside its source.
    fn scale(
        &mut self,
        field: &str,
        price: Option<MicroUsd>,
        factor: f64,
        note: &str,
    ) -> Option<MicroUsd> {
        let figure = self.figures.iter_mut().find(|own| own.field == field);
        if let Some(figure) = figure {
            figure.tag = figure.tag.map(|tag| Tag {
                each: tag.each.scaled(factor),
                low: tag.low.map(|low| low.scaled(factor)),
                high: tag.high.map(|high| high.scaled(factor)),
                per: tag.per,
            });
            if let Some(source) = &mut figure.source {
                source.changes.push(note.to_owned());
            }
        }
        price.map(|price| price.scaled(factor))
    }
}

fn percent(share: f64) -> f64 {
    (share * 1e4).round() / 1e2
}
