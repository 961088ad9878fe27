//! A line of a bill of materials.

use crate::bill::BillLine;
use crate::catalog::PartKind;
use crate::quantity::MicroUsd;
use serde::{Deserialize, Serialize};

/// One line of a bill of materials.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BomLine {
    /// What it is.
    pub kind: PartKind,
    /// Catalog or part id.
    pub id: String,
    /// Full name.
    pub name: String,
    /// How many.
    pub quantity: u64,
    /// Price of one.
    pub unit_price_usd: Option<f64>,
    /// Price of all.
    pub price_usd: Option<f64>,
    /// Rent of one, where it is rented: it has no price then.
    pub unit_usd_per_hour: Option<f64>,
    /// Rent of all.
    pub usd_per_hour: Option<f64>,
    /// Where the unit price comes from.
    pub source: Option<String>,
    /// When it was published or read; may lack its day or month.
    pub price_date: Option<String>,
    /// How well it is known.
    pub price_status: Option<String>,
    /// Whether it is bought used.
    #[serde(default)]
    pub used: bool,
    /// Whether it is there already: then it costs nothing.
    #[serde(default)]
    pub owned: bool,
    /// What one is seen at.
    pub unit_price_low_usd: Option<f64>,
    /// The same, at most.
    pub unit_price_high_usd: Option<f64>,
}

impl BomLine {
    /// So many of a part, without where its price comes from.
    pub fn times(line: &BillLine, quantity: u64) -> Self {
        let (one, all) = (line.unit_price.usd(), usd(line.unit_price, quantity));
        let rented = line.is_rented();
        Self {
            kind: line.kind,
            id: line.id.clone(),
            name: line.name.clone(),
            quantity,
            unit_price_usd: (!rented).then_some(one),
            price_usd: (!rented).then_some(all),
            unit_usd_per_hour: rented.then_some(one),
            usd_per_hour: rented.then_some(all),
            source: None,
            price_date: None,
            price_status: None,
            used: false,
            owned: line.owned,
            unit_price_low_usd: None,
            unit_price_high_usd: None,
        }
    }

    /// Whether it is rented: it has no price then.
    pub(crate) fn is_rented(&self) -> bool {
        self.unit_usd_per_hour.is_some()
    }

    /// The bill of one cluster or unit.
    pub(crate) fn each(lines: &[BillLine]) -> Vec<Self> {
        let times = |line: &BillLine| Self::times(line, u64::from(line.quantity));
        lines.iter().map(times).collect()
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "below 2^53 micro-dollars, nine billion dollars"
)]
fn usd(price: MicroUsd, quantity: u64) -> f64 {
    (i128::from(price.0) * i128::from(quantity)) as f64 / 1e6
}
