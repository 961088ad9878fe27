//! What is trained, and how it is divided.

use crate::load::training::Recipe;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Order in which a pipeline works through its micro-batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Schedule {
    /// All forward, then all backward (Huang et al., arXiv 1811.06965).
    GPipe,
    /// One forward, one backward (PipeDream-Flush; Narayanan et al., arXiv 2006.09503).
    #[serde(rename = "1f1b")]
    OneForwardOneBackward,
    /// The same with several chunks of layers on a stage (Narayanan et al., arXiv 2104.04473).
    Interleaved,
}

/// What forward does again instead of keeping it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recompute {
    /// Nothing.
    None,
    /// The core of attention: scores, probabilities and their dropout (arXiv 2205.05198).
    Selective,
    /// Every layer, from its input.
    Full,
    /// Every layer, from the input of each run of so many.
    Block(u32),
    /// So many layers of a stage, each from its input; the others keep everything.
    Layers(u32),
}

/// The word that asks for it.
impl fmt::Display for Recompute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Selective => f.write_str("selective"),
            Self::Full => f.write_str("full"),
            Self::Block(layers) => write!(f, "block:{layers}"),
            Self::Layers(layers) => write!(f, "layers:{layers}"),
        }
    }
}

impl FromStr for Recompute {
    /// What is accepted.
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let counted = || {
            let (kind, count) = word.split_once(':')?;
            let count = count.parse().ok().filter(|count| *count > 0)?;
            match kind {
                "block" => Some(Self::Block(count)),
                "layers" => Some(Self::Layers(count)),
                _ => None,
            }
        };
        match word {
            "none" => Ok(Self::None),
            "selective" => Ok(Self::Selective),
            "full" => Ok(Self::Full),
            _ => counted().ok_or_else(|| {
                "none, selective, full, block:K or layers:K with K from 1".to_owned()
            }),
        }
    }
}

/// What data-parallel ranks divide among each other (Rajbhandari et al., arXiv 1910.02054).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sharding {
    /// Nothing.
    #[default]
    None,
    /// The optimizer's state.
    Zero1,
    /// And gradients.
    Zero2,
    /// And weights (FSDP).
    Zero3,
}

/// How tokens of one sequence on several ranks meet in attention.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ContextParallel {
    /// Keys and values go round (Liu et al., arXiv 2310.01889).
    #[default]
    Ring,
    /// Heads are exchanged for tokens (Jacobs et al., arXiv 2309.14509).
    AllToAll,
}

/// How it is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a choice of its own, named as frameworks name it"
)]
pub struct Layout {
    /// Tensor-parallel degree.
    pub tp: u32,
    /// Activations between tensor-parallel products are divided by sequence.
    pub sequence_parallel: bool,
    /// Pipeline stages.
    pub pp: u32,
    /// Chunks of layers of one stage.
    pub vpp: u32,
    /// Order of micro-batches.
    pub schedule: Schedule,
    /// Data-parallel degree.
    pub dp: u32,
    /// Context-parallel degree.
    pub cp: u32,
    /// How context-parallel ranks meet.
    pub context: ContextParallel,
    /// Expert-parallel degree.
    pub ep: u32,
    /// Experts are not divided by tensor parallelism: its ranks hold experts of their own.
    pub whole_experts: bool,
    /// Sequences of a micro-batch.
    pub micro_batch: u32,
    /// What is recomputed.
    pub recompute: Recompute,
    /// What data-parallel ranks share.
    pub sharding: Sharding,
    /// Ranks that shard among each other; none for all.
    pub shard_group: Option<u32>,
    /// The optimizer's state rests in the host.
    pub offload_optimizer: bool,
    /// Activations rest in the host between forward and backward.
    pub offload_activations: bool,
}

impl Layout {
    /// One accelerator, nothing divided.
    pub const SINGLE: Self = Self {
        tp: 1,
        sequence_parallel: false,
        pp: 1,
        vpp: 1,
        schedule: Schedule::OneForwardOneBackward,
        dp: 1,
        cp: 1,
        context: ContextParallel::Ring,
        ep: 1,
        whole_experts: false,
        micro_batch: 1,
        recompute: Recompute::None,
        sharding: Sharding::None,
        shard_group: None,
        offload_optimizer: false,
        offload_activations: false,
    };

    /// Accelerators.
    pub fn accelerators(&self) -> u32 {
        self.tp * self.pp * self.dp * self.cp
    }

    /// Ranks that hold the same dense weights and see other tokens.
    pub fn replicas(&self) -> u32 {
        self.dp * self.cp
    }

    /// Tensor-parallel degree of experts.
    pub fn expert_tp(&self) -> u32 {
        if self.whole_experts { 1 } else { self.tp }
    }

    /// Ranks of a stage among which whole experts can be dealt.
    pub fn expert_places(&self) -> u32 {
        self.replicas() * (self.tp / self.expert_tp())
    }

    /// Ranks that hold the same experts.
    pub fn expert_replicas(&self) -> u32 {
        self.expert_places() / self.ep
    }

    /// Micro-batches of a step on each pipeline.
    pub fn micro_batches(&self, recipe: &Recipe) -> u32 {
        recipe.global_batch / (self.dp * self.micro_batch)
    }

    /// Tokens of a micro-batch on one rank.
    pub fn tokens(&self, recipe: &Recipe) -> f64 {
        f64::from(self.micro_batch) * f64::from(recipe.seq_len) / f64::from(self.cp)
    }

    /// Share of a tensor between tensor-parallel products that a rank holds.
    pub fn stream_share(&self) -> f64 {
        if self.sequence_parallel {
            1.0 / f64::from(self.tp)
        } else {
            1.0
        }
    }
}
