//! The search for units worth buying: every accelerator, host, network, layout and batch that a
//! question leaves open.

mod batch;
mod connection;
mod cover;
mod dominance;
mod evaluate;
mod found;
mod front;
mod latency;
mod layout;
mod pools;
mod reduce;
mod space;
mod training;
mod units;

pub use batch::{BatchPolicy, Goal};
pub use cover::{Cheapest, Cover, Price, Way, cheapest_cover};
pub use dominance::{Templates, undominated};
pub use evaluate::{
    EvaluatedUnit, GivenLayout, UnitKey, evaluate_unit, fastest_layout, with_replica,
};
pub use found::{FoundUnit, Nearest, SearchResult, Tally};
pub use latency::LatencyGoal;
pub use layout::{Layout, Prepared};
pub use pools::{
    Asked, FoundPool, FoundPools, PoolCluster, PoolsAim, PoolsDemand, PoolsResult, search_pools,
};
pub use reduce::{Aim, Demand};
pub use space::{Fit, Selection, Shelf, Space};
pub use training::{
    FoundCluster, Payment, TrainingAim, TrainingGoal, TrainingLimits, TrainingSearch,
    TrainingSearchResult, TrainingTally,
};
pub use units::search;
