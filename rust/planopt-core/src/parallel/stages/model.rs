//! Which stage has which layers.

use super::{Stage, partition_chunks};
use crate::load::training::Recipe;
use crate::quantity::real;
use crate::transformer::{Operation, Transformer};

/// Partitions the layers of a model to the stages of a pipeline. Modules of multi-token prediction are
/// one more kind of layer, behind those of the model; all of them are on the last stage, with the
/// head they share.
pub fn partition_model(
    transformer: &Transformer,
    recipe: &Recipe,
    pp: u32,
    vpp: u32,
) -> Vec<Stage> {
    let mtp = transformer.blocks.len();
    let behind = layers_behind(transformer, recipe);
    let mut stages = partition_chunks(&transformer.layers, mtp + 1, pp, vpp, behind);
    for stage in stages.iter_mut().filter(|stage| stage.last) {
        stage.layers[mtp] = f64::from(recipe.mtp_modules);
    }
    stages
}

/// As how many layers modules of multi-token prediction count, with the head that each of them
/// passes once more: as many as have its arithmetic. A model without any is assigned by its layers.
fn layers_behind(transformer: &Transformer, recipe: &Recipe) -> usize {
    let modules = real(u64::from(recipe.mtp_modules));
    let Some(&last) = transformer.layers.last() else {
        return 0;
    };
    if recipe.mtp_modules == 0 {
        return 0;
    }
    let flop = |operations: &[Operation]| -> f64 {
        operations.iter().map(Operation::flop_per_token).sum()
    };
    let head = flop(&transformer.head) / flop(&transformer.blocks[last].operations);
    let layers = modules + ((1.0 + modules) * head).round();
    (0..transformer.layers.len())
        .find(|&count| real(count as u64) >= layers)
        .unwrap_or(transformer.layers.len())
}
