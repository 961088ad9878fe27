//! What searches return: what was found, how many candidates were looked at, and the nearest that
//! fell short.

use serde::Serialize;

/// Declares why candidates are rejected.
macro_rules! tally {
    ($($(#[$doc:meta])* $reason:ident;)+) => {
        /// How many candidates were rejected, by reason.
        #[derive(Clone, Copy, Debug, Default)]
        pub struct Tally { $($(#[$doc])* pub $reason: u64,)+ }

        impl Tally {
            fn absorb(&mut self, other: Self) {
                $(self.$reason += other.$reason;)+
            }

            /// Reasons by name, those that came up.
            pub(super) fn counts(self) -> impl Iterator<Item = (&'static str, u64)> {
                let all = [$((stringify!($reason), self.$reason)),+];
                all.into_iter().filter(|(_, count)| *count > 0)
            }
        }
    };
}

tally! {
    /// No rate for the format of what is served: one for each accelerator.
    format;
    /// The accelerator does not compute in the precision of a run.
    precision;
    /// A tensor-parallel group does not fill hosts.
    placement;
    /// No switches of the network join so many NICs.
    network;
    /// Does not fit in memory.
    memory;
    /// Too slow.
    target;
    /// Reads a prompt too slowly.
    ttft;
    /// Fails before it makes headway.
    failures;
    /// Finishes too late, or later than a cluster that is known.
    deadline;
    /// Another layout finishes earlier on the same cluster.
    slower;
    /// Draws too much, takes too much space, or more than is in stock.
    limits;
    /// Beyond what may be spent, or dearer than a cluster of the same accelerators that does it.
    price;
}

/// The closest that rejected candidates came.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Nearest {
    /// Smallest ratio of memory needed to memory there.
    pub memory_ratio: Option<f64>,
    /// Fastest speed of a user below the target.
    pub tokens_per_second_per_user: Option<f64>,
    /// Shortest prefill beyond the limit.
    pub prefill_seconds: Option<f64>,
}

impl Nearest {
    pub(super) fn absorb(&mut self, other: Self) {
        closer(&mut self.memory_ratio, other.memory_ratio, f64::min);
        closer(
            &mut self.tokens_per_second_per_user,
            other.tokens_per_second_per_user,
            f64::max,
        );
        closer(&mut self.prefill_seconds, other.prefill_seconds, f64::min);
    }
}

fn closer(mine: &mut Option<f64>, theirs: Option<f64>, better: fn(f64, f64) -> f64) {
    *mine = (*mine).into_iter().chain(theirs).reduce(better);
}

/// What a search found.
#[derive(Clone, Debug)]
pub struct SearchResult<T> {
    /// What is worth buying: the front of each bill of materials of units that serve, the best cluster
    /// of each accelerator, host and network that trains.
    pub found: Vec<T>,
    /// Candidates in the space; in serving each integer batch up to the memory's capacity.
    pub covered: u64,
    /// Candidates whose speed was computed.
    pub evaluated: u64,
    /// Why others were rejected.
    pub rejected: Tally,
    /// How close they came.
    pub nearest: Nearest,
    /// Whether any unit was beyond the cap on prices.
    pub is_cut_by_price: bool,
    /// Whether the search was told to stop.
    pub interrupted: bool,
}

impl<T> Default for SearchResult<T> {
    fn default() -> Self {
        Self {
            found: Vec::new(),
            covered: 0,
            evaluated: 0,
            rejected: Tally::default(),
            nearest: Nearest::default(),
            is_cut_by_price: false,
            interrupted: false,
        }
    }
}

impl<T> SearchResult<T> {
    pub(super) fn absorb(&mut self, other: Self) {
        self.found.extend(other.found);
        self.covered += other.covered;
        self.evaluated += other.evaluated;
        self.rejected.absorb(other.rejected);
        self.nearest.absorb(other.nearest);
        self.is_cut_by_price |= other.is_cut_by_price;
        self.interrupted |= other.interrupted;
    }
}

/// Results of parts of a space, one after another.
impl<T> FromIterator<Self> for SearchResult<T> {
    fn from_iter<I: IntoIterator<Item = Self>>(parts: I) -> Self {
        parts.into_iter().fold(Self::default(), |mut all, one| {
            all.absorb(one);
            all
        })
    }
}
