//! How a model is divided among accelerators, and what they then tell each other.

mod collectives;
mod degrees;
mod experts;
mod groups;
mod placement;
mod rejection;
pub mod serving;
mod shard;
mod stages;
pub mod training;

pub use self::collectives::{Exchange, all_reduce, all_to_all, hops};
pub use self::degrees::Degrees;
pub use self::experts::distinct_experts;
pub(crate) use self::experts::share_met;
pub use self::groups::{Group, Groups};
pub use self::placement::Placement;
pub use self::rejection::Rejection;
pub(crate) use self::shard::weights;
pub use self::shard::{local_shape, parameter_fraction};
pub(crate) use self::stages::stages;
pub use self::stages::{Stage, deal, deal_chunks, deal_model};
