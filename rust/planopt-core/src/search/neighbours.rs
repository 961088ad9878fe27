//! Chains of neighbours: how many stages, which layers where, how many users at once.
//! Formulas: `docs/reference/islands.md`.

use crate::catalog::{Accelerator, Assumptions};
use crate::compute::Step;
use crate::hardware::Fabric;
use crate::islands::{Chains, Churn, Link, Recovery, Stretches, Swarm, Uplink, Uptime};
use crate::load::serving::{Overlap, Question};
use crate::memory::{ServingMemory, StageMemory};
use crate::parallel::{Degrees, Placement, Rejection, Stage};
use crate::quantity::{BytesPerSecond, Seconds, real};
use crate::serving::{Prepared, Replica, step_seconds};
use crate::transformer::Transformer;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

/// Stages that a chain has, at most.
const MOST_STAGES: u32 = 64;

/// Times as many stages as the shortest chain has that are tried.
const LONGER: u32 = 2;

/// Sequences of a micro-batch, at most.
const MOST_SEQUENCES: u32 = 1 << 14;

/// Shares by which times are taken to be alike.
const ALIKE: f64 = 1e-9;

/// Machines of a kind, each with a line of its own.
#[derive(Debug)]
pub struct Neighbour<'a> {
    /// How many there are.
    pub machines: u32,
    /// The accelerator of each.
    pub accelerator: &'a Accelerator,
    /// The model, priced on it.
    pub prepared: Prepared,
    /// Its links.
    pub fabric: Fabric,
    /// Its line to the others.
    pub uplink: Uplink,
    /// What it reads the layers from that it takes over.
    pub disk: BytesPerSecond,
}

/// What is sought among neighbours.
pub struct NeighbourSearch<'a> {
    /// What is served.
    pub transformer: &'a Transformer,
    /// At which lengths.
    pub question: &'a Question,
    /// Under which assumptions.
    pub assumptions: &'a Assumptions,
    /// On what.
    pub neighbours: &'a [Neighbour<'a>],
    /// How they come and go.
    pub churn: Churn,
    /// Until a loss is noticed.
    pub notice: Seconds,
    /// Tokens per second of each user, at least; else one user to a stage is served, as fast as can be.
    pub target: Option<f64>,
    /// Tokens of an answer.
    pub output: f64,
    /// Set where nobody waits for the answer any more.
    pub stop: &'a AtomicBool,
}

/// A stage of a chain.
#[derive(Clone, Debug)]
pub struct ChainStage {
    /// Which machines, which layers.
    pub link: Link,
    /// What its accelerator holds.
    pub memory: ServingMemory,
    /// What it takes of a step.
    pub seconds: Seconds,
    /// The way to the next stage.
    pub hop: Seconds,
    /// What its loss costs.
    pub recovery: Recovery,
}

/// Chains alike, and what they do.
#[derive(Clone, Debug)]
pub struct FoundChain {
    /// Stages of each.
    pub stages: Vec<ChainStage>,
    /// Sequences of a micro-batch, of which as many are in the chain as it has stages.
    pub batch: u32,
    /// A token's way through it.
    pub turn: Seconds,
    /// In which every sequence gains a token.
    pub step: Seconds,
    /// A step of one user alone.
    pub alone: Seconds,
    /// A prompt read alone.
    pub prefill: Seconds,
    /// What is held up by a prompt.
    pub reading: Seconds,
    /// Whether others keep copies of what users have cached; else it is computed again.
    pub copies: bool,
    /// All of them, coming and going.
    pub swarm: Swarm,
    /// For how much of the time.
    pub uptime: Uptime,
}

impl FoundChain {
    /// Sequences at once.
    pub fn sequences(&self) -> f64 {
        f64::from(self.batch) * real(self.stages.len() as u64)
    }

    /// Share of the time in which a chain that answers decodes; else it reads prompts of others.
    pub fn decoding(&self) -> f64 {
        let answer = self.step * (self.swarm.tokens.1 / self.sequences());
        answer / (answer + self.reading)
    }

    /// Tokens per second of a user while a chain is whole: what losses cost included, and the prompts
    /// of others.
    pub fn speed(&self) -> f64 {
        self.uptime.serving * self.decoding() / self.step.0
    }

    /// Tokens of answers per second of all chains, in the mean.
    pub fn tokens_per_second(&self) -> f64 {
        f64::from(self.swarm.chains) * self.uptime.running * self.sequences() * self.speed()
    }
}

/// A chain of so many stages, with what its machines can do.
struct Length<'s> {
    search: &'s NeighbourSearch<'s>,
    stages: u32,
    replicas: Vec<Replica<'s>>,
    memory: Vec<Vec<StageMemory>>,
    /// What every stretch takes on every kind, of one user alone, of a prompt, and of what a user has
    /// in the middle of an answer.
    alone: Vec<Vec<f64>>,
    prompt: Vec<Vec<f64>>,
    middle: Vec<Vec<f64>>,
}

/// What machines take for a step of so many sequences.
struct Times {
    stretches: Vec<Stretches>,
    hops: Vec<Vec<f64>>,
}

impl NeighbourSearch<'_> {
    /// The best chains of each number of stages that is tried, from the shortest that holds the
    /// model on; the second is true where they meet the target.
    ///
    /// # Errors
    ///
    /// Too many kinds of machines to try all chains of them.
    pub fn chains(&self) -> Result<Vec<(FoundChain, bool)>, Rejection> {
        let shapes = self.shapes();
        let machines = self.machines();
        let layers = self.layers();
        let all = machines
            .iter()
            .fold(0_u32, |sum, own| sum.saturating_add(*own));
        let most = all.min(MOST_STAGES);
        let most = most.min(u32::try_from(layers).unwrap_or(most));
        let mut found: Vec<(FoundChain, bool)> = Vec::new();
        let mut longest = most;
        for stages in 1..=most {
            if stages > longest || self.stop.load(Ordering::Relaxed) {
                break;
            }
            if !Chains::is_small(&machines, layers, stages) {
                return Err(Rejection::Layers {
                    pp: stages,
                    vpp: None,
                    layers: layers as u64,
                });
            }
            let Some(length) = self.length(&shapes, stages) else {
                break;
            };
            if let Some(chain) = length.best() {
                if found.is_empty() {
                    longest = most.min(stages * LONGER);
                }
                found.push(chain);
            }
        }
        Ok(found)
    }

    fn layers(&self) -> usize {
        self.transformer.layers.len()
    }

    fn machines(&self) -> Vec<u32> {
        self.neighbours.iter().map(|own| own.machines).collect()
    }

    /// Every stretch of layers, as a stage.
    fn shapes(&self) -> Vec<Stage> {
        let each = Stretches::of(self.layers());
        each.map(|stretch| stage_of(self.transformer, stretch))
            .collect()
    }

    /// What makes a chain of so many stages.
    fn length<'s>(&'s self, shapes: &'s [Stage], stages: u32) -> Option<Length<'s>> {
        let placement = placed(stages);
        let mut replicas = Vec::new();
        for own in self.neighbours {
            let rank = own.prepared.rank(placement.degrees)?;
            let (fabric, accelerator) = (&own.fabric, own.accelerator);
            let (question, assumptions) = (self.question, self.assumptions);
            replicas.push(Replica::new(
                rank,
                shapes,
                fabric,
                placement,
                question,
                accelerator,
                assumptions,
            ));
        }
        let memory = replicas.iter().map(|own| own.stage_memory().collect());
        let of = |step| replicas.iter().map(|own| seconds(own, step)).collect();
        Some(Length {
            search: self,
            stages,
            memory: memory.collect(),
            alone: of(self.decode(1)),
            prompt: of(self.prompt()),
            middle: of(self.middle()),
            replicas,
        })
    }

    /// A step in which so many users gain a token.
    fn decode(&self, batch: u32) -> Step {
        Step::decode(f64::from(batch), real(self.question.context))
    }

    /// A prompt that is read.
    fn prompt(&self) -> Step {
        Step::prefill(real(self.question.prompt))
    }

    /// What a user has in the middle of an answer, read again.
    fn middle(&self) -> Step {
        Step::prefill(real(self.question.prompt) + self.output / 2.0)
    }
}

/// A stretch of layers as a stage.
pub(super) fn stage_of(transformer: &Transformer, stretch: Range<usize>) -> Stage {
    let mut counts = vec![0.0; transformer.blocks.len()];
    for &kind in &transformer.layers[stretch.clone()] {
        counts[kind] += 1.0;
    }
    Stage {
        layers: counts,
        first: stretch.start == 0,
        last: stretch.end == transformer.layers.len(),
        count: 1.0,
        index: 0,
    }
}

/// So many stages, a machine each.
pub(super) fn placed(stages: u32) -> Placement {
    Placement {
        degrees: Degrees::tensor(1),
        pp: stages,
        slots: 1,
        hosts: stages,
    }
}

/// The first number of sequences above so many.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "between 1 and the most that is tried"
)]
fn sequences_beyond(many: f64) -> u32 {
    many.min(f64::from(MOST_SEQUENCES)).floor() as u32 + 1
}

/// What every stretch of layers takes of a step.
fn seconds(replica: &Replica, step: Step) -> Vec<f64> {
    let mut seconds = Vec::new();
    replica.each_stage(step, Overlap::None, |_, parts| {
        seconds.push(parts.total().0);
    });
    seconds
}

impl Length<'_> {
    /// The best chains of so many stages, and whether they meet the target: of the machines that are
    /// fastest together, or of others of which there are more. Without a target, and where none meets
    /// it, those that are fastest with a sequence to a stage.
    fn best(&self) -> Option<(FoundChain, bool)> {
        let all = self.search.machines();
        let endless = Seconds(f64::INFINITY);
        let swiftest = self.fastest(&all, 1, endless)?;
        let Some(target) = self.search.target else {
            return Some((self.balanced(&all, 1, endless)?, true));
        };
        let Some(mut best) = self.most(&all, 1, target) else {
            return Some((self.balanced(&all, 1, endless)?, false));
        };
        let mut of = all;
        let chains = |mixture: &[u32]| {
            let swarm = self.swarm_of(mixture, Vec::new());
            f64::from(swarm.chains) * swarm.uptime().running
        };
        for mixture in self.mixtures() {
            if self.search.stop.load(Ordering::Relaxed) {
                break;
            }
            // No user of any chain has more than one who is alone in the fastest.
            let each = chains(&mixture) * f64::from(self.stages) / swiftest.alone.0;
            let enough = best.tokens_per_second() / each;
            if let Some(chain) = self.most(&mixture, sequences_beyond(enough), target)
                && chain.tokens_per_second() > best.tokens_per_second()
            {
                (best, of) = (chain, mixture);
            }
        }
        let within = Seconds(1.0 / target);
        let balanced = self.balanced(&of, best.batch, within);
        let balanced = balanced.filter(|chain| chain.speed() >= target);
        Some((balanced.unwrap_or(best), true))
    }

    /// Every way to take so many machines of the kinds that there are.
    fn mixtures(&self) -> Vec<Vec<u32>> {
        let mut begun = vec![(self.stages, Vec::new())];
        for own in self.search.neighbours {
            let taken = |(left, mixture): &(u32, Vec<u32>)| {
                let (left, mixture) = (*left, mixture.clone());
                let with = move |many| (left - many, [&mixture[..], &[many]].concat());
                (0..=left.min(own.machines)).map(with).collect::<Vec<_>>()
            };
            begun = begun.iter().flat_map(taken).collect();
        }
        let whole = begun.into_iter().filter(|(left, _)| *left == 0);
        whole.map(|(_, mixture)| mixture).collect()
    }

    /// The chain of these machines with the most sequences at the target, if it has room for so many.
    fn most(&self, machines: &[u32], least: u32, target: f64) -> Option<FoundChain> {
        let within = Seconds(1.0 / target);
        let meets = |batch| {
            let chain = self.fastest(machines, batch, within)?;
            (chain.speed() >= target).then_some(chain)
        };
        let mut best = meets(least)?;
        let mut beyond = least.saturating_mul(2);
        while beyond < MOST_SEQUENCES
            && let Some(chain) = meets(beyond)
        {
            best = chain;
            beyond *= 2;
        }
        while beyond - best.batch > 1 {
            let middle = best.batch.midpoint(beyond);
            match meets(middle) {
                Some(chain) => best = chain,
                None => beyond = middle,
            }
        }
        Some(best)
    }

    /// Times of a step, infinite where so many sequences have no room, or a line is longer busy with
    /// them than `most`.
    fn times(&self, batch: u32, most: Seconds) -> Times {
        let neighbours = self.search.neighbours;
        let step = self.search.decode(batch);
        let mut stretches = Vec::new();
        for (replica, memory) in self.replicas.iter().zip(&self.memory) {
            let mut seconds = seconds(replica, step);
            for (seconds, memory) in seconds.iter_mut().zip(memory) {
                if !self.holds(replica, memory, batch).fits() {
                    *seconds = f64::INFINITY;
                }
            }
            stretches.push(Stretches::new(self.search.layers(), seconds));
        }
        let hop = |from: usize, to: usize| {
            if self.busy(from, to, f64::from(batch)) > most {
                f64::INFINITY
            } else {
                self.hop(from, to, f64::from(batch)).0
            }
        };
        let kinds = 0..neighbours.len();
        let hops = kinds
            .clone()
            .map(|from| kinds.clone().map(|to| hop(from, to)).collect());
        Times {
            stretches,
            hops: hops.collect(),
        }
    }

    fn holds(&self, replica: &Replica, memory: &StageMemory, batch: u32) -> ServingMemory {
        let batch = f64::from(batch);
        memory.with(batch, batch * f64::from(self.stages), replica.capacity())
    }

    /// What so many tokens take from one kind of machine to another.
    fn hop(&self, from: usize, to: usize, tokens: f64) -> Seconds {
        let [one, other] = [from, to].map(|kind| &self.search.neighbours[kind]);
        let payload = self.replicas[from].hidden(tokens);
        one.fabric.hop_overhead + one.uplink.to(&other.uplink).message(payload)
    }

    /// For how long a line is busy with them.
    fn busy(&self, from: usize, to: usize, tokens: f64) -> Seconds {
        let [one, other] = [from, to].map(|kind| &self.search.neighbours[kind]);
        self.replicas[from].hidden(tokens) / one.uplink.to(&other.uplink).bandwidth
    }

    /// The chain that a token passes first, where every sequence is to gain one within `step`.
    fn fastest(&self, machines: &[u32], batch: u32, step: Seconds) -> Option<FoundChain> {
        let most = step * (1.0 / f64::from(self.stages));
        let times = self.times(batch, most);
        let chain = self.links(machines, &times, most)?;
        Some(self.found(&chain, batch, &times)).filter(|found| found.step <= step)
    }

    /// The chain of the shortest step, and of those the one whose slowest stage is fastest.
    fn balanced(&self, machines: &[u32], batch: u32, step: Seconds) -> Option<FoundChain> {
        let most = step * (1.0 / f64::from(self.stages));
        let times = self.times(batch, most);
        self.links(machines, &times, most)?;
        let mut limits: Vec<f64> = (times.stretches.iter())
            .flat_map(|own| own.seconds().iter().copied())
            .filter(|seconds| *seconds <= most.0 && seconds.is_finite())
            .collect();
        limits.sort_by(f64::total_cmp);
        limits.dedup();
        let step_at = |limit: f64| {
            let chain = self.links(machines, &times, Seconds(limit))?;
            Some(self.found(&chain, batch, &times).step.0)
        };
        // A tighter limit makes the way longer and the slowest stage faster: the step is shortest
        // where one overtakes the other.
        let stages = f64::from(self.stages);
        let overtakes = |limit: &f64| {
            let step = step_at(*limit).unwrap_or(f64::INFINITY);
            step > limit * stages * (1.0 + ALIKE)
        };
        let at = limits.partition_point(overtakes);
        let around = limits[at.saturating_sub(1)..limits.len().min(at + 1)].iter();
        let shortest = around
            .filter_map(|limit| step_at(*limit))
            .fold(f64::INFINITY, f64::min);
        let longer =
            |limit: &f64| step_at(*limit).is_none_or(|step| step > shortest * (1.0 + ALIKE));
        let limit = limits
            .get(limits.partition_point(longer))
            .or(limits.last())?;
        let chain = self.links(machines, &times, Seconds(*limit))?;
        Some(self.found(&chain, batch, &times))
    }

    fn links(&self, machines: &[u32], times: &Times, most: Seconds) -> Option<Vec<Link>> {
        Chains {
            layers: self.search.layers(),
            machines,
            stretches: &times.stretches,
            hops: &times.hops,
        }
        .fastest(self.stages, most)
    }

    /// What each stage of a chain takes of a step, and all of it together.
    fn turn<'t>(
        &self,
        chain: &[Link],
        step: Step,
        taken: impl Fn(usize) -> &'t [f64],
    ) -> (Vec<Seconds>, Vec<Seconds>, Seconds) {
        let layers = self.search.layers();
        let tokens = step.tokens();
        let stages: Vec<Seconds> = (chain.iter())
            .map(|link| Seconds(taken(link.kind)[Stretches::index(layers, &link.layers)]))
            .collect();
        let mut hops: Vec<Seconds> = (chain.windows(2))
            .map(|pair| self.hop(pair[0].kind, pair[1].kind, tokens))
            .collect();
        hops.push(Seconds::ZERO);
        let around = chain.first().map_or(Seconds::ZERO, |link| {
            self.replicas[link.kind].around(step.sequences)
        });
        let turn = stages.iter().chain(&hops).copied().sum::<Seconds>() + around;
        (stages, hops, turn)
    }

    /// Chains of these links, of whichever way to make up for a loss lets users have more.
    fn found(&self, chain: &[Link], batch: u32, times: &Times) -> FoundChain {
        let replayed = self.with_recovery(chain, batch, times, false);
        let copied = self.with_recovery(chain, batch, times, true);
        if copied.speed() > replayed.speed() {
            copied
        } else {
            replayed
        }
    }

    fn with_recovery(&self, chain: &[Link], batch: u32, times: &Times, copies: bool) -> FoundChain {
        let search = self.search;
        let sequences = f64::from(batch);
        let context = real(search.question.context);
        let decoded = |kind: usize| times.stretches[kind].seconds();
        let (stages, hops, turn) = self.turn(chain, search.decode(batch), decoded);
        let (_, _, alone) = self.turn(chain, search.decode(1), |kind| &self.alone[kind]);
        let (read, _, prefill) = self.turn(chain, search.prompt(), |kind| &self.prompt[kind]);
        let (replay, _, _) = self.turn(chain, search.middle(), |kind| &self.middle[kind]);
        let prompt = real(search.question.prompt);
        let cached = search.middle().tokens();
        let users = sequences * f64::from(self.stages);
        let (mut slowest, mut reading) = (Seconds::ZERO, Seconds::ZERO);
        let mut laid = Vec::new();
        for (index, link) in chain.iter().enumerate() {
            let own = &search.neighbours[link.kind];
            let before = index.checked_sub(1).map(|before| chain[before].kind);
            let next = chain.get(index + 1).map(|next| next.kind);
            let at = Stretches::index(search.layers(), &link.layers);
            let memory = self.memory[link.kind][at];
            let busy =
                |tokens| next.map_or(Seconds::ZERO, |next| self.busy(link.kind, next, tokens));
            let copied = if copies {
                let of_token = memory.kv_cache_per_sequence * (sequences / context);
                of_token / own.uplink.up.bandwidth
            } else {
                Seconds::ZERO
            };
            slowest = slowest.max(stages[index]).max(busy(sequences) + copied);
            reading = reading
                .max(read[index])
                .max(busy(prompt) + copied * (prompt / sequences));
            let sent = before.map_or(Seconds::ZERO, |before| self.busy(before, link.kind, cached));
            let again = if copies {
                Seconds::ZERO
            } else {
                sent.max(replay[index]) * users
            };
            laid.push(ChainStage {
                link: link.clone(),
                memory: self.holds(&self.replicas[link.kind], &memory, batch),
                seconds: stages[index],
                hop: hops[index],
                recovery: Recovery {
                    kind: link.kind,
                    takeover: search.notice + memory.weights / own.disk,
                    replay: again,
                },
            });
        }
        let swarm = self.swarm(chain, laid.iter().map(|stage| stage.recovery).collect());
        FoundChain {
            uptime: swarm.uptime(),
            step: step_seconds(turn, slowest, f64::from(self.stages)),
            stages: laid,
            batch,
            turn,
            alone,
            prefill,
            reading,
            copies,
            swarm,
        }
    }

    /// As many such chains as there are machines for.
    fn swarm(&self, chain: &[Link], recoveries: Vec<Recovery>) -> Swarm {
        let mut mixture = vec![0; self.search.neighbours.len()];
        for link in chain {
            mixture[link.kind] += 1;
        }
        self.swarm_of(&mixture, recoveries)
    }

    fn swarm_of(&self, mixture: &[u32], recoveries: Vec<Recovery>) -> Swarm {
        let search = self.search;
        let kinds = search.neighbours.iter().zip(mixture);
        let kinds: Vec<(u32, u32)> = kinds.map(|(own, each)| (own.machines, *each)).collect();
        let whole = kinds
            .iter()
            .filter_map(|(machines, each)| machines.checked_div(*each));
        Swarm {
            chains: whole.min().unwrap_or(0),
            kinds,
            churn: search.churn,
            recoveries,
            tokens: (real(search.question.prompt), search.output),
        }
    }
}
