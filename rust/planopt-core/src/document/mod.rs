//! The documents that planopt publishes: figures with their units. No formula stands here.

mod bench;
mod bill;
mod front;
mod interval;
mod islands;
mod load;
mod model;
mod neighbours;
mod pools;
mod rejection;
mod serving;
mod training;

pub use self::bench::BenchAnswer;
pub use self::bill::BomLine;
pub use self::front::FrontAnswer;
pub use self::interval::{Interval, Intervals};
pub use self::islands::{IslandKind, IslandsAnswer, IslandsRun};
pub use self::load::{EngineAnswer, EstimateAnswer, EstimateReport, SimulationAnswer};
pub use self::model::{ModelAnswer, OperationAnswer};
pub use self::neighbours::{ChainsAnswer, NeighbourKind, NeighboursAnswer, StageAnswer};
pub use self::pools::{PoolAnswer, PoolsAnswer, TransferAnswer};
pub use self::serving::{
    Candidate, Drafted, Evaluation, EvaluationAnswer, HardwareAnswer, Messages,
};
pub use self::training::{
    FailureAnswer, MixedAnswer, RunAnswer, RunEvaluation, ShareAnswer, StepAnswer, TrainingAnswer,
    TrainingCandidate, TrainingMemoryAnswer,
};
pub(crate) use self::training::{memory_answer, step_answer};
