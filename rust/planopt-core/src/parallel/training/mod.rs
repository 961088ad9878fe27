//! How a model in training is divided.

mod check;
mod layout;
mod rejection;

pub use self::layout::{ContextParallel, Layout, Recompute, Schedule, Sharding};
pub use self::rejection::Rejection;
