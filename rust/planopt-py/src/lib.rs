//! Python's door to `planopt-core`: JSON in and out, columns as buffers, no arithmetic.

mod arrow;
mod catalog;
mod errors;
mod found;
mod interrupt;
mod json;
mod table;

use pyo3::prelude::*;

/// The compiled core of planopt.
#[pymodule(gil_used = false)]
mod _native {
    use pyo3::prelude::*;
    use pyo3::types::PyDict;

    #[pymodule_export]
    use crate::catalog::Catalog;
    #[pymodule_export]
    use crate::found::{Found, Rows, lay_out};
    #[pymodule_export]
    use crate::table::{Column, Table};

    /// Version of planopt.
    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "as Python spells it")]
    const __version__: &str = env!("CARGO_PKG_VERSION");

    use planopt_core::training::bounds;
    use planopt_core::{catalog, cost, format, options, plan, quantity, request, search, serving};

    use crate::errors::quantity_error;

    /// Kit, supply, loss, most copies, price of a kept copy, prices of a rented one.
    type WayRow = (u32, u64, u64, u32, u64, Vec<u64>);
    /// Kept copies by way, rented ones by way and step.
    type CoverRows = (Vec<(usize, u32)>, Vec<(usize, usize, u32)>);

    /// Names of number formats, as `catalogs/formats.toml` and the core have them.
    #[pyfunction]
    fn formats() -> Vec<&'static str> {
        format::Format::all().map(format::Format::name).collect()
    }

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

    /// Day on which a purchase has cost as much as renting, whose price falls by a share a year, if it
    /// ever does.
    #[pyfunction]
    fn break_even_days(
        price_usd: f64,
        own_usd_per_day: f64,
        rent_usd_per_day: f64,
        fall_a_year: f64,
    ) -> Option<f64> {
        cost::break_even_days(price_usd, own_usd_per_day, rent_usd_per_day, fall_a_year)
    }

    /// Share of busy hours at which owning costs as much as renting; both rates of a busy hour.
    #[pyfunction]
    fn break_even_duty(
        fixed_usd_per_hour: f64,
        energy_usd_per_hour: f64,
        rent_usd_per_hour: f64,
    ) -> Option<f64> {
        cost::break_even_duty(fixed_usd_per_hour, energy_usd_per_hour, rent_usd_per_hour)
    }

    /// Seconds of a run of so many hours of single accelerators.
    #[pyfunction]
    fn run_seconds(accelerator_hours: f64, accelerators: f64) -> f64 {
        bounds::duration(accelerator_hours, accelerators).0
    }

    /// Accelerators, not rounded up, that finish such a run in time.
    #[pyfunction]
    fn accelerators_to_finish(accelerator_hours: f64, within_seconds: f64) -> f64 {
        bounds::accelerators_to_finish(accelerator_hours, quantity::Seconds(within_seconds))
    }

    /// Accelerators without which so many bytes fit nowhere.
    #[pyfunction]
    fn fewest_accelerators(needed_bytes: f64, capacity_bytes: f64) -> f64 {
        bounds::fewest_accelerators(
            quantity::Bytes(needed_bytes),
            quantity::Bytes(capacity_bytes),
        )
    }

    /// Micro-batches that a stage holds in a pipeline that is never flushed.
    #[pyfunction]
    fn in_flight_both_ways(stages_behind: f64) -> f64 {
        bounds::in_flight_both_ways(stages_behind)
    }

    /// Forwards of single layers in backward where only the first layer's input is kept.
    #[pyfunction]
    fn forwards_from_the_input(layers: f64) -> f64 {
        bounds::forwards_from_the_input(layers)
    }

    /// FLOP for each byte of a message, where ranks divide the arithmetic.
    #[pyfunction]
    fn tensor_intensity(flop: f64, message_bytes: f64, degree: f64) -> f64 {
        let message = quantity::Bytes(message_bytes);
        bounds::tensor_intensity(quantity::Flops(flop), message, degree)
    }

    /// Bytes per second at which messages keep up with arithmetic.
    #[pyfunction]
    fn bandwidth_to_keep_up(flop_per_second: f64, flop_per_byte: f64) -> f64 {
        let rate = quantity::FlopsPerSecond(flop_per_second);
        bounds::bandwidth_to_keep_up(rate, flop_per_byte).0
    }

    /// Tensor-parallel degree from which on a message outlasts the arithmetic.
    #[pyfunction]
    fn largest_tensor_degree(
        flop: f64,
        message_bytes: f64,
        flop_per_second: f64,
        bytes_per_second: f64,
    ) -> f64 {
        bounds::largest_tensor_degree(
            quantity::Flops(flop),
            quantity::Bytes(message_bytes),
            quantity::FlopsPerSecond(flop_per_second),
            quantity::BytesPerSecond(bytes_per_second),
        )
    }

    /// Templates that no other one of their pool replaces.
    ///
    /// Parameters
    /// ----------
    /// pool : list of int
    ///     Demand, accelerator and way of acquiring, as one number.
    /// supply, loss : list of int
    ///     What a copy gives (more than 0), and what a failure takes.
    /// needs : list of list of int
    ///     What a copy needs, a column for each thing that is paid or limited.
    ///
    /// Returns
    /// -------
    /// list of int
    ///     Places of those to keep, ascending.
    ///
    /// Raises
    /// ------
    /// `ValueError`
    ///     If the columns are of different lengths.
    #[pyfunction]
    #[expect(
        clippy::needless_pass_by_value,
        reason = "arguments of Python are handed over by value"
    )]
    fn undominated_templates(
        pool: Vec<u32>,
        supply: Vec<u64>,
        loss: Vec<u64>,
        needs: Vec<Vec<u64>>,
    ) -> PyResult<Vec<usize>> {
        let of_one_length = needs
            .iter()
            .chain([&supply, &loss])
            .all(|column| column.len() == pool.len());
        if !of_one_length {
            return Err(pyo3::exceptions::PyValueError::new_err(
                "the columns are of different lengths",
            ));
        }
        Ok(search::undominated(&search::Templates {
            pool: &pool,
            supply: &supply,
            loss: &loss,
            needs: &needs,
        }))
    }

    /// Finds the cheapest cover of one demand in one period, at given prices.
    ///
    /// Parameters
    /// ----------
    /// steps : list of int
    ///     Demand of each step of its load duration curve, the highest first.
    /// losses : int
    ///     Failures that must be borne, each as large as the largest loss at work.
    /// ways : list of (int, int, int, int, int, list of int)
    ///     Kit, supply and loss of a copy, most copies, price of a kept copy; and of a rented one
    ///     the price in each step (empty if it is kept).
    /// below : int
    ///     Covers that cost as much are not looked for.
    ///
    /// Returns
    /// -------
    /// (int, (list of (int, int), list of (int, int, int)) | None)
    ///     What no cover costs less than; kept copies by way, and rented ones by way and step.
    ///
    /// Raises
    /// ------
    /// `ValueError`
    ///     If a supply is 0 or a way has not a price for each step.
    #[pyfunction]
    #[expect(
        clippy::needless_pass_by_value,
        reason = "arguments of Python are handed over by value"
    )]
    fn cheapest_cover(
        py: Python<'_>,
        steps: Vec<u64>,
        losses: u64,
        ways: Vec<WayRow>,
        below: u64,
    ) -> PyResult<(u64, Option<CoverRows>)> {
        let ways = read_ways(ways, steps.len())?;
        let found = py.detach(|| search::cheapest_cover(&steps, losses, &ways, below));
        let cover = found.cover.map(|cover| (cover.kept, cover.rented));
        Ok((found.bound, cover))
    }

    /// Finds all covers of one demand in one period that cost less than a sum, but for those that
    /// another one beats in all that they take. The same as of `cheapest_cover`.
    ///
    /// Returns
    /// -------
    /// list of (list of (int, int), list of (int, int, int)) | None
    ///     Nothing if they are more than can be looked at.
    ///
    /// Raises
    /// ------
    /// `ValueError`
    ///     If a supply is 0 or a way has not a price for each step.
    #[pyfunction]
    #[expect(
        clippy::needless_pass_by_value,
        reason = "arguments of Python are handed over by value"
    )]
    fn every_cover(
        py: Python<'_>,
        steps: Vec<u64>,
        losses: u64,
        ways: Vec<WayRow>,
        below: u64,
    ) -> PyResult<Option<Vec<CoverRows>>> {
        let ways = read_ways(ways, steps.len())?;
        let found = py.detach(|| search::every_cover(&steps, losses, &ways, below));
        let rows = |cover: search::Cover| (cover.kept, cover.rented);
        Ok(found.map(|covers| covers.into_iter().map(rows).collect()))
    }

    fn read_ways(rows: Vec<WayRow>, steps: usize) -> PyResult<Vec<search::Way>> {
        let sound = rows.iter().all(|(_, supply, .., rents)| {
            *supply > 0 && (rents.is_empty() || rents.len() == steps)
        });
        if !sound {
            return Err(pyo3::exceptions::PyValueError::new_err(
                "a way supplies nothing, or has not a price for each step",
            ));
        }
        let read = |(kit, supply, loss, most, kept, rents): WayRow| search::Way {
            kit,
            supply,
            loss,
            most,
            price: if rents.is_empty() {
                search::Price::Kept(kept)
            } else {
                search::Price::Rented(rents)
            },
        };
        Ok(rows.into_iter().map(read).collect())
    }

    /// Compares plans under scenarios of demand, prices and errors, as JSON.
    ///
    /// Raises
    /// ------
    /// `ValueError`
    ///     If the question is something else.
    #[pyfunction]
    fn scenarios(asked: &[u8]) -> PyResult<Vec<u8>> {
        crate::json::written(&plan::scenarios::compare(&crate::json::read(asked)?))
    }

    /// Compares what may be bought now, with what is bought or rented later, as JSON.
    ///
    /// Raises
    /// ------
    /// `ValueError`
    ///     If the question is something else.
    #[pyfunction]
    fn recourse(asked: &[u8]) -> PyResult<Vec<u8>> {
        crate::json::written(&plan::scenarios::recourse(&crate::json::read(asked)?))
    }

    /// TOML files as a list in JSON.
    ///
    /// Raises
    /// ------
    /// `InputError`
    ///     If one is none.
    #[pyfunction]
    #[expect(
        clippy::needless_pass_by_value,
        reason = "paths handed over by Python are made for this call"
    )]
    fn read_toml(py: Python<'_>, files: Vec<std::path::PathBuf>) -> PyResult<Vec<u8>> {
        let read = files.iter().map(|file| catalog::read_json(file));
        crate::json::answer(py, read.collect::<Result<Vec<_>, _>>())
    }

    /// The table of options as JSON.
    #[pyfunction]
    fn options_json() -> &'static [u8] {
        options::options_json()
    }

    /// The options of a command by their arguments, read as the table says, as JSON.
    ///
    /// Parameters
    /// ----------
    /// command : str
    ///     One that asks nothing of a catalog, such as ``bench``.
    /// given : bytes
    ///     JSON: what was given.
    ///
    /// Raises
    /// ------
    /// `InputError`
    ///     With everything that is wrong with them.
    #[pyfunction]
    fn read_options(py: Python<'_>, command: &str, given: &[u8]) -> PyResult<Vec<u8>> {
        let given = crate::json::read(given)?;
        crate::json::answer(py, request::read_options(command, given))
    }

    /// Defaults of options that a file says, as JSON, each with its place.
    ///
    /// Raises
    /// ------
    /// `InputError`
    ///     With everything that is wrong with it.
    #[pyfunction]
    #[expect(
        clippy::needless_pass_by_value,
        reason = "a path handed over by Python is made for this call"
    )]
    fn read_defaults(py: Python<'_>, file: std::path::PathBuf) -> PyResult<Vec<u8>> {
        crate::json::answer(py, request::read_defaults(&file))
    }

    /// The groups of what each door takes, by its name, with the keys of each; no keys where a key
    /// stands for itself.
    #[pyfunction]
    fn doors() -> std::collections::BTreeMap<&'static str, request::Groups> {
        request::doors()
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
