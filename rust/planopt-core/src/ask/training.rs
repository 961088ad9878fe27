//! Questions about training.

mod answer;
mod request;

pub use answer::{FailureAnswer, RunAnswer, StepAnswer, TrainingAnswer, TrainingMemoryAnswer};
pub use request::EvaluateTraining;
