//! What is served or trained, and how much of it.

mod arrivals;
pub mod critical_batch;
mod engine;
mod lengths;
mod router;
pub mod serving;
mod sessions;
mod statistic;
pub mod training;

pub use self::arrivals::{Arrivals, Hashed, Load, Sizes, Start};
pub use self::engine::{EngineOptions, KvPolicy};
pub(crate) use self::lengths::LONGEST;
pub use self::lengths::Lengths;
pub use self::router::{Router, Routing};
pub use self::sessions::{Sessions, Think};
pub use self::statistic::Statistic;
