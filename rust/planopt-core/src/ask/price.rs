//! The same catalog at other prices: how far a choice holds is found by asking again.

use serde::Deserialize;

use crate::catalog::{Catalog, LIMITED_TO, Terms};
use crate::diagnostic::Diagnostic;
use crate::quantity::MicroUsd;

/// Another price of a part, named as its line of a bill of materials.
#[derive(Clone, Debug, Deserialize)]
pub struct PriceChoice {
    /// Kind of part.
    pub kind: String,
    /// Catalog or part id.
    pub id: String,
    /// Price of one; of an instance, that of an hour.
    pub usd: f64,
    /// Terms that an instance is rented on.
    #[serde(default)]
    pub terms: Option<String>,
}

impl Catalog {
    /// The same catalog with one price in place of its own; a part that it does not have, and one
    /// that has no price, keeps having none.
    ///
    /// # Errors
    ///
    /// Problems of the files of offers, if it is about one of them.
    pub fn at_price(&self, choice: &PriceChoice) -> Result<Self, Vec<Diagnostic>> {
        let mut catalog = self.clone();
        let price = MicroUsd::from_usd(choice.usd);
        let id = choice.id.as_str();
        let set = |own: &mut Option<MicroUsd>| *own = own.map(|_| price);
        match choice.kind.as_str() {
            "accelerator" => {
                let bought = id.split(LIMITED_TO).next().unwrap_or(id);
                for entry in catalog.accelerators.values_mut() {
                    if entry.entity.model_id() == bought {
                        set(&mut entry.entity.price);
                    }
                }
            }
            "host" => {
                if let Some(entry) = catalog.hosts.get_mut(id) {
                    set(&mut entry.entity.price);
                }
            }
            "instance" => {
                let terms = choice.terms.as_deref().and_then(Terms::from_name);
                catalog.set_rent(id, terms.unwrap_or(Terms::OnDemand), price)?;
            }
            _ => {
                for entry in catalog.networks.values_mut() {
                    let network = &mut entry.entity;
                    if network.nic.id == id {
                        set(&mut network.nic.price);
                    }
                    for switch in network.switches.iter_mut().filter(|each| each.id == id) {
                        set(&mut switch.price);
                    }
                    if let Some(cable) = network.cable.as_mut().filter(|each| each.id == id) {
                        cable.price = price;
                    }
                }
            }
        }
        Ok(catalog)
    }
}
