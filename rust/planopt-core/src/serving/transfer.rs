//! Two pools of replicas: one reads prompts, the other answers them (Splitwise, arXiv 2311.18677;
//! `DistServe`, arXiv 2401.09670). What goes from one to the other is the KV cache of a prompt.
//! Formulas: `docs/reference/serving.md`, section 8.

use super::engine::Transfer;
use crate::compute::Rank;
use crate::format::Formats;
use crate::hardware::{Fabric, Rates};
use crate::parallel::{Degrees, Placement};
use crate::quantity::{Bytes, BytesPerSecond};
use crate::transformer::Transformer;

/// KV cache of one prompt: of a model that nothing divides, for heads and latents that several ranks
/// hold a copy of are sent once.
pub fn prompt_cache(
    transformer: &Transformer,
    formats: Formats,
    rates: &Rates,
    prompt: u64,
    page_tokens: u32,
) -> Bytes {
    let whole = Rank::new(transformer, formats, rates, Degrees::tensor(1));
    transformer
        .layers
        .iter()
        .filter_map(|&kind| whole.blocks.get(kind))
        .map(|block| block.kv_cache_bytes(prompt, page_tokens))
        .sum()
}

/// A replica at one end of the way.
#[derive(Clone, Copy, Debug)]
pub struct End<'f> {
    /// Its links.
    pub fabric: &'f Fabric,
    /// Where it sits.
    pub placement: Placement,
}

impl End<'_> {
    /// What it sends or gets inside of its host: each accelerator over its own line.
    fn inside(&self, neighbours: u32) -> (BytesPerSecond, f64) {
        let line = self
            .fabric
            .scale_up_line(neighbours)
            .unwrap_or_else(|| self.fabric.host_line());
        let lines = f64::from(self.placement.accelerators());
        (line.bandwidth * lines, line.latency.0)
    }

    /// What it sends or gets over the network: the NICs of its hosts, or its share of those of one.
    fn across(&self) -> Option<(BytesPerSecond, f64)> {
        let line = self.fabric.between_leaves()?;
        let hosts = if self.placement.hosts > 1 {
            f64::from(self.placement.hosts)
        } else {
            f64::from(self.placement.accelerators()) / f64::from(self.placement.slots)
        };
        Some((line.bandwidth * hosts, line.latency.0))
    }
}

/// How the cache of prompts of `prompt` tokens gets from one replica to another: over the slower of
/// both ends, inside of a host of so many `neighbours` or else over the network. Nothing where there
/// is none.
pub fn transfer(
    from: End,
    to: End,
    neighbours: Option<u32>,
    cache: Bytes,
    prompt: f64,
) -> Option<Transfer> {
    let (sent, got) = match neighbours {
        Some(neighbours) => (from.inside(neighbours), to.inside(neighbours)),
        None => (from.across()?, to.across()?),
    };
    Some(Transfer {
        latency_seconds: sent.1.max(got.1),
        seconds_per_token: (cache / sent.0.min(got.0)).0 / prompt,
    })
}
