//! How a model is divided among accelerators, and what they then tell each other.

mod check;
mod choices;
mod collectives;
mod degrees;
mod experts;
mod groups;
mod layout;
mod placement;
mod rejection;
mod shard;
mod stages;

pub(crate) use self::choices::MODULES;
pub use self::choices::{ContextParallel, Module, Modules, Recompute, Schedule, Zero};
pub use self::collectives::{Exchange, all_reduce, all_to_all, hops};
pub use self::degrees::Degrees;
pub use self::experts::distinct_experts;
pub(crate) use self::experts::distinct_share;
pub use self::groups::{Group, Groups};
pub use self::layout::{Batching, Layout, Pins};
pub use self::placement::Placement;
pub use self::rejection::Rejection;
pub(crate) use self::shard::weights;
pub use self::shard::{local_shape, parameter_fraction};
pub(crate) use self::stages::stages;
pub use self::stages::{Stage, partition, partition_chunks, partition_model};
