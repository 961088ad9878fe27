//! Training candidates in bulk.

mod axes;
mod columns;
mod grid;
mod kernel;
mod levels;
mod platform;
mod space;
mod subject;
mod walk;

pub use self::axes::{AXES, Pipeline, TrainingAxes};
pub use self::columns::TrainingColumns;
pub use self::platform::Platform;
pub use self::space::TrainingSpace;
pub use self::subject::TrainingSubject;
pub use self::walk::TrainingWalker;
