//! What rows have in common, level by level: each value is worked out once by the functions of
//! the single evaluation, and rows are put together of them. Bytes depend on the layout alone,
//! seconds on the hardware too.

use super::axes::{
    AXES, CONTEXT, DATA, Digits, EXPERT, MICRO_BATCH, PIPELINE, PLATFORM, RECOMPUTE, SHARDING,
    TENSOR,
};
use super::grid::{Grid, with_experts_assigned};
use crate::bulk::level::{Last, Level};
use crate::bulk::radix::{Part, Radix};
use crate::compute::training::Candidate;
use crate::memory::stage_memory;
use crate::parallel::{Groups, Stage};
use crate::training::{Job, Overlapping, StageParts, candidate, following, micro_batch};
use std::hint::black_box;

/// What is worked out of a stage.
pub(super) trait OfStage: Copy + Default + Send + Sync {
    /// By the single evaluation.
    fn of_stage(candidate: &Candidate, stage: &Stage) -> Self;

    /// Its first and its last number: whoever reads them has all of it near.
    fn ends(&self) -> f64;
}

/// Seconds of one micro-batch on a stage.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct StagePace {
    /// All of it, its arithmetic alone, and what it waits for the host.
    pub(super) seconds: f64,
    pub(super) compute: f64,
    pub(super) host: f64,
    /// Filling and draining, over one micro-batch of every other stage.
    pub(super) waits: f64,
    /// What its arithmetic hides of exchanges, behind forward and behind backward.
    pub(super) window: [f64; 2],
    /// Once a step: exchange of the gradients of a matrix that two stages share.
    pub(super) tied: f64,
}

impl OfStage for StagePace {
    fn of_stage(candidate: &Candidate, stage: &Stage) -> Self {
        let parts = micro_batch(candidate, stage);
        let following = following(candidate, stage, &parts);
        Self {
            seconds: parts.total().0,
            compute: (parts.forward + parts.backward + parts.recompute).0,
            host: parts.host.0,
            waits: parts.waits,
            window: following.window.map(|time| time.0),
            tied: following.tied.0,
        }
    }

    fn ends(&self) -> f64 {
        self.seconds + self.tied
    }
}

/// Seconds that data-parallel ranks exchange on a stage, and that its optimizer takes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct StageExchange {
    /// With each micro-batch, behind forward and behind backward, and once a step.
    pub(super) each: [f64; 2],
    pub(super) once: [f64; 2],
    /// How much arithmetic goes on overlapping.
    pub(super) overlapping: Overlapping,
    /// The optimizer's pass.
    pub(super) update: f64,
}

impl OfStage for StageExchange {
    fn of_stage(candidate: &Candidate, stage: &Stage) -> Self {
        // What arithmetic hides of it is the pace's.
        let following = following(candidate, stage, &StageParts::default());
        Self {
            each: following.each.map(|time| time.0),
            once: following.once.map(|time| time.0),
            overlapping: following.overlapping,
            update: following.optimizer.0,
        }
    }

    fn ends(&self) -> f64 {
        self.each[0] + self.update
    }
}

/// Bytes of a stage that depend on the number of micro-batches.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct StageKept {
    /// Micro-batches whose activations, and whose logits, are there at once where there are enough.
    pub(super) most_in_flight: f64,
    pub(super) most_logits: f64,
    /// What layers and embedding keep of each micro-batch in flight, and the head of each whose
    /// logits are there.
    pub(super) by_layers: f64,
    pub(super) by_embedding: f64,
    pub(super) by_head: f64,
    /// There once.
    pub(super) working: f64,
    pub(super) transient: f64,
}

impl OfStage for StageKept {
    fn of_stage(candidate: &Candidate, stage: &Stage) -> Self {
        let memory = stage_memory(candidate, stage);
        Self {
            most_in_flight: memory.most_in_flight,
            most_logits: memory.most_logits,
            by_layers: memory.kept_by_layers.0,
            by_embedding: memory.kept_by_embedding.0,
            by_head: memory.kept_by_head.0,
            working: memory.working.0,
            transient: memory.transient.0,
        }
    }

    fn ends(&self) -> f64 {
        self.most_in_flight + self.transient
    }
}

/// Bytes of a stage, whatever the number of micro-batches.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct StageResident {
    pub(super) weights: f64,
    pub(super) gradients: f64,
    pub(super) optimizer: f64,
    pub(super) overhead: f64,
    /// What is held over what is in use, as far as there is room.
    pub(super) reserve: f64,
    pub(super) capacity: f64,
}

impl OfStage for StageResident {
    fn of_stage(candidate: &Candidate, stage: &Stage) -> Self {
        let memory = stage_memory(candidate, stage);
        Self {
            weights: memory.resident.weights.0,
            gradients: memory.resident.gradients.0,
            optimizer: memory.resident.optimizer.0,
            overhead: memory.resident.overhead.0,
            reserve: memory.reserve,
            capacity: memory.capacity.0,
        }
    }

    fn ends(&self) -> f64 {
        self.weights + self.capacity
    }
}

/// What one thread knows of levels that are too large to be worked out beforehand.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    pub(super) paces: Last<StagePace>,
    pub(super) exchanges: Last<StageExchange>,
    pub(super) kept: Last<StageKept>,
    pub(super) resident: Last<StageResident>,
}

/// Values of each kind of stage, by the axes that they depend on.
#[derive(Clone, Debug)]
pub(super) struct StageLevel<T, const SOME: usize> {
    axes: Part<AXES, SOME>,
    values: Level<T>,
}

impl<T: OfStage, const SOME: usize> StageLevel<T, SOME> {
    /// With no values yet.
    fn by(axes: Part<AXES, SOME>) -> Self {
        let values = Level::default();
        Self { axes, values }
    }

    /// Works out the values of a grid, where they are not too many.
    fn of_all(&self, grid: &Grid) -> Self {
        let axes = self.axes;
        let kinds = grid.stages.iter().map(Vec::len).max().unwrap_or_default();
        let values = Level::new(axes.count(), kinds, |key, values| {
            work_out(grid, &axes, &axes.digits(key), values);
        });
        Self { axes, values }
    }

    /// Of the kinds of stages of a candidate, whose values have this key.
    #[inline]
    pub(super) fn of<'v>(
        &'v self,
        grid: &Grid,
        digits: &Digits,
        key: u64,
        last: &'v mut Last<T>,
    ) -> &'v [T] {
        self.values.get(key, last, |values| {
            work_out(grid, &self.axes, digits, values);
        })
    }

    /// Brings the values of some keys near. There is no branch that hangs on what is read, and
    /// little besides: the processor reads far ahead and waits for memory once.
    fn fetch(&self, keys: impl Iterator<Item = u64>) {
        let near = keys.map(|key| {
            let values = self.values.known(key);
            values.iter().map(T::ends).sum::<f64>()
        });
        black_box(near.sum::<f64>());
    }
}

/// Where the values of a candidate are on each level.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Keys {
    pub(super) paces: u64,
    pub(super) exchanges: u64,
    pub(super) kept: u64,
    pub(super) resident: u64,
}

/// The levels between a block of layers and a row.
#[derive(Clone, Debug)]
pub(super) struct Levels {
    pub(super) paces: StageLevel<StagePace, 7>,
    pub(super) exchanges: StageLevel<StageExchange, 7>,
    pub(super) kept: StageLevel<StageKept, 6>,
    pub(super) resident: StageLevel<StageResident, 6>,
}

impl Levels {
    /// With no values yet.
    pub(super) fn by(radix: &Radix<AXES>) -> Self {
        let kept = [TENSOR, CONTEXT, EXPERT, MICRO_BATCH, PIPELINE, RECOMPUTE];
        let resident = [TENSOR, CONTEXT, EXPERT, PIPELINE, DATA, SHARDING];
        let pace = with_hardware(kept);
        let exchange = with_hardware(resident);
        Self {
            paces: StageLevel::by(Part::of(radix, pace)),
            exchanges: StageLevel::by(Part::of(radix, exchange)),
            kept: StageLevel::by(Part::of(radix, kept)),
            resident: StageLevel::by(Part::of(radix, resident)),
        }
    }

    /// Works out the values of a grid, where they are not too many.
    pub(super) fn of_all(&self, grid: &Grid) -> Self {
        Self {
            paces: self.paces.of_all(grid),
            exchanges: self.exchanges.of_all(grid),
            kept: self.kept.of_all(grid),
            resident: self.resident.of_all(grid),
        }
    }

    /// Where the values of a candidate are.
    #[inline]
    pub(super) fn keys(&self, digits: &Digits) -> Keys {
        Keys {
            paces: self.paces.axes.index(digits),
            exchanges: self.exchanges.axes.index(digits),
            kept: self.kept.axes.index(digits),
            resident: self.resident.axes.index(digits),
        }
    }

    /// Brings the values of some candidates near.
    pub(super) fn fetch<'k>(&self, keys: impl Iterator<Item = &'k Keys> + Clone) {
        self.paces.fetch(keys.clone().map(|keys| keys.paces));
        self.exchanges
            .fetch(keys.clone().map(|keys| keys.exchanges));
        self.kept.fetch(keys.clone().map(|keys| keys.kept));
        self.resident.fetch(keys.map(|keys| keys.resident));
    }
}

/// Asks the single evaluation about a candidate with these values of the axes that matter.
fn work_out<T: OfStage, const SOME: usize>(
    grid: &Grid,
    axes: &Part<AXES, SOME>,
    digits: &Digits,
    values: &mut [T],
) {
    let mut layout = grid.axes.layout(digits);
    if !axes.has(DATA) {
        layout = with_experts_assigned(layout);
    } else if grid.accelerators(&layout).is_err() {
        return;
    }
    // Bytes are the same on every platform that computes in the format.
    let mut platforms = std::iter::once(digits[PLATFORM]).chain(0..grid.platforms.len());
    let asked = platforms.find_map(|platform| {
        let hardware = grid.platforms[platform].hardware()?;
        Some((hardware, grid.priced(platform, digits)?))
    });
    let Some((hardware, priced)) = asked else {
        return;
    };
    let job = Job {
        transformer: grid.subject.transformer,
        recipe: grid.subject.recipe,
        layout: &layout,
        assumptions: grid.subject.assumptions,
        training: grid.subject.training,
    };
    let groups = Groups::new(&layout, hardware.fabric, hardware.system.slots);
    let stages = &grid.stages[digits[PIPELINE]];
    let candidate = candidate(&job, &hardware, priced, &groups, stages);
    for (value, stage) in values.iter_mut().zip(stages) {
        *value = T::of_stage(&candidate, stage);
    }
}

/// Axes of bytes are those of seconds, less the hardware.
fn with_hardware([a, b, c, d, e, f]: [usize; 6]) -> [usize; 7] {
    [PLATFORM, a, b, c, d, e, f]
}
