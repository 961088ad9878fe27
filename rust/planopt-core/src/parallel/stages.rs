//! How the layers of a model are partitioned to the stages of a pipeline.

mod model;

pub use self::model::partition_model;

use crate::transformer::Transformer;

/// A run of alike stages.
#[derive(Clone, Debug, PartialEq)]
pub struct Stage {
    /// Layers of each kind of block.
    pub layers: Vec<f64>,
    /// Whether it holds the embedding.
    pub first: bool,
    /// Whether it holds the head.
    pub last: bool,
    /// How many stages are like this one.
    pub count: f64,
    /// The first of them, counted from 0.
    pub index: u32,
}

/// Partitions `layers` (the kind of each) to `pp` stages: as many to each, the rest one by one to the
/// stages before the last, which has the head to carry already (as vLLM does).
pub fn partition(layers: &[usize], kinds: usize, pp: u32) -> Vec<Stage> {
    partition_chunks(layers, kinds, pp, 1, 0)
}

/// Partitions `layers` to `pp` stages in `chunks` rounds (the interleaved schedule of Narayanan et al.,
/// arXiv 2104.04473). Where they do not divide evenly, embedding and head count as a layer each
/// (Megatron-LM, `account_for_embedding_in_pipeline_split`), and the first chunks take the rest.
/// What else stands on the last stage may count as so many layers `behind` those of the model
/// (Megatron-LM, `pipeline_model_parallel_layout`): the last chunk has as many fewer.
pub fn partition_chunks(
    layers: &[usize],
    kinds: usize,
    pp: u32,
    chunks: u32,
    behind: usize,
) -> Vec<Stage> {
    let stages = pp as usize;
    let sizes = chunk_sizes(layers.len(), stages, chunks.max(1) as usize, behind);
    let mut counts = vec![vec![0.0; kinds]; stages];
    let mut start = 0;
    for (chunk, size) in sizes.into_iter().enumerate() {
        for &kind in &layers[start..start + size] {
            counts[chunk % stages][kind] += 1.0;
        }
        start += size;
    }
    let mut assigned: Vec<Stage> = Vec::new();
    for ((index, stage), counts) in (0..stages).zip(0..pp).zip(counts) {
        let last = index + 1 == stages;
        let stage = Stage {
            layers: counts,
            first: index == 0,
            last,
            count: 1.0,
            index: stage,
        };
        match assigned.iter_mut().find(|other| alike(other, &stage)) {
            Some(other) => other.count += 1.0,
            None => assigned.push(stage),
        }
    }
    assigned
}

/// Layers of each chunk, in the order of the layers.
fn chunk_sizes(layers: usize, stages: usize, rounds: usize, behind: usize) -> Vec<usize> {
    let chunks = stages * rounds;
    if behind > 0 && chunks > 1 {
        let last = (layers + behind).div_ceil(chunks).saturating_sub(behind);
        let (each, rest) = (
            (layers - last) / (chunks - 1),
            (layers - last) % (chunks - 1),
        );
        // The first chunks of an interleaved schedule take the rest, else the last but one.
        let first = if rounds == 1 { chunks - 1 - rest } else { 0 };
        let takes = |chunk: usize| (first..first + rest).contains(&chunk);
        return (0..chunks - 1)
            .map(|chunk| each + usize::from(takes(chunk)))
            .chain([last])
            .collect();
    }
    if rounds == 1 {
        let (each, rest) = (layers / stages, layers % stages);
        return (1..=stages)
            .map(|stage| each + usize::from(stage < stages && stage + rest >= stages))
            .collect();
    }
    let ends = usize::from(!layers.is_multiple_of(chunks));
    let (each, rest) = ((layers + 2 * ends) / chunks, (layers + 2 * ends) % chunks);
    let mut sizes: Vec<usize> = (0..chunks)
        .map(|chunk| each + usize::from(chunk < rest))
        .collect();
    sizes[0] -= ends;
    sizes[chunks - 1] -= ends;
    sizes
}

fn alike(one: &Stage, other: &Stage) -> bool {
    one.layers == other.layers && one.first == other.first && one.last == other.last
}

/// The stages of every pipeline length up to `longest`; index 0 is one stage.
pub(crate) fn stages(transformer: &Transformer, longest: u32) -> Vec<Vec<Stage>> {
    let kinds = transformer.blocks.len();
    let longest = longest.min(u32::try_from(transformer.layers.len()).unwrap_or(u32::MAX));
    (1..=longest)
        .map(|pp| partition(&transformer.layers, kinds, pp))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{Stage, partition};

    fn sizes(layers: usize, pp: u32) -> Vec<(f64, f64)> {
        partition(&vec![0; layers], 1, pp)
            .iter()
            .map(|stage| (stage.layers[0], stage.count))
            .collect()
    }

    #[test]
    fn the_rest_goes_to_the_stages_before_the_last() {
        // 80 = 7 x 11 + 3: stages 3, 4 and 5 of 0..=6 take 12.
        assert_eq!(
            sizes(80, 7),
            [(11.0, 1.0), (11.0, 2.0), (12.0, 3.0), (11.0, 1.0)]
        );
        assert_eq!(sizes(80, 8), [(10.0, 1.0), (10.0, 6.0), (10.0, 1.0)]);
    }

    #[test]
    fn every_layer_is_partitioned_once() {
        for pp in 1..=80 {
            let total: f64 = partition(&[0; 80], 1, pp)
                .iter()
                .map(|stage| stage.layers[0] * stage.count)
                .sum();
            assert!(
                (total - 80.0).abs() < f64::EPSILON,
                "{pp} stages hold {total} layers"
            );
        }
    }

    #[test]
    fn one_stage_is_first_and_last() {
        let all = Stage {
            layers: vec![1.0, 2.0],
            first: true,
            last: true,
            count: 1.0,
            index: 0,
        };
        assert_eq!(partition(&[0, 1, 1], 2, 1), [all]);
    }
}
