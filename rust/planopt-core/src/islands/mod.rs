//! Islands: clusters that train each on their own and meet over the Internet, and homes that come
//! and go. Formulas: `docs/reference/islands.md`.

mod churn;
mod link;
mod loss;
mod round;

pub use self::churn::Churn;
pub use self::link::{Topology, Uplink};
pub use self::loss::{ScalingLaw, loss_increase};
pub use self::round::{Round, RoundTerms};
