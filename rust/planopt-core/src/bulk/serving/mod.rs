//! Serving candidates in bulk.

mod columns;
mod kernel;
mod space;
mod walk;

pub use columns::ServingColumns;
pub use space::{AXES, Lengths, ServingAxes, ServingPlatform, ServingSpace};
pub use walk::ServingWalker;
