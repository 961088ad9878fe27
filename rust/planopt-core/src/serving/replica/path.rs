//! What a step takes along the path of a token: operations, messages and hops, stage by stage.

use super::{Replica, step_seconds};
use crate::compute::{OperationTime, RankBlock, Step};
use crate::quantity::{Bytes, Seconds};
use crate::serving::{Overlap, TimeParts};

/// A stage's operations and messages in one step.
#[derive(Clone, Copy, Debug, Default)]
struct StageTime {
    operations: OperationTime,
    messages: Seconds,
    /// Time of the host that launches both one by one, if it does.
    launches: Seconds,
}

impl StageTime {
    fn add(&mut self, other: Self, count: f64) {
        self.operations = self.operations.then(other.operations.times(count));
        self.messages += other.messages * count;
        self.launches += other.launches * count;
    }

    fn parts(self, overlap: Overlap) -> TimeParts {
        let operations = self.operations.total();
        let communication = match overlap {
            Overlap::None => self.messages,
            Overlap::TwoBatch => (self.messages - operations).max(Seconds::ZERO),
        };
        let late = (self.launches - (operations + communication)).max(Seconds::ZERO);
        TimeParts {
            compute: self.operations.compute,
            memory: self.operations.memory,
            communication,
            offload: Seconds::ZERO,
            host: self.operations.host + late,
        }
    }
}

/// Kinds of layer whose times are kept without asking for memory; no published model has more.
const FEW_KINDS: usize = 8;

/// Times of a step.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PathTime {
    /// One micro-batch through all stages.
    pub(crate) turn: TimeParts,
    /// The slowest of them.
    pub(crate) slowest_stage: TimeParts,
}

impl PathTime {
    /// A step with so many micro-batches alike in the pipeline.
    pub(super) fn step_seconds(&self, in_flight: f64) -> Seconds {
        step_seconds(self.turn.total(), self.slowest_stage.total(), in_flight)
    }
}

impl Replica<'_> {
    /// What a step takes along the path of a token.
    pub(crate) fn path(&self, step: Step) -> PathTime {
        self.path_with(step, self.question.overlap)
    }

    pub(super) fn path_with(&self, step: Step, overlap: Overlap) -> PathTime {
        let drafted = self.rank.draft.as_ref().map_or(0.0, |draft| draft.tokens);
        let groups = f64::from(self.placement.degrees.dp);
        let one_token = Step::decode(step.sequences, step.context).dealt_to(groups);
        let step = Step {
            drafted,
            split: f64::from(self.placement.degrees.cp),
            ..step
        };
        let step = step.dealt_to(groups);
        let tokens = step.tokens();
        let kinds = &self.rank.blocks;
        let mut few = [StageTime::default(); FEW_KINDS];
        let mut many = Vec::new();
        let blocks = if kinds.len() <= FEW_KINDS {
            &mut few[..kinds.len()]
        } else {
            many.resize(kinds.len(), StageTime::default());
            &mut many[..]
        };
        for (time, block) in blocks.iter_mut().zip(kinds) {
            *time = self.block(block, step, tokens);
        }
        let embedding = self.block(&self.rank.embedding, step, tokens);
        let head = self.block(&self.rank.head, step, step.head_tokens());
        let mut turn = TimeParts {
            communication: self
                .fabric
                .hops(self.placement, Bytes(tokens * self.rank.hidden_bytes)),
            host: self.step_overhead,
            ..TimeParts::default()
        };
        let mut slowest_stage = TimeParts::default();
        for (stage, resting) in self.stages.iter().zip(&self.resting) {
            let mut time = StageTime::default();
            for (block, &layers) in blocks.iter().zip(&stage.layers) {
                time.add(*block, layers);
            }
            if stage.first {
                time.add(embedding, 1.0);
            }
            if stage.last {
                time.add(head, 1.0);
                time.add(self.drafting(one_token), 1.0);
            }
            let mut parts = time.parts(overlap);
            if let Some(offload) = self.question.offload {
                parts.offload = offload.exposed(resting.weights, self.host_line, parts.total());
            }
            turn.add(&parts, stage.count);
            if parts.total() > slowest_stage.total() {
                slowest_stage = parts;
            }
        }
        PathTime {
            turn,
            slowest_stage,
        }
    }

    /// Drafting for the sequences of a step of one token each, as often as tokens are drafted.
    fn drafting(&self, step: Step) -> StageTime {
        let mut time = StageTime::default();
        let Some(draft) = &self.rank.draft else {
            return time;
        };
        if step.sequences <= 0.0 {
            return time;
        }
        for (block, count) in &draft.blocks {
            let each = self.block(block, step, step.sequences);
            time.add(each, count * draft.tokens);
        }
        time
    }

    /// What ranks that divide contexts send each other: keys and values of prompts, as far as their
    /// attention does not hide it, and of what decodes each one's partial attention.
    fn contexts(&self, block: &RankBlock, step: Step) -> Seconds {
        let Some((group, overlap)) = &self.context else {
            return Seconds::ZERO;
        };
        let mut gathered = Seconds::ZERO;
        let mut combined = Seconds::ZERO;
        for cache in block.caches.iter().filter(|cache| cache.shared_by > 1) {
            gathered += group.all_gather(cache.gathered(step));
            combined += group.all_reduce(cache.partial_bytes * step.decoded_tokens());
        }
        let hidden = block.chunk_attention(step) * *overlap;
        (gathered - hidden).max(Seconds::ZERO) + combined
    }

    fn block(&self, block: &RankBlock, step: Step, tokens: f64) -> StageTime {
        let mut messages = Seconds::ZERO;
        if self.placement.degrees.tp > 1 {
            for bytes in &block.all_reduce_bytes_per_token {
                messages += self
                    .fabric
                    .all_reduce(self.placement, Bytes(tokens * bytes));
            }
        }
        for exchange in &block.exchanges {
            messages += self.fabric.exchange(self.placement, exchange, tokens);
        }
        messages += self.contexts(block, step);
        let launches = if step.prompts > 0.0 {
            self.prompt_launch * block.launches()
        } else {
            Seconds::ZERO
        };
        StageTime {
            operations: block.time(step, tokens),
            messages,
            launches,
        }
    }
}
