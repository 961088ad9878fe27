//! What becomes of evaluated candidates.

use super::checksum::Checksum;
use super::columns::Metrics;

/// Why a whole row, or the end of one, is out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejected {
    /// The model cannot be divided so.
    Layout,
    /// More accelerators than the space allows.
    Accelerators,
    /// A tensor-parallel group would span hosts unevenly.
    Placement,
    /// Nothing connects so many hosts, or a part of it has no price.
    Network,
    /// The accelerator does not compute in that format.
    Format,
    /// The fullest accelerator cannot hold it.
    Memory,
    /// Failures leave next to no time for work.
    Failures,
}

impl Rejected {
    /// Every reason.
    pub const ALL: [Self; 7] = [
        Self::Layout,
        Self::Accelerators,
        Self::Placement,
        Self::Network,
        Self::Format,
        Self::Memory,
        Self::Failures,
    ];

    /// Name in answers.
    pub fn code(self) -> &'static str {
        match self {
            Self::Layout => "layout",
            Self::Accelerators => "accelerators",
            Self::Placement => "placement",
            Self::Network => "network",
            Self::Format => "format",
            Self::Memory => "memory",
            Self::Failures => "failures",
        }
    }
}

/// Takes candidates in the order of their indices within a chunk.
pub trait Sink<Columns> {
    /// `count` candidates that work, the first at `index`.
    fn accept(&mut self, index: u64, count: usize, columns: &Columns);

    /// `count` candidates that do not work, the first at `index`.
    fn reject(&mut self, index: u64, count: u64, reason: Rejected);

    /// Whether `count` candidates, none of which costs or takes less, need not be looked at.
    fn prune(&mut self, _count: u64, _price: f64, _time: f64) -> bool {
        false
    }
}

/// Counts candidates and folds all their metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Candidates that work, every metric of which is in the checksum.
    pub evaluated: u64,
    /// Candidates that do not work, by [`Rejected`].
    pub rejected: [u64; Rejected::ALL.len()],
    /// Candidates that were passed over because a bound showed that they cannot matter.
    pub pruned: u64,
    /// Of all metrics.
    pub checksum: Checksum,
}

impl Tally {
    /// Candidates that do not work.
    pub fn all_rejected(&self) -> u64 {
        self.rejected.iter().sum()
    }

    /// The same by the name of the reason, of those that occurred.
    pub fn rejected_by(&self) -> Vec<(&'static str, u64)> {
        let codes = Rejected::ALL.into_iter().map(Rejected::code);
        codes
            .zip(self.rejected)
            .filter(|(_, count)| *count > 0)
            .collect()
    }

    /// Both together.
    #[must_use]
    pub fn with(mut self, other: Self) -> Self {
        self.evaluated += other.evaluated;
        self.pruned += other.pruned;
        for (mine, theirs) in self.rejected.iter_mut().zip(other.rejected) {
            *mine += theirs;
        }
        self.checksum = self.checksum.with(other.checksum);
        self
    }

    /// Counts rejected candidates.
    pub fn count(&mut self, reason: Rejected, count: u64) {
        self.rejected[reason as usize] += count;
    }
}

impl<C: Metrics> Sink<C> for Tally {
    fn accept(&mut self, index: u64, count: usize, columns: &C) {
        self.evaluated += count as u64;
        self.checksum.fold(index, count, columns);
    }

    fn reject(&mut self, _index: u64, count: u64, reason: Rejected) {
        self.count(reason, count);
    }
}
