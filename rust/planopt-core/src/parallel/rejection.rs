//! Why a configuration does not work, with the numbers and what would.

use super::degrees::divisors_around;
use serde::Serialize;
use std::fmt;

/// A reason, with its numbers under the names of the question.
///
/// Serving and training are told the same thing by one variant; a number that only one of them
/// judges by is optional.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Rejection {
    /// The tensor-parallel degree does not divide the heads.
    Heads {
        /// Tensor-parallel degree.
        tp: u32,
        /// Query heads.
        heads: u64,
    },
    /// More stages than layers, or chunks of different size.
    Layers {
        /// Stages.
        pp: u32,
        /// Chunks of a stage, where a run has any.
        #[serde(skip_serializing_if = "Option::is_none")]
        vpp: Option<u32>,
        /// Layers.
        layers: u64,
    },
    /// Several chunks without the schedule for them, or micro-batches that do not go round.
    Interleave {
        /// Stages.
        pp: u32,
        /// Chunks of a stage.
        vpp: u32,
        /// Micro-batches of a step.
        micro_batches: u32,
    },
    /// The batch of a step is no multiple of what the pipelines take at once.
    GlobalBatch {
        /// Sequences of a step.
        global_batch: u32,
        /// Data-parallel degree.
        dp: u32,
        /// Sequences of a micro-batch.
        micro_batch: u32,
    },
    /// The experts cannot be assigned to so many parts.
    Experts {
        /// Expert-parallel degree.
        ep: u32,
        /// Ranks of a stage, where the degree must divide them too.
        #[serde(skip_serializing_if = "Option::is_none")]
        ranks: Option<u32>,
        /// Experts of a layer; 1 in a dense model.
        experts: u64,
    },
    /// The expert-parallel degree does not divide the data- and context-parallel ranks.
    ExpertRanks {
        /// Expert-parallel degree.
        ep: u32,
        /// Data-parallel degree.
        dp: u32,
        /// Context-parallel degree.
        cp: u32,
    },
    /// The context-parallel degree does not divide what it must.
    Context {
        /// Context-parallel degree.
        cp: u32,
        /// What it must divide.
        #[serde(skip)]
        of: &'static str,
        /// How many of it there are.
        count: u64,
    },
    /// The shard group does not divide the data- and context-parallel ranks.
    ShardGroup {
        /// Ranks that shard among each other.
        shard_group: u32,
        /// Ranks with the same weights.
        replicas: u32,
    },
    /// Ranks would span hosts unevenly.
    Placement {
        /// Tensor-parallel degree.
        tp: u32,
        /// Attention data-parallel degree, where all ranks of a stage must fill hosts.
        #[serde(skip_serializing_if = "Option::is_none")]
        dp: Option<u32>,
        /// Accelerators that a host holds.
        slots: u32,
    },
    /// Accelerators of one kind that are no whole stages, or stages of several chunks.
    Balance {
        /// Accelerators of the kind.
        accelerators: u32,
        /// Accelerators of a stage.
        per_stage: u32,
        /// Chunks of a stage.
        vpp: u32,
    },
    /// Several hosts and no network between them.
    Network {
        /// Hosts.
        hosts: u32,
    },
    /// The accelerator has no rate for the format of the weights.
    Weights {
        /// Format.
        weights: &'static str,
    },
    /// The accelerator has no rate for the precision of the products.
    Precision {
        /// Format.
        precision: &'static str,
    },
    /// Failures leave next to no time for work.
    Failures {
        /// Between two of them.
        interval_seconds: f64,
        /// To write a checkpoint.
        checkpoint_seconds: f64,
        /// Until work goes on.
        restart_seconds: f64,
        /// Share of the time in which all hosts are there.
        availability: f64,
    },
    /// The host cannot hold what rests in it.
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
        /// What takes most of it, where there is a way to make that smaller.
        #[serde(skip_serializing_if = "Option::is_none")]
        largest: Option<&'static str>,
    },
}

/// A search asks for one of each layout that it tries.
const _: () = assert!(size_of::<Rejection>() <= 40);

impl Rejection {
    /// Short name, for tallies.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Heads { .. } => "heads",
            Self::Layers { .. } => "layers",
            Self::Interleave { .. } => "interleave",
            Self::GlobalBatch { .. } => "global_batch",
            Self::Experts { .. } => "experts",
            Self::ExpertRanks { .. } => "expert_ranks",
            Self::Context { .. } => "context",
            Self::ShardGroup { .. } => "shard_group",
            Self::Placement { .. } => "placement",
            Self::Balance { .. } => "balance",
            Self::Network { .. } => "network",
            Self::Weights { .. } | Self::Precision { .. } => "format",
            Self::Failures { .. } => "failures",
            Self::HostMemory { .. } => "host-memory",
            Self::Memory { .. } => "memory",
        }
    }
}

/// The multiples of `step` around `wanted`, or the first.
fn multiples_around(wanted: u32, step: u32) -> String {
    match wanted / step * step {
        0 => format!("{step} would be"),
        below => format!("{below} or {} would be", below + step),
    }
}

/// What makes the largest part of a run's memory smaller.
fn what_lowers(largest: &str) -> &'static str {
    match largest {
        "activations" => {
            "a smaller micro-batch, more recomputation, sequence, tensor or context parallelism \
             would lower it"
        }
        "optimizer" => "sharding it (zero1), more stages or tensor parallelism would lower it",
        "gradients" => "sharding them (zero2), more stages or tensor parallelism would lower it",
        _ => "sharding (zero3), more stages or tensor parallelism would lower it",
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Heads { tp, heads } => write!(
                f,
                "tensor parallel degree {tp} does not divide {heads} attention heads; {} would",
                divisors_around(heads, u64::from(tp))
            ),
            Self::Layers { pp, vpp, layers } => too_few(f, pp, vpp.unwrap_or(1), layers),
            Self::Interleave {
                pp,
                vpp,
                micro_batches,
            } => write!(
                f,
                "{vpp} chunks need the interleaved schedule, at least 2 stages and a multiple of \
                 {pp} micro-batches: here are {micro_batches}"
            ),
            Self::GlobalBatch {
                global_batch,
                dp,
                micro_batch,
            } => write!(
                f,
                "a global batch of {global_batch} is no multiple of dp x micro-batch = {}; {}",
                dp * micro_batch,
                multiples_around(global_batch, dp * micro_batch)
            ),
            Self::Experts { ep, ranks, experts } => unassignable(f, ep, ranks, experts),
            Self::ExpertRanks { ep, dp, cp } => write!(
                f,
                "expert parallel degree {ep} does not divide the {} ranks of dp x cp; {} would",
                dp * cp,
                divisors_around(u64::from(dp * cp), u64::from(ep))
            ),
            Self::Context { cp, of, count } => write!(
                f,
                "context parallel degree {cp} does not divide {count} {of}; {} would",
                divisors_around(count, u64::from(cp))
            ),
            Self::ShardGroup {
                shard_group,
                replicas,
            } => write!(
                f,
                "a shard group of {shard_group} does not divide the {replicas} ranks of dp x cp; \
                 {} would",
                divisors_around(u64::from(replicas), u64::from(shard_group))
            ),
            Self::Placement { tp, dp, slots } => uneven(f, tp, dp, slots),
            Self::Balance {
                accelerators,
                per_stage,
                vpp,
            } => unbalanced(f, accelerators, per_stage, vpp),
            Self::Network { hosts } => write!(f, "{hosts} hosts and no network between them"),
            Self::Weights { weights: format } | Self::Precision { precision: format } => {
                write!(f, "the accelerator does not compute in {format}")
            }
            Self::Failures {
                interval_seconds,
                checkpoint_seconds,
                restart_seconds,
                availability,
            } => write!(
                f,
                "something fails every {interval_seconds:.0} s, while a checkpoint takes \
                 {checkpoint_seconds:.0} s and a restart {restart_seconds:.0} s, and all hosts are \
                 there {:.2} % of the time: fewer accelerators, faster storage or more spare hosts \
                 would leave time for work",
                availability * 100.0
            ),
            Self::HostMemory {
                needed_bytes,
                memory_bytes,
            } => write!(
                f,
                "{:.2} GB rest in the host, of whose memory {:.2} GB may be used for it",
                needed_bytes / GB,
                memory_bytes / GB
            ),
            Self::Memory {
                needed_bytes,
                capacity_bytes,
                largest,
            } => too_large(f, needed_bytes, capacity_bytes, largest),
        }
    }
}

const GB: f64 = 1e9;

fn too_few(f: &mut fmt::Formatter<'_>, pp: u32, vpp: u32, layers: u64) -> fmt::Result {
    if vpp == 1 {
        return write!(
            f,
            "{pp} pipeline stages for {layers} layers; at most {layers} would do"
        );
    }
    write!(
        f,
        "{pp} stages of {vpp} chunks do not divide {layers} layers evenly; pp x vpp of {} would",
        divisors_around(layers, u64::from(pp) * u64::from(vpp))
    )
}

fn unassignable(
    f: &mut fmt::Formatter<'_>,
    ep: u32,
    ranks: Option<u32>,
    experts: u64,
) -> fmt::Result {
    write!(f, "expert parallel degree {ep}")?;
    match (ranks, experts) {
        (Some(_), 1) => f.write_str(" for a model without a choice of experts"),
        (Some(ranks), _) => write!(f, " does not divide {ranks} ranks and {experts} experts"),
        (None, 1) => f.write_str(", but the model has no experts to divide; 1 would fit"),
        (None, _) => write!(
            f,
            " does not divide {experts} experts; {} would",
            divisors_around(experts, u64::from(ep))
        ),
    }
}

fn uneven(f: &mut fmt::Formatter<'_>, tp: u32, dp: Option<u32>, slots: u32) -> fmt::Result {
    match dp {
        Some(1) => write!(
            f,
            "a tensor parallel group of {tp} does not fill whole hosts of {slots}"
        ),
        Some(dp) => write!(
            f,
            "{dp} groups of {tp} ranks do not fill whole hosts of {slots}"
        ),
        None => write!(
            f,
            "a tensor parallel group of {tp} does not fill hosts of {slots} evenly; \
             {} would, or a multiple of {slots}",
            divisors_around(u64::from(slots), u64::from(tp))
        ),
    }
}

fn unbalanced(
    f: &mut fmt::Formatter<'_>,
    accelerators: u32,
    per_stage: u32,
    vpp: u32,
) -> fmt::Result {
    if accelerators.is_multiple_of(per_stage) {
        return write!(f, "stages of {vpp} chunks are not balanced: vpp 1 is");
    }
    write!(
        f,
        "{accelerators} accelerators of a kind are no whole stages: one takes {per_stage} \
         (tp x dp x cp)"
    )
}

fn too_large(
    f: &mut fmt::Formatter<'_>,
    needed_bytes: f64,
    capacity_bytes: f64,
    largest: Option<&str>,
) -> fmt::Result {
    write!(
        f,
        "needs {:.2} GB of the {:.2} GB that may be used of the fullest accelerator",
        needed_bytes / GB,
        capacity_bytes / GB
    )?;
    let Some(largest) = largest else {
        return Ok(());
    };
    let lower = what_lowers(largest);
    write!(f, ", most of it for {largest}: {lower}")
}

#[cfg(test)]
mod tests {
    use super::Rejection;
    use serde_json::json;

    #[test]
    fn a_reason_is_told_with_the_numbers_that_it_was_judged_by() {
        let response = |rejection: Rejection| {
            let numbers = serde_json::to_value(rejection).expect("numbers");
            (rejection.code(), rejection.to_string(), numbers)
        };
        let experts = |ranks, experts| Rejection::Experts {
            ep: 3,
            ranks,
            experts,
        };
        let placement = |dp| Rejection::Placement {
            tp: 3,
            dp,
            slots: 4,
        };
        let memory = |largest| Rejection::Memory {
            needed_bytes: 2e9,
            capacity_bytes: 1e9,
            largest,
        };
        for (rejection, code, words, numbers) in [
            (
                experts(Some(4), 8),
                "experts",
                "expert parallel degree 3 does not divide 4 ranks and 8 experts",
                json!({"ep": 3, "ranks": 4, "experts": 8}),
            ),
            (
                experts(Some(4), 1),
                "experts",
                "expert parallel degree 3 for a model without a choice of experts",
                json!({"ep": 3, "ranks": 4, "experts": 1}),
            ),
            (
                experts(None, 8),
                "experts",
                "expert parallel degree 3 does not divide 8 experts; 2 or 4 would",
                json!({"ep": 3, "experts": 8}),
            ),
            (
                placement(Some(1)),
                "placement",
                "a tensor parallel group of 3 does not fill whole hosts of 4",
                json!({"tp": 3, "dp": 1, "slots": 4}),
            ),
            (
                placement(None),
                "placement",
                "a tensor parallel group of 3 does not fill hosts of 4 evenly; 2 or 4 would, or a \
                 multiple of 4",
                json!({"tp": 3, "slots": 4}),
            ),
            (
                Rejection::Layers {
                    pp: 9,
                    vpp: Some(1),
                    layers: 8,
                },
                "layers",
                "9 pipeline stages for 8 layers; at most 8 would do",
                json!({"pp": 9, "vpp": 1, "layers": 8}),
            ),
            (
                Rejection::Weights { weights: "fp8" },
                "format",
                "the accelerator does not compute in fp8",
                json!({"weights": "fp8"}),
            ),
            (
                memory(None),
                "memory",
                "needs 2.00 GB of the 1.00 GB that may be used of the fullest accelerator",
                json!({"needed_bytes": 2e9, "capacity_bytes": 1e9}),
            ),
            (
                memory(Some("optimizer")),
                "memory",
                "needs 2.00 GB of the 1.00 GB that may be used of the fullest accelerator, most of \
                 it for optimizer: sharding it (zero1), more stages or tensor parallelism would \
                 lower it",
                json!({"needed_bytes": 2e9, "capacity_bytes": 1e9, "largest": "optimizer"}),
            ),
        ] {
            assert_eq!(response(rejection), (code, words.to_owned(), numbers));
        }
    }
}
