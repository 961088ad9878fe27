//! Through a space: in one go, in chunks on all cores, or to single places.

use rayon::prelude::*;

use super::columns::Figures;
use super::sink::{Sink, Tally};

/// Goes from place to place in a space.
pub trait Walk {
    /// Figures of its candidates.
    type Columns: Figures;

    /// Evaluates the candidates from `start` to `end`.
    fn walk(&mut self, start: u64, end: u64, sink: &mut impl Sink<Self::Columns>);
}

/// A numbered space of candidates.
pub trait Candidates: Sync {
    /// What goes through it; one of each thread.
    type Walker<'w>: Walk
    where
        Self: 'w;

    /// Candidates.
    fn count(&self) -> u64;

    /// At no place yet.
    fn walker(&self) -> Self::Walker<'_>;
}

/// Evaluates `chunks` parts of a space on the threads of the pool. `visit` goes through one of
/// them; the result does not depend on how they are cut or shared out.
pub fn tally<'w, S: Candidates>(
    space: &'w S,
    chunks: u64,
    visit: impl Fn(&mut S::Walker<'w>, u64, &mut Tally) + Sync,
) -> Tally {
    (0..chunks)
        .into_par_iter()
        .map_init(
            || space.walker(),
            |walker, number| {
                let mut tally = Tally::default();
                visit(walker, number, &mut tally);
                tally
            },
        )
        .reduce(Tally::default, Tally::with)
}
