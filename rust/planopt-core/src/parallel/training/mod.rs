//! How a model in training is divided.

mod check;
mod layout;

pub use self::layout::{ContextParallel, Layout, Recompute, Schedule, Sharding};
