//! What is bought, and what it costs line by line.

mod cluster;
mod host_set;
mod line;
mod packing;
mod parts;
mod switching;
mod unit;

pub use self::cluster::Cluster;
pub use self::host_set::HostSet;
pub use self::line::BillLine;
pub(crate) use self::packing::{Packed, packed};
pub use self::switching::Switching;
pub use self::unit::{SwitchShare, Unit, bill_of_units, cheapest_units};
