//! Which layouts of a run are tried.

use crate::load::training::Recipe;
use crate::parallel::{ContextParallel, Layout, Recompute, Schedule, Stage, Zero, partition_model};
use crate::transformer::Transformer;

/// Largest tensor-parallel degree tried: that of a rack joined by one scale-up link.
const LARGEST_TENSOR: u32 = 64;

/// Largest expert-parallel degree tried (`DeepSeek-V3` was trained with 64; arXiv 2412.19437).
const LARGEST_EXPERT: u32 = 64;

/// Sequences of a micro-batch that are tried.
const MICRO_BATCHES: [u32; 4] = [1, 2, 4, 8];

/// Chunks of a stage, at most.
const MOST_CHUNKS: u32 = 8;

/// Data-parallel degrees are powers of two times odd numbers up to this one.
const LARGEST_ODD: u32 = 63;

/// Largest context-parallel degree tried.
const LARGEST_CONTEXT: u32 = 64;

/// Ranks that shard among each other where not all do: those of a host of eight, as most are.
const SHARDING_HOST: u32 = 8;

/// Tokens that a context-parallel rank keeps at least: below, attention has too little to do.
const LEAST_CONTEXT: u32 = 4096;

/// A layout, with the place of what it shares with others.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub(super) layout: Layout,
    /// Among those with the same cost per micro-batch.
    pub(super) shape: usize,
    /// Among those with the same stages.
    pub(super) pipeline: usize,
    /// Layouts that recompute the forward pass of some layers of a stage, for which one of full
    /// recomputation stands: one less than its layers.
    pub(super) partial: u32,
}

impl Candidate {
    /// Layouts that it stands for.
    pub(super) fn count(&self) -> u64 {
        1 + u64::from(self.partial)
    }
}

/// The layouts of a question, the fewest accelerators first.
#[derive(Debug)]
pub(super) struct Layouts {
    pub(super) candidates: Vec<Candidate>,
    /// One layout of each shape.
    pub(super) shapes: Vec<Layout>,
    pub(super) pipelines: Vec<Vec<Stage>>,
}

impl Layouts {
    /// Every layout of at most `accelerators`: powers of two of tensor, context and expert
    /// parallelism, the shortest pipeline for each number of layers of its largest stage, and
    /// every data-parallel degree that divides the batch and has a small odd part. Pipelines that
    /// nobody builds are among them where `allow_odd` says so.
    pub(super) fn all(
        transformer: &Transformer,
        recipe: &Recipe,
        accelerators: u32,
        allow_odd: bool,
    ) -> Self {
        let mut all = Self {
            candidates: Vec::new(),
            shapes: Vec::new(),
            pipelines: Vec::new(),
        };
        let shapes = shapes(transformer, recipe);
        let degrees = data_degrees(recipe.global_batch);
        for (pp, vpp) in pipelines(transformer, allow_odd) {
            let pipeline = all.pipelines.len();
            let stages = partition_model(transformer, recipe, pp, vpp);
            let largest = most_layers(&stages);
            all.pipelines.push(stages);
            for (place, shape) in shapes.iter().enumerate() {
                let staged = Layout {
                    dp: 1,
                    pp,
                    vpp,
                    schedule: if vpp > 1 {
                        Schedule::Interleaved
                    } else {
                        Schedule::OneForwardOneBackward
                    },
                    ..*shape
                };
                for layout in spread(staged, recipe, &degrees, accelerators) {
                    if layout.check_trained(transformer, recipe).is_ok() {
                        let partial = match layout.recompute {
                            Recompute::Full => largest - 1,
                            _ => 0,
                        };
                        all.candidates.push(Candidate {
                            layout,
                            shape: place,
                            pipeline,
                            partial,
                        });
                    }
                }
            }
        }
        all.shapes = shapes;
        // Stable: of layouts on as many accelerators the order stays the one they were made in.
        all.candidates
            .sort_by_key(|candidate| candidate.layout.accelerators());
        all
    }
}

fn powers_of_two(most: u32) -> impl Iterator<Item = u32> {
    (0..u32::BITS)
        .map(|exponent| 1 << exponent)
        .take_while(move |power| *power <= most)
}

/// How one micro-batch meets one stage: all degrees that its cost depends on.
fn shapes(transformer: &Transformer, recipe: &Recipe) -> Vec<Layout> {
    let experts = transformer.experts().unwrap_or(1);
    let experts = u32::try_from(experts).unwrap_or(u32::MAX);
    let longest = (recipe.seq_len / LEAST_CONTEXT).clamp(1, LARGEST_CONTEXT);
    let mut shapes = Vec::new();
    for tp in powers_of_two(LARGEST_TENSOR) {
        if !transformer.heads.is_multiple_of(u64::from(tp)) {
            continue;
        }
        for cp in powers_of_two(longest) {
            let contexts: &[ContextParallel] = if cp > 1 {
                &[ContextParallel::Ring, ContextParallel::AllToAll]
            } else {
                &[ContextParallel::Ring]
            };
            let experts = powers_of_two(LARGEST_EXPERT.min(experts));
            for (&context_parallel, ep) in
                experts.flat_map(|ep| contexts.iter().map(move |c| (c, ep)))
            {
                shapes.extend(MICRO_BATCHES.map(|batch| Layout {
                    tp,
                    sequence_parallel: tp > 1,
                    cp,
                    context_parallel,
                    ep,
                    // Enough replicas to assign the experts to; more change nothing.
                    dp: ep,
                    batch,
                    ..Layout::SINGLE
                }));
            }
        }
    }
    shapes
}

/// Layers of the largest stage.
fn most_layers(stages: &[Stage]) -> u32 {
    let layers = stages.iter().map(|stage| stage.layers.iter().sum::<f64>());
    let most = layers.fold(1.0, f64::max);
    (1..=u32::MAX)
        .find(|count| f64::from(*count) >= most)
        .unwrap_or(1)
}

/// Stages, and chunks of each. Of pipelines whose largest stage is the same the shortest one
/// leaves no accelerator with less to do than it could have.
fn pipelines(transformer: &Transformer, allow_odd: bool) -> Vec<(u32, u32)> {
    let layers = u32::try_from(transformer.layers.len()).unwrap_or(u32::MAX);
    let mut pipelines = Vec::new();
    let mut largest = 0;
    for pp in (1..=layers).filter(|pp| allow_odd || is_built(*pp, layers)) {
        let stage = layers.div_ceil(pp);
        if stage == largest {
            continue;
        }
        largest = stage;
        pipelines.push((pp, 1));
        if pp > 1 && layers.is_multiple_of(pp) {
            let chunks = (2..=MOST_CHUNKS).filter(|chunks| stage.is_multiple_of(*chunks));
            pipelines.extend(chunks.map(|chunks| (pp, chunks)));
        }
    }
    pipelines
}

/// Whether pipelines of so many stages are built: all stages have as many layers, or there are as
/// many of them as a power of two or three times one, as published runs with uneven ones have: 16
/// for the 61 layers of `DeepSeek-V3` (arXiv 2412.19437), 12 for the 70 of BLOOM (arXiv 2211.05100).
const fn is_built(pp: u32, layers: u32) -> bool {
    let odd = pp >> pp.trailing_zeros();
    layers.is_multiple_of(pp) || odd == 1 || odd == 3
}

/// Data-parallel degrees that divide a batch, in growing order.
fn data_degrees(batch: u32) -> Vec<u32> {
    let mut degrees: Vec<u32> = (1..=LARGEST_ODD)
        .step_by(2)
        .flat_map(|odd| powers_of_two(batch / odd).map(move |power| odd * power))
        .filter(|degree| batch.is_multiple_of(*degree))
        .collect();
    degrees.sort_unstable();
    degrees
}

/// The layout over each number of data-parallel ranks, with all that goes with it.
fn spread(layout: Layout, recipe: &Recipe, degrees: &[u32], accelerators: u32) -> Vec<Layout> {
    // Attention that keeps no probabilities has nothing to gain from recomputing them.
    let recomputes: &[Recompute] = if recipe.flash_attention {
        &[Recompute::None, Recompute::Full]
    } else {
        &[Recompute::None, Recompute::SELECTIVE, Recompute::Full]
    };
    let one_pipeline = layout.accelerators();
    let mut spread = Vec::new();
    for &dp in degrees {
        if dp > accelerators / one_pipeline
            || !(recipe.global_batch / dp).is_multiple_of(layout.batch)
        {
            continue;
        }
        for (zero, shard_group) in shardings(&layout, dp * layout.cp) {
            for &recompute in recomputes {
                spread.push(Layout {
                    dp,
                    recompute,
                    zero,
                    shard_group,
                    ..layout
                });
            }
        }
    }
    spread
}

/// What so many ranks with the same weights divide; whole weights also within a host alone.
fn shardings(layout: &Layout, ranks: u32) -> Vec<(Zero, Option<u32>)> {
    if ranks == 1 {
        return vec![(Zero::None, None)];
    }
    let mut shardings: Vec<_> = [Zero::Zero1, Zero::Zero2, Zero::Zero3]
        .map(|zero| (zero, None))
        .to_vec();
    let within_host = SHARDING_HOST / layout.tp;
    if within_host > 1 && ranks > within_host {
        shardings.push((Zero::Zero3, Some(within_host)));
    }
    shardings
}

#[cfg(test)]
mod tests {
    use super::is_built;

    #[test]
    fn pipelines_of_published_runs_are_built_and_others_are_not() {
        for (pp, layers) in [(16, 61), (12, 70), (16, 126), (35, 105), (8, 80), (12, 96)] {
            assert!(is_built(pp, layers), "{pp} stages of {layers}");
        }
        for (pp, layers) in [(27, 80), (14, 80), (41, 80), (9, 61)] {
            assert!(!is_built(pp, layers), "{pp} stages of {layers}");
        }
    }
}
