//! Training candidates in bulk.

mod columns;
mod kernel;
mod space;
mod walk;

pub use columns::TrainingColumns;
pub use space::{AXES, Pipeline, Platform, TrainingAxes, TrainingSpace, TrainingSubject};
pub use walk::TrainingWalker;
