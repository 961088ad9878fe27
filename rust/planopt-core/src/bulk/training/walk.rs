//! From one index to another of a space: what neighbours share is kept.

use super::axes::{PIPELINE, PLATFORM, Pipeline};
use super::columns::TrainingColumns;
use super::kernel::{Closing, Row, StageTerms, evaluate};
use super::levels::Known;
use super::space::{Address, TrainingSpace};
use crate::bulk::columns::LANES;
use crate::bulk::sink::{Rejected, Sink};
use crate::bulk::walk::{Candidates, Walk};

/// Walks through a space. Neighbouring rows are cheap, any other one is possible.
#[derive(Debug)]
pub struct TrainingWalker<'w, 's, 'a> {
    space: &'w TrainingSpace<'s, 'a>,
    /// Index of the row that is prepared, and its pipeline.
    at: Option<(u64, usize)>,
    row: Row,
    known: Known,
    closing: Closing,
    columns: TrainingColumns,
}

/// Candidates whose values are brought near together: their rows fill half of a first-level cache.
const FETCHED: usize = 32;

/// What became of a row.
enum Sought {
    /// It can be evaluated.
    Ready,
    /// It cannot matter.
    Pruned,
}

impl<'w, 's, 'a> TrainingWalker<'w, 's, 'a> {
    /// At no candidate yet.
    pub fn new(space: &'w TrainingSpace<'s, 'a>) -> Self {
        Self {
            space,
            at: None,
            row: Row::default(),
            known: Known::default(),
            closing: Closing::default(),
            columns: TrainingColumns::default(),
        }
    }

    /// Evaluates the candidates of the prepared row from `index` to `stop`: those that fit, and
    /// memory never falls along a row.
    fn evaluate(&mut self, row: u64, index: u64, stop: u64, sink: &mut impl Sink<TrainingColumns>) {
        let lane = |index: u64| usize::try_from(index - row).unwrap_or(usize::MAX);
        let Some((_, pipeline)) = self.at else {
            return;
        };
        let steps = &self.space.steps[pipeline];
        let fitting = self.fitting(&steps.micro_batches[lane(index)..lane(stop)]);
        let mut done = 0;
        while done < fitting {
            let count = (fitting - done).min(LANES);
            let from = lane(index) + done;
            evaluate(
                &self.row,
                &steps.micro_batches[from..from + count],
                &steps.inverse[from..from + count],
                &mut self.closing,
                &mut self.columns,
            );
            sink.accept(index + done as u64, count, &self.columns);
            done += count;
        }
        let rest = stop - index - done as u64;
        if rest > 0 {
            sink.reject(index + done as u64, rest, Rejected::Memory);
        }
    }

    /// How many of so many micro-batches fit in memory.
    fn fitting(&self, micro_batches: &[f64]) -> usize {
        match micro_batches.last() {
            Some(&most) if !self.row.fits(most) => {
                micro_batches.partition_point(|&count| self.row.fits(count))
            }
            _ => micro_batches.len(),
        }
    }

    /// Evaluates the candidates of a row from `index` to `stop`.
    fn walk_row(
        &mut self,
        address: &Address,
        index: u64,
        stop: u64,
        sink: &mut impl Sink<TrainingColumns>,
    ) {
        let row = index / self.space.row_length() * self.space.row_length();
        match self.seek(row, address, |price, days| {
            sink.prune(stop - index, price, days)
        }) {
            Err(reason) => sink.reject(index, stop - index, reason),
            Ok(Sought::Ready) => self.evaluate(row, index, stop, sink),
            Ok(Sought::Pruned) => {}
        }
    }

    /// Prepares the row that starts at `index`, unless `prune` says of its price and a bound of its
    /// days that it cannot matter.
    fn seek(
        &mut self,
        index: u64,
        address: &Address,
        prune: impl FnOnce(f64, f64) -> bool,
    ) -> Result<Sought, Rejected> {
        let space = self.space;
        if self.at.is_some_and(|(at, _)| at == index) {
            return Ok(Sought::Ready);
        }
        self.at = None;
        let Address { digits, keys, .. } = address;
        let (levels, known) = (&space.levels, &mut self.known);
        let paces = levels
            .paces
            .of(&space.grid, digits, keys.paces, &mut known.paces);
        let cluster = space.cluster(address)?;
        let platform = &space.grid.platforms[digits[PLATFORM]];
        let rates = platform.rates.as_ref().ok_or(Rejected::Format)?;
        let pipeline = digits[PIPELINE];
        let Pipeline { pp, .. } = space.grid.axes.pipeline[pipeline];
        let stages = &space.grid.stages[pipeline];
        let subject = &space.grid.subject;
        let row = &mut self.row;
        row.pace(paces, stages);
        row.goodput = cluster.goodput(pp);
        row.tokens_per_micro_batch = space.tokens_per_micro_batch(digits);
        row.tokens = subject.tokens;
        row.price_usd = cluster.price_usd;
        row.capacity = platform.capacity;
        if prune(row.price_usd, row.least_days()) {
            return Ok(Sought::Pruned);
        }
        let exchanges = &levels.exchanges;
        let exchanges = exchanges.of(&space.grid, digits, keys.exchanges, &mut known.exchanges);
        let kept = levels
            .kept
            .of(&space.grid, digits, keys.kept, &mut known.kept);
        let resident = levels
            .resident
            .of(&space.grid, digits, keys.resident, &mut known.resident);
        row.stages.clear();
        for stage in 0..stages.len() {
            let (kept, resident) = (kept[stage], resident[stage]);
            let terms = StageTerms::new(&paces[stage], &exchanges[stage], kept, resident);
            row.stages.push(terms);
        }
        // With the fewest micro-batches; more of them never need less.
        if !row.fits(f64::from(pp)) {
            return Err(Rejected::Memory);
        }
        row.contention = subject.training.framework.data_contention;
        row.step_overhead = subject.training.framework.step_overhead.0;
        row.straggling = cluster.straggling;
        row.accelerators = cluster.accelerators;
        row.peak = rates.quantised.0;
        row.flops_over_peak = space.flops_per_token / (cluster.accelerators * row.peak);
        row.usd_per_hour = cluster.usd_per_hour;
        row.duty = subject.assumptions.cost.duty;
        self.at = Some((index, pipeline));
        Ok(Sought::Ready)
    }
}

impl Walk for TrainingWalker<'_, '_, '_> {
    type Columns = TrainingColumns;

    fn walk(&mut self, start: u64, end: u64, sink: &mut impl Sink<TrainingColumns>) {
        let length = self.space.row_length();
        let mut index = start;
        while index < end {
            let stop = end.min((index / length + 1) * length);
            self.walk_row(&self.space.address(index), index, stop, sink);
            index = stop;
        }
    }

    fn visit(&mut self, indices: &[u64], sink: &mut impl Sink<TrainingColumns>) {
        let mut rows = [Address::default(); FETCHED];
        for indices in indices.chunks(FETCHED) {
            let rows = &mut rows[..indices.len()];
            for (row, &index) in rows.iter_mut().zip(indices) {
                *row = self.space.address(index);
            }
            self.space.fetch(rows);
            for (row, &index) in rows.iter().zip(indices) {
                self.walk_row(row, index, index + 1, sink);
            }
        }
    }
}

impl Candidates for TrainingSpace<'_, '_> {
    type Columns = TrainingColumns;

    type Walker<'w>
        = TrainingWalker<'w, 'w, 'w>
    where
        Self: 'w;

    fn count(&self) -> u64 {
        self.grid.radix.count()
    }

    fn walker(&self) -> Self::Walker<'_> {
        TrainingWalker::new(self)
    }
}
