//! Questions in names and numbers, as scripts and people put them, answered from a catalog: the
//! one place where ids become entities.

mod answer;
mod architecture;
pub mod bulk;
mod hardware;
mod model;
mod price;
mod rent;
mod request;
mod served;
mod serving;
mod training;

pub use answer::{
    EvaluationAnswer, FastestAnswer, HardwareAnswer, Messages, SearchAnswer, UnitColumns,
};
pub use architecture::describe_architecture;
pub use model::{ModelAnswer, describe_model};
pub use price::PriceChoice;
pub use rent::{Instances, RentRequest};
pub use request::{CostChoice, EvaluateServing, FastestLayout, HardwareKey, SearchServing};
pub use served::{ModelRequest, ServingRequest};
pub use serving::{
    EngineAnswer, EstimateAnswer, PoolAnswer, PoolsAnswer, PoolsSearchAnswer, RunRequest,
    SearchPools, SimulateServing, SimulationAnswer, TransferAnswer, estimate_serving,
    evaluate_serving, fastest_serving, find_pools, search_serving, simulate_serving,
};
pub use training::{
    ClusterAnswer, ClusterColumns, EvaluateMixed, EvaluateTraining, FailureAnswer, MixedAnswer,
    RunAnswer, SearchTraining, ShareAnswer, ShareRequest, StepAnswer, TrainingAnswer,
    TrainingMemoryAnswer, evaluate_mixed, evaluate_training, search_training,
};
