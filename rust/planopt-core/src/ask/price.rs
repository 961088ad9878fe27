//! The same catalog at other prices: how far a choice holds is found by asking again, and
//! whoever knows a price better says so.

use serde::Deserialize;

use crate::catalog::{Catalog, LIMITED_TO, Network, Terms};
use crate::diagnostic::Diagnostic;
use crate::quantity::MicroUsd;

/// Another price of a part.
#[derive(Clone, Debug, Deserialize)]
pub struct PriceChoice {
    /// Catalog or part id.
    pub id: String,
    /// Price of one; of an instance, that of an hour.
    pub usd: f64,
    /// Terms that an instance is rented on.
    #[serde(default)]
    pub terms: Option<String>,
}

impl Catalog {
    /// The same catalog with one price in place of its own, or of none: of an accelerator, a host, a
    /// NIC, a switch, a cable, or of an hour of an offer, whose id has slashes.
    ///
    /// # Errors
    ///
    /// E001 with the nearest ids, if there is no such part; problems of the files of offers.
    pub fn at_price(&self, choice: &PriceChoice) -> Result<Self, Vec<Diagnostic>> {
        let mut catalog = self.clone();
        let price = MicroUsd::from_usd(choice.usd);
        let id = choice.id.as_str();
        if id.contains('/') {
            let terms = choice.terms.as_deref().and_then(Terms::from_name);
            catalog.set_rent(id, terms.unwrap_or(Terms::OnDemand), price)?;
            return Ok(catalog);
        }
        let mut known = false;
        // A power limit does not change what an accelerator costs.
        let bought = id.split(LIMITED_TO).next().unwrap_or(id);
        for entry in catalog.accelerators.values_mut() {
            if entry.entity.model_id() == bought {
                entry.entity.price = Some(price);
                entry.say("price", price);
                known = true;
            }
        }
        if let Some(entry) = catalog.hosts.get_mut(id) {
            entry.entity.price = Some(price);
            entry.say("price", price);
            known = true;
        }
        for entry in catalog.networks.values_mut() {
            let parts = entry.entity.parts().into_iter();
            let tables: Vec<String> = parts
                .filter(|part| part.id == id)
                .map(|part| part.table)
                .collect();
            known |= !tables.is_empty();
            for table in tables {
                entry.say(&format!("{table}.price"), price);
            }
            entry.entity.set_price(id, price);
        }
        if known {
            Ok(catalog)
        } else {
            Err(vec![self.unknown_part(id)])
        }
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
}

impl Network {
    fn set_price(&mut self, id: &str, price: MicroUsd) {
        if self.nic.id == id {
            self.nic.price = Some(price);
        }
        for switch in self.switches.iter_mut().filter(|each| each.id == id) {
            switch.price = Some(price);
        }
        if let Some(cable) = self.cable.as_mut().filter(|each| each.id == id) {
            cable.price = price;
        }
    }
}
