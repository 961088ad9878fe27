//! Everything that is a choice of the modeller, as data: see `docs/reference/model.md`.

mod communication;
mod compute;
mod cost;
mod islands;
mod memory;
mod own_kernels;
mod scheduling;
mod training;

pub use self::communication::{
    AllReduceAlgorithm, CommunicationAssumptions, HopPayload, ScaleUpAssumptions,
};
pub use self::compute::{
    ComputeAssumptions, EngineShares, ExpertKernel, HostCache, HostTerms, ProductAssumptions,
    Products, RequestOverhead, Scheduling, StepDefaults, StepLimits,
};
pub(in crate::catalog) use self::compute::{EXPERT_KERNELS, LAUNCHES_OF_EXPERTS, request_overhead};
pub use self::cost::{CostAssumptions, RackLines};
pub use self::islands::IslandAssumptions;
pub use self::memory::MemoryAssumptions;
pub use self::own_kernels::{EngineKernels, KernelRates, OwnKernels};
pub(in crate::catalog) use self::scheduling::POLICIES;
pub use self::scheduling::{CacheDisks, KvConnector, Policy};
pub use self::training::{
    FrameworkAssumptions, HardwareAssumptions, HardwareChanges, Spares, TrainingAssumptions,
};

use super::accelerator::Accelerator;
use super::declared::{maybe, table};
use super::fields::{Fields, factor};
use std::collections::BTreeMap;

/// How ports of a switch are paid for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SwitchSale {
    /// Whole switches.
    Whole,
    /// Blocks of so many ports, each at the price of the switch over the blocks it holds.
    PortBlocks(u32),
}

table! {
    /// Limits of the engine that serves.
    #[derive(Clone, Copy, Debug)]
    pub struct EngineAssumptions {
        /// Sequences of a micro-batch, at most.
        pub max_sequences: u32 = Fields::positive,
        /// Tokens of a prompt that a context-parallel rank should have for a search to divide it, where
        /// the set says so.
        pub context_rank_tokens: Option<u32> = maybe(Fields::positive),
        /// What a request takes outside of the steps until its first token is with the user.
        pub request: RequestOverhead as "request_overhead" = request_overhead,
    }
}

table! {
    /// How tokens are routed to experts.
    #[derive(Clone, Copy, Debug)]
    pub struct ExpertAssumptions {
        /// Tokens of the busiest rank over the mean.
        pub imbalance: f64 = factor,
    }
}

impl Default for ExpertAssumptions {
    /// Even routing.
    fn default() -> Self {
        Self { imbalance: 1.0 }
    }
}

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
    /// Those of both on which engines have kernels start before those before them end.
    pub dependent_launches: Vec<String>,
    /// What an engine does in a step, unless it is told otherwise.
    pub scheduling: Scheduling,
    /// Engines that were compared with kernels, by name.
    pub engines: Vec<(String, EngineShares)>,
    /// What keeps caches in the place of an engine's own tiers, by name.
    pub connectors: Vec<(String, HostCache)>,
    /// Kernels of the engine that runs, where it has its own.
    pub kernels: Option<EngineKernels>,
    /// Communication.
    pub communication: CommunicationAssumptions,
    /// Collectives over scale-up links that were measured, by the link's name.
    pub links: Vec<(String, ScaleUpAssumptions)>,
    /// Experts.
    pub experts: ExpertAssumptions,
    /// How many times longer than predicted a question takes steps to be, by accelerator.
    pub slower: BTreeMap<String, f64>,
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
    /// Islands that meet over the Internet, where the set says anything of them.
    pub islands: Option<IslandAssumptions>,
    /// How switches are sold.
    pub switch_sale: SwitchSale,
    /// How speed falls with a power limit: as this power of the share of its power that an
    /// accelerator may draw.
    pub power_limit_exponent: Option<f64>,
    /// Whether width of cards and power supplies limit what hosts take.
    pub host_limits: bool,
}

impl Assumptions {
    /// What is done with caches that accelerators give up: by a connector, or by the engine itself.
    pub fn host_cache(&self, connector: Option<KvConnector>) -> HostCache {
        let known = |asked: KvConnector| {
            let named = |(name, _): &&(String, HostCache)| name == asked.name();
            self.connectors.iter().find(named).map(|&(_, does)| does)
        };
        connector
            .and_then(known)
            .unwrap_or(self.scheduling.host_cache)
    }

    /// The same as `engine` makes of them, one of [`Self::engines`].
    pub fn under(&mut self, engine: &EngineShares) {
        self.memory = engine.memory;
        self.kernels.clone_from(&engine.kernels);
        self.scheduling.clone_from(&engine.scheduling);
        self.communication.hop_overhead = engine.hop_overhead;
        if let (Some(own), Some(request)) = (&mut self.engine, engine.request) {
            own.request = request;
        }
        self.compute = self.compute.under(engine);
        for (name, compute) in self.accelerators.iter_mut().chain(&mut self.families) {
            *compute = compute.under(engine);
            if self.dependent_launches.contains(name) {
                compute.host = compute.host.launching_dependently();
            }
        }
    }

    /// The same with steps of so many tokens, where the engine that runs reads prompts in chunks:
    /// its graph has room for no more (llama.cpp, `--ubatch-size`).
    pub fn step_of(&mut self, tokens: u32) {
        if self.compute.prompt_chunk.is_none() {
            return;
        }
        self.memory.workspace_tokens = tokens;
        let named = self.accelerators.iter_mut().chain(&mut self.families);
        let named = named.map(|(_, compute)| compute);
        for compute in named.chain([&mut self.compute]) {
            compute.prompt_chunk = Some(tokens);
        }
    }

    /// The same with graphs of prompts captured up to so many tokens, whatever the accelerator.
    pub fn capture(&mut self, tokens: u32) {
        for step in &mut self.scheduling.steps {
            step.limits.graph_tokens = Some(tokens);
        }
    }

    /// What kernels of the engine's own reach on `accelerator`, if it has some.
    pub fn own_kernels(&self, accelerator: &Accelerator) -> Option<OwnKernels> {
        let own = self.kernels.as_ref()?;
        let family = own
            .families
            .iter()
            .find(|(name, _)| *name == accelerator.family);
        Some(family.map_or(own.any, |(_, kernels)| *kernels))
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

    /// How many times longer than predicted steps of `accelerator` are taken to be.
    pub fn slower(&self, accelerator: &Accelerator) -> f64 {
        self.slower.get(&accelerator.id).copied().unwrap_or(1.0)
    }

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
