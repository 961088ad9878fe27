//! Who gets which turn.

use serde::{Deserialize, Serialize};

/// How the turns of sessions are spread over replicas that are alike.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Routing {
    /// A session goes to the replica that has fewest, and stays.
    #[default]
    Even,
    /// It goes where its number leads, and stays.
    Hash,
    /// Every turn goes anywhere.
    Random,
    /// Every turn goes to the next.
    RoundRobin,
    /// Every turn goes where least is left to read, in view of what is served there.
    CacheAware,
}

/// The router in front of replicas.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Router {
    /// Who gets which turn.
    pub routing: Routing,
    /// What a token in an engine counts beside one that has to be read, where that matters.
    pub load_weight: f64,
}
