//! The model behind planopt: what a configuration of a transformer needs in memory, time and
//! money, and the search for the configurations worth buying.

#![forbid(unsafe_code)]

pub mod catalog;
pub mod diagnostic;
pub mod quantity;
pub mod transformer;
