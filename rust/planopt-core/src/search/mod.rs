//! The search for units worth buying: every accelerator, host, network, layout and batch that a
//! question leaves open.

mod columns;
mod found;
mod front;
mod mix;
mod serving;
mod training;

pub use self::columns::{ClusterColumns, UnitColumns};
pub use self::found::{ClusterAnswer, SearchAnswer};
pub use self::mix::{Cheapest, Cover, Price, Templates, Way, cheapest_cover, undominated};
pub use self::serving::{
    Aim, Asked, BatchPolicy, Demand, EvaluatedUnit, FoundPool, FoundPools, FoundUnit, Goal,
    LatencyGoal, Nearest, PoolsAim, PoolsDemand, PoolsResult, SearchResult, Tally, UnitKey,
    all_layouts, context_ranks, fastest_layout, search, search_pools,
};
pub use self::training::{
    FoundCluster, Payment, TrainingAim, TrainingGoal, TrainingLimits, TrainingSearch,
    TrainingSearchResult, TrainingTally,
};
