//! Spaces of candidates by their names, and what evaluating all of one comes to.

mod axes;
mod front;
mod hardware;
mod serving;
mod training;

pub use front::{Course, FrontAnswer, FrontOptions};

pub use serving::{ServingSpaceRequest, with_serving_space};
pub use training::{TrainingSpaceRequest, with_training_space};

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::bulk::{Candidates, Table, Tally, Walk, tally};
use crate::catalog::{Assumptions, Catalog};
use crate::diagnostic::Diagnostic;

/// From one place to the next of random access: odd, and far from any short period modulo the
/// size of a space (2^64 over the golden ratio).
const STRIDE: u64 = 0x9E37_79B9_7F4A_7C15;

/// Candidates whose figures are collected between two looks at Ctrl-C.
const FIGURES_AT_ONCE: u64 = 1 << 16;

/// A space of candidates of either kind.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum SpaceRequest {
    /// Of training.
    Training(Box<TrainingSpaceRequest>),
    /// Of serving.
    Serving(Box<ServingSpaceRequest>),
}

impl SpaceRequest {
    /// How many candidates there are.
    ///
    /// # Errors
    ///
    /// Everything in the request that is not known or cannot be.
    pub fn count(&self, catalog: &Catalog) -> Result<u64, Vec<Diagnostic>> {
        match self {
            Self::Training(request) => with_training_space(catalog, request, |space| space.count()),
            Self::Serving(request) => with_serving_space(catalog, request, |space| space.count()),
        }
    }

    /// Evaluates candidates as fast as this machine can.
    ///
    /// # Errors
    ///
    /// Everything in the request that is not known or cannot be.
    pub fn bench(
        &self,
        catalog: &Catalog,
        options: BenchOptions,
        stop: &AtomicBool,
    ) -> Result<BenchAnswer, Vec<Diagnostic>> {
        match self {
            Self::Training(request) => {
                with_training_space(catalog, request, |space| bench(space, options, stop))
            }
            Self::Serving(request) => {
                with_serving_space(catalog, request, |space| bench(space, options, stop))
            }
        }
    }

    /// The front of a part of the space.
    ///
    /// # Errors
    ///
    /// Everything in the request that is not known or cannot be.
    pub fn front(
        &self,
        catalog: &Catalog,
        options: FrontOptions,
        stop: &AtomicBool,
        course: &Course,
    ) -> Result<FrontAnswer, Vec<Diagnostic>> {
        match self {
            Self::Training(request) => with_training_space(catalog, request, |space| {
                front::front_of(space, options, stop, course)
            }),
            Self::Serving(request) => with_serving_space(catalog, request, |space| {
                front::front_of(space, options, stop, course)
            }),
        }
    }

    /// Every figure of the candidates from `start` to `end` that work.
    ///
    /// # Errors
    ///
    /// Everything in the request that is not known or cannot be.
    pub fn figures(
        &self,
        catalog: &Catalog,
        start: u64,
        end: u64,
        stop: &AtomicBool,
    ) -> Result<Table, Vec<Diagnostic>> {
        match self {
            Self::Training(request) => {
                with_training_space(catalog, request, |space| figures(space, start, end, stop))
            }
            Self::Serving(request) => {
                with_serving_space(catalog, request, |space| figures(space, start, end, stop))
            }
        }
    }
}

/// Every figure of the candidates from `start` to `end` that work.
fn figures<S: Candidates>(space: &S, start: u64, end: u64, stop: &AtomicBool) -> Table {
    let mut table = Table::of::<S::Columns>();
    let mut walker = space.walker();
    let end = end.min(space.count());
    let mut place = start;
    while place < end && !stop.load(Ordering::Relaxed) {
        let next = end.min(place + FIGURES_AT_ONCE);
        walker.walk(place, next, &mut table);
        place = next;
    }
    table
}

/// Assumptions with other prices of money over time.
fn with_prices(
    catalog: &Catalog,
    electricity_usd_per_kwh: Option<f64>,
    years: Option<f64>,
) -> Assumptions {
    let mut assumptions = catalog.assumptions.entity.clone();
    let cost = &mut assumptions.cost;
    cost.electricity_usd_per_kwh = electricity_usd_per_kwh.unwrap_or(cost.electricity_usd_per_kwh);
    cost.years = years.unwrap_or(cost.years);
    assumptions
}

/// What evaluating a space came to.
#[derive(Clone, Debug, Serialize)]
pub struct BenchAnswer {
    /// Candidates of the space, or of the part that was looked at.
    pub candidates: u64,
    /// Of them, those that work, all of whose figures were computed.
    pub evaluated: u64,
    /// Of them, those that do not.
    pub rejected: u64,
    /// The same by reason.
    pub rejected_by: Vec<(&'static str, u64)>,
    /// Wall time.
    pub seconds: f64,
    /// Candidates whose figures were computed, per second.
    pub candidates_per_second: f64,
    /// Of all figures, whatever the order.
    pub checksum: String,
}

impl BenchAnswer {
    fn new(tally: &Tally, seconds: f64) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
        let evaluated = tally.evaluated as f64;
        Self {
            candidates: tally.evaluated + tally.all_rejected(),
            evaluated: tally.evaluated,
            rejected: tally.all_rejected(),
            rejected_by: tally.rejected_by(),
            seconds,
            candidates_per_second: evaluated / seconds,
            checksum: format!("{:016x}", tally.checksum.0),
        }
    }
}

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// Every candidate, in the order of their places.
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
fn bench<'w, S: Candidates>(space: &'w S, options: BenchOptions, stop: &AtomicBool) -> BenchAnswer {
    let count = space.count();
    let chunk = options.chunk.max(1);
    let candidates = match options.access {
        Access::Bulk => options.candidates.min(count),
        Access::Random => options.candidates,
    };
    let visit = |walker: &mut S::Walker<'w>, number: u64, tally: &mut Tally| {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let start = number * chunk;
        let end = candidates.min(start + chunk);
        match options.access {
            Access::Bulk => walker.walk(start, end, tally),
            Access::Random => {
                let place = |sample: u64| sample.wrapping_mul(STRIDE) % count;
                let places: Vec<u64> = (start..end).map(place).collect();
                walker.visit(&places, tally);
            }
        }
    };
    let all = || tally(space, candidates.div_ceil(chunk), visit);
    let started = Instant::now();
    let found = on_threads(options.threads, all);
    BenchAnswer::new(&found, started.elapsed().as_secs_f64())
}

/// Runs `work` on so many threads; on those of the process if no others can be had.
fn on_threads<T: Send>(threads: usize, work: impl Fn() -> T + Send + Sync) -> T {
    match rayon::ThreadPoolBuilder::new().num_threads(threads).build() {
        Ok(pool) if threads > 0 => pool.install(work),
        _ => work(),
    }
}
