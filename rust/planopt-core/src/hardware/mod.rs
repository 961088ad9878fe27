//! Hardware as it is bought and wired: accelerators in hosts, lines between them, the rates they
//! reach, and what can be had of them.

mod available;
mod fabric;
mod instances;
mod inventory;
mod line;
mod mounted;
mod named;
mod owned;
mod rates;
mod saturation;
mod spec;
mod system;

pub use self::available::{LeftOut, Selection, Space};
pub use self::fabric::{Fabric, Links};
pub use self::instances::{Instances, RentRequest, host_inside};
pub use self::inventory::Inventory;
pub(crate) use self::line::ALL_REDUCE;
pub use self::line::{Leaves, Line, NetworkLine};
pub(crate) use self::mounted::takes_together;
pub(crate) use self::named::{TestSystem, line_of};
pub use self::owned::Owned;
pub use self::rates::{OwnRates, Rates};
pub(crate) use self::saturation::saturation;
pub use self::spec::HardwareSpec;
pub(crate) use self::spec::{Nics, Site};
pub use self::system::{Connection, Hardware, System};
