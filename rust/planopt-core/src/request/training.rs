//! Questions about training, in SI units and catalog ids, nested by group.

use super::model::{ModelRequest, format_named};
use crate::catalog::{Assumptions, Catalog, Spares, TrainingAssumptions};
use crate::diagnostic::option::{
    LARGEST_CLUSTER, LARGEST_COUNT, none_of, unknown_name, wrong_counts, wrong_option,
};
use crate::diagnostic::{Diagnostic, Problems, code};
use crate::document::{TrainingAnswer, TrainingCandidate};
use crate::format::Format;
use crate::hardware::{HardwareSpec, Nics};
use crate::load::training::{
    AdaptedModules, Adapters, FlopsConvention, Optimizer, Precision, Recipe, Run,
};
use crate::parallel::{ContextParallel, Layout, Recompute, Schedule, Zero};
use crate::plan::Errors;
use crate::plan::training::RunContext;
use crate::plan::training_problem::Subject;
use crate::quantity::real;
use crate::transformer::{MOST_MTP_MODULES, Transformer};
use serde::{Deserialize, Serialize};

/// One configuration of a training run, whether or not it works.
///
/// Every count defaults to 1 and every choice to the commonest one, so that a script names only
/// what it means to vary.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct EvaluateTraining {
    /// What is trained.
    pub model: ModelRequest,
    /// How.
    #[serde(default)]
    pub recipe: RecipeRequest,
    /// How much of it.
    #[serde(default)]
    pub run: TrainingRun,
    /// On which hardware; a host has as many NICs as it takes where the question does not say.
    #[serde(default)]
    pub hardware: HardwareSpec,
    /// How it is divided.
    #[serde(default)]
    pub layout: TrainingLayout,
    /// Where it runs on several kinds of accelerator, how many of each; the counts add up to
    /// `tp * pp * dp * cp`.
    #[serde(default)]
    pub shares: Vec<ShareRequest>,
}

/// So many accelerators of one kind.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ShareRequest {
    /// Accelerator id.
    pub accelerator: String,
    /// How many.
    pub accelerators: u32,
}

/// How it is trained.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "they are switches of training frameworks"
)]
pub struct RecipeRequest {
    /// Sequences of a step; else 4M tokens' worth, to the nearest multiple of `dp * micro_batch`.
    pub global_batch: Option<u32>,
    /// Tokens of a sequence; else 4096, or the model's longest context if that is shorter.
    pub seq_len: Option<u32>,
    /// Modules of multi-token prediction; else those the model is published with, and none where
    /// adapters are trained.
    pub mtp_modules: Option<u32>,
    /// Arithmetic of the products.
    pub precision: Precision,
    /// Format that gradients are summed and reduced in.
    pub gradients: Gradients,
    /// Rule that turns gradients into new weights.
    pub optimizer: Optimizer,
    /// Framework that trains, as the assumptions name them; else the first of theirs.
    pub framework: Option<String>,
    /// Pieces in which the head and the loss go through the tokens of a micro-batch.
    pub loss_chunks: u32,
    /// Master weights in 32 bits; without them moments are in the weights' own format.
    pub master_weights: bool,
    /// Rank of low-rank adapters; the model itself is then frozen (`LoRA`).
    pub lora_rank: Option<u32>,
    /// Products of layers that have adapters.
    pub lora_modules: AdaptedModules,
    /// Format of the frozen weights, such as `int4` (`QLoRA`); else that of `precision`.
    pub frozen_weights: Option<String>,
    /// Attention that never stores its probabilities; `false` for models trained before 2023.
    pub flash_attention: bool,
    /// Dropout behind attention, its output and the feed-forward part, as GPT-3 was trained.
    pub dropout: bool,
    /// Tokens look back only; `false` for an encoder such as BERT.
    pub causal: bool,
}

impl Default for RecipeRequest {
    fn default() -> Self {
        Self {
            global_batch: None,
            seq_len: None,
            mtp_modules: None,
            precision: Precision::default(),
            gradients: Gradients::default(),
            optimizer: Optimizer::default(),
            framework: None,
            loss_chunks: 1,
            master_weights: true,
            lora_rank: None,
            lora_modules: AdaptedModules::default(),
            frozen_weights: None,
            flash_attention: true,
            dropout: false,
            causal: true,
        }
    }
}

/// Format that gradients are summed and reduced in.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Gradients {
    /// 32 bits.
    #[default]
    Fp32,
    /// bf16.
    Bf16,
    /// fp16.
    Fp16,
}

impl From<Gradients> for Format {
    fn from(gradients: Gradients) -> Self {
        match gradients {
            Gradients::Fp32 => Self::Fp32,
            Gradients::Bf16 => Self::Bf16,
            Gradients::Fp16 => Self::Fp16,
        }
    }
}

/// How much is trained, and how it is counted.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct TrainingRun {
    /// Tokens of the whole run; without them no days, energy and cost of a run are given.
    pub tokens: Option<f64>,
    /// Which arithmetic counts as the model's.
    pub model_flops: CountedFlops,
    /// N of `6nd` in place of the counted parameters, as published figures round it.
    pub nominal_parameters: Option<f64>,
    /// Model FLOPs utilisation, 0 to 1, in place of the computed one: the step time follows from
    /// it, and its parts keep their proportions; memory stays computed.
    pub mfu: Option<f64>,
    /// Spare hosts of each kind; else as many as the assumptions ask for.
    pub redundancy: Option<u32>,
}

/// Which arithmetic counts as the model's.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CountedFlops {
    /// Attention looks at every token of the sequence.
    #[default]
    Full,
    /// At half of them.
    Causal,
    /// Six per parameter and token.
    #[serde(rename = "6nd")]
    SixPerParameter,
}

/// How a run is divided.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct TrainingLayout {
    /// Tensor-parallel degree.
    pub tp: u32,
    /// Activations between tensor-parallel products are divided by sequence.
    pub sequence_parallel: bool,
    /// Pipeline stages.
    pub pp: u32,
    /// Order of micro-batches; else `interleaved` where `vpp` is above 1, else `1f1b`.
    pub schedule: Option<Schedule>,
    /// Chunks of layers of one stage (virtual pipeline); above 1 with `interleaved` alone.
    pub vpp: u32,
    /// Data-parallel degree.
    pub dp: u32,
    /// Context-parallel degree.
    pub cp: u32,
    /// How context-parallel ranks meet; else in a ring.
    pub context_parallel: Option<ContextParallel>,
    /// Expert-parallel degree: a divisor of `dp * cp`, over whose ranks experts are assigned.
    pub ep: u32,
    /// Tensor-parallel degree of experts: `tp` (default), or 1, where its ranks hold experts of
    /// their own and `ep` divides `tp * dp * cp`.
    pub expert_tp: Option<u32>,
    /// Sequences of a micro-batch.
    pub micro_batch: u32,
    /// `none` (default), `selective`, `full`, `block:K` (every K layers), `layers:K` (K layers of
    /// each stage in full), or modules joined by `+` ([`Module`](crate::parallel::Module)).
    pub recompute: Option<String>,
    /// What data-parallel ranks divide among each other.
    pub shard: Zero,
    /// Ranks that shard among each other, the groups being replicas (HSDP); else all of `dp * cp`.
    pub shard_group: Option<u32>,
    /// What rests in the memory of the host.
    pub offload: Vec<InHost>,
}

impl Default for TrainingLayout {
    fn default() -> Self {
        Self {
            tp: 1,
            sequence_parallel: false,
            pp: 1,
            schedule: None,
            vpp: 1,
            dp: 1,
            cp: 1,
            context_parallel: None,
            ep: 1,
            expert_tp: None,
            micro_batch: 1,
            recompute: None,
            shard: Zero::default(),
            shard_group: None,
            offload: Vec::new(),
        }
    }
}

/// What may rest in the memory of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum InHost {
    /// The optimizer's state.
    Optimizer,
    /// Activations between forward and backward.
    Activations,
}

/// Tokens of a step where no batch is given: what models of the size of LLaMA-2 were trained with
/// (arXiv 2307.09288, section 2.2).
pub(super) const TOKENS_PER_STEP: u32 = 4 << 20;

/// Framework where none is named.
const USUAL_FRAMEWORK: &str = "megatron";

/// The same where attention stores its probabilities, as everybody's did then.
const FRAMEWORK_BEFORE_FLASH: &str = "megatron-2022";

/// Tokens of a sequence where none are given.
pub(super) const SEQUENCE: u32 = 4096;

impl RecipeRequest {
    /// What is trained, where so many sequences are at work at once.
    ///
    /// # Errors
    ///
    /// Words that are no choice, with those that are.
    pub fn recipe(
        &self,
        transformer: &Transformer,
        at_once: u32,
    ) -> Result<Recipe, Vec<Diagnostic>> {
        let mut problems = Problems::default();
        let precision = self.precision;
        let mut unknown = Vec::new();
        let frozen = format_named(
            "frozen_weights",
            self.frozen_weights.as_deref(),
            &mut unknown,
        );
        for problem in unknown {
            problems.push(problem);
        }
        if let Some(frozen) = &self.frozen_weights
            && self.lora_rank.is_none()
        {
            let accepted = "nothing, unless a lora_rank is given";
            problems.push(wrong_option("frozen_weights", &frozen, accepted));
        }
        let longest = u32::try_from(transformer.max_context).unwrap_or(SEQUENCE);
        let seq_len = self.seq_len.unwrap_or(SEQUENCE.min(longest.max(1)));
        let steps = (TOKENS_PER_STEP / seq_len).max(1);
        let nearest = (steps + at_once / 2) / at_once * at_once;
        let recipe = Recipe {
            precision,
            gradients: self.gradients.into(),
            optimizer: self.optimizer,
            master_weights: self.master_weights,
            loss_chunks: self.loss_chunks,
            adapters: self.lora_rank.map(|rank| Adapters {
                rank,
                frozen: frozen.unwrap_or(precision.format()),
                modules: self.lora_modules,
            }),
            flash_attention: self.flash_attention,
            dropout: self.dropout,
            causal: self.causal,
            mtp_modules: match (self.mtp_modules, self.lora_rank) {
                (Some(modules), _) => modules,
                (None, Some(_)) => 0,
                (None, None) => transformer.mtp_modules,
            },
            seq_len,
            global_batch: self.global_batch.unwrap_or(nearest.max(at_once)),
        };
        problems.unless_any(recipe)
    }

    /// The framework, by the name of its assumptions.
    ///
    /// # Errors
    ///
    /// A name that they do not have.
    pub fn framework<'q>(&'q self, assumptions: &Assumptions) -> Result<&'q str, Vec<Diagnostic>> {
        let Some(name) = self.framework.as_deref() else {
            return Ok(if self.flash_attention {
                USUAL_FRAMEWORK
            } else {
                FRAMEWORK_BEFORE_FLASH
            });
        };
        let names = || assumptions.frameworks.iter().map(|(name, _)| name.as_str());
        if names().any(|known| known == name) {
            return Ok(name);
        }
        let accepted = names().collect::<Vec<_>>().join(", ");
        Err(vec![unknown_name("framework", name, accepted)])
    }
}

impl TrainingLayout {
    /// Sequences that are at work at once.
    pub fn sequences(&self) -> u32 {
        self.dp * self.micro_batch
    }

    /// Order of micro-batches of so many chunks.
    pub fn schedule_of(&self, vpp: u32) -> Schedule {
        self.schedule.unwrap_or(if vpp > 1 {
            Schedule::Interleaved
        } else {
            Schedule::OneForwardOneBackward
        })
    }

    /// How it is divided.
    ///
    /// # Errors
    ///
    /// Words that are no choice, with those that are.
    pub fn layout(&self) -> Result<Layout, Vec<Diagnostic>> {
        let mut problems = Problems::default();
        if let Some(degree) = self
            .expert_tp
            .filter(|degree| *degree != 1 && *degree != self.tp)
        {
            let accepted = format!("1 or {}, the tensor-parallel degree", self.tp);
            problems.push(wrong_option("expert_tp", &degree, accepted));
        }
        let recompute = self
            .recompute
            .as_deref()
            .map_or(Ok(Recompute::None), recompute);
        let recompute = problems.keep(recompute.map_err(Vec::from));
        let offloads = |what| self.offload.contains(&what);
        let layout = Layout {
            tp: self.tp,
            sequence_parallel: self.sequence_parallel,
            pp: self.pp,
            vpp: self.vpp,
            schedule: self.schedule_of(self.vpp),
            dp: self.dp,
            cp: self.cp,
            context_parallel: self.context_parallel.unwrap_or_default(),
            ep: self.ep,
            whole_experts: self.tp > 1 && self.expert_tp == Some(1),
            batch: self.micro_batch,
            recompute: recompute.unwrap_or(Recompute::None),
            zero: self.shard,
            shard_group: self.shard_group,
            offload_optimizer: offloads(InHost::Optimizer),
            offload_activations: offloads(InHost::Activations),
            ..Layout::SINGLE
        };
        problems.unless_any(layout)
    }
}

/// What is recomputed, by the word that asks for it.
///
/// # Errors
///
/// A word that is no choice, with those that are.
pub(super) fn recompute(word: &str) -> Result<Recompute, Diagnostic> {
    word.parse()
        .map_err(|accepted| unknown_name("recompute", word, accepted))
}

impl EvaluateTraining {
    /// Checks that every count can be one.
    ///
    /// # Errors
    ///
    /// Each number that cannot be, or the size of the cluster.
    pub fn check(&self) -> Result<(), Vec<Diagnostic>> {
        let mut problems = Problems::default();
        problems.keep(self.layout.check());
        problems.keep(self.recipe.check());
        problems.keep(self.hardware.check());
        problems.keep(self.run.check());
        problems.unless_any(())?;
        self.layout.check_size()
    }
}

/// A candidate says what was asked for, where nothing else tells it.
pub(super) fn as_asked(
    candidate: TrainingCandidate,
    layout: &TrainingLayout,
    recipe: &RecipeRequest,
) -> TrainingCandidate {
    TrainingCandidate {
        context_parallel: layout.context_parallel,
        expert_tp: layout.expert_tp,
        framework: recipe.framework.clone(),
        ..candidate
    }
}

impl TrainingLayout {
    /// Checks that every count can be one.
    pub fn check(&self) -> Result<(), Vec<Diagnostic>> {
        none_of(wrong_counts([
            ("tp", Some(self.tp), LARGEST_COUNT),
            ("pp", Some(self.pp), LARGEST_COUNT),
            ("vpp", Some(self.vpp), LARGEST_COUNT),
            ("dp", Some(self.dp), LARGEST_COUNT),
            ("cp", Some(self.cp), LARGEST_COUNT),
            ("ep", Some(self.ep), LARGEST_COUNT),
            ("micro_batch", Some(self.micro_batch), LARGEST_BATCH),
            ("shard_group", self.shard_group, LARGEST_COUNT),
        ]))
    }

    /// Products of counts that stay counts.
    pub(super) fn check_size(&self) -> Result<(), Vec<Diagnostic>> {
        let mut problems = Problems::default();
        let degrees = [self.tp, self.pp, self.dp, self.cp];
        let accelerators: f64 = degrees.into_iter().map(f64::from).product();
        if accelerators > real(LARGEST_CLUSTER) {
            let accepted = format!(
                "at most {LARGEST_CLUSTER} accelerators: tp x pp x dp x cp is {accelerators}"
            );
            problems.push(wrong_option("dp", &self.dp, accepted));
        }
        if u64::from(self.dp) * u64::from(self.micro_batch) > u64::from(LARGEST_BATCH) {
            let accepted = format!("dp x micro-batch of at most {LARGEST_BATCH} sequences");
            problems.push(wrong_option("micro_batch", &self.micro_batch, accepted));
        }
        problems.unless_any(())
    }
}

impl RecipeRequest {
    /// Checks that every count can be one.
    pub fn check(&self) -> Result<(), Vec<Diagnostic>> {
        let modules = self.mtp_modules.filter(|many| *many > MOST_MTP_MODULES);
        let modules = modules.map(|modules| {
            let accepted = format!("a whole number from 0 to {MOST_MTP_MODULES}");
            wrong_option("mtp_modules", &modules, accepted)
        });
        none_of(
            wrong_counts([
                ("global_batch", self.global_batch, LARGEST_BATCH),
                ("seq_len", self.seq_len, LONGEST_SEQUENCE),
                ("loss_chunks", Some(self.loss_chunks), LARGEST_COUNT),
                ("lora_rank", self.lora_rank, LARGEST_COUNT),
            ])
            .chain(modules),
        )
    }
}

impl TrainingRun {
    /// Checks that every number of a run can be one.
    pub(super) fn check(&self) -> Result<(), Vec<Diagnostic>> {
        let spares = self.redundancy.filter(|many| *many > LARGEST_COUNT);
        let spares = spares.map(|spares| {
            let accepted = format!("a whole number from 0 to {LARGEST_COUNT}");
            wrong_option("redundancy", &spares, accepted)
        });
        let amounts = [
            ("tokens", self.tokens, f64::MAX),
            ("nominal_parameters", self.nominal_parameters, f64::MAX),
            ("mfu", self.mfu, 1.0),
        ];
        let amounts = amounts.into_iter().filter_map(|(option, amount, most)| {
            let amount = amount.filter(|amount| !(*amount > 0.0 && *amount <= most))?;
            let accepted = if most > 1.0 {
                "a number above 0"
            } else {
                "a share above 0, at most 1"
            };
            let amount = amount.to_string();
            Some(wrong_option(option, &amount, accepted))
        });
        none_of(spares.into_iter().chain(amounts))
    }

    /// The run with its arithmetic as it is counted.
    pub(crate) fn run(&self) -> Run {
        Run {
            tokens: self.tokens,
            convention: match self.model_flops {
                CountedFlops::Full => FlopsConvention::Full,
                CountedFlops::Causal => FlopsConvention::Causal,
                CountedFlops::SixPerParameter => {
                    FlopsConvention::SixPerParameter(self.nominal_parameters)
                }
            },
            mfu: self.mfu,
        }
    }
}

/// Evaluates one configuration of a training run, whether or not it works.
pub fn evaluate_training(
    catalog: &Catalog,
    request: &EvaluateTraining,
) -> Result<TrainingAnswer, Vec<Diagnostic>> {
    let transformer = request.model.transformer(catalog)?;
    request.check()?;
    let recipe = (request.recipe).recipe(&transformer, request.layout.sequences())?;
    let layout = request.layout.layout()?;
    let assumptions = &catalog.assumptions.entity;
    let rented = request.hardware.terms.is_some();
    let training = training_with(assumptions, &request.recipe, &request.run, rented)?;
    let context = RunContext {
        model: &request.model.name,
        accelerator: request.hardware.accelerator.as_deref().unwrap_or_default(),
        transformer: &transformer,
        recipe: &recipe,
        layout: &layout,
        run: request.run.run(),
        rented,
        assumptions,
        training: &training,
    };
    let site = request.hardware.site(catalog, layout.accelerators())?;
    let system = site.resolve(catalog, assumptions, Nics::AllThatFit)?;
    let context = &context;
    let mut answer = Subject { context, system }.answer();
    answer.candidate = as_asked(answer.candidate, &request.layout, &request.recipe);
    if request.run.mfu.is_none() {
        let experts = transformer.experts().is_some();
        let errors = Errors::of(catalog, system.accelerator, experts, false);
        answer.evaluation.intervals = errors.of_training(&answer.evaluation)?;
    }
    Ok(answer)
}

/// The assumptions of training with what the question puts in their place.
pub(super) fn training_with(
    assumptions: &Assumptions,
    recipe: &RecipeRequest,
    run: &TrainingRun,
    rented: bool,
) -> Result<TrainingAssumptions, Vec<Diagnostic>> {
    let training = assumptions
        .training_with(recipe.framework(assumptions)?)
        .ok_or_else(|| vec![no_training(assumptions)])?;
    let training = TrainingAssumptions {
        spares: run.redundancy.map_or(training.spares, Spares::Hosts),
        ..training
    };
    Ok(if rented {
        training.of_rented()
    } else {
        training
    })
}

pub(crate) fn no_training(assumptions: &Assumptions) -> Diagnostic {
    let message = format!(
        "the assumptions `{}` say nothing of training",
        assumptions.id
    );
    Diagnostic::new(code::MISSING_KEY, message)
        .field("--assumptions")
        .value(assumptions.id.clone())
        .accepted("assumptions with a table `[training]`")
        .help("use `calibrated`, or add the table to your own")
}

/// Longest sequence that anything was trained on, and more.
const LONGEST_SEQUENCE: u32 = 1 << 27;

/// Largest batch and micro-batch, in sequences.
const LARGEST_BATCH: u32 = 1 << 20;
