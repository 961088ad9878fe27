//! How an engine puts steps together.

use serde::{Deserialize, Serialize};

/// Who goes first where a step has no room for all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// Every decoding sequence gets its token, and prompts are read in what is left of the token
    /// budget: mixed steps (Sarathi-Serve, arXiv 2403.02310; vLLM V1).
    #[default]
    DecodeFirst,
    /// Prompts that can be read are read, and nobody decodes meanwhile (vLLM V0).
    PrefillFirst,
}

/// Policies by their names.
pub(in crate::catalog) const POLICIES: &[(&str, Policy)] = &[
    ("decode-first", Policy::DecodeFirst),
    ("prefill-first", Policy::PrefillFirst),
];

/// What keeps caches behind the accelerators, in place of an engine's own tiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KvConnector {
    /// `LMCache`.
    Lmcache,
    /// The block manager of Dynamo.
    Kvbm,
}

impl KvConnector {
    /// Its name in the assumptions.
    pub fn name(self) -> &'static str {
        match self {
            Self::Lmcache => "lmcache",
            Self::Kvbm => "kvbm",
        }
    }
}

/// Who reads caches that an engine keeps on disks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheDisks {
    /// Nobody: it keeps none there.
    None,
    /// The engine itself.
    Own,
    /// Other engines too: they may be one store.
    Shared,
}

/// Those by their names.
pub(super) const CACHE_DISKS: &[(&str, CacheDisks)] = &[
    ("none", CacheDisks::None),
    ("own", CacheDisks::Own),
    ("shared", CacheDisks::Shared),
];
