//! Money over time: purchase written off, electricity, hosting; rent.
//! Formulas: `docs/reference/model.md`, section 7.

use crate::catalog::CostAssumptions;
use crate::quantity::{SECONDS_PER_HOUR, TOKENS_PER_MILLION, Watts};
use serde::Serialize;

/// Hours of a year.
pub const HOURS_PER_YEAR: f64 = 8760.0;

/// Hours of a month.
pub const HOURS_PER_MONTH: f64 = HOURS_PER_YEAR / 12.0;

const WATTS_PER_KILOWATT: f64 = 1e3;

/// What tokens cost on hardware that is bought, or rented.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Cost {
    /// Purchase.
    pub price_usd: f64,
    /// What owning costs, or rent, per hour.
    pub usd_per_hour: f64,
    /// Of it, the purchase written off.
    pub capital_usd_per_hour: f64,
    /// Of it, interest.
    pub financing_usd_per_hour: f64,
    /// Of it, electricity.
    pub energy_usd_per_hour: f64,
    /// Of it, hosting: racks by their height, colocation by its power.
    pub hosting_usd_per_hour: f64,
    /// Of it, support and staff.
    pub service_usd_per_hour: f64,
    /// Rent in place of all of these.
    pub rent_usd_per_hour: f64,
    /// Per million tokens put out.
    pub usd_per_million_tokens: f64,
    /// Its inverse, in tokens.
    pub tokens_per_usd: f64,
}

/// Cost of hardware that puts out `tokens_per_second` while it is busy; what takes no rack units
/// stands in no hall.
pub fn of_purchase(
    price_usd: f64,
    power: Watts,
    rack_units: f64,
    tokens_per_second: f64,
    assumptions: &CostAssumptions,
) -> Cost {
    let housed = assumptions.housed(rack_units);
    let (years, residual) = (housed.years, housed.residual);
    let capital = capital_per_hour(price_usd, years, residual);
    let financing = financing_per_hour(price_usd, years, residual, housed.wacc);
    let energy = energy_per_hour(
        power,
        housed.duty,
        housed.pue,
        housed.electricity_usd_per_kwh,
    );
    let hosting = hosting_per_hour(rack_units, housed.rack_units, housed.rack_usd_per_month)
        + power.0 / WATTS_PER_KILOWATT * housed.colocation_usd_per_kw_month / HOURS_PER_MONTH;
    let staff = rack_units / housed.rack_units * housed.staff_usd_per_rack_year;
    let service = (price_usd * housed.support_per_year + staff) / HOURS_PER_YEAR;
    let usd_per_hour = capital + financing + energy + hosting + service;
    let tokens_per_usd = tokens_per_usd(tokens_per_second, housed.duty, usd_per_hour);
    Cost {
        price_usd,
        usd_per_hour,
        capital_usd_per_hour: capital,
        financing_usd_per_hour: financing,
        energy_usd_per_hour: energy,
        hosting_usd_per_hour: hosting,
        service_usd_per_hour: service,
        rent_usd_per_hour: 0.0,
        usd_per_million_tokens: TOKENS_PER_MILLION / tokens_per_usd,
        tokens_per_usd,
    }
}

/// Cost of instances at `usd_per_hour`, of which the share `paid` of all hours is paid and the
/// share `duty` is busy.
pub fn of_rent(usd_per_hour: f64, paid: f64, tokens_per_second: f64, duty: f64) -> Cost {
    let usd_per_hour = rent(usd_per_hour, 1.0, paid);
    let tokens_per_usd = tokens_per_usd(tokens_per_second, duty, usd_per_hour);
    Cost {
        price_usd: 0.0,
        usd_per_hour,
        capital_usd_per_hour: 0.0,
        financing_usd_per_hour: 0.0,
        energy_usd_per_hour: 0.0,
        hosting_usd_per_hour: 0.0,
        service_usd_per_hour: 0.0,
        rent_usd_per_hour: usd_per_hour,
        usd_per_million_tokens: TOKENS_PER_MILLION / tokens_per_usd,
        tokens_per_usd,
    }
}

/// A purchase written off evenly over `years`, less the share of it that is left then.
pub fn capital_per_hour(price_usd: f64, years: f64, residual: f64) -> f64 {
    price_usd * (1.0 - residual) / (years * HOURS_PER_YEAR)
}

/// Interest at the rate `wacc` a year on what is not yet written off: an annuity of the price, less
/// one of what is left, beyond writing off evenly (Brealey, Myers and Allen, "Principles of Corporate
/// Finance", equivalent annual cost).
pub fn financing_per_hour(price_usd: f64, years: f64, residual: f64, wacc: f64) -> f64 {
    if wacc <= 0.0 {
        return 0.0;
    }
    let sinking = wacc / ((1.0 + wacc).powf(years) - 1.0);
    let annuity = price_usd * (sinking + wacc - residual * sinking) / HOURS_PER_YEAR;
    annuity - capital_per_hour(price_usd, years, residual)
}

/// Electricity, at the share of hours that are busy.
pub fn energy_per_hour(power: Watts, duty: f64, pue: f64, usd_per_kwh: f64) -> f64 {
    energy_kwh(power, 1.0, duty, pue) * usd_per_kwh
}

/// Energy in kWh that `hours` take, of which the share `duty` is busy.
pub fn energy_kwh(power: Watts, hours: f64, duty: f64, pue: f64) -> f64 {
    power.0 / WATTS_PER_KILOWATT * hours * duty * pue
}

/// Rent of `rack_units` of a rack that has `units_per_rack`.
pub fn hosting_per_hour(rack_units: f64, units_per_rack: f64, usd_per_month: f64) -> f64 {
    rack_units / units_per_rack * usd_per_month / HOURS_PER_MONTH
}

/// Tokens that a dollar buys where an hour costs `usd_per_hour`, idle or not.
pub fn tokens_per_usd(tokens_per_second: f64, duty: f64, usd_per_hour: f64) -> f64 {
    tokens_per_second * SECONDS_PER_HOUR * duty / usd_per_hour
}

/// Bill of a rented machine that is returned whenever it is idle: the share `duty` of `hours`.
pub fn rent(usd_per_hour: f64, hours: f64, duty: f64) -> f64 {
    usd_per_hour * hours * duty
}

/// Day on which a purchase with its running cost has cost as much as renting, if it ever does; rents
/// fall by a share a year, evenly.
pub fn break_even_days(
    price_usd: f64,
    own_usd_per_day: f64,
    rent_usd_per_day: f64,
    fall_a_year: f64,
) -> Option<f64> {
    let saved_per_day = rent_usd_per_day - own_usd_per_day;
    if saved_per_day <= 0.0 {
        return None;
    }
    let at_once = price_usd / saved_per_day;
    if fall_a_year <= 0.0 {
        return Some(at_once);
    }
    let fall = -(1.0 - fall_a_year).ln() / (HOURS_PER_YEAR / 24.0);
    let saved =
        |day: f64| rent_usd_per_day * -(-fall * day).exp_m1() / fall - own_usd_per_day * day;
    // Beyond the last day on which rent is the dearer of the two nothing more is saved.
    let last = (rent_usd_per_day / own_usd_per_day).ln() / fall;
    let (mut low, mut high) = (at_once, last.min(LONGEST_DAYS));
    if saved(high) < price_usd {
        return None;
    }
    for _ in 0..HALVINGS {
        let day = low.midpoint(high);
        if saved(day) < price_usd {
            low = day;
        } else {
            high = day;
        }
    }
    Some(high)
}

/// A century: nobody waits longer for a purchase to pay.
const LONGEST_DAYS: f64 = 36_500.0;

/// Of a century: what is left is below a millionth of a day.
const HALVINGS: u32 = 60;

/// Share of busy hours from which on owning costs no more than renting: owning costs `fixed` in
/// any hour and `energy` more in a busy one, renting `rent` in a busy one alone. None if even
/// busy all the time it does not pay.
pub fn break_even_duty(
    fixed_usd_per_hour: f64,
    energy_usd_per_hour: f64,
    rent_usd_per_hour: f64,
) -> Option<f64> {
    let saved = rent_usd_per_hour - energy_usd_per_hour;
    (saved > 0.0)
        .then(|| fixed_usd_per_hour / saved)
        .filter(|duty| *duty <= 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64) {
        assert!(
            (found / expected - 1.0).abs() < 1e-12,
            "{found} is not {expected}"
        );
    }

    #[test]
    fn energy_is_kilowatts_times_busy_hours() {
        close(energy_kwh(Watts(450.0), 8760.0, 0.15, 1.0), 591.3);
        close(energy_kwh(Watts(450.0), 8760.0, 0.15, 1.2), 591.3 * 1.2);
        close(energy_per_hour(Watts(5200.0), 1.0, 1.0, 0.1), 0.52);
    }

    #[test]
    fn a_loan_is_paid_back_with_its_interest() {
        // An annuity factor of 0.3880335 for 3 years at 8 %, and of 1/3 without interest.
        let hourly = financing_per_hour(1e6, 3.0, 0.0, 0.08);
        assert!((hourly * HOURS_PER_YEAR - (388_033.5 - 1e6 / 3.0)).abs() < 1.0);
        // What is left is lent, and never paid back.
        close(
            financing_per_hour(1e6, 3.0, 1.0, 0.08) * HOURS_PER_YEAR,
            80_000.0,
        );
        close(1.0 + financing_per_hour(1e6, 3.0, 0.0, 0.0), 1.0);
    }

    #[test]
    fn hosting_is_the_share_of_a_rack() {
        close(hosting_per_hour(10.5, 42.0, 1500.0), 1500.0 / 4.0 / 730.0);
    }

    #[test]
    fn an_idle_machine_puts_out_nothing_for_its_money() {
        close(tokens_per_usd(12_200.0, 1.0, 2.5), 17_568_000.0);
        close(tokens_per_usd(12_200.0, 0.5, 2.5), 17_568_000.0 / 2.0);
    }

    #[test]
    fn rent_is_paid_while_busy() {
        close(rent(2.14, 7200.0, 0.15), 2311.2);
    }

    #[test]
    fn owning_pays_from_that_share_of_busy_hours_on() {
        let duty = break_even_duty(0.5, 0.25, 2.25).unwrap_or(0.0);
        close(duty, 0.25);
        close(0.5 + 0.25 * duty, 2.25 * duty);
        assert_eq!(break_even_duty(0.5, 0.25, 0.7), None);
        assert_eq!(break_even_duty(0.5, 0.25, 0.25), None);
    }

    #[test]
    fn a_purchase_breaks_even_only_where_renting_costs_more() {
        close(
            break_even_days(2200.0, 1.0, 12.0, 0.0).unwrap_or(0.0),
            200.0,
        );
        assert_eq!(break_even_days(2200.0, 12.0, 12.0, 0.0), None);
    }

    /// Rent of 365 dollars in the first year at an even fall of a half a year: after a year the sum is
    /// 365 * 0.5 / ln 2, and never more than 365 / ln 2.
    #[test]
    fn falling_rents_put_it_off_or_away() {
        let year = 365.0 * 0.5 / 2.0_f64.ln();
        close(break_even_days(year, 0.0, 1.0, 0.5).unwrap_or(0.0), 365.0);
        assert_eq!(break_even_days(2.1 * year, 0.0, 1.0, 0.5), None);
        // Rent is below what owning costs from the first year's end on.
        let day = break_even_days(year - 182.6, 0.5, 1.0, 0.5);
        assert!(day.is_some_and(|day| (300.0..365.0).contains(&day)));
        assert_eq!(break_even_days(year - 182.4, 0.5, 1.0, 0.5), None);
    }
}
