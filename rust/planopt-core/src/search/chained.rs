//! A chain of unlike machines as an engine: what a load on it is simulated with.

use super::neighbours::{Neighbour, placed, stage_of};
use crate::catalog::Assumptions;
use crate::hardware::Line;
use crate::load::EngineOptions;
use crate::load::serving::{Overlap, Question};
use crate::memory::ServingMemory;
use crate::parallel::{Batching, Rejection, Stage};
use crate::quantity::Seconds;
use crate::serving::Replica;
use crate::serving::engine::{EngineLimits, StepSeconds, StepTime, StepWork, limits};
use crate::transformer::Transformer;

/// Which machines hold how many layers, one stage after the other.
pub struct Cut {
    kinds: Vec<usize>,
    shapes: Vec<Stage>,
}

impl Cut {
    /// From the kind and the layers of each stage; nothing if they are not those of the model.
    pub fn of(transformer: &Transformer, stages: &[(usize, usize)]) -> Option<Self> {
        let (mut kinds, mut shapes, mut at) = (Vec::new(), Vec::new(), 0_usize);
        for &(kind, layers) in stages {
            let end = at.checked_add(layers)?;
            if layers == 0 || end > transformer.layers.len() {
                return None;
            }
            kinds.push(kind);
            shapes.push(stage_of(transformer, at..end));
            at = end;
        }
        (at == transformer.layers.len()).then_some(Self { kinds, shapes })
    }
}

/// A chain that is cut so, with the way from each stage to the next.
pub struct Chained<'s> {
    stages: Vec<(Replica<'s>, Option<(Seconds, Line)>)>,
}

impl<'s> Chained<'s> {
    /// Machines in a chain; nothing where one of them is none of these, or cannot hold a model.
    pub fn new(
        cut: &'s Cut,
        neighbours: &'s [Neighbour<'s>],
        question: &'s Question,
        assumptions: &'s Assumptions,
    ) -> Option<Self> {
        let placement = placed(u32::try_from(cut.kinds.len()).ok()?);
        let mut stages = Vec::new();
        for (index, &kind) in cut.kinds.iter().enumerate() {
            let own = neighbours.get(kind)?;
            let next = cut.kinds.get(index + 1).map(|&next| neighbours.get(next));
            let way = match next {
                None => None,
                Some(next) => Some((own.fabric.hop_overhead, own.uplink.to(&next?.uplink))),
            };
            let shape = std::slice::from_ref(&cut.shapes[index]);
            let rank = own.prepared.rank(placement.degrees)?;
            let replica = Replica::new(
                rank,
                shape,
                &own.fabric,
                placement,
                question,
                own.accelerator,
                assumptions,
            );
            stages.push((replica, way));
        }
        Some(Self { stages })
    }

    /// Micro-batches that are under way: one a stage.
    fn in_flight(&self) -> u32 {
        u32::try_from(self.stages.len()).unwrap_or(u32::MAX)
    }

    /// Why it holds no cache: its fullest stage with one sequence a micro-batch.
    pub fn too_full(&self) -> Rejection {
        let one = Batching {
            batch: 1,
            in_flight: self.in_flight(),
        };
        let held = self.stages.iter().map(|(replica, _)| replica.memory(one));
        let fullest = held.max_by(|one, other| {
            let over = |memory: &ServingMemory| memory.total.0 - memory.capacity.0;
            over(one).total_cmp(&over(other))
        });
        let fullest = fullest.unwrap_or_default();
        Rejection::Memory {
            needed_bytes: fullest.total.0,
            capacity_bytes: fullest.capacity.0,
            largest: None,
        }
    }

    /// What it may do in a step, and holds: no more than the least of its stages.
    pub fn limits(
        &self,
        options: &EngineOptions,
        assumptions: &Assumptions,
    ) -> Option<EngineLimits> {
        let own = |(replica, _): &(Replica, _)| {
            limits(
                options,
                replica,
                self.in_flight(),
                Overlap::None,
                assumptions,
            )
        };
        let least = |one: EngineLimits, other: EngineLimits| EngineLimits {
            token_budget: one.token_budget.min(other.token_budget),
            max_sequences: one.max_sequences.min(other.max_sequences),
            kv_tokens: one.kv_tokens.min(other.kv_tokens),
            ..one
        };
        self.stages.iter().map(own).reduce(least)
    }
}

impl StepTime for Chained<'_> {
    fn seconds(&self, work: &StepWork) -> StepSeconds {
        let step = work.step();
        let (mut latency, mut slowest) = (Seconds::ZERO, Seconds::ZERO);
        for (place, (replica, way)) in self.stages.iter().enumerate() {
            if place == 0 {
                latency += replica.around(step.sequences);
            }
            let mut own = Seconds::ZERO;
            replica.each_stage(step, Overlap::None, |_, parts| own += parts.total());
            let mut busy = Seconds::ZERO;
            if let Some((overhead, line)) = way {
                let payload = replica.hidden(step.tokens());
                busy = payload / line.bandwidth;
                latency += *overhead + line.message(payload);
            }
            latency += own;
            slowest = slowest.max(own).max(busy);
        }
        StepSeconds {
            latency: latency.0,
            interval: slowest.0.max(latency.0 / f64::from(self.in_flight())),
        }
    }
}
