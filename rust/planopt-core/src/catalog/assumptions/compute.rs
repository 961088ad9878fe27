//! Rates that operations reach, and what engines make of them.

use super::memory::MemoryAssumptions;
use super::own_kernels::EngineKernels;
use super::scheduling::{CACHE_DISKS, CacheDisks, Policy};
use crate::catalog::accelerator::Accelerator;
use crate::catalog::declared::{choice, maybe, or, same, table};
use crate::catalog::fields::Fields;
use crate::format::Format;
use crate::quantity::{Bytes, Seconds};

/// What matrix products in one format reach.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProductAssumptions {
    /// Share of the peak rate that a large product reaches.
    pub efficiency: f64,
    /// Rows at which a product reaches half of that.
    pub half_rows: f64,
    /// Columns at which it does.
    pub half_columns: f64,
    /// Depth at which it does.
    pub half_depth: f64,
    /// Share of the memory bandwidth that reading weights and activations reaches.
    pub bandwidth_efficiency: f64,
    /// Launch of one operation, and what it takes to fill and drain the accelerator.
    pub operation_overhead: Seconds,
    /// Kernels of a product of experts that a host launches where no graph of them does.
    pub expert_launches: u32,
}

/// Tokens are sorted to experts or brought back, inputs quantised or activated, multiplied and summed
/// (`fused_moe.py` of vLLM; as many of `triton_kernels`: `routing.py` and two of `matmul_ogs.py`).
pub(in crate::catalog) const LAUNCHES_OF_EXPERTS: u32 = 4;

impl ProductAssumptions {
    /// The same kernels as an engine runs them.
    pub(super) fn under(self, engine: &EngineShares) -> Self {
        Self {
            efficiency: self.efficiency * engine.arithmetic,
            half_rows: engine.half_rows.unwrap_or(self.half_rows),
            bandwidth_efficiency: self.bandwidth_efficiency * engine.bandwidth,
            operation_overhead: self.operation_overhead * engine.overhead,
            ..self
        }
    }
}

impl Products {
    /// The same kernels at a share of their rates.
    fn reaching(self, share: f64) -> Self {
        let at = |products: ProductAssumptions| ProductAssumptions {
            efficiency: products.efficiency * share,
            bandwidth_efficiency: products.bandwidth_efficiency * share,
            ..products
        };
        Self {
            dense: at(self.dense),
            experts: at(self.experts),
            ..self
        }
    }

    /// Experts by the first of these families that was measured, else by the fastest.
    fn of_first(&self, preferred: &[ExpertKernel]) -> ProductAssumptions {
        let mut measured = preferred.iter().filter_map(|&kernel| {
            Some(ProductAssumptions {
                expert_launches: kernel.launches(),
                ..self.kernels[kernel as usize]?
            })
        });
        measured.next().unwrap_or(self.experts)
    }
}

/// Families of kernels that multiply by the matrices of experts: which one an engine runs decides
/// more than the accelerator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpertKernel {
    /// Of TensorRT-LLM for Blackwell, also in `FlashInfer`.
    TrtllmGen,
    /// `DeepGEMM`'s, of products in blocks of 8 bits.
    DeepGemm,
    /// CUTLASS's grouped products.
    Cutlass,
    /// Marlin's, which widen weights of 4 bits.
    Marlin,
    /// Written in Triton, of any format.
    Triton,
}

impl ExpertKernel {
    /// Kernels of one of its two products that a host launches: `trtllm-gen` quantises what goes in, and
    /// does all else in one call (`trtllm_fp4_block_scale_moe` of `FlashInfer`, `fused_moe_trtllm_gen.py`
    /// of TensorRT-LLM).
    const fn launches(self) -> u32 {
        match self {
            Self::TrtllmGen => 1,
            _ => LAUNCHES_OF_EXPERTS,
        }
    }
}

/// Number of families.
pub(in crate::catalog) const EXPERT_KERNELS: usize = 5;

/// What an engine makes of kernels: factors of what they reach, and what it adds to a step.
#[derive(Clone, Debug)]
pub struct EngineShares {
    /// Families of kernels of experts that it runs by format, the first of those that were measured.
    pub experts: Vec<(Format, Vec<ExpertKernel>)>,
    /// Of the arithmetic of products and of prompts.
    pub arithmetic: f64,
    /// Of the arithmetic of attention over prompts, besides.
    pub attention: f64,
    /// Of what attention of decoded tokens reaches over the cache, besides.
    pub cache: f64,
    /// Of the memory bandwidth.
    pub bandwidth: f64,
    /// Of the launch of an operation.
    pub overhead: f64,
    /// Of what products with quantised weights reach, besides.
    pub quantised: f64,
    /// Its own kernels, if it does not run those that cards were measured with.
    pub kernels: Option<EngineKernels>,
    /// Tokens of a prompt that go through the stages at once.
    pub prompt_chunk: Option<u32>,
    /// Rows at which its products reach half of their rate, in place of the accelerator's: kernels
    /// of its own for one row know no tiles.
    pub half_rows: Option<f64>,
    /// What it needs to pass a micro-batch on to the next stage, besides the message.
    pub hop_overhead: Seconds,
    /// What it adds to steps.
    pub host: HostTerms,
    /// What a request takes outside of the steps until its first token is with the user.
    pub request: Option<RequestOverhead>,
    /// What it holds besides weights and KV cache.
    pub memory: MemoryAssumptions,
    /// What the engine does in a step.
    pub scheduling: Scheduling,
}

/// What an engine's host and its small kernels add to the kernels of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HostTerms {
    /// Scheduling and sampling of one step.
    pub step_overhead: Seconds,
    /// All small kernels of a layer, in place of the launch of each.
    pub layer_overhead: Option<Seconds>,
    /// What kernels of a layer save that start before those before them end, where accelerators can
    /// (programmatic dependent launch).
    pub dependent_launch: Seconds,
    /// Scheduling and sampling of each sequence that gains a token.
    pub per_sequence: Seconds,
    /// Launch of each kernel of a step that reads prompts, whose shapes no graph was captured for:
    /// so long at least is such a step.
    pub prompt_launch: Seconds,
    /// Time of products and attention of such a step over that of the best kernels.
    pub prefill_factor: f64,
}

impl HostTerms {
    /// Launches of kernels and so much between steps: nothing else is known.
    pub fn of_kernels(step_overhead: Seconds) -> Self {
        Self {
            step_overhead,
            layer_overhead: None,
            dependent_launch: Seconds::ZERO,
            per_sequence: Seconds::ZERO,
            prompt_launch: Seconds::ZERO,
            prefill_factor: 1.0,
        }
    }

    /// The same where kernels start before those before them end.
    #[must_use]
    pub fn launching_dependently(self) -> Self {
        let shorter = |layer: Seconds| (layer - self.dependent_launch).max(Seconds::ZERO);
        Self {
            layer_overhead: self.layer_overhead.map(shorter),
            ..self
        }
    }
}

/// What a request takes outside of the steps until its first token is with the user.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RequestOverhead {
    /// Whatever its prompt.
    pub fixed: Seconds,
    /// For each token of the prompt.
    pub per_token: Seconds,
}

/// Tokens of a prompt that `request_per_1k` is of.
const TOKENS_OF_1K: f64 = 1024.0;

/// A time for every request, and one for 1024 tokens of its prompt where that is known.
pub(in crate::catalog) fn request_overhead(
    fields: &mut Fields<'_>,
    key: &'static str,
) -> RequestOverhead {
    let per_1k = fields.or("request_per_1k", Seconds::ZERO, Fields::quantity);
    RequestOverhead {
        fixed: fields.quantity(key),
        per_token: per_1k * (1.0 / TOKENS_OF_1K),
    }
}

impl RequestOverhead {
    /// Of a request with a prompt of so many tokens, in seconds.
    pub fn of(self, prompt: f64) -> f64 {
        self.fixed.0 + self.per_token.0 * prompt
    }
}

impl EngineShares {
    /// Families of kernels that it runs for experts with weights in a format.
    fn preferred(&self, format: Option<Format>) -> &[ExpertKernel] {
        self.experts
            .iter()
            .find(|(own, _)| Some(*own) == format)
            .map_or(&[], |(_, kernels)| kernels)
    }
}

/// What an engine does in a step, unless it is told otherwise.
#[derive(Clone, Debug, Default)]
pub struct Scheduling {
    /// What it takes into a step on accelerators of so much memory and more.
    pub steps: Vec<StepDefaults>,
    /// Who goes first.
    pub policy: Policy,
    /// What it does with caches in the host's memory.
    pub host_cache: HostCache,
}

impl Scheduling {
    /// What it takes into a step on `accelerator`: of the most memory that this has.
    pub fn limits_on(&self, accelerator: &Accelerator) -> StepLimits {
        let reached = self.steps.iter().filter(|step| {
            let excepted = step.except.iter().any(|id| id == accelerator.model_id());
            accelerator.memory.0 >= step.memory.0 && !excepted
        });
        reached
            .max_by(|one, other| one.memory.0.total_cmp(&other.memory.0))
            .map_or_else(StepLimits::default, |step| step.limits)
    }
}

table! {
    /// What an engine takes into a step on accelerators of some memory.
    #[derive(Clone, Debug)]
    pub struct StepDefaults {
        /// The least that they have.
        pub memory: Bytes = or(Bytes::ZERO, Fields::quantity),
        /// Accelerators that it does not hold for.
        pub except: Vec<String> = or(Vec::new(), Fields::texts),
        /// What is taken.
        pub limits: StepLimits = same,
    }
}

table! {
    /// What an engine takes into a step.
    #[derive(Clone, Copy, Debug, Default)]
    pub struct StepLimits {
        /// Tokens.
        pub token_budget: Option<u32> = maybe(Fields::positive),
        /// Sequences.
        pub max_sequences: Option<u32> = maybe(Fields::positive),
        /// Tokens of the largest step with prompts that a graph was captured for.
        pub graph_tokens: Option<u32> = maybe(Fields::positive),
    }
}

table! {
    /// What an engine does with caches that it keeps in the host's memory.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct HostCache {
        /// Whether layers are computed while further ones are fetched; else a prompt waits for all of
        /// its cache before it is read.
        pub layerwise: bool as "fetch" = choice(&[("layerwise", true), ("waits", false)]),
        /// Whether the host gets only what accelerators give up; else it has a copy of what they hold.
        pub on_eviction: bool as "write" = choice(&[("on-eviction", true), ("through", false)]),
        /// Who reads what it keeps on disks.
        pub disks: CacheDisks = choice(CACHE_DISKS),
    }
}

impl Default for HostCache {
    /// Of an engine of which nothing is known: a prompt waits, and everything is written through.
    fn default() -> Self {
        Self {
            layerwise: false,
            on_eviction: false,
            disks: CacheDisks::Shared,
        }
    }
}

/// Products of one matrix, and of the matrices of experts side by side.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Products {
    /// One matrix for all tokens.
    pub dense: ProductAssumptions,
    /// One matrix for each expert, of which tokens are sorted to theirs: the fastest kernels.
    pub experts: ProductAssumptions,
    /// The same of one family of kernels, where it was measured.
    pub kernels: [Option<ProductAssumptions>; EXPERT_KERNELS],
}

/// Rates that operations reach.
#[derive(Clone, Debug)]
pub struct ComputeAssumptions {
    /// Products that are not quantised, and of formats without an entry of their own.
    pub products: Products,
    /// Products of quantised formats.
    pub formats: Vec<(Format, Products)>,
    /// Whether products accumulate in FP16 where the accelerator can.
    pub fp16_accumulate: bool,
    /// Operations at the rate of FP32 that widening a weight to 16 bits takes, where only weights
    /// are quantised.
    pub widening: f64,
    /// Share of the shorter of arithmetic and memory traffic that hides behind the longer.
    pub roofline_overlap: f64,
    /// Share of the peak rate that attention over a long prompt reaches.
    pub attention_efficiency: f64,
    /// Tokens of a prompt at which it reaches half of that.
    pub half_prompt: f64,
    /// Share of the peak rate that attention of decoded tokens reaches.
    pub decode_attention_efficiency: f64,
    /// Launch of attention, its split over the accelerator and the sum of the parts.
    pub attention_overhead: Seconds,
    /// Share of the memory bandwidth that reading the KV cache reaches.
    pub kv_bandwidth_efficiency: f64,
    /// Whether activations count as memory traffic.
    pub activation_traffic: bool,
    /// Whether attention over the cache takes time.
    pub attention_time: bool,
    /// Share that reading a KV cache of 8 bits reaches.
    pub kv_bandwidth_efficiency_8bit: f64,
    /// What the host adds to a step.
    pub host: HostTerms,
    /// Tokens of a prompt that go through the stages at once, if not all.
    pub prompt_chunk: Option<u32>,
    /// Share of what they reach that products with quantised weights do under an engine.
    pub quantised: f64,
}

impl ComputeAssumptions {
    /// The same kernels as an engine runs them.
    pub(super) fn under(&self, engine: &EngineShares) -> Self {
        let all = |products: Products, format: Option<Format>| Products {
            dense: products.dense.under(engine),
            experts: products.of_first(engine.preferred(format)).under(engine),
            ..products
        };
        Self {
            products: all(self.products, None),
            formats: self
                .formats
                .iter()
                .map(|(format, own)| (*format, all(*own, Some(*format))))
                .collect(),
            attention_efficiency: self.attention_efficiency * engine.arithmetic * engine.attention,
            decode_attention_efficiency: self.decode_attention_efficiency
                * engine.arithmetic
                * engine.cache,
            attention_overhead: self.attention_overhead * engine.overhead,
            kv_bandwidth_efficiency: self.kv_bandwidth_efficiency * engine.bandwidth * engine.cache,
            kv_bandwidth_efficiency_8bit: self.kv_bandwidth_efficiency_8bit
                * engine.bandwidth
                * engine.cache,
            host: engine.host,
            prompt_chunk: engine.prompt_chunk,
            quantised: engine.quantised,
            ..self.clone()
        }
    }

    /// What products with weights in `format` reach.
    pub fn products_in(&self, format: Format) -> Products {
        let alike = if format == Format::Fp16 {
            Format::Bf16
        } else {
            format
        };
        let own = self
            .formats
            .iter()
            .find(|(own, _)| *own == alike)
            .map_or(self.products, |(_, products)| *products);
        if format.is_quantised() {
            own.reaching(self.quantised)
        } else {
            own
        }
    }
}
