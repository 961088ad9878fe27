//! What may not be exceeded by a cluster that is bought as one.

use crate::quantity::{MicroUsd, Watts};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a purchase may not exceed.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct ClusterLimits {
    /// Its price; that of the whole run where that is rented.
    pub price_usd: Option<f64>,
    /// Draw at work.
    pub power_watts: Option<f64>,
    /// Rack units.
    pub rack_units: Option<f64>,
    /// Accelerators that can be had, by id.
    pub stock: BTreeMap<String, u32>,
}

impl ClusterLimits {
    /// Its price, at most.
    pub(super) fn price(&self) -> Option<MicroUsd> {
        self.price_usd.map(MicroUsd::from_usd)
    }

    /// Whether there is power and room for it.
    pub(super) fn hosts(&self, power: Watts, rack_units: f64) -> bool {
        self.power_watts.is_none_or(|most| power.0 <= most)
            && self.rack_units.is_none_or(|most| rack_units <= most)
    }
}
