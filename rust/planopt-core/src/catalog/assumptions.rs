//! Everything that is a choice of the modeller, as data: see `docs/reference/model.md`.

use super::entities::{Accelerator, Format};
use crate::quantity::{Bytes, BytesPerSecond, Seconds};
use crate::serving::engine::Policy;

/// How the time of an all-reduce is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AllReduceAlgorithm {
    /// The faster of ring and, over a scale-up link, one-shot.
    Ring,
    /// The seed article's: the payload crosses the slowest link once.
    Transfer,
}

/// What a pipeline stage sends across hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HopPayload {
    /// Every tensor-parallel rank sends the whole activation.
    Full,
    /// Each rank sends its share, gathered again on the other side (vLLM, Megatron).
    Scattered,
}

/// How ports of a switch are paid for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SwitchSale {
    /// Whole switches.
    Whole,
    /// Blocks of so many ports, each at the price of the switch over the blocks it holds.
    PortBlocks(u32),
}

/// Memory that is not weights or KV cache.
#[derive(Clone, Copy, Debug)]
pub struct MemoryAssumptions {
    /// Share of an accelerator's memory that the engine may plan with.
    pub usable_fraction: f64,
    /// The same where memory is shared with the processor.
    pub unified_usable_fraction: f64,
    /// Context, kernels and allocator of an accelerator working alone.
    pub overhead: Bytes,
    /// The same with communication buffers, in a group of two or more.
    pub overhead_group: Bytes,
    /// Tokens of a KV cache page.
    pub page_tokens: u32,
    /// Tokens of the largest step, for which the activation workspace is sized.
    pub workspace_tokens: u32,
}

/// Limits of the engine that serves.
#[derive(Clone, Copy, Debug)]
pub struct EngineAssumptions {
    /// Sequences of a micro-batch, at most.
    pub max_sequences: u32,
    /// What a request takes outside of the steps until its first token is with the user.
    pub request_overhead: Seconds,
}

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
}

impl ProductAssumptions {
    /// The same kernels as an engine runs them.
    fn under(self, engine: &EngineShares, share: f64) -> Self {
        Self {
            efficiency: self.efficiency * engine.arithmetic * share,
            bandwidth_efficiency: self.bandwidth_efficiency * engine.bandwidth * share,
            operation_overhead: self.operation_overhead * engine.overhead,
            ..self
        }
    }
}

/// What an engine makes of kernels: factors of what they reach, and what it adds to a step.
#[derive(Clone, Copy, Debug)]
pub struct EngineShares {
    /// Of the arithmetic of products and of prompts.
    pub arithmetic: f64,
    /// Of the memory bandwidth.
    pub bandwidth: f64,
    /// Of the launch of an operation.
    pub overhead: f64,
    /// Of what products of experts reach, besides.
    pub experts: f64,
    /// Of the time of an all-reduce.
    pub all_reduce: f64,
    /// Bytes per second that its kernels of few rows keep under way at most.
    pub bandwidth_limit: Option<BytesPerSecond>,
    /// Scheduling and sampling of one step.
    pub step_overhead: Seconds,
    /// Launch of each operation of a step that reads prompts.
    pub prompt_launch: Seconds,
    /// What a request takes outside of the steps until its first token is with the user.
    pub request_overhead: Option<Seconds>,
    /// What the engine does in a step.
    pub scheduling: Scheduling,
}

/// What an engine does in a step, unless it is told otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scheduling {
    /// Tokens of a step.
    pub token_budget: Option<u32>,
    /// Who goes first.
    pub policy: Policy,
}

/// Products of one matrix, and of the matrices of experts side by side.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Products {
    /// One matrix for all tokens.
    pub dense: ProductAssumptions,
    /// One matrix for each expert, of which tokens are sorted to theirs.
    pub experts: ProductAssumptions,
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
    /// Scheduling and sampling of one step.
    pub step_overhead: Seconds,
    /// Launch of each operation of a step that reads prompts, whose shapes no graph was captured
    /// for: so long at least is such a step.
    pub prompt_launch: Seconds,
    /// Bytes per second that an engine's kernels reach at most.
    pub bandwidth_limit: Option<BytesPerSecond>,
}

impl ComputeAssumptions {
    /// The same kernels as an engine runs them.
    fn under(&self, engine: &EngineShares) -> Self {
        let all = |products: Products| Products {
            dense: products.dense.under(engine, 1.0),
            experts: products.experts.under(engine, engine.experts),
        };
        Self {
            products: all(self.products),
            formats: self
                .formats
                .iter()
                .map(|(format, own)| (*format, all(*own)))
                .collect(),
            attention_efficiency: self.attention_efficiency * engine.arithmetic,
            decode_attention_efficiency: self.decode_attention_efficiency * engine.arithmetic,
            attention_overhead: self.attention_overhead * engine.overhead,
            kv_bandwidth_efficiency: self.kv_bandwidth_efficiency * engine.bandwidth,
            step_overhead: engine.step_overhead,
            prompt_launch: engine.prompt_launch,
            bandwidth_limit: engine.bandwidth_limit,
            ..self.clone()
        }
    }

    /// What products with weights in `format` reach.
    pub fn products_in(&self, format: Format) -> Products {
        self.formats
            .iter()
            .find(|(own, _)| *own == format)
            .map_or(self.products, |(_, products)| *products)
    }
}

/// Rates that messages reach over a scale-up link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScaleUpAssumptions {
    /// Share of the bandwidth at low latency: a flag beside every few bytes (NCCL's LL128), and
    /// ranks that read each other's memory.
    pub efficiency: f64,
    /// Latency of a step of a ring.
    pub latency: Seconds,
    /// Start of a ring, besides its steps.
    pub overhead: Seconds,
    /// Latency of an all-reduce in which every rank reads all others.
    pub one_shot_latency: Seconds,
    /// Of one in which every rank reduces its share and reads those of the others.
    pub two_shot_latency: Option<Seconds>,
    /// Large messages: the latency of a whole ring in chunks, and the share of the bandwidth.
    pub bulk: Option<(Seconds, f64)>,
}

impl ScaleUpAssumptions {
    /// The same bandwidth, and a latency of every message in place of what was measured.
    #[must_use]
    pub fn with_latency(self, latency: Seconds) -> Self {
        Self {
            latency,
            overhead: Seconds::ZERO,
            one_shot_latency: latency,
            two_shot_latency: None,
            bulk: None,
            ..self
        }
    }
}

/// Rates that messages reach.
#[derive(Clone, Copy, Debug)]
pub struct CommunicationAssumptions {
    /// How an all-reduce is counted.
    pub all_reduce: AllReduceAlgorithm,
    /// What an engine makes of the time of an all-reduce.
    pub all_reduce_share: f64,
    /// Collectives over a scale-up link.
    pub scale_up: ScaleUpAssumptions,
    /// Start of a ring over PCIe, besides its steps.
    pub pcie_overhead: Seconds,
    /// Share of a PCIe link's bandwidth.
    pub pcie_efficiency: f64,
    /// Latency of a step over PCIe with peer-to-peer.
    pub pcie_latency: Seconds,
    /// The same through host memory.
    pub pcie_host_latency: Seconds,
    /// Share of a network's line rate over TCP.
    pub tcp_efficiency: f64,
    /// Latency of a message over TCP.
    pub tcp_latency: Seconds,
    /// Share of a network's line rate over RDMA.
    pub rdma_efficiency: f64,
    /// Latency of a message over RDMA.
    pub rdma_latency: Seconds,
    /// What a stage sends across hosts.
    pub hop_payload: HopPayload,
    /// Whether the last stage sends as much back to the first.
    pub return_hop: bool,
}

/// How tokens are routed to experts.
#[derive(Clone, Copy, Debug)]
pub struct ExpertAssumptions {
    /// Tokens of the busiest rank over the mean.
    pub imbalance: f64,
}

impl Default for ExpertAssumptions {
    /// Even routing.
    fn default() -> Self {
        Self { imbalance: 1.0 }
    }
}

/// Money over time.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub struct CostAssumptions {
    /// Years over which the purchase is written off.
    pub years: f64,
    /// Share of the price left then.
    pub residual: f64,
    /// Price of electricity, dollars per kWh.
    pub electricity_usd_per_kwh: f64,
    /// Share of hours busy.
    pub duty: f64,
    /// Power usage effectiveness.
    pub pue: f64,
    /// Rent of a rack, dollars per month.
    pub rack_usd_per_month: f64,
    /// Units of a rack.
    pub rack_units: f64,
    /// Draw of an accelerator at work, as a share of its power limit.
    pub load_fraction: f64,
    /// Price of a million tokens from those who serve models, where the set has one.
    pub hosted_usd_per_million_tokens: Option<f64>,
    /// Carbon dioxide and its equivalents of a kilowatt-hour, in kg, where the set says.
    pub carbon_kg_per_kwh: Option<f64>,
}

/// Rates and chances of a training run.
#[derive(Clone, Copy, Debug)]
pub struct TrainingAssumptions {
    /// Share of an accelerator's memory that a training process can fill.
    pub usable_fraction: f64,
    /// Context, kernels, communication buffers and workspaces of a process.
    pub overhead: Bytes,
    /// Share of the peak rate that attention without stored probabilities reaches.
    pub attention_efficiency: f64,
    /// Outputs of a product, over all of its matrices, at which it reaches half of its rate.
    pub half_outputs: f64,
    /// Share of the arithmetic that tensor-parallel collectives which products wait for can hide
    /// behind, by splitting products.
    pub tensor_overlap: f64,
    /// By how much of their own time hidden tensor-parallel collectives slow arithmetic down.
    pub tensor_contention: f64,
    /// Share of the attention that context-parallel messages can hide behind.
    pub context_overlap: f64,
    /// Share of the messages between stages that are hidden.
    pub pipeline_overlap: f64,
    /// Share of the arithmetic that data-parallel collectives can hide behind.
    pub data_overlap: f64,
    /// Share of the arithmetic that transfers to the host can hide behind.
    pub offload_overlap: f64,
    /// By how much of their own time other hidden messages slow arithmetic down.
    pub contention: f64,
    /// Spread (standard deviation over mean) of the step time of single hosts.
    pub straggler_spread: f64,
    /// Tokens of the busiest expert rank over the mean.
    pub expert_imbalance: f64,
    /// Bandwidth of a host's own memory.
    pub host_memory_bandwidth: BytesPerSecond,
    /// Mean time between failures of one accelerator.
    pub accelerator_mtbf: Seconds,
    /// Of one host, without its accelerators.
    pub host_mtbf: Seconds,
    /// What one host writes to storage.
    pub storage_bandwidth: BytesPerSecond,
    /// What storage takes from all hosts together.
    pub storage_limit: BytesPerSecond,
    /// From a failure until work goes on, the loading of a checkpoint included.
    pub restart: Seconds,
    /// How long a host that failed is away; 0 where it is back with the restart.
    pub repair: Seconds,
    /// Hosts that wait to take the place of one that failed.
    pub spares: Spares,
    /// Carbon dioxide and its equivalents of a kilowatt-hour, in kg.
    pub carbon_kg_per_kwh: f64,
    /// Share of the rate that products reach whose shape is no multiple of 8.
    pub unaligned: f64,
    /// Of the framework that trains.
    pub framework: FrameworkAssumptions,
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

/// What a training framework adds to the arithmetic.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FrameworkAssumptions {
    /// Time of the host to launch one kernel.
    pub host_launch: Seconds,
    /// Memory traffic between products over that of fused kernels.
    pub elementwise: f64,
    /// Memory traffic of the loss over that of a fused kernel.
    pub loss: f64,
    /// Memory traffic of casts to 8 bits and less over reading once and writing twice; 0 where
    /// they are fused away.
    pub casts: f64,
    /// Memory traffic of sorting tokens by experts over that of fused kernels.
    pub routing: f64,
    /// Time of the host to launch what brings the tokens of a layer to their experts and back,
    /// in forward and again in backward.
    pub expert_launch: Seconds,
    /// Whether a token crosses to another host once, however many of its experts are there
    /// (`deepseek-ai/DeepEP`).
    pub send_once: bool,
    /// Share of the arithmetic that messages to experts can hide behind.
    pub expert_overlap: f64,
    /// Share of the arithmetic that tensor-parallel collectives which products wait for can hide
    /// behind, by splitting products.
    pub tensor_overlap: f64,
    /// Share of the gradients of weights that tensor-parallel collectives can hide behind.
    pub gradient_overlap: f64,
    /// Share of the messages between stages that goes on beside arithmetic where each stage has
    /// several chunks.
    pub pipeline_overlap: f64,
    /// What a message between stages on different hosts takes besides.
    pub hop_overhead: Seconds,
    /// Whether gradients are all-reduced though each rank updates a share of the parameters only.
    pub gradients_everywhere: bool,
    /// Share of the arithmetic that data-parallel collectives can hide behind.
    pub data_overlap: f64,
    /// By how much of their own time hidden data-parallel collectives slow arithmetic down.
    pub data_contention: f64,
    /// Bytes that data-parallel ranks exchange at a time.
    pub bucket: Bytes,
    /// Attention by kernels that are written for no generation of accelerators in particular
    /// (FlashAttention-2).
    pub portable_attention: bool,
    /// Bytes per parameter of copies of gradients beside the optimizer's state, shared as it is.
    pub gradient_copy: f64,
    /// Memory that the allocator and flat buffers hold over what is in use.
    pub memory_reserve: f64,
    /// Data, logging and whatever else a step takes once.
    pub step_overhead: Seconds,
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
    /// Rate of the grouped products of experts over that of plain ones.
    pub grouped: f64,
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

/// A named set of assumptions.
#[derive(Clone, Debug)]
pub struct Assumptions {
    /// Catalog id.
    pub id: String,
    /// What it stands for.
    pub description: String,
    /// Folder of hardware it is used with, inside the catalogs; empty for the general one.
    pub hardware: String,
    /// Class of PCIe all-reduce of hosts: `default`, `slow` or `good`.
    pub pcie_all_reduce: String,
    /// Memory.
    pub memory: MemoryAssumptions,
    /// The engine, where the set limits it.
    pub engine: Option<EngineAssumptions>,
    /// Compute.
    pub compute: ComputeAssumptions,
    /// The same of accelerators that were measured, by id.
    pub accelerators: Vec<(String, ComputeAssumptions)>,
    /// The same of families of accelerators, for those that were not.
    pub families: Vec<(String, ComputeAssumptions)>,
    /// What an engine does in a step, unless it is told otherwise.
    pub scheduling: Scheduling,
    /// Engines that were compared with kernels, by name.
    pub engines: Vec<(String, EngineShares)>,
    /// Communication.
    pub communication: CommunicationAssumptions,
    /// Collectives over scale-up links that were measured, by the link's name.
    pub links: Vec<(String, ScaleUpAssumptions)>,
    /// Experts.
    pub experts: ExpertAssumptions,
    /// Cost.
    pub cost: CostAssumptions,
    /// Training, where the set says anything of it; of no framework and accelerator in
    /// particular.
    pub training: Option<TrainingAssumptions>,
    /// Training frameworks by their names.
    pub frameworks: Vec<(String, FrameworkAssumptions)>,
    /// What any accelerator reaches at training.
    pub general_trainer: HardwareAssumptions,
    /// Accelerators at training, by id or by family.
    pub trainers: Vec<(String, HardwareChanges)>,
    /// How switches are sold.
    pub switch_sale: SwitchSale,
    /// How speed falls with a power limit: as this power of the share of its power that an
    /// accelerator may draw.
    pub power_limit_exponent: Option<f64>,
    /// Whether width of cards and power supplies limit what hosts take.
    pub host_limits: bool,
}

impl Assumptions {
    /// The same as `engine` makes of them, one of [`Self::engines`].
    pub fn under(&mut self, engine: &EngineShares) {
        self.scheduling = engine.scheduling;
        self.communication.all_reduce_share = engine.all_reduce;
        if let (Some(own), Some(seconds)) = (&mut self.engine, engine.request_overhead) {
            own.request_overhead = seconds;
        }
        self.compute = self.compute.under(engine);
        for (_, compute) in self.accelerators.iter_mut().chain(&mut self.families) {
            *compute = compute.under(engine);
        }
    }

    /// What collectives over the scale-up link of that name reach.
    pub fn scale_up_of(&self, link: &str) -> ScaleUpAssumptions {
        self.links
            .iter()
            .find(|(name, _)| name == link)
            .map_or(self.communication.scale_up, |(_, measured)| *measured)
    }

    /// What `accelerator` reaches: as measured, else as its family does, else as any.
    pub fn compute_of(&self, accelerator: &Accelerator) -> &ComputeAssumptions {
        let named = |entries: &'_ [(String, ComputeAssumptions)], name: &str| {
            entries.iter().position(|(own, _)| own == name)
        };
        if let Some(index) = named(&self.accelerators, accelerator.model_id()) {
            return &self.accelerators[index].1;
        }
        named(&self.families, &accelerator.family)
            .map_or(&self.compute, |index| &self.families[index].1)
    }
}

impl Assumptions {
    /// The assumptions of training with a framework, where the set says anything of training. A
    /// framework without an entry adds nothing.
    pub fn training_with(&self, framework: &str) -> Option<TrainingAssumptions> {
        let general = self.training?;
        let own = self.frameworks.iter().find(|(name, _)| name == framework);
        Some(TrainingAssumptions {
            framework: own.map_or(general.framework, |(_, own)| *own),
            ..general
        })
    }

    /// What an accelerator reaches at training: its own figures over those of its family, over
    /// the general ones.
    pub fn trainer(&self, accelerator: &Accelerator) -> HardwareAssumptions {
        let mut reached = self.general_trainer;
        for wanted in [accelerator.family.as_str(), accelerator.model_id()] {
            let own = self.trainers.iter().find(|(name, _)| name == wanted);
            for (place, value) in own.into_iter().flat_map(|(_, changes)| changes) {
                *place(&mut reached) = *value;
            }
        }
        reached
    }
}
