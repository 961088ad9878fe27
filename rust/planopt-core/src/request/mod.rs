//! Questions in names and numbers, as scripts and people put them, answered from a catalog: the
//! one place where ids become entities.

mod assumptions;
mod engine;
mod fleet;
mod hardware;
mod heterogeneous;
mod model;
mod offload;
mod pools;
mod search;
mod selection;
mod serving;
pub mod space;
mod training;

pub use self::engine::{RunRequest, SimulateServing, estimate_serving, simulate_serving};
pub use self::fleet::{
    Bought, Class, Curve, Demand, FleetFile, Owned, Region, Rented, Size, Training, Workload,
    read_fleet,
};
pub use self::hardware::HardwareKey;
pub use self::heterogeneous::{EvaluateMixed, ShareRequest, evaluate_mixed};
pub use self::model::{ModelRequest, ServingRequest, describe_model};
pub use self::pools::{SearchPools, find_pools};
pub use self::search::{SearchTraining, search_serving, search_training};
pub use self::serving::{
    EvaluateServing, FastestLayout, SearchServing, evaluate_serving, fastest_serving,
};
pub use self::training::{EvaluateTraining, evaluate_training};
