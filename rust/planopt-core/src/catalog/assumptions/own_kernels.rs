//! Kernels that an engine brings along: one law for every card, in place of what cards were measured
//! to reach under others. Formulas and errors: `docs/reference/serving.md`, section 16.

use crate::catalog::declared::{inner, or, table};
use crate::catalog::fields::{Fields, factor, share};
use crate::quantity::Seconds;

/// What kernels of an engine's own reach on any accelerator, and on those of some families.
#[derive(Clone, Debug, PartialEq)]
pub struct EngineKernels {
    /// On any other.
    pub any: OwnKernels,
    /// By family.
    pub families: Vec<(String, OwnKernels)>,
}

table! {
    /// What kernels of an engine's own reach.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct OwnKernels {
        /// Products with weights of 16 bits and more.
        pub wide: KernelRates = inner,
        /// Products with weights of fewer bits.
        pub packed: KernelRates = inner,
        /// Share of the memory bandwidth that reading the KV cache reaches.
        pub cache: f64 = share,
        /// Share of the peak rate that attention over prompts reaches.
        pub attention: f64 = share,
        /// What else a layer takes in a step that only decodes.
        pub layer: Seconds = Fields::quantity,
        /// What else it takes in a step that reads prompts.
        pub prompt_layer: Seconds = Fields::quantity,
        /// How well chunks of a prompt follow each other through stages: from one to the next is the
        /// turn over this power of how many times it is longer than the slowest stage.
        pub pipelining: f64 = share,
        /// Share of its memory's bandwidth at which a host computes what rests in it.
        pub host: f64 = share,
        /// Tokens of a step from which on it does not: distinct experts then come over the link.
        pub copied_from: f64 = factor,
    }
}

table! {
    /// What products reach with weights of one kind.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct KernelRates {
        /// Share of the memory bandwidth at which weights are read.
        pub bandwidth: f64 = share,
        /// Bits of weights that a multiprocessor unpacks and multiplies in a clock, of one row.
        pub bits_per_clock: f64 = factor,
        /// Share of the peak rate that products of many rows reach.
        pub efficiency: f64 = share,
        /// Arithmetic of a multiprocessor in a clock beside it, where that limits them as well.
        pub flops_per_clock: f64 = or(f64::INFINITY, factor),
    }
}
