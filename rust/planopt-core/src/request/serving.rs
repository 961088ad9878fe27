//! Questions about serving, in SI units and catalog ids, nested by group.

use super::model::{Engine, Prompts, ServedModel};
use super::offload;
use super::offload::OffloadRequest;
use crate::catalog::{Assumptions, Catalog, Host};
use crate::diagnostic::option::{
    LARGEST_CLUSTER, LARGEST_COUNT, none_of, unknown_name, wrong_counts, wrong_option,
};
use crate::diagnostic::{Diagnostic, Problems, code};
use crate::document::{Candidate, EvaluationAnswer};
use crate::hardware::{HardwareSpec, Nics, RentRequest, Selection};
use crate::load::serving::{Offload, Overlap, Question};
use crate::load::{Arrivals, EngineOptions, Load, Statistic};
use crate::parallel::{Layout, Pins};
use crate::plan::serving::Subject;
use crate::quantity::Bytes;
use crate::search::{Aim, LatencyGoal, Redundancy};
use crate::serving::engine::{Traffic, long_prompt};
use crate::serving::{ReplicaEvaluation, evaluate_unit};
use crate::transformer::Transformer;
use serde::{Deserialize, Serialize};

/// One configuration.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct EvaluateServing {
    /// What is served.
    pub model: ServedModel,
    /// To which prompts.
    pub workload: Prompts,
    /// On which hardware: a replica, or a unit of a plan.
    pub hardware: HardwareSpec,
    /// How it is divided; what is not given is 1, and in flight is a micro-batch for each stage.
    #[serde(default)]
    pub layout: Pins,
    /// Layers whose weights rest in the host.
    pub offload: Option<OffloadRequest>,
    /// What serves it.
    #[serde(default)]
    pub engine: Engine,
}

/// A search for units to buy.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SearchServing {
    /// What is served.
    pub model: ServedModel,
    /// To which prompts.
    pub workload: Prompts,
    /// What users are promised.
    #[serde(default)]
    pub promises: Promises,
    /// What arrives, where latencies under a load are promised.
    #[serde(default, skip_serializing)]
    pub load: Option<Load>,
    /// What may be bought; where anything is rented, which instances.
    #[serde(default)]
    pub hardware: Selection,
    /// What may be rented, instead of buying: prices are then those of an hour.
    pub rent: Option<RentRequest>,
    /// What of a layout is given.
    #[serde(default)]
    pub layout: GivenBatching,
    /// What serves it.
    #[serde(default)]
    pub engine: Engine,
    /// What is asked of the engine under a load.
    #[serde(default)]
    pub scheduler: EngineOptions,
    /// How far and for what is searched.
    pub search: SearchOptions,
}

/// What users are promised.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Promises {
    /// Users that the whole purchase is for.
    pub users: u64,
    /// Tokens per second of all of them.
    pub tokens_per_second: f64,
    /// Tokens per second of each user, at least.
    pub tokens_per_second_per_user: f64,
    /// Time to read a prompt alone, at most.
    pub prefill_seconds: Option<f64>,
    /// What of latencies under a load is promised, such as `p95`; else the steady step at full
    /// context is judged.
    pub percentile: Option<Statistic>,
    /// Time to the first token under a load, at most.
    pub ttft_seconds: Option<f64>,
    /// Time per output token under a load, at most.
    pub tpot_seconds: Option<f64>,
    /// What may fail with all that is asked still given.
    pub redundancy: Redundancy,
}

impl Promises {
    /// What is judged under a load, if anything is.
    ///
    /// # Errors
    ///
    /// A percentile without a load.
    pub(super) fn latencies(
        &self,
        load: Option<&Load>,
        engine: EngineOptions,
    ) -> Result<Option<LatencyGoal>, Vec<Diagnostic>> {
        let Some(at) = self.percentile else {
            return Ok(None);
        };
        let load = load.ok_or_else(|| {
            let message = "latencies of which load?".to_owned();
            let problem = Diagnostic::new(code::MISSING_KEY, message).field("load");
            vec![problem.value("nothing").accepted("arrivals and sizes")]
        })?;
        let traffic = Traffic::of(load);
        Ok(Some(LatencyGoal {
            at,
            ttft: self.ttft_seconds,
            tpot: self.tpot_seconds,
            traffic,
            long_prompt: match at {
                Statistic::Mean => None,
                Statistic::Percentile(share) => {
                    long_prompt(load, 1.0 - share).map(|tokens| (tokens, load.prefix_hit_rate))
                }
            },
            output: traffic.mean_output(),
            at_random: !matches!(load.arrivals, Arrivals::Closed { .. }),
            asked: load.arrivals.asked(),
            arrival_cv: match load.arrivals {
                Arrivals::Gamma { cv, .. } => Some(cv),
                _ => None,
            },
            engine,
        }))
    }
}

/// How many sequences circulate, where that is given.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct GivenBatching {
    /// Sequences of a micro-batch.
    pub batch: Option<u32>,
    /// Micro-batches in flight.
    pub in_flight: Option<u32>,
}

/// How far and for what is searched.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each says something of its own"
)]
pub struct SearchOptions {
    /// Accelerators of a replica, at most.
    pub max_accelerators: u32,
    /// Price of a unit, at most.
    pub price_cap_usd: Option<f64>,
    /// Ranks that contexts may be divided among; as the assumptions say where it is not given.
    pub context_ranks: Option<u32>,
    /// Whether layouts are tried that nobody would run.
    #[serde(default)]
    pub allow_odd: bool,
    /// Offer each batch up to this one, not the largest alone.
    pub each_batch_up_to: Option<u32>,
    /// Offer each batch that is an even share of this many users, not the largest alone.
    pub batches_that_share: Option<u64>,
    /// Try each batch instead of bisecting.
    #[serde(default)]
    pub exhaustive: bool,
    /// Keep every unit, whatever beats or replaces it.
    #[serde(default)]
    pub every: bool,
    /// Cheapest builds of different hardware to keep beside the front.
    #[serde(default)]
    pub builds: usize,
    /// What alone is sought, where nothing but a budget limits the purchase: `cost-per-token`,
    /// `latency`, `price` or `hour`.
    pub aim: Option<Aim>,
    /// Whether prices are those of an hour, of what is bought, too.
    #[serde(default)]
    pub hourly: bool,
}

impl EvaluateServing {
    /// How it is divided.
    pub(super) fn layout(&self) -> Layout {
        self.layout.layout()
    }

    /// Checks that every count can be one.
    ///
    /// # Errors
    ///
    /// Each count that is 0 or absurdly large, or the size of the cluster.
    pub fn check(&self) -> Result<(), Vec<Diagnostic>> {
        let counts = self.layout.counts();
        let counts = wrong_counts(counts.map(|(name, count)| (name, count, LARGEST_COUNT)));
        let mut problems = Problems::default();
        problems.keep(none_of(counts));
        problems.keep(self.hardware.check());
        problems.unless_any(())?;
        none_of(self.too_large().into_iter().chain(self.divided_contexts()))
    }

    /// Groups with sequences of their own, whose contexts are divided besides: not modelled.
    fn divided_contexts(&self) -> Option<Diagnostic> {
        let Layout { cp, dp, .. } = self.layout();
        (cp > 1 && dp > 1).then(|| {
            let accepted = "1 with attention data parallel: its groups have whole contexts";
            wrong_option("cp", &cp, accepted)
        })
    }

    /// Checks that contexts are whole where a state goes from token to token or an indexer selects
    /// tokens.
    ///
    /// # Errors
    ///
    /// A context-parallel degree of a model whose contexts must be whole.
    pub(super) fn check_states(&self, transformer: &Transformer) -> Result<(), Vec<Diagnostic>> {
        let cp = self.layout().cp;
        if cp > 1 && transformer.needs_whole_contexts() {
            let accepted = if transformer.has_state_space() {
                "1 for a model with state-space layers: a state goes from token to token"
            } else {
                "1 for a model with an indexer: it selects from the whole context"
            };
            return Err(vec![wrong_option("cp", &cp, accepted)]);
        }
        Ok(())
    }

    /// A layout with what was asked for beside it.
    fn as_asked(&self, candidate: Candidate) -> Candidate {
        let model = &self.model;
        Candidate {
            offload_to: self.offload.as_ref().map(|offload| offload.to.clone()),
            lora_adapters: model.lora_adapters,
            lora_rank: model.lora_rank,
            ..candidate
        }
    }

    fn too_large(&self) -> Option<Diagnostic> {
        let Layout {
            tp,
            cp,
            dp,
            pp,
            replicas,
            ..
        } = self.layout();
        let counts = [tp, cp, dp, pp, replicas];
        let accelerators: u128 = counts.map(u128::from).iter().product();
        (accelerators > u128::from(LARGEST_CLUSTER)).then(|| {
            let accepted = format!(
                "at most {LARGEST_CLUSTER} accelerators: tp x cp x dp x pp x replicas is {accelerators}"
            );
            wrong_option("replicas", &replicas, accepted)
        })
    }

    /// The question with the weights that rest in `host`.
    ///
    /// # Errors
    ///
    /// A host that states no memory, or no disk, and an overlap of two batches.
    pub(super) fn offloaded_to(
        &self,
        host: &Host,
        question: Question,
        assumptions: &Assumptions,
    ) -> Result<Question, Vec<Diagnostic>> {
        let Some(request) = &self.offload else {
            return Ok(question);
        };
        if question.overlap == Overlap::TwoBatch {
            let accepted = "--overlap none, or nothing in the host";
            return Err(vec![wrong_option("overlap", "two-batch", accepted)]);
        }
        let stores = host.stores;
        let Some(training) = &assumptions.training else {
            let accepted = "assumptions that say what transfers hide behind: [training]";
            return Err(vec![wrong_option("offload_to", &request.to, accepted)]);
        };
        let by_default = training.host_memory_bandwidth;
        let of_memory = stores.memory_bandwidth.unwrap_or(by_default);
        let lacking = |what: &str| {
            let accepted = format!("hosts that state their {what}; `{}` does not", host.id);
            vec![wrong_option("offload_to", &request.to, accepted)]
        };
        let (bandwidth, memory) = match request.to.as_str() {
            "host" => {
                let memory = stores.memory.ok_or_else(|| lacking("memory"))?;
                let usable = assumptions.memory.unified_usable_fraction;
                (of_memory, Some(Bytes(memory.0 * usable)))
            }
            "disk" => {
                let disk = stores.disk_bandwidth;
                let disk = disk.ok_or_else(|| lacking("disk_bandwidth"))?;
                (of_memory.min(disk), None)
            }
            other => {
                return Err(vec![unknown_name("offload_to", other, "host, disk")]);
            }
        };
        Ok(Question {
            offload: Some(Offload {
                layers: request.layers.unwrap_or_default(),
                bandwidth,
                overlap: training.offload_overlap,
                memory,
            }),
            ..question
        })
    }

    /// Numbers of layers to try: the one that is asked for, or each until it fits.
    pub(super) fn offloaded_layers(&self, transformer: &Transformer) -> Vec<Option<u32>> {
        match &self.offload {
            None => vec![None],
            Some(OffloadRequest {
                layers: Some(layers),
                ..
            }) => vec![Some(*layers)],
            Some(OffloadRequest { layers: None, .. }) => {
                let layers = u32::try_from(transformer.layers.len()).unwrap_or(u32::MAX);
                (0..=layers.div_ceil(self.layout().pp)).map(Some).collect()
            }
        }
    }
}

/// What is asked about serving, whatever the hardware.
pub(super) struct ServedRequest {
    pub(super) transformer: Transformer,
    pub(super) question: Question,
    pub(super) assumptions: Assumptions,
}

impl ServedRequest {
    /// From the groups that every question about serving has.
    pub(super) fn of(
        catalog: &Catalog,
        model: &ServedModel,
        workload: &Prompts,
        engine: &Engine,
    ) -> Result<Self, Vec<Diagnostic>> {
        let transformer = model.transformer(catalog)?;
        Ok(Self {
            question: model.question(workload, &transformer)?,
            assumptions: engine.assumptions(catalog)?,
            transformer,
        })
    }
}

/// Evaluates one configuration, whether or not it works.
pub fn evaluate_serving(
    catalog: &Catalog,
    request: &EvaluateServing,
) -> Result<EvaluationAnswer, Vec<Diagnostic>> {
    let ServedRequest {
        transformer,
        question,
        assumptions,
    } = ServedRequest::of(catalog, &request.model, &request.workload, &request.engine)?;
    request.check()?;
    request.check_states(&transformer)?;
    let layout = request.layout();
    let site = request.hardware.site(catalog, layout.accelerators())?;
    let system = site.resolve(catalog, &assumptions, Nics::One)?;
    let open = request.offloaded_to(system.host, question, &assumptions)?;
    let evaluate = |layers| {
        let question = offload::with_layers(open, layers);
        let evaluated = evaluate_unit(&transformer, &question, &system, layout, &assumptions);
        (question, evaluated)
    };
    let tried = request.offloaded_layers(&transformer);
    let (last, fewer) = tried.split_last().unwrap_or((&None, &[]));
    let is_enough = |(_, evaluated): &(_, Result<(_, ReplicaEvaluation), _>)| match evaluated {
        Ok((_, evaluation)) => evaluation.memory.fits(),
        // No number of layers makes up for it.
        Err(_) => true,
    };
    let (question, evaluated) = fewer
        .iter()
        .map(|layers| evaluate(*layers))
        .find(is_enough)
        .unwrap_or_else(|| evaluate(*last));
    let subject = Subject {
        transformer: &transformer,
        question: &question,
        system: &system,
        layout,
        assumptions: &assumptions,
        draft: request.model.draft.as_deref(),
    };
    let mut answer = match evaluated {
        Err(rejection) => subject.rejected(&rejection),
        Ok((placement, evaluation)) => {
            let units = subject.cheapest_units(placement);
            subject.answer(placement, &evaluation, &units)
        }
    };
    answer.replicas = layout.replicas;
    answer.candidate = request.as_asked(answer.candidate);
    Ok(answer)
}
