//! Exact small purchases of several kinds of unit.

mod cover;
mod dominance;

pub use self::cover::{Cheapest, Cover, Price, Way, cheapest_cover, every_cover};
pub use self::dominance::{Templates, undominated};
