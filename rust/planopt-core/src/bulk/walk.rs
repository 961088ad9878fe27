//! Through a space: in one go, in chunks on all cores, or to single candidates.

use super::columns::Metrics;
use super::front::{Front, FrontSink, Ranked};
use super::sink::{Sink, Tally};
use rayon::prelude::*;

/// Goes from one index to another of a space.
pub trait Walk {
    /// Metrics of its candidates.
    type Columns: Metrics;

    /// Evaluates the candidates from `start` to `end`.
    fn walk(&mut self, start: u64, end: u64, sink: &mut impl Sink<Self::Columns>);

    /// Evaluates single candidates, wherever they are.
    fn visit(&mut self, indices: &[u64], sink: &mut impl Sink<Self::Columns>) {
        for &index in indices {
            self.walk(index, index + 1, sink);
        }
    }
}

/// A numbered space of candidates.
pub trait Candidates: Sync {
    /// Metrics of its candidates, of which a front can be made.
    type Columns: Ranked;

    /// What goes through it; one of each thread.
    type Walker<'w>: Walk<Columns = Self::Columns>
    where
        Self: 'w;

    /// Candidates.
    fn count(&self) -> u64;

    /// At no candidate yet.
    fn walker(&self) -> Self::Walker<'_>;
}

/// Candidates of a chunk of a search.
const CHUNK: u64 = 1 << 20;

/// Candidates looked at before all others, so that there is something to hold bounds against: one
/// part in so many.
const SAMPLE: u64 = 1 << 8;

/// Candidates of each sample.
const SAMPLED: u64 = 1 << 9;

/// The front of the candidates from `start` to `end`. Unless it is `exhaustive`, rows are passed
/// over whose bound some known candidate beats; the front is the same. `go_on` is told how many
/// candidates come next, and may end it early.
pub fn front<S: Candidates>(
    space: &S,
    (start, end): (u64, u64),
    exhaustive: bool,
    go_on: impl Fn(u64) -> bool + Sync,
) -> FrontSink {
    let parts = |size: u64, step: u64, known: Option<&Front>| {
        (0..(end - start).div_ceil(step))
            .into_par_iter()
            .map_init(
                || space.walker(),
                |walker, number| {
                    let mut sink = FrontSink {
                        known: known.cloned(),
                        ..FrontSink::default()
                    };
                    let from = start + number * step;
                    let to = end.min(from + size);
                    if go_on(to - from) {
                        walker.walk(from, to, &mut sink);
                    }
                    sink
                },
            )
            .reduce(FrontSink::default, |one, other| one.with(&other))
    };
    if exhaustive {
        return parts(CHUNK, CHUNK, None);
    }
    let sampled = parts(SAMPLED, SAMPLED * SAMPLE, None);
    parts(CHUNK, CHUNK, Some(&sampled.front))
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
