//! Why a layout cannot serve.

use crate::parallel::degrees::divisors_around;

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
