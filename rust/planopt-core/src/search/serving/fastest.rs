//! The fastest layout of a purchase that is decided.

use super::layouts::{all_layouts, context_ranks};
use crate::bill::Unit;
use crate::catalog::{Assumptions, Network};
use crate::hardware::{Fit, Hardware, NetworkLine};
use crate::load::serving::{Overlap, Question};
use crate::parallel::serving::{Batching, Layout};
use crate::serving::{ReplicaEvaluation, evaluate_unit};
use crate::transformer::Transformer;

/// What a purchase consists of, apart from the layout that runs on it.
#[derive(Clone, Copy, Debug)]
pub struct UnitKey<'a, 'k> {
    /// Accelerator in its host.
    pub fit: Fit<'a>,
    /// Network between hosts.
    pub network: Option<(&'a Network, NetworkLine)>,
    /// Hosts of the unit.
    pub hosts: u32,
    /// Accelerators that come with it.
    pub accelerators: u32,
    /// Switch id.
    pub switch: Option<&'k str>,
}

/// What of a layout is decided already.
#[derive(Clone, Copy, Debug, Default)]
pub struct GivenLayout {
    /// Tensor-parallel degree.
    pub tp: Option<u32>,
    /// Context-parallel degree.
    pub cp: Option<u32>,
    /// Attention data-parallel degree.
    pub dp: Option<u32>,
    /// Expert-parallel degree.
    pub ep: Option<u32>,
    /// Pipeline stages.
    pub pp: Option<u32>,
    /// Sequences of a micro-batch.
    pub batch: Option<u32>,
    /// Micro-batches in flight.
    pub in_flight: Option<u32>,
    /// Replicas of a unit.
    pub replicas: Option<u32>,
}

impl GivenLayout {
    fn allows(self, layout: Layout) -> bool {
        let given = |asked: Option<u32>, degree| asked.is_none_or(|asked| asked == degree);
        let degrees = layout.degrees;
        given(self.tp, degrees.tp)
            && given(self.cp, degrees.cp)
            && given(self.dp, degrees.dp)
            && given(self.ep, degrees.ep)
            && given(self.pp, layout.pp)
    }

    /// The smallest micro-batches that carry `users` on `replicas`, as many in flight as there
    /// are stages, but no more than there are users for.
    fn batching(self, users: u64, replicas: u32, pp: u32, overlap: Overlap) -> Batching {
        let resident = if overlap == Overlap::TwoBatch { 2 } else { 1 };
        let of_replica = users.div_ceil(u64::from(replicas) * resident).max(1);
        let of_replica = u32::try_from(of_replica).unwrap_or(u32::MAX);
        let in_flight = self.in_flight.unwrap_or_else(|| pp.min(of_replica));
        let batch = self.batch.unwrap_or_else(|| of_replica.div_ceil(in_flight));
        Batching { batch, in_flight }
    }
}

/// A unit with the evaluation of its replicas.
#[derive(Clone, Debug)]
pub struct EvaluatedUnit<'a> {
    /// What is bought.
    pub unit: Unit<'a>,
    /// How many sequences circulate in each replica.
    pub batching: Batching,
    /// A replica of it.
    pub evaluation: ReplicaEvaluation,
}

/// The layout with the most speed for each of `users` on a purchase that is already decided, if
/// any layout carries them.
pub fn fastest_layout<'a>(
    transformer: &Transformer,
    question: &Question,
    key: &UnitKey<'a, '_>,
    users: u64,
    given: GivenLayout,
    assumptions: &Assumptions,
) -> Option<EvaluatedUnit<'a>> {
    let mut best: Option<EvaluatedUnit<'a>> = None;
    let hardware = Hardware {
        accelerator: key.fit.accelerator,
        host: key.fit.host,
        network: key
            .network
            .map(|(network, line)| (network, line.nics_per_host)),
    };
    let context_ranks = context_ranks(question, assumptions);
    for layout in all_layouts(transformer, key.accelerators, context_ranks) {
        if !given.allows(layout) {
            continue;
        }
        let Ok(placement) = layout.place(key.fit.slots) else {
            continue;
        };
        if (placement.hosts > 1) != key.network.is_some() {
            continue;
        }
        Unit::all(hardware, placement, assumptions.switch_sale, |unit| {
            let same = given.replicas.is_none_or(|given| given == unit.replicas)
                && unit.hosts() == key.hosts
                && unit.accelerators_bought() == key.accelerators
                && unit.switch.map(|share| share.switch.id.as_str()) == key.switch;
            if !same {
                return;
            }
            let batching = given.batching(users, unit.replicas, layout.pp, question.overlap);
            let line = key.network.map(|(_, line)| line);
            let evaluated = evaluate_unit(
                transformer,
                question,
                &key.fit,
                line,
                layout,
                batching,
                assumptions,
            );
            if let Ok((_, evaluation)) = evaluated
                && evaluation.rejections.is_empty()
                && best.as_ref().is_none_or(|best| {
                    evaluation.decode.tokens_per_second_per_user
                        > best.evaluation.decode.tokens_per_second_per_user
                })
            {
                best = Some(EvaluatedUnit {
                    unit,
                    batching,
                    evaluation,
                });
            }
        });
    }
    best
}
