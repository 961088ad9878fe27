//! The model behind planopt: what a configuration of a transformer needs in memory, time and
//! money, and the search for the configurations worth buying.

#![forbid(unsafe_code)]
#![expect(
    clippy::result_large_err,
    reason = "a diagnostic is made once, when work stops"
)]

pub mod bill;
pub mod bulk;
pub mod catalog;
pub mod compute;
pub mod cost;
pub mod course;
pub mod diagnostic;
pub mod document;
pub mod format;
pub mod hardware;
pub mod islands;
pub mod load;
pub mod memory;
pub mod options;
pub mod parallel;
pub mod plan;
pub mod quantity;
pub mod request;
pub mod search;
pub mod serving;
pub mod training;
pub mod transformer;
