//! Islands: clusters that train each on their own and meet over the Internet, chains of neighbours
//! that serve a model together, and homes that come and go. Formulas: `docs/reference/islands.md`.

mod chain;
mod churn;
mod link;
mod loss;
mod round;
mod swarm;

pub use self::chain::{Chains, Link, Stretches};
pub use self::churn::Churn;
pub use self::link::{Topology, Uplink};
pub use self::loss::{ScalingLaw, loss_increase};
pub use self::round::{Round, RoundTerms};
pub use self::swarm::{Recovery, Swarm, Uptime};
