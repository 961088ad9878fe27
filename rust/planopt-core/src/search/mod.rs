//! The search for units worth buying: every accelerator, host, network, layout and batch that a
//! question leaves open.

mod alike;
mod alone;
mod chained;
mod cluster_limits;
mod found;
mod front;
mod limits;
mod listed;
mod mix;
mod neighbours;
mod offer;
mod redundancy;
mod result;
mod rows;
mod runs;
mod serving;
mod trained;
mod training;
mod undominated;

pub use self::alone::{Alone, Build, Objective};
pub use self::chained::{Chained, Cut};
pub use self::cluster_limits::ClusterLimits;
pub(crate) use self::found::Finding;
pub use self::found::{Found, Laid, Part, Summary, Work};
pub use self::limits::{Broken, Limits, Number};
pub use self::listed::{Listed, ListedWork};
pub use self::mix::{
    Cheapest, Cover, Price, Templates, Way, cheapest_cover, every_cover, undominated,
};
pub use self::neighbours::{ChainStage, FoundChain, Neighbour, NeighbourSearch};
pub use self::offer::{Demanded, Offer, OfferedFailure, OfferedNeed};
pub use self::redundancy::{Domain, Outlasted, Redundancy};
pub use self::result::{Nearest, SearchResult, Tally};
pub use self::rows::{Columns, Described, Resources, Row, Rows, SystemNames, Values};
pub use self::serving::{
    Aim, BatchPolicy, Bought, Buyer, Demand, Ended, EvaluatedUnit, FoundPool, FoundPools,
    FoundUnit, Goal, Kept, KeptPart, LatencyGoal, PoolsAim, PoolsDemand, PoolsRequest, PoolsResult,
    Ran, Rated, Settled, SettledPart, Settling, all_layouts, columns, context_ranks,
    fastest_layout, search, search_pools, settle,
};
pub use self::trained::Trained;
pub use self::training::{FoundCluster, Payment, TrainingAim, TrainingGoal, TrainingSearch};
