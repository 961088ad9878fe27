//! The same catalog with one thing changed: a price, the condition of accelerators, an assumption
//! of money, the power that an accelerator may draw.

use super::Catalog;
use super::accelerator::{Accelerator, LIMITED_TO};
use super::assumptions::{CostAssumptions, RackLines};
use super::entry::Entry;
use super::network::Network;
use super::offer::Terms;
use crate::diagnostic::{Diagnostic, code};
use crate::quantity::{Dimension, MicroUsd, Watts, parse};
use serde::Deserialize;

/// Another price of a part.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PriceChoice {
    /// Catalog or part id.
    pub id: String,
    /// Price of one; of an instance, that of an hour.
    pub usd: f64,
    /// Terms that an instance is rented on.
    pub terms: Option<String>,
}

impl PriceChoice {
    fn terms(&self) -> Terms {
        let named = self.terms.as_deref().and_then(Terms::from_name);
        named.unwrap_or(Terms::OnDemand)
    }
}

impl Catalog {
    /// The same catalog with other prices in place of its own, or of none: of accelerators, hosts,
    /// NICs, switches, cables, or of an hour of an offer, whose id has slashes.
    ///
    /// # Errors
    ///
    /// As of [`Catalog::sells`].
    pub fn at_prices(&self, choices: &[PriceChoice]) -> Result<Self, Vec<Diagnostic>> {
        let mut catalog = self.clone();
        for choice in choices {
            self.sells(choice)?;
            catalog.set_price(choice)?;
        }
        Ok(catalog)
    }

    /// Whether there is a part, or an offer on its terms, that can have another price.
    ///
    /// # Errors
    ///
    /// E001 with the nearest ids, if there is none; problems of the files of offers.
    pub fn sells(&self, choice: &PriceChoice) -> Result<(), Vec<Diagnostic>> {
        let id = choice.id.as_str();
        if id.contains('/') {
            let terms = choice.terms();
            let providers = self.providers()?.values();
            let offers: Vec<String> = providers.flat_map(|entry| entry.entity.on(terms)).collect();
            let known = || offers.iter().map(String::as_str);
            let kind = || format!("offer {}", terms.name());
            return if known().any(|offer| offer == id) {
                Ok(())
            } else {
                Err(vec![Diagnostic::unknown_name(&kind(), id, known())])
            };
        }
        let mut networks = self.networks.values().map(|entry| &entry.entity);
        let is_part = self.accelerators.contains_key(id)
            || self.hosts.contains_key(id)
            || networks.any(|network| network.parts().iter().any(|part| part.id == id));
        if is_part {
            Ok(())
        } else {
            Err(vec![self.unknown_part(id)])
        }
    }

    fn set_price(&mut self, choice: &PriceChoice) -> Result<(), Vec<Diagnostic>> {
        let price = MicroUsd::from_usd(choice.usd);
        let id = choice.id.as_str();
        if id.contains('/') {
            return self.set_rent(id, choice.terms(), price);
        }
        // A power limit does not change what an accelerator costs.
        let bought = self.accelerators.get(id);
        let bought = bought
            .map_or(id, |entry| entry.entity.model_id())
            .to_owned();
        for entry in self.accelerators.values_mut() {
            if entry.entity.model_id() == bought {
                entry.entity.price = Some(price);
                entry.say("price", price);
            }
        }
        if let Some(entry) = self.hosts.get_mut(id) {
            entry.entity.price = Some(price);
            entry.say("price", price);
        }
        for entry in self.networks.values_mut() {
            let parts = entry.entity.parts().into_iter();
            let of_part = parts.filter(|part| part.id == id).map(|part| part.table);
            let tables: Vec<String> = of_part.collect();
            for table in tables {
                entry.say(&format!("{table}.price"), price);
            }
            for (_, own) in entry.entity.prices().filter(|(own, _)| *own == id) {
                *own = Some(price);
            }
        }
        Ok(())
    }

    fn unknown_part(&self, id: &str) -> Diagnostic {
        let networks = || self.networks.values().map(|entry| &entry.entity);
        let parts: Vec<_> = networks().flat_map(Network::parts).collect();
        let known = (self.accelerators.keys().map(String::as_str))
            .chain(self.hosts.keys().map(String::as_str))
            .chain(parts.iter().map(|part| part.id));
        Diagnostic::unknown_name("part", id, known)
            .help_unless("an offer is `provider/instance/region`")
    }

    /// An accelerator below its power, under another name.
    ///
    /// # Errors
    ///
    /// E001 for an accelerator that does not exist, E003 for a limit that cannot be set, E004 where
    /// the assumptions do not say what it does.
    pub(crate) fn limited(
        &self,
        id: &str,
        limit: Watts,
        name: &str,
    ) -> Result<Accelerator, Diagnostic> {
        let accelerator = self.accelerator(id)?;
        let wrong = |code, message: String, accepted: String| {
            Diagnostic::new(code, message)
                .field("--accelerators")
                .value(name)
                .accepted(accepted)
        };
        let Some(exponent) = self.assumptions.entity.power_limit_exponent else {
            let message = "these assumptions do not say what a power limit does".to_owned();
            let accepted = format!("{id} alone");
            return Err(wrong(code::CONTRADICTION, message, accepted));
        };
        let full = accelerator.power.map_or(0.0, |power| power.0);
        let lowest = accelerator
            .min_power
            .map_or(full * LOWEST_SHARE, |power| power.0);
        if !(lowest..=full).contains(&limit.0) || limit.0 <= 0.0 {
            let said = name.rsplit(LIMITED_TO).next().unwrap_or(name);
            let message = format!("{id} cannot be limited to {said}");
            let accepted = format!("{lowest:.0} to {full:.0} W");
            return Err(wrong(code::OPTION_OUT_OF_RANGE, message, accepted));
        }
        let speed = (limit.0 / full).powf(exponent);
        Ok(accelerator.limited(name, limit, speed))
    }

    /// The same catalog with one accelerator more: `name` is an id and a power limit, or a profile of
    /// instances that a card is divided into.
    ///
    /// # Errors
    ///
    /// E001 for an accelerator that does not exist, E002 for a limit that is no power, E003 for one
    /// that cannot be set, E004 where the assumptions do not say what it does.
    pub fn with_power_limit(&self, name: &str) -> Result<Self, Diagnostic> {
        let (id, limit) = name.split_once(LIMITED_TO).unwrap_or((name, ""));
        let watts = parse(limit, Dimension::Watts).map_err(|_| {
            let message = format!("`{limit}` is no power limit");
            Diagnostic::new(code::MALFORMED_OPTION, message)
                .field("--accelerators")
                .value(name)
                .accepted(format!("such as {id}@300W"))
        });
        let known = self.accelerator(id)?;
        let mut profiles = known.profiles.iter();
        let limited = match profiles.find(|own| own.name == limit) {
            Some(profile) => known.divided(profile, name),
            None => self.limited(id, Watts(watts?), name)?,
        };
        let mut catalog = self.clone();
        if let Some(entry) = self.accelerators.get(id) {
            let mut entry = entry.clone();
            entry.entity = limited;
            catalog.accelerators.insert(name.to_owned(), entry);
        }
        Ok(catalog)
    }

    /// The same catalog with each accelerator below its power too, as far down as it goes: the
    /// same card of the same stock, which does less and draws less.
    #[must_use]
    pub fn with_lower_power(&self) -> Self {
        let mut catalog = self.clone();
        for (id, entry) in &self.accelerators {
            let (Some(full), None) = (entry.entity.power, &entry.entity.limited_from) else {
                continue;
            };
            for share in LOWER_POWER {
                let watts = (full.0 * share).round();
                let name = format!("{id}{LIMITED_TO}{watts}W");
                // Below its lowest limit there is no such accelerator.
                if let Ok(limited) = self.limited(id, Watts(watts), &name) {
                    let mut entry = entry.clone();
                    entry.entity = limited;
                    catalog.accelerators.insert(name, entry);
                }
            }
        }
        catalog
    }
}

/// Shares of its power that an accelerator is tried at where power is short.
const LOWER_POWER: [f64; 3] = [0.85, 0.7, 0.5];

/// Where no lowest limit is known, the share of its power that an accelerator can be limited to.
const LOWEST_SHARE: f64 = 0.5;

impl Catalog {
    /// The same catalog with some of the assumptions of cost in place of its own.
    #[must_use]
    pub fn with_cost(&self, choice: CostChoice) -> Self {
        let mut catalog = self.clone();
        choice.put_into(&mut catalog.assumptions.entity.cost);
        catalog.furnish();
        catalog
    }

    /// Lets hosts in racks come with what the assumptions say, taxed as all else is.
    pub(super) fn furnish(&mut self) {
        let lines = self.assumptions.entity.cost.lines;
        let taxed = RackLines {
            front_end_usd_per_accelerator: lines.front_end_usd_per_accelerator * self.gross,
            management_usd_per_host: lines.management_usd_per_host * self.gross,
            storage_usd_per_accelerator: lines.storage_usd_per_accelerator * self.gross,
            racks_usd_per_rack: lines.racks_usd_per_rack * self.gross,
            memory_usd_per_host: lines.memory_usd_per_host * self.gross,
            disks_usd_per_host: lines.disks_usd_per_host * self.gross,
            ..lines
        };
        let on_a_desk = RackLines {
            memory_usd_per_host: taxed.memory_usd_per_host,
            disks_usd_per_host: taxed.disks_usd_per_host,
            ..RackLines::default()
        };
        for Entry { entity, .. } in self.hosts.values_mut() {
            entity.lines = if entity.rack_units > 0.0 {
                taxed
            } else {
                on_a_desk
            };
        }
    }
}

/// What is counted otherwise than the assumptions do.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CostChoice {
    /// Years that a purchase is written off over.
    pub years: Option<f64>,
    /// Share of the hours that are busy.
    pub duty: Option<f64>,
    /// Share of the idle hours that what is rented on demand goes back in.
    pub regained: Option<f64>,
    /// Price of energy.
    pub electricity_usd_per_kwh: Option<f64>,
    /// Power usage effectiveness.
    pub pue: Option<f64>,
    /// Colocation of a kilowatt, dollars per month.
    #[serde(alias = "colocation")]
    pub colocation_usd_per_kw_month: Option<f64>,
    /// Support of a year, as a share of the price.
    #[serde(alias = "support")]
    pub support_per_year: Option<f64>,
    /// Front-end ports for an accelerator, dollars.
    pub front_end: Option<f64>,
    /// Management ports of a host, dollars.
    pub management: Option<f64>,
    /// Storage of a run for an accelerator, dollars.
    pub storage: Option<f64>,
    /// A rack with its power strips, dollars.
    pub racks: Option<f64>,
    /// Freight and integration, as a share of all parts.
    pub freight: Option<f64>,
    /// Spare parts, as a share of all parts.
    pub spares: Option<f64>,
    /// Memory that each host is bought with beside its own, bytes.
    pub memory_bytes: Option<f64>,
    /// Disks that each host is bought with for KV caches.
    pub disks: Option<f64>,
    /// People who look after a rack, dollars per year.
    pub staff_usd_per_rack_year: Option<f64>,
    /// Interest of a year.
    pub wacc: Option<f64>,
    /// Kilograms of carbon dioxide for a kWh.
    pub carbon_kg_per_kwh: Option<f64>,
}

const TERABYTE: f64 = 1e12;

impl CostChoice {
    /// Puts what is given in the place of assumptions.
    fn put_into(self, cost: &mut CostAssumptions) {
        cost.years = self.years.unwrap_or(cost.years);
        cost.duty = self.duty.unwrap_or(cost.duty);
        cost.regained = self.regained.unwrap_or(cost.regained);
        let own = cost.electricity_usd_per_kwh;
        cost.electricity_usd_per_kwh = self.electricity_usd_per_kwh.unwrap_or(own);
        cost.pue = self.pue.unwrap_or(cost.pue);
        let own = cost.colocation_usd_per_kw_month;
        cost.colocation_usd_per_kw_month = self.colocation_usd_per_kw_month.unwrap_or(own);
        cost.support_per_year = self.support_per_year.unwrap_or(cost.support_per_year);
        let own = cost.staff_usd_per_rack_year;
        cost.staff_usd_per_rack_year = self.staff_usd_per_rack_year.unwrap_or(own);
        cost.wacc = self.wacc.unwrap_or(cost.wacc);
        let lines = &mut cost.lines;
        for (line, other) in [
            (&mut lines.front_end_usd_per_accelerator, self.front_end),
            (&mut lines.management_usd_per_host, self.management),
            (&mut lines.storage_usd_per_accelerator, self.storage),
            (&mut lines.racks_usd_per_rack, self.racks),
            (&mut lines.freight, self.freight),
            (&mut lines.spares, self.spares),
        ] {
            *line = other.unwrap_or(*line);
        }
        if let Some(bytes) = self.memory_bytes {
            lines.memory_usd_per_host = bytes / TERABYTE * cost.memory_usd_per_tb;
        }
        if let Some(disks) = self.disks {
            lines.disks_usd_per_host = disks * cost.cache_disk_usd;
        }
        cost.carbon_kg_per_kwh = self.carbon_kg_per_kwh.or(cost.carbon_kg_per_kwh);
    }
}
