//! What the evaluation of a replica says, in the words of the contract's JSON.

use serde::Serialize;

use crate::degrees::divisors_around;
use crate::memory::ServingMemory;
use crate::quantity::Seconds;
use crate::serving::TimeParts;

/// One token of every sequence.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Decode {
    /// One micro-batch through all stages, or the slowest stage's turn.
    pub step_seconds: Seconds,
    /// What the turn of one micro-batch through all stages consists of.
    #[serde(flatten)]
    pub turn: TimeParts,
    /// The rest of the step: waiting for the other micro-batches at the slowest stage.
    pub waiting_seconds: Seconds,
    /// Time per output token of a user, the first one excluded.
    pub tpot_seconds: Seconds,
    /// Its inverse.
    pub tokens_per_second_per_user: f64,
    /// Of the replica.
    pub tokens_per_second: f64,
}

/// A prompt read alone.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Prefill {
    /// Until its first token.
    pub seconds: Seconds,
    /// What they consist of.
    #[serde(flatten)]
    pub parts: TimeParts,
}

/// A step in which the last chunk of a prompt is read beside the decoding batch: the longest step
/// that a user waits for a token while somebody else's prompt comes in.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Mixed {
    /// Tokens of the chunk.
    pub chunk_tokens: f64,
    /// Tokens of the prompt before it.
    pub cached_tokens: f64,
    /// The step.
    pub step_seconds: Seconds,
}

/// Mean and percentiles of a latency; null until arrivals are modelled.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Percentiles {
    /// Mean.
    pub mean: Option<f64>,
    /// Median.
    pub p50: Option<f64>,
    /// 95th percentile.
    pub p95: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
}

/// Why a candidate does not work, with the numbers.
#[derive(Clone, Debug, PartialEq)]
pub enum Rejection {
    /// The tensor-parallel degree does not divide the heads.
    Heads {
        /// Degree.
        tp: u32,
        /// Query heads.
        heads: u64,
    },
    /// More stages than layers.
    Layers {
        /// Stages.
        pp: u32,
        /// Layers.
        layers: u64,
    },
    /// The experts cannot be dealt to so many parts.
    Experts {
        /// Expert-parallel degree.
        ep: u32,
        /// Ranks of a stage.
        ranks: u32,
        /// Experts of a layer; 1 in a dense model.
        experts: u64,
    },
    /// The ranks of a stage would span hosts unevenly.
    Placement {
        /// Tensor-parallel degree.
        tp: u32,
        /// Attention data-parallel degree.
        dp: u32,
        /// Accelerators that a host holds.
        slots: u32,
    },
    /// Several hosts and no network between them.
    Network {
        /// Hosts.
        hosts: u32,
    },
    /// The accelerator has no rate for the weights' format.
    Format {
        /// Format.
        weights: &'static str,
    },
    /// The host cannot hold the weights that rest in it.
    HostMemory {
        /// Bytes needed.
        needed_bytes: f64,
        /// Bytes that may be used.
        memory_bytes: f64,
    },
    /// The fullest accelerator cannot hold it.
    Memory {
        /// Bytes needed.
        needed_bytes: f64,
        /// Bytes that may be used.
        capacity_bytes: f64,
    },
}

impl Rejection {
    /// Short name, for tallies.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Heads { .. } => "heads",
            Self::Layers { .. } => "layers",
            Self::Experts { .. } => "experts",
            Self::Placement { .. } => "placement",
            Self::Network { .. } => "network",
            Self::Format { .. } => "format",
            Self::HostMemory { .. } => "host-memory",
            Self::Memory { .. } => "memory",
        }
    }

    /// The numbers by name.
    pub fn numbers(&self) -> Vec<(&'static str, serde_json::Value)> {
        match *self {
            Self::Heads { tp, heads } => vec![("tp", tp.into()), ("heads", heads.into())],
            Self::Layers { pp, layers } => vec![("pp", pp.into()), ("layers", layers.into())],
            Self::Experts { ep, ranks, experts } => vec![
                ("ep", ep.into()),
                ("ranks", ranks.into()),
                ("experts", experts.into()),
            ],
            Self::Placement { tp, dp, slots } => vec![
                ("tp", tp.into()),
                ("dp", dp.into()),
                ("slots", slots.into()),
            ],
            Self::Network { hosts } => vec![("hosts", hosts.into())],
            Self::Format { weights } => vec![("weights", weights.into())],
            Self::HostMemory {
                needed_bytes,
                memory_bytes,
            } => vec![
                ("needed_bytes", needed_bytes.into()),
                ("memory_bytes", memory_bytes.into()),
            ],
            Self::Memory {
                needed_bytes,
                capacity_bytes,
            } => vec![
                ("needed_bytes", needed_bytes.into()),
                ("capacity_bytes", capacity_bytes.into()),
            ],
        }
    }
}

impl std::fmt::Display for Rejection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        const GB: f64 = 1e9;
        match self {
            Self::Heads { tp, heads } => {
                write!(
                    f,
                    "tensor parallel degree {tp} does not divide {heads} attention heads; {} would",
                    divisors_around(*heads, u64::from(*tp))
                )
            }
            Self::Layers { pp, layers } => {
                write!(
                    f,
                    "{pp} pipeline stages for {layers} layers; at most {layers} would do"
                )
            }
            Self::Experts { ep, experts: 1, .. } => write!(
                f,
                "expert parallel degree {ep} for a model without a choice of experts"
            ),
            Self::Experts { ep, ranks, experts } => write!(
                f,
                "expert parallel degree {ep} does not divide {ranks} ranks and {experts} experts"
            ),
            Self::Placement { tp, dp: 1, slots } => write!(
                f,
                "a tensor parallel group of {tp} does not fill whole hosts of {slots}"
            ),
            Self::Placement { tp, dp, slots } => write!(
                f,
                "{dp} groups of {tp} ranks do not fill whole hosts of {slots}"
            ),
            Self::Network { hosts } => write!(f, "{hosts} hosts and no network between them"),
            Self::Format { weights } => {
                write!(f, "the accelerator does not compute in {weights}")
            }
            Self::HostMemory {
                needed_bytes,
                memory_bytes,
            } => write!(
                f,
                "{:.2} GB of weights rest in a host with {:.2} GB of memory that may be used",
                needed_bytes / GB,
                memory_bytes / GB
            ),
            Self::Memory {
                needed_bytes,
                capacity_bytes,
            } => write!(
                f,
                "needs {:.2} GB of the {:.2} GB that may be used of the fullest accelerator",
                needed_bytes / GB,
                capacity_bytes / GB
            ),
        }
    }
}

/// A replica, whether or not it works.
#[derive(Clone, Debug)]
pub struct ReplicaEvaluation {
    /// Why it does not work; empty if it does.
    pub rejections: Vec<Rejection>,
    /// Memory of the fullest accelerator.
    pub memory: ServingMemory,
    /// One token of every sequence.
    pub decode: Decode,
    /// A prompt read alone.
    pub prefill: Prefill,
    /// A chunk of a prompt beside the decoding batch.
    pub mixed: Mixed,
    /// Tokens of KV cache that a replica holds.
    pub kv_capacity_tokens: f64,
}
