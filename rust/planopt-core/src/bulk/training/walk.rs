//! From place to place in a space: what neighbours share is kept.

use super::columns::TrainingColumns;
use super::kernel::{Row, StageTerms, evaluate};
use super::space::{TrainingSpace, fails};
use crate::bulk::cache::Cache;
use crate::bulk::columns::LANES;
use crate::bulk::sink::{Rejected, Sink};
use crate::bulk::walk::Walk;
use crate::training::{Groups, Job, Question, Recipe, StageParts};

/// Walks through a space. Neighbouring rows are cheap, any other one is possible.
#[derive(Debug)]
pub struct TrainingWalker<'w, 's, 'a> {
    space: &'w TrainingSpace<'s, 'a>,
    recipe: Recipe,
    /// Place of the row that is prepared, and its pipeline.
    at: Option<(u64, usize)>,
    row: Row,
    groups: Cache<Option<Groups>>,
    paces: Cache<Pace>,
    columns: TrainingColumns,
}

/// What became of a row.
enum Sought {
    /// It can be evaluated.
    Ready,
    /// It cannot matter.
    Pruned,
}

/// One micro-batch through a pipeline: the level between a block of layers and a row.
#[derive(Clone, Debug, Default)]
struct Pace {
    stages: Vec<StageParts>,
    slowest: f64,
    slowest_compute: f64,
    /// On all stages together.
    path: f64,
}

impl Pace {
    fn work_out(&mut self, question: &Question) {
        self.stages.clear();
        let mut slowest = StageParts::default();
        self.path = 0.0;
        for stage in question.stages {
            let parts = question.stage(stage);
            self.path += parts.total().0 * stage.count;
            if parts.slower_than(&slowest) {
                slowest = parts;
            }
            self.stages.push(parts);
        }
        self.slowest = slowest.total().0;
        self.slowest_compute = (slowest.forward + slowest.backward + slowest.recompute).0;
    }
}

impl<'w, 's, 'a> TrainingWalker<'w, 's, 'a> {
    /// At no place yet.
    pub fn new(space: &'w TrainingSpace<'s, 'a>) -> Self {
        Self {
            space,
            recipe: *space.subject.recipe,
            at: None,
            row: Row::default(),
            groups: Cache::new(),
            paces: Cache::new(),
            columns: TrainingColumns::default(),
        }
    }

    /// Evaluates the candidates of the prepared row from `place` to `stop`: those that fit, and
    /// memory never falls along a row.
    fn evaluate(&mut self, row: u64, place: u64, stop: u64, sink: &mut impl Sink<TrainingColumns>) {
        let lane = |place: u64| usize::try_from(place - row).unwrap_or(usize::MAX);
        let Some((_, pipeline)) = self.at else {
            return;
        };
        let steps = &self.space.steps[pipeline];
        let fitting = self.fitting(&steps.micro_batches[lane(place)..lane(stop)]);
        let mut done = 0;
        while done < fitting {
            let count = (fitting - done).min(LANES);
            let from = lane(place) + done;
            evaluate(
                &self.row,
                &steps.micro_batches[from..from + count],
                &steps.inverse[from..from + count],
                &mut self.columns,
            );
            sink.accept(place + done as u64, count, &self.columns);
            done += count;
        }
        let rest = stop - place - done as u64;
        if rest > 0 {
            sink.reject(place + done as u64, rest, Rejected::Memory);
        }
    }

    /// How many of so many micro-batches fit in memory.
    fn fitting(&self, micro_batches: &[f64]) -> usize {
        let fits = |count: f64| {
            let capacity = self.row.capacity;
            self.row
                .stages
                .iter()
                .all(|stage| stage.total_bytes(count) <= capacity)
        };
        match micro_batches.last() {
            Some(&most) if !fits(most) => micro_batches.partition_point(|&count| fits(count)),
            _ => micro_batches.len(),
        }
    }

    /// Prepares the row that starts at `place`, unless `prune` says of its price and a bound of its
    /// days that it cannot matter.
    fn seek(
        &mut self,
        place: u64,
        prune: impl FnOnce(f64, f64) -> bool,
    ) -> Result<Sought, Rejected> {
        let space = self.space;
        if self.at.is_some_and(|(at, _)| at == place) {
            return Ok(Sought::Ready);
        }
        self.at = None;
        let digits = space.radix.digits(place);
        let size = space.checked(&digits)?;
        let layout = space.layout(&digits);
        let platform = &space.platforms[digits[0]];
        let hardware = platform.hardware().ok_or(Rejected::Format)?;
        let priced = space.priced(&digits).ok_or(Rejected::Format)?;
        let cluster = space.cluster(digits[0], size).ok_or(Rejected::Network)?;
        let groups = self.groups.get_or(space.groups_key(&digits), |groups| {
            let laid_out = layout.place(&platform.fabric, hardware.slots);
            *groups = Some(laid_out.map_err(|_| Rejected::Placement)?);
            Ok(())
        })?;
        let groups = groups.as_ref().ok_or(Rejected::Placement)?;
        self.recipe.global_batch = layout.dp * layout.micro_batch * layout.pp;
        let subject = &space.subject;
        let stages = &space.stages[digits[5]];
        let job = Job {
            transformer: subject.transformer,
            recipe: &self.recipe,
            layout: &layout,
            assumptions: subject.assumptions,
            training: subject.training,
        };
        let question = Question::new(&job, &hardware, priced, groups, stages);
        let row = &mut self.row;
        row.goodput = cluster.goodput(layout.pp);
        if fails(row.goodput) {
            return Err(Rejected::Failures);
        }
        let pace = self.paces.get_or(space.pace_key(&digits), |pace| {
            pace.work_out(&question);
            Ok(())
        })?;
        row.slowest = pace.slowest;
        row.tokens_per_micro_batch =
            f64::from(layout.dp * layout.micro_batch) * f64::from(subject.recipe.seq_len);
        row.tokens = subject.tokens;
        row.price_usd = cluster.price_usd;
        if prune(row.price_usd, row.least_days()) {
            return Ok(Sought::Pruned);
        }
        row.capacity = (platform.fit.accelerator.memory * subject.training.usable_fraction).0;
        row.stages.clear();
        for stage in stages {
            let memory = question.memory(stage);
            // With the fewest micro-batches; more of them never need less.
            if memory.with(f64::from(layout.pp)).total().0 > row.capacity {
                return Err(Rejected::Memory);
            }
            row.stages.push(StageTerms::new(memory));
        }
        for ((stage, parts), terms) in stages.iter().zip(&pace.stages).zip(&mut row.stages) {
            terms.follow(&question.following(stage, parts));
        }
        row.slowest_compute = pace.slowest_compute;
        row.bubble = (pace.path - pace.slowest) / f64::from(layout.vpp);
        row.contention = subject.training.framework.data_contention;
        row.step_overhead = subject.training.framework.step_overhead.0;
        row.straggling = cluster.straggling;
        row.accelerators = cluster.accelerators;
        row.peak = hardware.rates.quantised.0;
        row.flops_over_peak = space.flops_per_token / (cluster.accelerators * row.peak);
        row.usd_per_hour = cluster.usd_per_hour;
        row.duty = subject.assumptions.cost.duty;
        self.at = Some((place, digits[5]));
        Ok(Sought::Ready)
    }
}

impl Walk for TrainingWalker<'_, '_, '_> {
    type Columns = TrainingColumns;

    fn walk(&mut self, start: u64, end: u64, sink: &mut impl Sink<TrainingColumns>) {
        let length = self.space.row_length();
        let mut place = start;
        while place < end {
            let row = place / length * length;
            let stop = end.min(row + length);
            match self.seek(row, |price, days| sink.prune(stop - place, price, days)) {
                Err(reason) => sink.reject(place, stop - place, reason),
                Ok(Sought::Ready) => self.evaluate(row, place, stop, sink),
                Ok(Sought::Pruned) => {}
            }
            place = stop;
        }
    }
}
