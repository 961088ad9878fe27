//! One replica of a model on given hardware: everything that does not depend on the batch is
//! worked out when it is made, so that a batch costs a few multiplications per operation.
//! Formulas: `docs/reference/model.md`, sections 5 and 6.

use super::evaluation::{Decode, Mixed, Prefill};
use super::offload::{Offloaded, exposed_reading, offloaded, reading_line};
use super::parts::TimeParts;
use crate::catalog::{Accelerator, Assumptions, HostTerms, OwnKernels, StepLimits};
use crate::compute::{OperationTime, Rank, RankBlock, Step};
use crate::hardware::Fabric;
use crate::load::serving::{Offload, Overlap, Question};
use crate::memory::{ServingMemory, StageMemory, capacity};
use crate::parallel::{Batching, Degrees, Group, Placement, Stage, all_reduce, all_to_all, hops};
use crate::quantity::{Bytes, BytesPerSecond, Seconds, real};

/// A replica, ready to be asked about any batch.
#[derive(Debug)]
pub struct Replica<'a> {
    rank: &'a Rank,
    stages: &'a [Stage],
    memory: Vec<StageMemory>,
    /// What of each kind of stage rests in the host, and the line that it is read over.
    offloaded: Vec<Offloaded>,
    host_line: BytesPerSecond,
    capacity: Bytes,
    fabric: &'a Fabric,
    placement: Placement,
    /// The ranks that divide contexts, if any do, and how much of what they exchange hides behind
    /// the attention of prompts.
    context: Option<(Group, f64)>,
    question: &'a Question,
    host: HostTerms,
    prompt_chunk: Option<u32>,
    /// Kernels of the engine's own, if it has some.
    own: Option<OwnKernels>,
    step_tokens: f64,
    step_limits: StepLimits,
    /// How many times longer than predicted its steps are taken to be.
    slower: f64,
}

/// Time in which every sequence in the pipeline gets a token: a `turn` through all of it, unless
/// its slowest stage needs longer for all the micro-batches in flight.
pub fn step_seconds(turn: Seconds, slowest_stage: Seconds, in_flight: f64) -> Seconds {
    turn.max(slowest_stage * in_flight)
}

/// Tokens of `in_flight` micro-batches of `batch` sequences, one each in a step.
pub fn tokens_per_second(batch: f64, in_flight: f64, step: Seconds) -> f64 {
    in_flight * batch / step.0
}

impl<'a> Replica<'a> {
    /// Prepares a replica of the model priced in `rank`, assigned to `stages`.
    pub fn new(
        rank: &'a Rank,
        stages: &'a [Stage],
        fabric: &'a Fabric,
        placement: Placement,
        question: &'a Question,
        accelerator: &Accelerator,
        assumptions: &Assumptions,
    ) -> Self {
        let accelerators = placement.accelerators();
        let Degrees { tp, cp, .. } = placement.degrees;
        let reached = assumptions.compute_of(accelerator);
        let own = assumptions.own_kernels(accelerator);
        let offloaded: Vec<Offloaded> = stages
            .iter()
            .map(|stage| {
                let offload = question.offload.as_ref();
                offload.map_or_else(Offloaded::default, |offload| {
                    offloaded(offload, stage, rank, own.is_some())
                })
            })
            .collect();
        let link = fabric.host_line().bandwidth;
        Self {
            rank,
            stages,
            memory: stages
                .iter()
                .zip(&offloaded)
                .map(|(stage, offloaded)| {
                    StageMemory::new(stage, rank, accelerators, question.context, assumptions)
                        .without(offloaded.freed)
                })
                .collect(),
            offloaded,
            host_line: question.offload.map_or(link, |offload| {
                reading_line(&offload, link, placement.accelerators_per_host())
            }),
            capacity: capacity(accelerator, assumptions),
            fabric,
            placement,
            context: (cp > 1).then(|| {
                let overlap = assumptions.training.as_ref();
                let overlap = overlap.map_or(0.0, |training| training.context_overlap);
                (Group::of_context(fabric, placement.slots, tp, cp), overlap)
            }),
            question,
            host: reached.host,
            prompt_chunk: reached.prompt_chunk,
            own,
            step_tokens: f64::from(assumptions.memory.workspace_tokens),
            step_limits: assumptions.scheduling.limits_on(accelerator),
            slower: assumptions.slower(accelerator),
        }
    }

    /// Memory of the fullest accelerator.
    pub fn memory(&self, batching: Batching) -> ServingMemory {
        let batch = f64::from(self.local_batch(batching.batch));
        let sequences = batch * f64::from(batching.in_flight) * self.question.overlap.resident();
        let mut fullest = ServingMemory::default();
        for stage in &self.memory {
            let memory = stage.with(batch, sequences, self.capacity);
            if memory.total > fullest.total {
                fullest = memory;
            }
        }
        fullest.capacity = self.capacity;
        fullest
    }

    /// Memory that weights take in the fullest host.
    pub fn host_memory(&self) -> Bytes {
        let of_rank = self.offloaded.iter().map(|offloaded| offloaded.weights);
        let fullest = of_rank.fold(Bytes::ZERO, Bytes::max);
        fullest * f64::from(self.placement.accelerators_per_host())
    }

    /// One token of every sequence, at full context.
    pub fn decode(&self, batching: Batching) -> Decode {
        let batch = f64::from(batching.batch);
        let in_flight = f64::from(batching.in_flight);
        let path = self.path(Step::decode(batch, real(self.question.context)));
        let step_seconds = path.step_seconds(in_flight);
        let gained = self.question.tokens_per_step();
        let tpot_seconds = step_seconds * (self.question.overlap.resident() / gained);
        Decode {
            step_seconds,
            turn: path.turn,
            waiting_seconds: step_seconds - path.turn.total(),
            tpot_seconds,
            tokens_per_second_per_user: 1.0 / tpot_seconds.0,
            tokens_per_second: tokens_per_second(batch, in_flight, step_seconds) * gained,
        }
    }

    /// A prompt read alone, whole unless the engine takes it in chunks: each follows the one before
    /// as soon as the slowest stage has done with that.
    pub fn prefill(&self) -> Prefill {
        let prompt = real(self.question.prompt);
        let chunk = self.prompt_chunk.map_or(prompt, f64::from).min(prompt);
        let alone = |chunk: f64, cached: f64| {
            self.path_with(Step::default().with_chunk(chunk, cached), Overlap::None)
        };
        let mut cached = 0.0;
        let mut parts = TimeParts::default();
        while cached + chunk < prompt {
            let path = alone(chunk, cached);
            parts.add(&path.slowest_stage, self.exposed_launches(&path));
            cached += chunk;
        }
        parts.add(&alone(prompt - cached, cached).turn, 1.0);
        Prefill {
            seconds: parts.total(),
            parts,
        }
    }

    /// How many times longer than the slowest stage it takes from one chunk of a prompt to the next.
    fn exposed_launches(&self, path: &PathTime) -> f64 {
        let longer = path.turn.total() / path.slowest_stage.total();
        self.own
            .map_or(1.0, |own| longer.powf(1.0 - own.pipelining))
    }

    /// The decoding batch with the last chunk of a prompt in the room that it leaves of the largest
    /// step.
    pub fn mixed(&self, batching: Batching) -> Mixed {
        let batch = f64::from(batching.batch);
        let prompt = real(self.question.prompt);
        let room = self.step_tokens - f64::from(self.local_batch(batching.batch));
        let room = room * f64::from(self.placement.degrees.cp);
        let chunk_tokens = prompt.min(room).max(0.0);
        let cached_tokens = prompt - chunk_tokens;
        let step = Step::decode(batch, real(self.question.context))
            .with_chunk(chunk_tokens, cached_tokens);
        Mixed {
            chunk_tokens,
            cached_tokens,
            step_seconds: self.step_seconds(step, f64::from(batching.in_flight)),
        }
    }

    /// Time of any step of an engine, with `in_flight` micro-batches alike in the pipeline.
    pub fn step_seconds(&self, step: Step, in_flight: f64) -> Seconds {
        self.path(step).step_seconds(in_flight)
    }

    /// Time of a step of one micro-batch, and from when on the next may follow it: for an engine
    /// whose micro-batches are not alike. [`Overlap::resident`] batches take turns, so that each
    /// takes as many times longer. Where tokens are drafted, what decoding takes is shared by the
    /// tokens that it gains on average.
    pub fn micro_batch(&self, step: Step, in_flight: f64) -> (Seconds, Seconds) {
        let path = self.path(step);
        let mut turn = path.turn.total();
        let mut slowest_stage = path.slowest_stage.total();
        let gained = self.question.tokens_per_step();
        if gained > 1.0 && step.sequences > 0.0 {
            let decoding = self.path(Step::decode(step.sequences, step.context));
            let of_others = 1.0 - 1.0 / gained;
            turn = turn - decoding.turn.total() * of_others;
            slowest_stage = slowest_stage - decoding.slowest_stage.total() * of_others;
        }
        let interval = slowest_stage.max(turn * (1.0 / in_flight));
        (turn * self.question.overlap.resident(), interval)
    }

    /// Attention data-parallel ranks.
    pub fn attention_groups(&self) -> u32 {
        self.placement.degrees.dp
    }

    /// What its engine takes into a step unless it is told.
    pub fn step_limits(&self) -> StepLimits {
        self.step_limits
    }

    /// Ranks of which each has tokens of its own of the prompts in a step.
    pub fn prompt_readers(&self) -> u32 {
        self.placement.degrees.dp * self.placement.degrees.cp
    }

    /// Sequences of a micro-batch on the busiest attention data-parallel rank.
    fn local_batch(&self, batch: u32) -> u32 {
        batch.div_ceil(self.placement.degrees.dp)
    }

    /// Tokens of KV cache that fit beside the weights, in sequences of the question's context and
    /// micro-batches of `batch`: 0 where not even the weights fit.
    pub fn kv_capacity_tokens(&self, batch: u32) -> f64 {
        let local_batch = f64::from(self.local_batch(batch));
        let sequences = self
            .memory
            .iter()
            .map(|stage| stage.sequences(local_batch, self.capacity))
            .fold(f64::INFINITY, f64::min);
        sequences * f64::from(self.placement.degrees.dp) * real(self.question.context)
    }

    /// Tokens whose caches fit its share of so much of each host, and the seconds that one takes from
    /// there: each accelerator fetches what it held, over its own line, and all of a host no faster than
    /// so much is read at.
    pub fn in_hosts(&self, of_each: Bytes, bandwidth: Option<BytesPerSecond>) -> (f64, f64) {
        let one = Batching {
            batch: 1,
            in_flight: 1,
        };
        let held = self.memory(one).kv_cache / real(self.question.context);
        let groups = f64::from(self.placement.degrees.dp);
        let accelerators = f64::from(self.placement.accelerators());
        let hosts = accelerators / f64::from(self.placement.slots);
        let of_token = held * (accelerators / groups);
        let line = (held / self.fabric.host_line().bandwidth).0 / groups;
        let read = bandwidth.map_or(0.0, |each| (of_token / (each * hosts)).0);
        (of_each * hosts / of_token, line.max(read))
    }

    /// Bandwidth of the front-end ports of a host, where it has these.
    pub fn front_end(&self) -> Option<BytesPerSecond> {
        let of_host = self.fabric.front_end * f64::from(self.placement.slots);
        (of_host.0 > 0.0).then_some(of_host)
    }

    /// What is served.
    pub(crate) fn question(&self) -> &Question {
        self.question
    }

    /// Memory of each kind of stage.
    pub(crate) fn stage_memory(&self) -> impl Iterator<Item = StageMemory> {
        self.memory.iter().copied()
    }

    /// Memory that may be planned with.
    pub(crate) fn capacity(&self) -> Bytes {
        self.capacity
    }
}

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
        let exposed = (self.launches - (operations + communication)).max(Seconds::ZERO);
        TimeParts {
            compute: self.operations.compute,
            memory: self.operations.memory,
            communication,
            offload: Seconds::ZERO,
            host: self.operations.host + exposed,
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
        let tokens = self.on_a_rank(step).tokens();
        let mut turn = TimeParts {
            communication: hops(self.fabric, self.placement, self.hidden(tokens)),
            host: self.around(step.sequences),
            ..TimeParts::default()
        };
        let mut slowest_stage = TimeParts::default();
        self.each_stage(step, overlap, |stage, parts| {
            turn.add(&parts, stage.count);
            if parts.total() > slowest_stage.total() {
                slowest_stage = parts;
            }
        });
        PathTime {
            turn: turn.times(self.slower),
            slowest_stage: slowest_stage.times(self.slower),
        }
    }

    /// What so many tokens are from one stage to the next.
    pub(crate) fn hidden(&self, tokens: f64) -> Bytes {
        Bytes(tokens * self.rank.hidden_bytes)
    }

    /// What an engine takes around the stages of a step in which so many sequences gain a token.
    pub(crate) fn around(&self, sequences: f64) -> Seconds {
        self.host.step_overhead + self.host.per_sequence * sequences
    }

    /// A step as the busiest rank of a stage sees it.
    fn on_a_rank(&self, step: Step) -> Step {
        let drafted = self.rank.draft.as_ref().map_or(0.0, |draft| draft.tokens);
        let step = Step {
            drafted,
            split: f64::from(self.placement.degrees.cp),
            ..step
        };
        step.divided_among(f64::from(self.placement.degrees.dp))
    }

    /// Tells what each kind of stage takes of a step.
    pub(crate) fn each_stage(
        &self,
        step: Step,
        overlap: Overlap,
        mut tell: impl FnMut(&Stage, TimeParts),
    ) {
        let groups = f64::from(self.placement.degrees.dp);
        let one_token = Step::decode(step.sequences, step.context).divided_among(groups);
        let step = self.on_a_rank(step);
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
            time.operations.host += self.around_a_layer(step);
        }
        let embedding = self.block(&self.rank.embedding, step, tokens);
        let head = self.block(&self.rank.head, step, step.head_tokens());
        for (stage, offloaded) in self.stages.iter().zip(&self.offloaded) {
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
            let mut handed = Seconds::ZERO;
            if let (Some(own), Some(offload)) = (self.own, self.question.offload) {
                let (bytes, spared) = self.kept(stage, offloaded.share, step, tokens);
                handed = if tokens < own.copied_from {
                    time.operations = time.operations.then(spared.times(-1.0));
                    bytes / self.in_the_host(&offload, own)
                } else {
                    bytes / self.host_line
                };
            }
            let mut parts = time.parts(overlap);
            parts.offload = match self.question.offload {
                Some(offload) if self.own.is_none() => {
                    exposed_reading(&offload, offloaded.weights, self.host_line, parts.total())
                }
                _ => handed,
            };
            tell(stage, parts);
        }
    }

    /// What a stage leaves of its layers to the host: bytes that a step meets, and the time that the
    /// accelerator would take for them.
    fn kept(&self, stage: &Stage, share: f64, step: Step, tokens: f64) -> (Bytes, OperationTime) {
        let mut bytes = Bytes::ZERO;
        let mut time = OperationTime::default();
        for (block, &layers) in self.rank.blocks.iter().zip(&stage.layers) {
            let (distinct, spared) = block.kept_work(step, tokens);
            bytes += distinct * (layers * share);
            time = time.then(spared.times(layers * share));
        }
        (bytes, time)
    }

    /// How fast a host that computes for one of its accelerators reads what it keeps.
    fn in_the_host(&self, offload: &Offload, own: OwnKernels) -> BytesPerSecond {
        offload.bandwidth * (own.host / f64::from(self.placement.accelerators_per_host()))
    }

    /// What a layer takes besides its products and its attention, under an engine that runs both as
    /// kernels of its own.
    fn around_a_layer(&self, step: Step) -> Seconds {
        self.own.map_or(Seconds::ZERO, |own| {
            if step.prompts > 0.0 {
                own.prompt_layer
            } else {
                own.layer
            }
        })
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
                messages += all_reduce(self.fabric, self.placement, Bytes(tokens * bytes));
            }
        }
        for exchange in &block.exchanges {
            messages += all_to_all(self.fabric, self.placement, exchange, tokens);
        }
        messages += self.contexts(block, step);
        let launches = if step.prompts > 0.0 {
            let captured = self.step_limits.graph_tokens.map_or(0.0, f64::from) >= step.tokens();
            self.host.prompt_launch * block.launches(captured)
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
