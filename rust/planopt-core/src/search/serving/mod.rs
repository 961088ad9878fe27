//! The search for units that serve.

mod batch;
mod best_first;
mod connection;
mod divisions;
mod fastest;
mod found;
mod goal;
mod in_time;
mod kept;
mod latency;
mod layouts;
mod pools;
mod reduce;
mod settle;
mod units;

pub use self::fastest::{EvaluatedUnit, fastest_layout};
pub use self::found::FoundUnit;
pub use self::goal::{BatchPolicy, Goal, LatencyGoal};
pub use self::kept::{Kept, KeptPart};
pub use self::layouts::{all_layouts, context_ranks};
pub use self::pools::{
    FoundPool, FoundPools, PoolsAim, PoolsDemand, PoolsRequest, PoolsResult, search_pools,
};
pub use self::reduce::{Aim, Demand};
pub use self::settle::{
    Bought, Buyer, Ended, Ran, Rated, Settled, SettledPart, Settling, columns, settle,
};
pub use self::units::search;
