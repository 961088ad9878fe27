//! Axes of a space of training candidates.

use crate::parallel::{Layout, Recompute, Schedule, Zero};

/// Stages of a pipeline, chunks of each, and the order of micro-batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pipeline {
    /// Stages.
    pub pp: u32,
    /// Chunks of each.
    pub vpp: u32,
    /// Order.
    pub schedule: Schedule,
}

/// Values of each axis of a space of training candidates; hardware is one more, before the others.
#[derive(Clone, Debug, Default)]
pub struct TrainingAxes {
    /// Tensor-parallel degree, and whether the sequence is divided.
    pub tensor: Vec<(u32, bool)>,
    /// Context-parallel degrees.
    pub context: Vec<u32>,
    /// Expert-parallel degrees.
    pub expert: Vec<u32>,
    /// Sequences of a micro-batch.
    pub micro_batch: Vec<u32>,
    /// Pipelines.
    pub pipeline: Vec<Pipeline>,
    /// What is recomputed.
    pub recompute: Vec<Recompute>,
    /// Data-parallel degrees.
    pub data: Vec<u32>,
    /// What data-parallel ranks divide.
    pub zero: Vec<Zero>,
    /// Micro-batches of a step for each stage of a pipeline: `rounds * pp` in all, so that the
    /// batch of a step is `rounds * pp * micro_batch * dp` sequences.
    pub rounds: Vec<u32>,
    /// Accelerators, at most.
    pub most_accelerators: u32,
}

/// Axes of a space, the fastest last.
pub const AXES: usize = 10;

/// A value of each axis.
pub(super) type Digits = [usize; AXES];

pub(super) const PLATFORM: usize = 0;

pub(super) const TENSOR: usize = 1;

pub(super) const CONTEXT: usize = 2;

pub(super) const EXPERT: usize = 3;

pub(super) const MICRO_BATCH: usize = 4;

pub(super) const PIPELINE: usize = 5;

pub(super) const RECOMPUTE: usize = 6;

pub(super) const DATA: usize = 7;

pub(super) const SHARDING: usize = 8;

pub(super) const ROUNDS: usize = 9;

impl TrainingAxes {
    /// Values of each axis, with so many of hardware.
    pub(super) fn sizes(&self, platforms: usize) -> [usize; AXES] {
        [
            platforms,
            self.tensor.len(),
            self.context.len(),
            self.expert.len(),
            self.micro_batch.len(),
            self.pipeline.len(),
            self.recompute.len(),
            self.data.len(),
            self.zero.len(),
            self.rounds.len(),
        ]
    }

    /// How a candidate is laid out.
    pub(super) fn layout(&self, digits: &Digits) -> Layout {
        let (tp, sequence_parallel) = self.tensor[digits[TENSOR]];
        let Pipeline { pp, vpp, schedule } = self.pipeline[digits[PIPELINE]];
        Layout {
            tp,
            sequence_parallel,
            cp: self.context[digits[CONTEXT]],
            ep: self.expert[digits[EXPERT]],
            batch: self.micro_batch[digits[MICRO_BATCH]],
            pp,
            vpp,
            schedule,
            recompute: self.recompute[digits[RECOMPUTE]],
            dp: self.data[digits[DATA]],
            zero: self.zero[digits[SHARDING]],
            ..Layout::SINGLE
        }
    }
}
