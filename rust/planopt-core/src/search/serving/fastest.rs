//! The fastest layout of a purchase that is decided.

use super::layouts::{all_layouts, context_ranks, placed};
use crate::bill::Unit;
use crate::catalog::Assumptions;
use crate::hardware::System;
use crate::load::serving::Question;
use crate::parallel::{Layout, Pins};
use crate::search::rows::SystemNames;
use crate::serving::{ReplicaEvaluation, evaluate_unit};
use crate::transformer::Transformer;
use std::ops::ControlFlow;

/// A unit with the evaluation of its replicas.
#[derive(Clone, Debug)]
pub struct EvaluatedUnit<'a> {
    /// What is bought.
    pub unit: Unit<'a>,
    /// How it runs.
    pub layout: Layout,
    /// A replica of it.
    pub evaluation: ReplicaEvaluation,
}

/// The layout with the most speed for each of `users` on a purchase that is already decided, so many
/// hosts and accelerators of a system, if any layout carries them.
pub fn fastest_layout<'a>(
    transformer: &Transformer,
    question: &Question,
    system: &System<'a>,
    bought: &SystemNames,
    users: u64,
    given: Pins,
    assumptions: &Assumptions,
) -> Option<EvaluatedUnit<'a>> {
    let mut best: Option<EvaluatedUnit<'a>> = None;
    let hardware = system.parts();
    let context_ranks = context_ranks(question, assumptions);
    for layout in all_layouts(transformer, bought.accelerators, context_ranks) {
        if !given.allows(layout) {
            continue;
        }
        let Some(placement) = placed(layout, system, question) else {
            continue;
        };
        Unit::all(hardware, placement, assumptions.switch_sale, |unit| {
            let same = given.replicas.is_none_or(|given| given == unit.replicas)
                && unit.hosts() == bought.hosts
                && unit.accelerators_bought() == bought.accelerators
                && unit.switch.map(|share| share.switch.id.as_str()) == bought.switch.as_deref();
            if !same {
                return ControlFlow::Continue(());
            }
            let replicas = unit.replicas;
            let layout = given.carrying(users, Layout { replicas, ..layout }, question.overlap);
            let evaluated = evaluate_unit(transformer, question, system, layout, assumptions);
            if let Ok((_, evaluation)) = evaluated
                && evaluation.rejections.is_empty()
                && best.as_ref().is_none_or(|best| {
                    evaluation.decode.tokens_per_second_per_user
                        > best.evaluation.decode.tokens_per_second_per_user
                })
            {
                best = Some(EvaluatedUnit {
                    unit,
                    layout,
                    evaluation,
                });
            }
            ControlFlow::Continue(())
        });
    }
    best
}
