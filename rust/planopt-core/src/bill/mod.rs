//! What is bought, and what it costs line by line.

mod cluster;
mod heterogeneous;
mod host_set;
mod line;
mod pools;
mod switching;
mod unit;

pub use self::cluster::Cluster;
pub use self::heterogeneous::MixedCluster;
pub use self::line::BillLine;
pub use self::pools::PoolCluster;
pub(crate) use self::pools::{Hosts, filled, packed};
pub use self::switching::{Switching, cables, network_bill};
pub use self::unit::{SwitchShare, Unit, bill_of, cheapest_units};
