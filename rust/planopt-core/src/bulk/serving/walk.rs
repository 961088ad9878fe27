//! From one index to another of a space: what neighbours share is kept.

use super::columns::ServingColumns;
use super::kernel::{Row, Steps, evaluate};
use super::space::ServingSpace;
use crate::bulk::columns::LANES;
use crate::bulk::sink::{Rejected, Sink};
use crate::bulk::walk::{Candidates, Walk};
use crate::compute::Step;
use crate::memory::StageMemory;
use crate::quantity::real;
use crate::serving::Replica;

/// Walks through a space. Neighbouring rows are cheap, any other one is possible.
#[derive(Debug)]
pub struct ServingWalker<'w, 's, 'a> {
    space: &'w ServingSpace<'s, 'a>,
    /// Index of the row that is prepared.
    at: Option<u64>,
    /// The replica that is prepared: all axes but the last two, less the replicas bought.
    replica: Option<([usize; REPLICA_AXES], Replica<'w>)>,
    steps: Steps,
    /// Groups that share the attention of a batch, as the steps have it.
    groups: u32,
    /// Which batches have steps.
    known: std::ops::Range<usize>,
    row: Row,
    columns: ServingColumns,
}

/// Axes that a replica depends on: the first ones.
const REPLICA_AXES: usize = 6;

impl<'w, 's, 'a> ServingWalker<'w, 's, 'a> {
    /// At no candidate yet.
    pub fn new(space: &'w ServingSpace<'s, 'a>) -> Self {
        let empty = || vec![0.0; space.batches.len()];
        Self {
            space,
            at: None,
            replica: None,
            steps: Steps {
                batch: space.batches.clone(),
                inverse: space.batches.iter().map(|batch| 1.0 / batch).collect(),
                local: empty(),
                turn: empty(),
                slowest: empty(),
                compute: empty(),
                memory: empty(),
                communication: empty(),
                host: empty(),
            },
            groups: 0,
            known: 0..0,
            row: Row::default(),
            columns: ServingColumns::default(),
        }
    }

    /// Evaluates the candidates of the prepared row from `index` to `stop`: those that fit, and
    /// memory grows along a row.
    fn evaluate(&mut self, row: u64, index: u64, stop: u64, sink: &mut impl Sink<ServingColumns>) {
        let lane = |index: u64| usize::try_from(index - row).unwrap_or(usize::MAX);
        let asked = lane(index)..lane(stop);
        let fitting = self.steps.local[asked.clone()].partition_point(|&batch| {
            let sequences = batch * self.row.in_flight * self.row.resident;
            let fits = |stage: &StageMemory| stage.total(batch, sequences).0 <= self.row.capacity;
            self.row.memory.iter().all(fits)
        });
        self.work_out_steps(asked.start..asked.start + fitting);
        let mut done = 0;
        while done < fitting {
            let count = (fitting - done).min(LANES);
            let from = asked.start + done;
            evaluate(&self.row, &self.steps, from, count, &mut self.columns);
            sink.accept(index + done as u64, count, &self.columns);
            done += count;
        }
        let rest = stop - index - done as u64;
        if rest > 0 {
            sink.reject(index + done as u64, rest, Rejected::Memory);
        }
    }

    /// Works out the steps of some batches, unless they are known.
    fn work_out_steps(&mut self, asked: std::ops::Range<usize>) {
        let within = asked.start >= self.known.start && asked.end <= self.known.end;
        let Some((_, replica)) = &self.replica else {
            return;
        };
        if within || asked.is_empty() {
            return;
        }
        let context = real(replica.question().context);
        let steps = &mut self.steps;
        for lane in asked.clone() {
            let path = replica.path(Step::decode(steps.batch[lane], context));
            steps.turn[lane] = path.turn.total().0;
            steps.slowest[lane] = path.slowest_stage.total().0;
            steps.compute[lane] = path.turn.compute.0;
            steps.memory[lane] = path.turn.memory.0;
            steps.communication[lane] = path.turn.communication.0;
            steps.host[lane] = path.turn.host.0;
        }
        self.known = asked;
    }

    /// Prepares the row that starts at `index`.
    fn seek(&mut self, index: u64) -> Result<(), Rejected> {
        if self.at == Some(index) {
            return Ok(());
        }
        self.at = None;
        let space = self.space;
        let digits = space.radix.digits(index);
        let purchase = space.purchase(&digits)?;
        let rank = space.rank(&digits).ok_or(Rejected::Format)?;
        let platform = &space.platforms[digits[0]];
        let question = space.question(&digits);
        let key: [usize; REPLICA_AXES] = std::array::from_fn(|axis| digits[axis]);
        if self.replica.as_ref().is_none_or(|(known, _)| *known != key) {
            let replica = Replica::new(
                rank,
                &space.stages[digits[5]],
                &platform.fabric,
                purchase.placement,
                question,
                platform.system.accelerator,
                space.assumptions,
            );
            self.row.memory.clear();
            self.row.memory.extend(replica.stage_memory());
            self.row.capacity = replica.capacity().0;
            self.row.prefill_seconds = replica.prefill().seconds.0;
            if self.groups != replica.attention_groups() {
                self.groups = replica.attention_groups();
                let groups = f64::from(self.groups);
                let batches = self.steps.local.iter_mut().zip(&self.steps.batch);
                batches.for_each(|(local, batch)| *local = (batch / groups).ceil());
            }
            self.known = 0..0;
            self.replica = Some((key, replica));
        }
        let row = &mut self.row;
        row.in_flight = f64::from(space.axes.in_flight[digits[7]]);
        row.resident = question.overlap.resident();
        row.replicas = f64::from(space.axes.replicas[digits[6]]);
        row.duty = space.assumptions.cost.duty;
        row.price_usd = purchase.price_usd;
        row.usd_per_hour = purchase.usd_per_hour;
        row.power_watts = purchase.power_watts;
        self.at = Some(index);
        Ok(())
    }
}

impl Walk for ServingWalker<'_, '_, '_> {
    type Columns = ServingColumns;

    fn walk(&mut self, start: u64, end: u64, sink: &mut impl Sink<ServingColumns>) {
        let length = self.space.row_length();
        let mut index = start;
        while index < end {
            let row = index / length * length;
            let stop = end.min(row + length);
            match self.seek(row) {
                Err(reason) => sink.reject(index, stop - index, reason),
                Ok(()) => self.evaluate(row, index, stop, sink),
            }
            index = stop;
        }
    }
}

impl Candidates for ServingSpace<'_, '_> {
    type Columns = ServingColumns;

    type Walker<'w>
        = ServingWalker<'w, 'w, 'w>
    where
        Self: 'w;

    fn count(&self) -> u64 {
        self.radix.count()
    }

    fn walker(&self) -> Self::Walker<'_> {
        ServingWalker::new(self)
    }
}
