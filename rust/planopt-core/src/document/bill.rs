//! A line of a bill of materials.

use crate::bill::BillLine;
use serde::Serialize;

/// A line of a bill of materials in dollars.
#[derive(Clone, Debug, Serialize)]
pub struct BillAnswer {
    /// Kind of part.
    pub kind: &'static str,
    /// Catalog or part id.
    pub id: String,
    /// Full name.
    pub name: String,
    /// How many.
    pub quantity: u32,
    /// Price of one, in micro-dollars.
    pub unit_price_micro_usd: i64,
}

impl From<&BillLine> for BillAnswer {
    fn from(line: &BillLine) -> Self {
        Self {
            kind: line.kind,
            id: line.id.clone(),
            name: line.name.clone(),
            quantity: line.quantity,
            unit_price_micro_usd: line.unit_price.0,
        }
    }
}
