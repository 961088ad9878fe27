//! A model as one rank meets it: the level that pipeline, data parallelism and batch share.

use super::layer::LayerCost;
use super::operation::Part;
use super::pricing::Pricing;
use super::resident;
use super::resident::{checkpoint_bytes, resident_state};
use crate::catalog::TrainingAssumptions;
use crate::hardware::Rates;
use crate::load::training::Recipe;
use crate::parallel::{Groups, Layout};
use crate::quantity::Bytes;
use crate::transformer::{Operation, Transformer, Work};

/// Cost of each kind of layer, of the embedding and of the head, for one micro-batch.
///
/// It depends on the model, the recipe, the accelerator and its links, and of the layout on `tp`,
/// `sequence_parallel`, `cp`, `context`, `ep`, `micro_batch` and, where experts are assigned among
/// hosts, on where that puts them; not on `pp`, `vpp`, `dp`, `recompute` and sharding.
#[derive(Clone, Debug)]
pub struct PricedModel {
    /// Kinds of layer; behind them, as one more, a module of multi-token prediction.
    pub blocks: Vec<LayerCost>,
    /// Before the first layer.
    pub embedding: LayerCost,
    /// After the last, and behind every module of multi-token prediction.
    pub head: LayerCost,
    /// What the last stage holds again of the table of the first: for a head that is the same
    /// matrix, or for the tokens that modules of multi-token prediction look up.
    pub tied: resident::Resident,
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
        training: &TrainingAssumptions,
    ) -> Self {
        let pricing = Pricing {
            recipe,
            layout,
            rates,
            groups,
            training,
        };
        let price = |operations: &[_], part| pricing.price(operations, part, transformer.hidden);
        let needed_again = transformer.tied || recipe.mtp_modules > 0;
        let shared = transformer
            .embedding
            .iter()
            .find(|operation| needed_again && matches!(operation.work, Work::Gather { .. }));
        let mut blocks: Vec<LayerCost> = transformer
            .blocks
            .iter()
            .map(|block| price(&block.operations, Part::Layer))
            .collect();
        let mtp = &transformer.mtp;
        let entry = price(&mtp.entry, Part::Embedding);
        let module = mtp
            .kinds
            .iter()
            .fold(entry, |sum, &kind| sum + blocks[kind]);
        blocks.push(module);
        let mut head = price(&transformer.head, Part::Head);
        // One after another: the gradients of logits live once.
        let exit = LayerCost {
            transient: Bytes::ZERO,
            ..price(&mtp.exit, Part::Head)
        };
        for _ in 0..recipe.mtp_modules {
            head = head + exit;
        }
        Self {
            blocks,
            embedding: price(&transformer.embedding, Part::Embedding),
            head,
            tied: shared.map_or_else(Default::default, |operation| {
                resident_state(recipe, operation, layout)
            }),
            checkpoint: whole_checkpoint(transformer, recipe),
            tied_checkpoint: shared
                .map_or(Bytes::ZERO, |operation| checkpoint_bytes(recipe, operation)),
        }
    }
}

/// What a checkpoint writes of a model on one stage.
fn whole_checkpoint(transformer: &Transformer, recipe: &Recipe) -> Bytes {
    let of = |operations: &[Operation]| {
        operations.iter().fold(Bytes::ZERO, |sum, operation| {
            sum + checkpoint_bytes(recipe, operation)
        })
    };
    let of_kinds: Vec<Bytes> = transformer
        .blocks
        .iter()
        .map(|block| of(&block.operations))
        .collect();
    let ends = of(&transformer.embedding) + of(&transformer.head);
    let mtp = &transformer.mtp;
    let layers = mtp
        .kinds
        .iter()
        .fold(Bytes::ZERO, |sum, &kind| sum + of_kinds[kind]);
    let module = of(&mtp.entry) + layers + of(&mtp.exit);
    transformer
        .layers
        .iter()
        .fold(ends, |sum, &kind| sum + of_kinds[kind])
        + module * f64::from(recipe.mtp_modules)
}
