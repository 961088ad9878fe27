//! Money over time: purchase written off, electricity, hosting.
//! Formulas: `docs/reference/model.md`, section 7.

use serde::Serialize;

use crate::catalog::CostAssumptions;
use crate::quantity::Watts;

/// Hours of a year.
pub const HOURS_PER_YEAR: f64 = 8760.0;
/// Hours of a month.
pub const HOURS_PER_MONTH: f64 = HOURS_PER_YEAR / 12.0;
const SECONDS_PER_HOUR: f64 = 3600.0;
const TOKENS_PER_MILLION: f64 = 1e6;
const WATTS_PER_KILOWATT: f64 = 1e3;

/// What tokens cost on bought hardware.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Cost {
    /// Purchase.
    pub price_usd: f64,
    /// Purchase written off, electricity and hosting, per hour.
    pub usd_per_hour: f64,
    /// Of it, the purchase written off.
    pub capital_usd_per_hour: f64,
    /// Of it, electricity.
    pub energy_usd_per_hour: f64,
    /// Of it, hosting.
    pub hosting_usd_per_hour: f64,
    /// Per million tokens put out.
    pub usd_per_million_tokens: f64,
    /// Its inverse, in tokens.
    pub tokens_per_usd: f64,
}

/// Cost of hardware that puts out `tokens_per_second` while it is busy.
pub fn of_purchase(
    price_usd: f64,
    power: Watts,
    rack_units: f64,
    tokens_per_second: f64,
    assumptions: &CostAssumptions,
) -> Cost {
    let capital = capital_per_hour(price_usd, assumptions.years, assumptions.residual);
    let energy = energy_per_hour(
        power,
        assumptions.duty,
        assumptions.pue,
        assumptions.electricity_usd_per_kwh,
    );
    let hosting = hosting_per_hour(rack_units, assumptions);
    let usd_per_hour = capital + energy + hosting;
    let tokens_per_hour = tokens_per_second * SECONDS_PER_HOUR * assumptions.duty;
    Cost {
        price_usd,
        usd_per_hour,
        capital_usd_per_hour: capital,
        energy_usd_per_hour: energy,
        hosting_usd_per_hour: hosting,
        usd_per_million_tokens: usd_per_hour / (tokens_per_hour / TOKENS_PER_MILLION),
        tokens_per_usd: tokens_per_hour / usd_per_hour,
    }
}

/// A purchase written off evenly over `years`, less the share of it that is left then.
pub fn capital_per_hour(price_usd: f64, years: f64, residual: f64) -> f64 {
    price_usd * (1.0 - residual) / (years * HOURS_PER_YEAR)
}

/// Electricity, at the share of hours that are busy.
pub fn energy_per_hour(power: Watts, duty: f64, pue: f64, usd_per_kwh: f64) -> f64 {
    power.0 / WATTS_PER_KILOWATT * duty * pue * usd_per_kwh
}

/// Rent of a share of a rack.
pub fn hosting_per_hour(rack_units: f64, assumptions: &CostAssumptions) -> f64 {
    rack_units / assumptions.rack_units * assumptions.rack_usd_per_month / HOURS_PER_MONTH
}

/// Day on which a purchase with its running cost has cost as much as renting, if it ever does.
pub fn break_even_days(price_usd: f64, own_usd_per_day: f64, rent_usd_per_day: f64) -> Option<f64> {
    let saved_per_day = rent_usd_per_day - own_usd_per_day;
    (saved_per_day > 0.0).then(|| price_usd / saved_per_day)
}
