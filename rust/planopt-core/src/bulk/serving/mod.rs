//! Serving candidates in bulk.

mod columns;
mod kernel;
mod space;
mod walk;

pub use self::columns::ServingColumns;
pub use self::space::{AXES, Lengths, ServingAxes, ServingPlatform, ServingSpace};
pub use self::walk::ServingWalker;
