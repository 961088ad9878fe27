//! Every way to divide a model among accelerators.

use crate::catalog::Assumptions;
use crate::hardware::System;
use crate::load::serving::Question;
use crate::parallel::{Degrees, Layout, Placement};
use crate::transformer::Transformer;

/// Every layout of at most `accelerators` that is worth a look: each tensor-parallel degree; of
/// a choice of experts also each with all of them assigned out, and attention data parallel then.
/// Contexts are whole, or divided among each power of two up to `context_ranks`.
pub fn all_layouts(
    transformer: &Transformer,
    accelerators: u32,
    context_ranks: u32,
) -> Vec<Layout> {
    let is_choice = transformer.experts().is_some();
    let context_ranks = if transformer.needs_whole_contexts() {
        1
    } else {
        context_ranks
    };
    let mut layouts = Vec::new();
    for tp in 1..=accelerators {
        let groups = if is_choice { accelerators / tp } else { 1 };
        for dp in 1..=groups {
            let assigned = Degrees {
                dp,
                ep: tp * dp,
                ..Degrees::tensor(tp)
            };
            let whole = (dp == 1).then_some(Degrees::tensor(tp));
            let assigned = (is_choice && assigned.ranks() > 1).then_some(assigned);
            for degrees in whole.into_iter().chain(assigned) {
                let divided = divided(degrees, context_ranks);
                layouts
                    .extend(divided.flat_map(|degrees| staged(degrees, transformer, accelerators)));
            }
        }
    }
    layouts
}

/// Where the ranks of a layout sit on a system, if it is tried there: it needs a network if it is
/// more than a host, and RDMA if a stage is; over TCP only what pipelines hand on goes from host to
/// host, as engines do it.
pub(super) fn placed(layout: Layout, system: &System, question: &Question) -> Option<Placement> {
    let placement = layout.place(system.slots).ok()?;
    let network = system.network.map(|(network, _)| network);
    let is_run = placement.hosts_per_stage() == 1 || network.is_some_and(|network| network.rdma);
    // No engine has ranks on several instances of a card.
    let is_whole = system.accelerator.slices == 1 || placement.accelerators() == 1;
    let is_tried = is_whole && (is_run || question.allow_odd);
    ((placement.hosts > 1) == network.is_some() && is_tried).then_some(placement)
}

/// The same degrees with whole contexts, and with those that so many ranks divide. Groups with
/// sequences of their own have whole contexts.
fn divided(degrees: Degrees, context_ranks: u32) -> impl Iterator<Item = Degrees> {
    let most = if degrees.dp == 1 { context_ranks } else { 1 };
    (0..u32::BITS)
        .map(|power| 1 << power)
        .take_while(move |&cp| cp <= most.max(1))
        .map(move |cp| Degrees { cp, ..degrees })
}

/// The layouts of a stage, by the number of stages.
fn staged(degrees: Degrees, transformer: &Transformer, accelerators: u32) -> Vec<Layout> {
    (1..=accelerators / degrees.ranks())
        .map(|pp| Layout::staged(degrees, pp))
        .filter(|layout| layout.check_served(transformer).is_ok())
        .collect()
}

/// Ranks that a search divides contexts among, at most: as many as asked for, else as many as
/// leave each of them enough of a prompt.
pub fn context_ranks(question: &Question, assumptions: &Assumptions) -> u32 {
    let engine = assumptions.engine.as_ref();
    let enough = engine.and_then(|engine| engine.context_rank_tokens);
    let of_prompt = enough.map_or(1, |tokens| question.prompt / u64::from(tokens));
    let most = || u32::try_from(of_prompt).unwrap_or(u32::MAX);
    question.context_ranks.unwrap_or_else(most).max(1)
}
