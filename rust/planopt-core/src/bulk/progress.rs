//! How far a walk has come.

use std::sync::atomic::{AtomicU64, Ordering};

/// How far a search has come, for others to look at.
#[derive(Debug, Default)]
pub struct Course {
    pub(crate) done: AtomicU64,
    pub(crate) of: AtomicU64,
}

impl Course {
    /// Candidates that are done or being looked at, and of how many; nothing before it starts.
    pub fn so_far(&self) -> Option<(u64, u64)> {
        let of = self.of.load(Ordering::Relaxed);
        (of > 0).then(|| (self.done.load(Ordering::Relaxed).min(of), of))
    }
}
