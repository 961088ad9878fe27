//! Which stage has which layers.

use super::candidate::Recipe;
use crate::stages::{Stage, deal_chunks};
use crate::transformer::Transformer;

/// Deals the layers of a model to the stages of a pipeline. Modules of multi-token prediction are
/// one more kind of layer, behind those of the model; all of them are on the last stage, with the
/// head they share.
pub fn deal_model(transformer: &Transformer, recipe: &Recipe, pp: u32, vpp: u32) -> Vec<Stage> {
    let mtp = transformer.blocks.len();
    let mut stages = deal_chunks(&transformer.layers, mtp + 1, pp, vpp);
    for stage in stages.iter_mut().filter(|stage| stage.last) {
        stage.layers[mtp] = f64::from(recipe.mtp_modules);
    }
    stages
}
