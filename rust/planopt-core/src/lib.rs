//! The model behind planopt: what a configuration of a transformer needs in memory, time and
//! money, and the search for the configurations worth buying.

#![forbid(unsafe_code)]
#![expect(
    clippy::result_large_err,
    reason = "a diagnostic is made once, when work stops"
)]

pub mod ask;
pub mod bill;
pub mod bulk;
pub mod catalog;
pub mod communication;
pub mod compute;
pub mod cost;
pub mod degrees;
pub mod diagnostic;
pub mod memory;
pub mod placement;
pub mod purchase;
pub mod quantity;
pub mod search;
pub mod serving;
pub mod stages;
pub mod training;
pub mod transformer;
