//! Bills of materials.

use crate::catalog::PartKind;
use crate::quantity::MicroUsd;
use serde::Serialize;

/// One line of a bill of materials.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BillLine {
    /// What it is.
    pub kind: PartKind,
    /// Catalog or part id.
    pub id: String,
    /// Full name.
    pub name: String,
    /// How many.
    pub quantity: u32,
    /// Price of one; of an instance, that of an hour.
    #[serde(rename = "unit_price_micro_usd")]
    pub unit_price: MicroUsd,
    /// Whether they are there already: then they cost nothing.
    pub owned: bool,
}

impl BillLine {
    /// Price of the line.
    pub fn price(&self) -> MicroUsd {
        self.unit_price * self.quantity
    }

    /// The same, as one sum where it is paid so.
    pub(super) fn summed(self) -> Self {
        if !self.kind.is_sum() {
            return self;
        }
        Self {
            quantity: 1,
            unit_price: self.price(),
            ..self
        }
    }

    /// Whether it is rented: its price is that of an hour.
    pub fn is_rented(&self) -> bool {
        self.kind == PartKind::Instance
    }
}
