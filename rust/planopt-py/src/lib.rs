//! Python's door to `planopt-core`: names in, plain mappings out, no arithmetic.

mod catalog;
mod errors;
mod interrupt;

use pyo3::prelude::*;

/// The compiled core of planopt.
#[pymodule(gil_used = false)]
mod _native {
    use pyo3::prelude::*;
    use pyo3::types::PyDict;

    #[pymodule_export]
    use crate::catalog::Catalog;

    use planopt_core::{cost, quantity, serving};

    use crate::errors::quantity_error;

    /// Reads a quantity with its unit.
    ///
    /// Parameters
    /// ----------
    /// text : str
    ///     Such as ``5tok/s`` or ``$20k``.
    /// dimension : str
    ///     What it measures, such as ``tokens_per_second``.
    ///
    /// Returns
    /// -------
    /// float
    ///     In SI units: bytes, bytes/s, FLOP/s, seconds, watts, dollars, tokens/s.
    ///
    /// Raises
    /// ------
    /// `ValueError`
    ///     With ``(kind, message, accepted)``; ``kind`` is ``malformed`` or ``range``.
    #[pyfunction]
    fn parse_quantity(text: &str, dimension: &str) -> PyResult<f64> {
        let dimension = quantity::Dimension::from_name(dimension)
            .ok_or_else(|| pyo3::exceptions::PyKeyError::new_err(dimension.to_owned()))?;
        quantity::parse(text, dimension).map_err(|error| quantity_error(&error))
    }

    /// Dollars per hour of a purchase written off evenly over some years.
    #[pyfunction]
    fn capital_usd_per_hour(price_usd: f64, years: f64) -> f64 {
        cost::capital_per_hour(price_usd, years, 0.0)
    }

    /// Dollars per hour of electricity, at the share of hours that are busy.
    #[pyfunction]
    fn energy_usd_per_hour(power_watts: f64, duty: f64, pue: f64, usd_per_kwh: f64) -> f64 {
        cost::energy_per_hour(quantity::Watts(power_watts), duty, pue, usd_per_kwh)
    }

    /// Energy in kWh that some hours take, of which the share `duty` is busy.
    #[pyfunction]
    fn energy_kwh(power_watts: f64, hours: f64, duty: f64, pue: f64) -> f64 {
        cost::energy_kwh(quantity::Watts(power_watts), hours, duty, pue)
    }

    /// Dollars per hour of some units of a rented rack.
    #[pyfunction]
    fn hosting_usd_per_hour(rack_units: f64, units_per_rack: f64, usd_per_month: f64) -> f64 {
        cost::hosting_per_hour(rack_units, units_per_rack, usd_per_month)
    }

    /// Tokens that a dollar buys.
    #[pyfunction]
    fn tokens_per_usd(tokens_per_second: f64, duty: f64, usd_per_hour: f64) -> f64 {
        cost::tokens_per_usd(tokens_per_second, duty, usd_per_hour)
    }

    /// Dollars for a rented machine that is returned whenever it is idle.
    #[pyfunction]
    fn rent_usd(usd_per_hour: f64, hours: f64, duty: f64) -> f64 {
        cost::rent(usd_per_hour, hours, duty)
    }

    /// Seconds in which every sequence in a pipeline gets a token.
    #[pyfunction]
    fn step_seconds(turn_seconds: f64, slowest_stage_seconds: f64, in_flight: f64) -> f64 {
        let turn = quantity::Seconds(turn_seconds);
        let slowest_stage = quantity::Seconds(slowest_stage_seconds);
        serving::step_seconds(turn, slowest_stage, in_flight).0
    }

    /// Tokens per second of micro-batches that each put out their tokens in a step.
    #[pyfunction]
    fn tokens_per_second(batch: f64, in_flight: f64, step_seconds: f64) -> f64 {
        serving::tokens_per_second(batch, in_flight, quantity::Seconds(step_seconds))
    }

    /// Day on which a purchase has cost as much as renting, if it ever does.
    #[pyfunction]
    fn break_even_days(price_usd: f64, own_usd_per_day: f64, rent_usd_per_day: f64) -> Option<f64> {
        cost::break_even_days(price_usd, own_usd_per_day, rent_usd_per_day)
    }

    /// How this module was built.
    #[pyfunction]
    fn build_info(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
        let info = PyDict::new(py);
        info.set_item("version", env!("CARGO_PKG_VERSION"))?;
        let profile = if cfg!(debug_assertions) {
            "debug"
        } else {
            "release"
        };
        info.set_item("build_profile", profile)?;
        Ok(info)
    }
}
