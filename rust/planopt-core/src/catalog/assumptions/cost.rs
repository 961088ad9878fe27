//! Money over time.

use crate::catalog::declared::{maybe, number_of, or, same, table, unread};
use crate::catalog::fields::{factor, number, part, share};
use crate::quantity::Dimension;

table! {
    /// Money over time.
    #[derive(Clone, Copy, Debug, serde::Serialize)]
    pub struct CostAssumptions {
        /// Years over which the purchase is written off.
        pub years: f64 = factor,
        /// Share of the price left then.
        pub residual: f64 = part,
        /// Price of electricity, dollars per kWh.
        pub electricity_usd_per_kwh: f64 as "electricity" = number_of(Dimension::UsdPerKwh),
        /// Share of hours busy.
        pub duty: f64 = share,
        /// Share of the idle hours that what is rented on demand goes back in, as it is had again when it
        /// is needed; nothing is published of the chance of that.
        pub regained: f64 = or(0.0, part),
        /// Power usage effectiveness of a hall; what is not in a rack stands in none.
        pub pue: f64 = factor,
        /// Rent of a rack, dollars per month.
        pub rack_usd_per_month: f64 as "rack" = number_of(Dimension::UsdPerMonth),
        /// Units of a rack.
        pub rack_units: f64 = factor,
        /// Colocation of a kilowatt, drawn or not, dollars per month.
        pub colocation_usd_per_kw_month: f64 as "colocation" = or(0.0, number_of(Dimension::UsdPerMonth)),
        /// Support of a year, as a share of the price.
        pub support_per_year: f64 as "support" = or(0.0, part),
        /// People who look after a rack, dollars per year.
        pub staff_usd_per_rack_year: f64 as "staff" = or(0.0, number_of(Dimension::Usd)),
        /// Interest on what a purchase still binds (weighted average cost of capital), a year.
        pub wacc: f64 = or(0.0, part),
        /// What a host in a rack is bought with.
        #[serde(flatten)]
        pub lines: RackLines = same,
        /// Memory that a host is bought with beside its own, dollars a terabyte.
        pub memory_usd_per_tb: f64 as "memory" = or(0.0, number_of(Dimension::Usd)),
        /// A disk that it is bought with for KV caches, dollars.
        pub cache_disk_usd: f64 as "disks" = or(0.0, number_of(Dimension::Usd)),
        /// Draw of an accelerator at work, as a share of its power limit.
        pub load_fraction: f64 = part,
        /// Price of a million tokens from those who serve models, where the set has one.
        pub hosted_usd_per_million_tokens: Option<f64> as "hosted_million_tokens" = maybe(number_of(Dimension::Usd)),
        /// Carbon dioxide and its equivalents of a kilowatt-hour, in kg, where the set says.
        pub carbon_kg_per_kwh: Option<f64> = maybe(number),
    }
}

impl CostAssumptions {
    /// Share of all hours that are paid of what is rented on demand.
    #[must_use]
    pub fn paid_on_demand(&self) -> f64 {
        1.0 - self.regained * (1.0 - self.duty)
    }

    /// What holds where so many rack units are taken: what takes none stands on somebody's desk, with
    /// no hall, contract or lender to pay.
    #[must_use]
    pub fn housed(&self, rack_units: f64) -> Self {
        if rack_units > 0.0 {
            return *self;
        }
        Self {
            pue: 1.0,
            colocation_usd_per_kw_month: 0.0,
            support_per_year: 0.0,
            wacc: 0.0,
            ..*self
        }
    }
}

table! {
    /// What a host in a rack is bought with beside its parts.
    #[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
    pub struct RackLines {
        /// Front-end ports, optics and cables for an accelerator, dollars.
        pub front_end_usd_per_accelerator: f64 as "front_end" = or(0.0, number_of(Dimension::Usd)),
        /// Management ports of a host, dollars.
        pub management_usd_per_host: f64 as "management" = or(0.0, number_of(Dimension::Usd)),
        /// Storage of a run for an accelerator, dollars.
        pub storage_usd_per_accelerator: f64 as "storage" = or(0.0, number_of(Dimension::Usd)),
        /// A rack with its power strips, dollars.
        pub racks_usd_per_rack: f64 as "racks" = or(0.0, number_of(Dimension::Usd)),
        /// Power that a rack takes, kilowatts.
        pub rack_kilowatts: f64 = or(0.0, number),
        /// Freight and integration, as a share of all parts.
        pub freight: f64 = or(0.0, part),
        /// Spare parts, as a share of all parts.
        pub spares: f64 = or(0.0, part),
        /// Memory for KV caches beside that of a host, dollars: in racks or not.
        pub memory_usd_per_host: f64 = unread(0.0),
        /// Disks for the same.
        pub disks_usd_per_host: f64 = unread(0.0),
    }
}
