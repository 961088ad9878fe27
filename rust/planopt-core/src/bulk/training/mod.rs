//! Training candidates in bulk.

mod axes;
mod columns;
mod kernel;
mod levels;
mod platform;
mod space;
mod walk;

pub use axes::{AXES, Pipeline, TrainingAxes};
pub use columns::TrainingColumns;
pub use platform::Platform;
pub use space::{TrainingSpace, TrainingSubject};
pub use walk::TrainingWalker;
