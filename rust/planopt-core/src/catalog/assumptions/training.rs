//! Rates and chances of a training run.

use crate::catalog::declared::{or, table, unsaid};
use crate::catalog::fields::{Fields, factor, number, part, share};
use crate::quantity::{Bytes, BytesPerSecond, Seconds};

table! {
    /// Rates and chances of a training run.
    #[derive(Clone, Copy, Debug)]
    pub struct TrainingAssumptions {
        /// Share of an accelerator's memory that a training process can fill.
        pub usable_fraction: f64 = share,
        /// Context, kernels, communication buffers and workspaces of a process.
        pub overhead: Bytes = Fields::quantity,
        /// Memory besides of each kind of group that an accelerator exchanges messages in.
        pub overhead_group: Bytes = or(Bytes::ZERO, Fields::quantity),
        /// Share of the peak rate that attention without stored probabilities reaches.
        pub attention_efficiency: f64 = share,
        /// Outputs of a product, over all of its matrices, at which it reaches half of its rate.
        pub half_outputs: f64 = number,
        /// Share of the arithmetic that tensor-parallel collectives which products wait for can hide
        /// behind, by splitting products.
        pub tensor_overlap: f64 = part,
        /// By how much of their own time hidden tensor-parallel collectives slow arithmetic down.
        pub tensor_contention: f64 = part,
        /// Share of the attention that context-parallel messages can hide behind.
        pub context_overlap: f64 = part,
        /// Share of the messages between stages that are hidden.
        pub pipeline_overlap: f64 = part,
        /// Share of the arithmetic that data-parallel collectives can hide behind.
        pub data_overlap: f64 = part,
        /// Share of the arithmetic that transfers to the host can hide behind.
        pub offload_overlap: f64 = part,
        /// By how much of their own time other hidden messages slow arithmetic down.
        pub contention: f64 = part,
        /// Spread (standard deviation over mean) of the step time of single hosts.
        pub straggler_spread: f64 = part,
        /// Tokens of the busiest expert rank over the mean.
        pub expert_imbalance: f64 = factor,
        /// Bandwidth of a host's own memory.
        pub host_memory_bandwidth: BytesPerSecond = Fields::positive,
        /// Mean time between failures of one accelerator.
        pub accelerator_mtbf: Seconds = Fields::positive,
        /// Of one host, without its accelerators.
        pub host_mtbf: Seconds = Fields::positive,
        /// What one host writes to storage.
        pub storage_bandwidth: BytesPerSecond = Fields::positive,
        /// What storage takes from all hosts together.
        pub storage_limit: BytesPerSecond = Fields::positive,
        /// From a failure until work goes on, the loading of a checkpoint included.
        pub restart: Seconds = Fields::quantity,
        /// How long a host that failed is away; 0 where it is back with the restart.
        pub repair: Seconds = or(Seconds::ZERO, Fields::quantity),
        /// Hosts that wait to take the place of one that failed.
        pub spares: Spares as "spare_availability" = |fields, key| Spares::For(fields.or(key, 0.0, part)),
        /// Carbon dioxide and its equivalents of a kilowatt-hour, in kg.
        pub carbon_kg_per_kwh: f64 = number,
        /// Share of the rate that products reach whose shape is no multiple of 8.
        pub unaligned: f64 = or(1.0, share),
        /// Share of the memory bandwidth at which frozen weights in few bits are written out.
        pub dequantisation: f64 = or(1.0, share),
        /// Of the framework that trains.
        pub framework: FrameworkAssumptions = unsaid,
    }
}

impl TrainingAssumptions {
    /// The same on rented instances: whoever rents them out replaces those that fail.
    #[must_use]
    pub fn of_rented(self) -> Self {
        Self {
            repair: Seconds::ZERO,
            ..self
        }
    }
}

/// Hosts beyond those at work.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Spares {
    /// The fewest with which all hosts are there for this share of the time.
    For(f64),
    /// So many of each kind.
    Hosts(u32),
}

table! {
    /// What a training framework adds to the arithmetic.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct FrameworkAssumptions {
        /// Time of the host to launch one kernel.
        pub host_launch: Seconds = or(Seconds::ZERO, Fields::quantity),
        /// Memory traffic between products over that of fused kernels.
        pub elementwise: f64 = or(1.0, number),
        /// Memory traffic of the loss over that of a fused kernel.
        pub loss: f64 = or(1.0, number),
        /// Time of the scans of state-space layers over that of their products and of the traffic of
        /// their states.
        pub scan: f64 = or(1.0, number),
        /// Memory traffic of casts to 8 bits and less over reading once and writing twice; 0 where
        /// they are fused away.
        pub casts: f64 = or(0.0, number),
        /// The same of casts to 4 bits over others: the largest element of the whole is sought first,
        /// and gradients are rotated and rounded at random (`NVIDIA/TransformerEngine`, NVFP4).
        pub casts_4bit: f64 = or(1.0, number),
        /// Memory traffic of sorting tokens by experts over that of fused kernels.
        pub routing: f64 = or(1.0, number),
        /// Time in which the accelerator waits until the host has read how many tokens of a layer each
        /// expert has, and has launched what follows: in forward and again in backward.
        pub expert_launch: Seconds = or(Seconds::ZERO, Fields::quantity),
        /// Whether a token crosses to another host once, however many of its experts are there
        /// (`deepseek-ai/DeepEP`).
        pub send_once: bool = or(false, Fields::flag),
        /// Share of the arithmetic that messages to experts can hide behind.
        pub expert_overlap: f64 = or(0.0, part),
        /// Share of the arithmetic that tensor-parallel collectives which products wait for can hide
        /// behind, by splitting products.
        pub tensor_overlap: f64 = or(0.0, part),
        /// Share of the gradients of weights that tensor-parallel collectives can hide behind.
        pub gradient_overlap: f64 = or(1.0, part),
        /// Share of the messages between stages that overlaps computation where each stage has
        /// several chunks.
        pub pipeline_overlap: f64 = or(0.0, part),
        /// What a message between stages on different hosts takes besides.
        pub hop_overhead: Seconds = or(Seconds::ZERO, Fields::quantity),
        /// Whether gradients are all-reduced though each rank updates a share of the parameters only.
        pub gradients_everywhere: bool = or(false, Fields::flag),
        /// Whether each rank sends the others the weights that it updated by a broadcast of its own,
        /// before the next step begins.
        pub broadcasts: bool = or(false, Fields::flag),
        /// Whether weights that products read in 8 bits are there in 8 bits alone.
        pub eight_bit_weights: bool = or(false, Fields::flag),
        /// Copies of them: as they are, and transposed (`NVIDIA/TransformerEngine`).
        pub weight_copies: f64 = or(2.0, number),
        /// Whether inputs of activation functions are kept, and tokens sent to their experts, in the
        /// format of products (`DeepSeek-V3`, arXiv 2412.19437, section 3.3).
        pub eight_bit_activations: bool = or(false, Fields::flag),
        /// Hosts that the experts of a token may be in.
        pub expert_hosts: f64 = or(f64::INFINITY, number),
        /// Whether the gradient of the logits takes their place (`NVIDIA/TransformerEngine`,
        /// `parallel_cross_entropy`).
        pub loss_in_place: bool = or(false, Fields::flag),
        /// Share of the arithmetic that data-parallel collectives can hide behind.
        pub data_overlap: f64 = or(0.0, part),
        /// By how much of their own time hidden data-parallel collectives slow arithmetic down.
        pub data_contention: f64 = or(0.0, number),
        /// Bytes that data-parallel ranks exchange at a time.
        pub bucket: Bytes = or(Bytes(f64::INFINITY), Fields::positive),
        /// Attention by kernels that are written for no generation of accelerators in particular
        /// (FlashAttention-2).
        pub portable_attention: bool = or(false, Fields::flag),
        /// Bytes per parameter of copies of gradients beside the optimizer's state, shared as it is.
        pub gradient_copy: f64 = or(0.0, number),
        /// Memory that the allocator and flat buffers hold over what is in use.
        pub memory_reserve: f64 = or(1.0, number),
        /// Data, logging and whatever else a step takes once.
        pub step_overhead: Seconds = or(Seconds::ZERO, Fields::quantity),
    }
}

/// What an accelerator reaches at work for hours.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HardwareAssumptions {
    /// Rate of products in 16 bits and more under the power limit, over that of a cold product.
    pub sustained: f64,
    /// The same in 8 bits.
    pub sustained_8bit: f64,
    /// The same in 4 bits.
    pub sustained_4bit: f64,
    /// Bytes of a weight that is there in 8 bits alone, as ranks gather it.
    pub gathered_8bit: f64,
    /// Rate of the grouped products of experts over that of plain ones.
    pub grouped: f64,
    /// The same in 8 bits and less.
    pub grouped_8bit: f64,
    /// Share of the peak rate that forward of attention reaches without stored probabilities.
    pub attention_forward: f64,
    /// That its backward reaches.
    pub attention_backward: f64,
    /// Of both, what portable kernels reach.
    pub portable_attention: f64,
    /// Tokens looked at for which attention reaches half of that.
    pub attention_half_length: f64,
    /// Width of a head for which it does.
    pub attention_half_head: f64,
    /// Clock under its power limit, over that of its family.
    pub clock: f64,
    /// Time of its host for a launch, over that of an x86 server.
    pub host: f64,
}

/// Figures of an accelerator at training that differ from those of its family, or of a family
/// that differ from the general ones: where each belongs, and its value.
pub type HardwareChanges = Vec<(fn(&mut HardwareAssumptions) -> &mut f64, f64)>;
