//! Memory of the fullest accelerator.

mod serving;
mod training;

pub use self::serving::{ServingMemory, StageMemory, capacity};
pub use self::training::TrainingMemory;
pub(crate) use self::training::{kept, resident_on, stage_memory};
