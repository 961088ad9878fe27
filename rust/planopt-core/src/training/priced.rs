//! A model as one rank meets it: the level that pipeline, data parallelism and batch share.

use super::candidate::{Layout, Recipe};
use super::collectives::Groups;
use super::layer::LayerCost;
use super::operation::{Part, Pricing};
use crate::catalog::{Assumptions, TrainingAssumptions};
use crate::compute::Rates;
use crate::quantity::Bytes;
use crate::transformer::{Operation, Transformer, Work};

/// Cost of each kind of layer, of the embedding and of the head, for one micro-batch.
///
/// It depends on the model, the recipe, the accelerator and its links, and of the layout on `tp`,
/// `sequence_parallel`, `cp`, `context`, `ep`, `micro_batch` and, where experts are dealt among
/// hosts, on where that puts them; not on `pp`, `vpp`, `dp`, `recompute` and sharding.
#[derive(Clone, Debug)]
pub struct PricedModel {
    /// Kinds of layer.
    pub blocks: Vec<LayerCost>,
    /// Before the first layer.
    pub embedding: LayerCost,
    /// After the last.
    pub head: LayerCost,
    /// What a head holds besides on another stage than the embedding whose matrix it shares.
    pub tied: super::hold::Held,
    /// What a checkpoint writes, of every parameter once.
    pub checkpoint: Bytes,
    /// What it writes besides of a matrix that is on two stages.
    pub tied_checkpoint: Bytes,
}

impl PricedModel {
    /// Prices every operation of `transformer`.
    pub fn new(
        transformer: &Transformer,
        recipe: &Recipe,
        layout: &Layout,
        rates: &Rates,
        groups: &Groups,
        assumptions: &Assumptions,
        training: &TrainingAssumptions,
    ) -> Self {
        let pricing = Pricing {
            recipe,
            layout,
            rates,
            groups,
            assumptions,
            training,
        };
        let price = |operations: &[_], part| pricing.price(operations, part, transformer.hidden);
        let shared = transformer
            .embedding
            .iter()
            .find(|operation| transformer.tied && matches!(operation.work, Work::Gather { .. }));
        Self {
            blocks: transformer
                .blocks
                .iter()
                .map(|block| price(&block.operations, Part::Layer))
                .collect(),
            embedding: price(&transformer.embedding, Part::Embedding),
            head: price(&transformer.head, Part::Head),
            tied: shared.map_or_else(Default::default, |operation| {
                recipe.hold(operation, layout.tp, layout.ep)
            }),
            checkpoint: whole_checkpoint(transformer, recipe),
            tied_checkpoint: shared.map_or(Bytes::ZERO, |operation| recipe.checkpoint(operation)),
        }
    }
}

/// What a checkpoint writes of a model on one stage.
fn whole_checkpoint(transformer: &Transformer, recipe: &Recipe) -> Bytes {
    let of = |operations: &[Operation]| {
        operations.iter().fold(Bytes::ZERO, |sum, operation| {
            sum + recipe.checkpoint(operation)
        })
    };
    let of_kinds: Vec<Bytes> = transformer
        .blocks
        .iter()
        .map(|block| of(&block.operations))
        .collect();
    let ends = of(&transformer.embedding) + of(&transformer.head);
    transformer
        .layers
        .iter()
        .fold(ends, |sum, &kind| sum + of_kinds[kind])
}
