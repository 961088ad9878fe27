//! Questions in names and numbers, as scripts and people put them, answered from a catalog: the
//! one place where ids become entities.

mod assumptions;
mod chains;
mod doors;
mod engine;
mod errors;
mod fleet;
mod given;
mod heterogeneous;
mod islands;
mod lay_out;
mod machines;
mod model;
mod neighbours;
mod offload;
mod parse;
mod pools;
mod search;
mod selection;
mod serving;
pub mod space;
mod training;

pub use self::chains::{ChainRequest, PriceChains, PricedChain, Stocked, price_chains};
pub use self::doors::{Groups, doors};
pub use self::engine::{
    HeldTo, RunRequest, SimulateServing, estimate_serving, held_to, simulate_serving,
};
pub use self::errors::{ErrorsRequest, errors_of};
pub use self::fleet::{
    Bought, Class, Curve, Demand, FleetFile, Owned, Region, Rented, Size, Training, Workload,
    read_fleet,
};
pub use self::given::{read, read_json};
pub use self::heterogeneous::evaluate_mixed;
pub use self::islands::{Islands, TrainIslands, train_islands};
pub use self::lay_out::{ForUsers, LaidOut, LayOut, Purchase, lay_out};
pub use self::machines::Machines;
pub use self::model::{Engine, ModelRequest, Prompts, ServedModel, describe_model};
pub use self::neighbours::{Neighbours, ServeNeighbours, serve_neighbours};
pub use self::offload::OffloadRequest;
pub use self::parse::{DefaultOption, Options, read_defaults, read_options, read_question};
pub use self::pools::{DecodePool, PoolsOptions, PoolsSearchAnswer, SearchPools, find_pools};
pub use self::search::{
    ClusterOptions, ColumnsServing, SearchTraining, SettleServing, Solver, columns_serving,
    search_serving, search_training, settle_serving,
};
pub use self::selection::{Considered, left_out};
pub use self::serving::{
    EvaluateServing, GivenBatching, Promises, SearchOptions, SearchServing, evaluate_serving,
};
pub use self::training::{
    CountedFlops, EvaluateTraining, Gradients, InHost, RecipeRequest, ShareRequest, TrainingLayout,
    TrainingRun, evaluate_training,
};
