//! What every question about a space needs.

use crate::catalog::{Assumptions, Catalog};

/// Assumptions with other prices of money over time.
pub(crate) fn with_prices(
    catalog: &Catalog,
    electricity_usd_per_kwh: Option<f64>,
    years: Option<f64>,
) -> Assumptions {
    let mut assumptions = catalog.assumptions.entity.clone();
    let cost = &mut assumptions.cost;
    cost.electricity_usd_per_kwh = electricity_usd_per_kwh.unwrap_or(cost.electricity_usd_per_kwh);
    cost.years = years.unwrap_or(cost.years);
    assumptions
}

/// Runs `work` on so many threads; on those of the process if no others can be had.
pub(crate) fn on_threads<T: Send>(threads: usize, work: impl Fn() -> T + Send + Sync) -> T {
    match rayon::ThreadPoolBuilder::new().num_threads(threads).build() {
        Ok(pool) if threads > 0 => pool.install(work),
        _ => work(),
    }
}
