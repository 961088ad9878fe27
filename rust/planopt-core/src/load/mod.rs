//! What is served or trained, and how much of it.

mod arrivals;
mod engine;
pub mod serving;
pub mod training;

pub(crate) use self::arrivals::LONGEST;
pub use self::arrivals::{Arrivals, Lengths, Load, Sizes, Start};
pub use self::engine::{EngineOptions, KvPolicy};
