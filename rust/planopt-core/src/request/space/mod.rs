//! Spaces of candidates by their names, and what evaluating all of one comes to.

mod axes;
mod common;
mod front;
mod hardware;
mod serving;
mod training;

pub use self::front::FrontOptions;
pub use self::serving::{ServingSpaceRequest, with_serving_space};
pub use self::training::{TrainingSpaceRequest, with_training_space};

use self::common::on_threads;
use crate::bulk::{Candidates, Table, Tally, Walk, tally};
use crate::catalog::Catalog;
use crate::course::Course;
use crate::diagnostic::Diagnostic;
use crate::document::{BenchAnswer, FrontAnswer};
use serde::Deserialize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// From one index to the next of random access: odd, and far from any short period modulo the
/// size of a space (2^64 over the golden ratio).
const STRIDE: u64 = 0x9E37_79B9_7F4A_7C15;

/// Candidates whose metrics are collected between two looks at Ctrl-C.
const CANDIDATES_AT_ONCE: u64 = 1 << 16;

/// A space of candidates of either `kind`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SpaceRequest {
    /// Of training.
    Training(Box<TrainingSpaceRequest>),
    /// Of serving.
    Serving(Box<ServingSpaceRequest>),
}

/// Shows the space of either kind.
macro_rules! with_space {
    ($request:expr, $catalog:expr, |$space:ident| $work:expr) => {
        match $request {
            SpaceRequest::Training(request) => {
                with_training_space($catalog, request, |$space| $work)
            }
            SpaceRequest::Serving(request) => with_serving_space($catalog, request, |$space| $work),
        }
    };
}

impl SpaceRequest {
    /// How many candidates there are.
    pub fn count(&self, catalog: &Catalog) -> Result<u64, Vec<Diagnostic>> {
        with_space!(self, catalog, |space| space.count())
    }

    /// Evaluates candidates as fast as this machine can.
    pub fn bench(
        &self,
        catalog: &Catalog,
        options: BenchOptions,
        course: &Course,
    ) -> Result<BenchAnswer, Vec<Diagnostic>> {
        with_space!(self, catalog, |space| bench(space, options, course))
    }

    /// The front of a part of the space.
    pub fn front(
        &self,
        catalog: &Catalog,
        options: FrontOptions,
        course: &Course,
    ) -> Result<FrontAnswer, Vec<Diagnostic>> {
        with_space!(self, catalog, |space| front::front_of(
            space, options, course
        ))
    }

    /// Every metric of the candidates from `start` to `end` that work.
    pub fn metrics(
        &self,
        catalog: &Catalog,
        start: u64,
        end: u64,
        stop: &AtomicBool,
    ) -> Result<Table, Vec<Diagnostic>> {
        with_space!(self, catalog, |space| metrics(space, start, end, stop))
    }
}

/// Every metric of the candidates from `start` to `end` that work.
fn metrics<S: Candidates>(space: &S, start: u64, end: u64, stop: &AtomicBool) -> Table {
    let mut table = Table::of::<S::Columns>();
    let mut walker = space.walker();
    let end = end.min(space.count());
    let mut index = start;
    while index < end && !stop.load(Ordering::Relaxed) {
        let next = end.min(index + CANDIDATES_AT_ONCE);
        walker.walk(index, next, &mut table);
        index = next;
    }
    table
}

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// Every candidate, in the order of their indices.
    Bulk,
    /// Single candidates, each far from the last.
    Random,
}

/// How a space is gone through.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BenchOptions {
    /// What is measured.
    pub access: Access,
    /// Threads; 0 for one of each core.
    pub threads: usize,
    /// Candidates of a chunk.
    pub chunk: u64,
    /// Candidates in all: of bulk the first ones.
    pub candidates: u64,
}

/// Evaluates candidates of a space as fast as this machine can.
fn bench<'w, S: Candidates>(space: &'w S, options: BenchOptions, course: &Course) -> BenchAnswer {
    let count = space.count();
    let chunk = options.chunk.max(1);
    let candidates = match options.access {
        Access::Bulk => options.candidates.min(count),
        Access::Random => options.candidates,
    };
    course.begin(candidates);
    let visit = |walker: &mut S::Walker<'w>, number: u64, tally: &mut Tally| {
        if course.is_over() {
            return;
        }
        let start = number * chunk;
        let end = candidates.min(start + chunk);
        match options.access {
            Access::Bulk => walker.walk(start, end, tally),
            Access::Random => {
                let index = |sample: u64| sample.wrapping_mul(STRIDE) % count;
                let indices: Vec<u64> = (start..end).map(index).collect();
                walker.visit(&indices, tally);
            }
        }
        course.step(end - start);
    };
    let all = || tally(space, candidates.div_ceil(chunk), visit);
    let started = Instant::now();
    let found = on_threads(options.threads, all);
    BenchAnswer::new(&found, started.elapsed().as_secs_f64())
}
