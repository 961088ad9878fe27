//! Purchases, as they are asked to be laid out.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::search::Limits;

/// Purchases to be laid out.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LayOut {
    /// The purchases.
    pub purchases: Vec<Purchase>,
    /// What they must supply and stay within.
    #[serde(default)]
    pub limits: Limits,
    /// Whether errors of predictions under these assumptions are known.
    #[serde(default)]
    pub has_errors: bool,
}

/// A purchase.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Purchase {
    /// How many of each row.
    pub counts: BTreeMap<u32, u32>,
    /// Who it is for, where it runs the batch that they need, in the layout that is fastest for
    /// them; otherwise each unit runs what it was bought for.
    pub for_users: Option<ForUsers>,
}

/// Users of a purchase, and what of a layout is decided.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ForUsers {
    /// Users of all units together.
    pub users: u64,
    /// Batch, where it is given.
    pub batch: Option<u32>,
    /// Micro-batches in flight, where they are given.
    pub in_flight: Option<u32>,
    /// Whether any layout will do. Another one may put more accelerators of a board to work: a
    /// limit of power rules that out; and latencies under a load were judged for one alone.
    pub any_layout: bool,
}
