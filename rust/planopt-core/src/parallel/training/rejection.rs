//! Why a candidate does not work, with the numbers and what would.

#![expect(
    missing_docs,
    reason = "the fields are the request's, under their names"
)]

use crate::parallel::degrees::divisors_around;
use serde_json::Value;
use std::fmt;

/// A reason with its numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rejection {
    /// The tensor-parallel degree does not divide the heads.
    Heads { tp: u32, heads: u64 },
    /// More chunks than layers, or chunks of different size.
    Layers { pp: u32, vpp: u32, layers: u64 },
    /// Several chunks without the schedule for them, or micro-batches that do not go round.
    Interleave {
        pp: u32,
        vpp: u32,
        micro_batches: u32,
    },
    /// The batch of a step is no multiple of what the pipelines take at once.
    GlobalBatch {
        global_batch: u32,
        dp: u32,
        micro_batch: u32,
    },
    /// The expert-parallel degree does not divide the experts.
    Experts { ep: u32, experts: u64 },
    /// The expert-parallel degree does not divide the data- and context-parallel ranks.
    ExpertRanks { ep: u32, dp: u32, cp: u32 },
    /// The context-parallel degree does not divide what it must.
    Context {
        cp: u32,
        of: &'static str,
        count: u64,
    },
    /// The shard group does not divide the data- and context-parallel ranks.
    ShardGroup { shard_group: u32, replicas: u32 },
    /// A tensor-parallel group would span hosts unevenly.
    Placement { tp: u32, slots: u32 },
    /// Accelerators of one kind that are no whole stages, or stages of several chunks.
    Balance {
        accelerators: u32,
        per_stage: u32,
        vpp: u32,
    },
    /// Several hosts and no network between them.
    Network { hosts: u32 },
    /// The accelerator has no rate for the precision.
    Format { precision: &'static str },
    /// Failures leave next to no time for work.
    Failures {
        interval_seconds: f64,
        checkpoint_seconds: f64,
        restart_seconds: f64,
        availability: f64,
    },
    /// The fullest accelerator cannot hold it.
    Memory {
        needed_bytes: f64,
        capacity_bytes: f64,
        largest: &'static str,
    },
}

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
            Self::Format { .. } => "format",
            Self::Failures { .. } => "failures",
            Self::Memory { .. } => "memory",
        }
    }

    /// The numbers by name.
    pub fn numbers(&self) -> Vec<(&'static str, Value)> {
        match *self {
            Self::Heads { tp, heads } => vec![("tp", tp.into()), ("heads", heads.into())],
            Self::Layers { pp, vpp, layers } => vec![
                ("pp", pp.into()),
                ("vpp", vpp.into()),
                ("layers", layers.into()),
            ],
            Self::Interleave {
                pp,
                vpp,
                micro_batches,
            } => vec![
                ("pp", pp.into()),
                ("vpp", vpp.into()),
                ("micro_batches", micro_batches.into()),
            ],
            Self::GlobalBatch {
                global_batch,
                dp,
                micro_batch,
            } => vec![
                ("global_batch", global_batch.into()),
                ("dp", dp.into()),
                ("micro_batch", micro_batch.into()),
            ],
            Self::Experts { ep, experts } => {
                vec![("ep", ep.into()), ("experts", experts.into())]
            }
            Self::ExpertRanks { ep, dp, cp } => {
                vec![("ep", ep.into()), ("dp", dp.into()), ("cp", cp.into())]
            }
            Self::Context { cp, count, .. } => vec![("cp", cp.into()), ("count", count.into())],
            Self::ShardGroup {
                shard_group,
                replicas,
            } => vec![
                ("shard_group", shard_group.into()),
                ("replicas", replicas.into()),
            ],
            Self::Placement { tp, slots } => vec![("tp", tp.into()), ("slots", slots.into())],
            Self::Balance {
                accelerators,
                per_stage,
                vpp,
            } => vec![
                ("accelerators", accelerators.into()),
                ("per_stage", per_stage.into()),
                ("vpp", vpp.into()),
            ],
            Self::Network { hosts } => vec![("hosts", hosts.into())],
            Self::Format { precision } => vec![("precision", precision.into())],
            Self::Failures {
                interval_seconds,
                checkpoint_seconds,
                restart_seconds,
                availability,
            } => vec![
                ("interval_seconds", interval_seconds.into()),
                ("checkpoint_seconds", checkpoint_seconds.into()),
                ("restart_seconds", restart_seconds.into()),
                ("availability", availability.into()),
            ],
            Self::Memory {
                needed_bytes,
                capacity_bytes,
                largest,
            } => vec![
                ("needed_bytes", needed_bytes.into()),
                ("capacity_bytes", capacity_bytes.into()),
                ("largest", largest.into()),
            ],
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

/// What makes the largest part of memory smaller.
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
        const GB: f64 = 1e9;
        match *self {
            Self::Heads { tp, heads } => write!(
                f,
                "tensor parallel degree {tp} does not divide {heads} attention heads; {} would",
                divisors_around(heads, u64::from(tp))
            ),
            Self::Layers { pp, vpp: 1, layers } => write!(
                f,
                "{pp} pipeline stages for {layers} layers; at most {layers} would do"
            ),
            Self::Layers { pp, vpp, layers } => write!(
                f,
                "{pp} stages of {vpp} chunks do not divide {layers} layers evenly; \
                 pp x vpp of {} would",
                divisors_around(layers, u64::from(pp) * u64::from(vpp))
            ),
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
            Self::Experts { ep, experts: 1 } => write!(
                f,
                "expert parallel degree {ep}, but the model has no experts to divide; 1 would fit"
            ),
            Self::Experts { ep, experts } => write!(
                f,
                "expert parallel degree {ep} does not divide {experts} experts; {} would",
                divisors_around(experts, u64::from(ep))
            ),
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
            Self::Placement { tp, slots } => write!(
                f,
                "a tensor parallel group of {tp} does not fill hosts of {slots} evenly; \
                 {} would, or a multiple of {slots}",
                divisors_around(u64::from(slots), u64::from(tp))
            ),
            Self::Network { hosts } => write!(f, "{hosts} hosts and no network between them"),
            Self::Balance {
                accelerators,
                per_stage,
                vpp,
            } => unbalanced(f, accelerators, per_stage, vpp),
            Self::Format { precision } => {
                write!(f, "the accelerator does not compute in {precision}")
            }
            Self::Failures { .. } => self.no_headway(f),
            Self::Memory {
                needed_bytes,
                capacity_bytes,
                largest,
            } => write!(
                f,
                "needs {:.2} GB of the {:.2} GB that may be used of the fullest accelerator, most \
                 of it for {largest}: {}",
                needed_bytes / GB,
                capacity_bytes / GB,
                what_lowers(largest)
            ),
        }
    }
}

impl Rejection {
    fn no_headway(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Failures {
            interval_seconds,
            checkpoint_seconds,
            restart_seconds,
            availability,
        } = *self
        else {
            return Ok(());
        };
        write!(
            f,
            "something fails every {interval_seconds:.0} s, while a checkpoint takes \
             {checkpoint_seconds:.0} s and a restart {restart_seconds:.0} s, and all hosts are \
             there {:.2} % of the time: fewer accelerators, faster storage or more spare hosts \
             would leave time for work",
            availability * 100.0
        )
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
