//! The front of a space, with what each candidate on it is.

use super::common::on_threads;
use crate::bulk::serving::ServingSpace;
use crate::bulk::training::TrainingSpace;
use crate::bulk::{Candidates, Metrics, Rejected, Sink, Walk, front};
use crate::course::Course;
use crate::document::FrontAnswer;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::time::Instant;

/// Which part of a space, and how it is gone through.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FrontOptions {
    /// The first candidate.
    #[serde(default)]
    pub start: u64,
    /// Behind the last one; the end of the space if it is beyond.
    pub end: Option<u64>,
    /// Evaluate each, also those that a bound shows not to matter.
    #[serde(default)]
    pub exhaustive: bool,
    /// Threads; 0 for those of the process.
    #[serde(default)]
    pub threads: usize,
}

/// Spaces whose candidates can be told in words.
pub(crate) trait Described: Candidates {
    /// What a candidate is, by the names of the request.
    fn describe(&self, index: u64) -> Value;
}

impl Described for TrainingSpace<'_, '_> {
    fn describe(&self, index: u64) -> Value {
        let (platform, layout, global_batch) = self.candidate(index);
        json!({
            "accelerator": platform.system.accelerator.id,
            "host": platform.system.host.id,
            "network": platform.system.network.map(|(network, _)| network.id.as_str()),
            "nics_per_host": platform.system.network.map(|(_, line)| line.nics_per_host),
            "accelerators": layout.accelerators(),
            "tp": layout.tp,
            "sequence_parallel": layout.sequence_parallel,
            "pp": layout.pp,
            "vpp": layout.vpp,
            "dp": layout.dp,
            "cp": layout.cp,
            "ep": layout.ep,
            "micro_batch": layout.batch,
            "global_batch": global_batch,
            "recompute": layout.recompute,
            "shard": layout.zero,
        })
    }
}

impl Described for ServingSpace<'_, '_> {
    fn describe(&self, index: u64) -> Value {
        let (platform, question, layout) = self.candidate(index);
        json!({
            "accelerator": platform.system.accelerator.id,
            "host": platform.system.host.id,
            "network": platform.system.network.map(|(network, _)| network.id.as_str()),
            "nics_per_host": platform.system.network.map(|(_, line)| line.nics_per_host),
            "weights": question.formats.weights.name(),
            "kv": question.formats.kv.name(),
            "prompt": question.prompt,
            "context": question.context,
            "overlap": question.overlap,
            "tp": layout.tp,
            "dp": layout.dp,
            "ep": layout.ep,
            "pp": layout.pp,
            "replicas": layout.replicas,
            "in_flight": layout.in_flight,
            "batch": layout.batch,
        })
    }
}

/// Adds the metrics of one candidate to its row.
struct Row<'r>(&'r mut Map<String, Value>);

impl<C: Metrics> Sink<C> for Row<'_> {
    fn accept(&mut self, _index: u64, _count: usize, columns: &C) {
        columns.with(|columns| {
            for (name, column) in C::NAMES.iter().zip(columns) {
                self.0.insert((*name).to_owned(), column[0].into());
            }
        });
    }

    fn reject(&mut self, _index: u64, _count: u64, _reason: Rejected) {}
}

/// The front of a part of a space.
pub(super) fn front_of<S: Described>(
    space: &S,
    options: FrontOptions,
    course: &Course,
) -> FrontAnswer {
    let started = Instant::now();
    let count = space.count();
    let end = options.end.map_or(count, |end| end.min(count));
    let start = options.start.min(end);
    course.begin(end - start);
    let go_on = |candidates: u64| {
        course.step(candidates);
        !course.is_over()
    };
    let found = on_threads(options.threads, || {
        front(space, (start, end), options.exhaustive, go_on)
    });
    let mut walker = space.walker();
    let rows = found.front.points().iter().map(|point| {
        let mut row = Map::new();
        row.insert("index".to_owned(), point.index.into());
        if let Value::Object(words) = space.describe(point.index) {
            row.extend(words);
        }
        walker.walk(point.index, point.index + 1, &mut Row(&mut row));
        row
    });
    let rows = rows.collect();
    let tally = &found.tally;
    FrontAnswer {
        rows,
        covered: tally.evaluated + tally.all_rejected() + tally.pruned,
        evaluated: tally.evaluated,
        rejected: tally.all_rejected(),
        rejected_by: tally.rejected_by(),
        pruned: tally.pruned,
        checksum: format!("{:016x}", tally.checksum.0),
        seconds: started.elapsed().as_secs_f64(),
        interrupted: course.is_over(),
    }
}
