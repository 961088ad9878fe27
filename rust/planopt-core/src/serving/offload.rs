//! Layers whose weights are offloaded to the host's memory or to its disks, and are read over its link in
//! every step (Sheng et al., "`FlexGen`", arXiv 2303.06865). Formulas: `docs/reference/serving.md`,
//! section 10.

use crate::compute::Rank;
use crate::load::serving::Offload;
use crate::parallel::Stage;
use crate::quantity::{Bytes, BytesPerSecond, Seconds};

/// Layers that an accelerator has room for while it works on those that are offloaded: the one at
/// work, and the one that comes in meanwhile.
const LAYERS_AT_HAND: f64 = 2.0;

/// What of a stage is offloaded to its host.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Offloaded {
    /// Share of its layers.
    pub(crate) share: f64,
    /// Weights of one rank.
    pub(crate) weights: Bytes,
    /// What of them its accelerator need not have room for.
    pub(crate) freed: Bytes,
}

/// What of a stage is offloaded to its host: so many of its layers, of every kind its share.
/// Where the host computes them (`kept`), experts alone, and no layer of them has to be at hand.
pub(crate) fn offloaded(offload: &Offload, stage: &Stage, rank: &Rank, kept: bool) -> Offloaded {
    let layers: f64 = stage.layers.iter().sum();
    if layers <= 0.0 {
        return Offloaded::default();
    }
    let of_each_kind = rank.blocks.iter().zip(&stage.layers);
    let weights: Bytes = of_each_kind
        .map(|(block, &count)| {
            let bytes = if kept {
                block.kept_bytes()
            } else {
                block.weights
            };
            bytes * count
        })
        .sum();
    let offloaded = f64::from(offload.layers).min(layers);
    let at_hand = if kept { 0.0 } else { LAYERS_AT_HAND };
    let freed = offloaded - offloaded.min(at_hand);
    Offloaded {
        share: offloaded / layers,
        weights: weights * (offloaded / layers),
        freed: weights * (freed / layers),
    }
}

/// What one of `accelerators` of a host reads over its link, which gives `link`.
pub(crate) fn reading_line(
    offload: &Offload,
    link: BytesPerSecond,
    accelerators: u32,
) -> BytesPerSecond {
    link.min(offload.bandwidth * (1.0 / f64::from(accelerators)))
}

/// What of reading `weights` does not hide behind the `work` of a stage.
pub(crate) fn exposed_reading(
    offload: &Offload,
    weights: Bytes,
    line: BytesPerSecond,
    work: Seconds,
) -> Seconds {
    (weights / line - work * offload.overlap).max(Seconds::ZERO)
}
