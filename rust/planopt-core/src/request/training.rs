//! Questions about training, in SI units and catalog ids.

use super::hardware::HardwareKey;
use super::model::{ModelRequest, format_named};
use super::serving::{LARGEST_CLUSTER, LARGEST_COUNT, LARGEST_NICS};
use crate::catalog::{Assumptions, Catalog, Spares, TrainingAssumptions};
use crate::diagnostic;
use crate::diagnostic::option::{chosen, unknown_name, wrong_option};
use crate::diagnostic::{Diagnostic, Problems};
use crate::document::TrainingAnswer;
use crate::format::Format;
use crate::hardware::{Bench, Connection, Fit, Names, line_of};
use crate::load::training::{
    Adapters, FlopsConvention, GRADIENTS, OPTIMIZERS, PRECISIONS, Recipe, Run,
};
use crate::parallel::training::Layout;
use crate::parallel::{CONTEXT_PARALLEL, OFFLOADS, SCHEDULES, SHARDINGS, recompute};
use crate::plan::training::Told;
use crate::plan::training_problem::Subject;
use crate::transformer::{MOST_MTP_MODULES, Transformer};
use serde::Deserialize;

/// One configuration of a training run, whether or not it works.
///
/// Every count defaults to 1 and every choice to the commonest one, so that a script names only
/// what it means to vary.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "they are switches of training frameworks"
)]
pub struct EvaluateTraining {
    /// Catalog id, or path of a Hugging Face `config.json`.
    pub model: String,
    /// Key/value heads in place of the model's own.
    #[serde(default)]
    pub kv_heads: Option<u64>,
    /// Accelerator id.
    pub accelerator: String,
    /// Host id; else the smallest of the catalog that holds `accelerators_per_host`.
    #[serde(default)]
    pub host: Option<String>,
    /// Terms that the host is rented on, where it is an offer: `provider/instance/region`.
    #[serde(default)]
    pub terms: Option<String>,
    /// Accelerators of a host; else as many as it has slots.
    #[serde(default)]
    pub accelerators_per_host: Option<u32>,
    /// Link id inside a host, in place of the hardware's own.
    #[serde(default)]
    pub link: Option<String>,
    /// Network id across hosts.
    #[serde(default)]
    pub network: Option<String>,
    /// NICs of a host; else as many as the host takes.
    #[serde(default)]
    pub nics_per_host: Option<u32>,

    /// Tensor-parallel degree.
    #[serde(default = "one")]
    pub tp: u32,
    /// Activations between tensor-parallel products are divided by sequence.
    #[serde(default)]
    pub sequence_parallel: bool,
    /// Pipeline stages.
    #[serde(default = "one")]
    pub pp: u32,
    /// `gpipe`, `1f1b` or `interleaved`; else `interleaved` where `vpp` is above 1, else `1f1b`.
    #[serde(default)]
    pub schedule: Option<String>,
    /// Chunks of layers of one stage (virtual pipeline); above 1 with `interleaved` alone.
    #[serde(default = "one")]
    pub vpp: u32,
    /// Data-parallel degree.
    #[serde(default = "one")]
    pub dp: u32,
    /// Context-parallel degree.
    #[serde(default = "one")]
    pub cp: u32,
    /// `ring` (default) or `all-to-all`.
    #[serde(default)]
    pub context_parallel: Option<String>,
    /// Expert-parallel degree: a divisor of `dp * cp`, over whose ranks experts are dealt.
    #[serde(default = "one")]
    pub ep: u32,

    /// Tensor-parallel degree of experts: `tp` (default), or 1, where its ranks hold experts of
    /// their own and `ep` divides `tp * dp * cp`.
    #[serde(default)]
    pub expert_tp: Option<u32>,

    /// Sequences of a micro-batch.
    #[serde(default = "one")]
    pub micro_batch: u32,
    /// Sequences of a step; else 4M tokens' worth, to the nearest multiple of `dp * micro_batch`.
    #[serde(default)]
    pub global_batch: Option<u32>,
    /// Tokens of a sequence; else 4096, or the model's longest context if that is shorter.
    #[serde(default)]
    pub seq_len: Option<u32>,

    /// Modules of multi-token prediction; else those the model is published with, and none where
    /// adapters are trained.
    #[serde(default)]
    pub mtp_modules: Option<u32>,

    /// `none` (default), `selective`, `full`, `block:K` (every K layers) or `layers:K` (K layers
    /// of each stage in full).
    #[serde(default)]
    pub recompute: Option<String>,
    /// `none` (default), `zero1`, `zero2` or `zero3` (also called FSDP).
    #[serde(default)]
    pub shard: Option<String>,
    /// Ranks that shard among each other, the groups being replicas (HSDP); else all of `dp * cp`.
    #[serde(default)]
    pub shard_group: Option<u32>,
    /// `bf16` (default), `fp16`, `fp8`, `nvfp4` or `fp32`.
    #[serde(default)]
    pub precision: Option<String>,
    /// Format that gradients are summed and reduced in: `fp32` (default), `bf16` or `fp16`.
    #[serde(default)]
    pub gradients: Option<String>,
    /// `adam` (default), `adam8bit`, `sgd`, `adafactor` or `muon`.
    #[serde(default)]
    pub optimizer: Option<String>,
    /// Framework that trains, as the assumptions name them; else the first of theirs.
    #[serde(default)]
    pub framework: Option<String>,
    /// Pieces in which the head and the loss go through the tokens of a micro-batch.
    #[serde(default = "one")]
    pub loss_chunks: u32,
    /// Master weights in 32 bits; without them moments are in the weights' own format.
    #[serde(default = "yes")]
    pub master_weights: bool,
    /// What rests in the memory of the host: any of `optimizer` and `activations`.
    #[serde(default)]
    pub offload: Vec<String>,
    /// Rank of low-rank adapters; the model itself is then frozen (`LoRA`).
    #[serde(default)]
    pub lora_rank: Option<u32>,
    /// Format of the frozen weights, such as `int4` (`QLoRA`); else that of `precision`.
    #[serde(default)]
    pub frozen_weights: Option<String>,

    /// Attention that never stores its probabilities; `false` for models trained before 2023.
    #[serde(default = "yes")]
    pub flash_attention: bool,
    /// Dropout behind attention, its output and the feed-forward part, as GPT-3 was trained.
    #[serde(default)]
    pub dropout: bool,
    /// Tokens look back only; `false` for an encoder such as BERT.
    #[serde(default = "yes")]
    pub causal: bool,

    /// Spare hosts of each kind; else as many as the assumptions ask for.
    #[serde(default)]
    pub redundancy: Option<u32>,

    /// Tokens of the whole run; without them no days, energy and cost of a run are given.
    #[serde(default)]
    pub tokens: Option<f64>,
    /// Which arithmetic counts as the model's: `full` (default: attention looks at every token of
    /// the sequence), `causal` (at half of them) or `6nd` (six per parameter and token).
    #[serde(default)]
    pub model_flops: Option<String>,
    /// N of `6nd` in place of the counted parameters, as published figures round it.
    #[serde(default)]
    pub nominal_parameters: Option<f64>,
    /// Model FLOPs utilisation, 0 to 1, in place of the computed one: the step time follows from
    /// it, and its parts keep their proportions; memory stays computed.
    #[serde(default)]
    pub mfu: Option<f64>,
}

fn one() -> u32 {
    1
}

fn yes() -> bool {
    true
}

/// Tokens of a step where no batch is given: what models of the size of LLaMA-2 were trained with
/// (arXiv 2307.09288, section 2.2).
const TOKENS_PER_STEP: u32 = 4 << 20;

/// Framework where none is named.
const USUAL_FRAMEWORK: &str = "megatron";

/// The same where attention stores its probabilities, as everybody's did then.
const FRAMEWORK_BEFORE_FLASH: &str = "megatron-2022";

/// Tokens of a sequence where none are given.
const SEQUENCE: u32 = 4096;

impl EvaluateTraining {
    /// The part that names the model.
    pub fn model(&self) -> ModelRequest {
        ModelRequest {
            model: self.model.clone(),
            kv_heads: self.kv_heads,
        }
    }

    /// What is trained.
    ///
    /// # Errors
    ///
    /// Words that are no choice, with those that are.
    pub fn recipe(&self, transformer: &Transformer) -> Result<Recipe, Vec<Diagnostic>> {
        let mut problems = Problems::default();
        let precision = chosen(
            "precision",
            self.precision.as_deref(),
            &PRECISIONS,
            &mut problems,
        );
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
            let accepted = "nothing, unless a lora_rank is given".to_owned();
            problems.push(wrong_option("frozen_weights", frozen.clone(), accepted));
        }
        let longest = u32::try_from(transformer.max_context).unwrap_or(SEQUENCE);
        let seq_len = self.seq_len.unwrap_or(SEQUENCE.min(longest.max(1)));
        let at_once = self.dp * self.micro_batch;
        let steps = (TOKENS_PER_STEP / seq_len).max(1);
        let nearest = (steps + at_once / 2) / at_once * at_once;
        let recipe = Recipe {
            precision,
            gradients: chosen(
                "gradients",
                self.gradients.as_deref(),
                &GRADIENTS,
                &mut problems,
            ),
            optimizer: chosen(
                "optimizer",
                self.optimizer.as_deref(),
                &OPTIMIZERS,
                &mut problems,
            ),
            master_weights: self.master_weights,
            loss_chunks: self.loss_chunks,
            adapters: self.lora_rank.map(|rank| Adapters {
                rank,
                frozen: frozen.unwrap_or(match precision {
                    precision if precision.casts() => Format::Bf16,
                    other => other.format(),
                }),
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
            problems.push(wrong_option("expert_tp", degree.to_string(), accepted));
        }
        let default_schedule = if self.vpp > 1 { "interleaved" } else { "1f1b" };
        let schedule = self.schedule.as_deref().unwrap_or(default_schedule);
        for word in &self.offload {
            if !OFFLOADS.contains(&word.as_str()) {
                problems.push(unknown_name("offload", word, OFFLOADS.join(", ")));
            }
        }
        let offloads = |what: &str| self.offload.iter().any(|word| word == what);
        let layout = Layout {
            tp: self.tp,
            sequence_parallel: self.sequence_parallel,
            pp: self.pp,
            vpp: self.vpp,
            schedule: chosen("schedule", Some(schedule), &SCHEDULES, &mut problems),
            dp: self.dp,
            cp: self.cp,
            context: chosen(
                "context_parallel",
                self.context_parallel.as_deref(),
                &CONTEXT_PARALLEL,
                &mut problems,
            ),
            ep: self.ep,
            whole_experts: self.tp > 1 && self.expert_tp == Some(1),
            micro_batch: self.micro_batch,
            recompute: recompute(self.recompute.as_deref(), &mut problems),
            sharding: chosen("shard", self.shard.as_deref(), &SHARDINGS, &mut problems),
            shard_group: self.shard_group,
            offload_optimizer: offloads("optimizer"),
            offload_activations: offloads("activations"),
        };
        problems.unless_any(layout)
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

    /// How much is trained, and how its arithmetic is counted.
    pub(crate) fn run(&self) -> Result<Run, Vec<Diagnostic>> {
        Ok(Run {
            tokens: self.tokens,
            convention: self.convention()?,
            mfu: self.mfu,
        })
    }

    /// Which arithmetic counts as the model's.
    ///
    /// # Errors
    ///
    /// A word that is no choice.
    pub fn convention(&self) -> Result<FlopsConvention, Vec<Diagnostic>> {
        let conventions = [
            ("full", FlopsConvention::Full),
            ("causal", FlopsConvention::Causal),
            (
                "6nd",
                FlopsConvention::SixPerParameter(self.nominal_parameters),
            ),
        ];
        let mut problems = Problems::default();
        let convention = chosen(
            "model_flops",
            self.model_flops.as_deref(),
            &conventions,
            &mut problems,
        );
        problems.unless_any(convention)
    }

    /// The assumptions of training with what the question puts in their place.
    pub(crate) fn assumptions(
        &self,
        assumptions: &Assumptions,
    ) -> Result<TrainingAssumptions, Vec<Diagnostic>> {
        let training = assumptions
            .training_with(self.framework(assumptions)?)
            .ok_or_else(|| vec![no_training(assumptions)])?;
        let training = TrainingAssumptions {
            spares: self.redundancy.map_or(training.spares, Spares::Hosts),
            ..training
        };
        Ok(match self.terms {
            Some(_) => training.of_rented(),
            None => training,
        })
    }

    /// The offer that the question names as a host.
    fn offer(&self) -> HardwareKey {
        HardwareKey {
            accelerator: self.accelerator.clone(),
            host: self.host.clone().unwrap_or_default(),
            network: self.network.clone(),
            nics_per_host: 1,
            switch: None,
            hosts: 1,
            accelerators: 1,
            terms: self.terms.clone(),
        }
    }

    /// So many accelerators in the host that the question names, or the smallest that fits.
    pub(crate) fn bench(
        &self,
        catalog: &Catalog,
        accelerator: &str,
        accelerators: u32,
    ) -> Result<Bench, Vec<Diagnostic>> {
        let names = Names {
            accelerator,
            host: self.host.as_deref(),
            link: self.link.as_deref(),
            per_host: self.accelerators_per_host,
            per_host_option: (
                "accelerators_per_host",
                self.accelerators_per_host.unwrap_or(1),
            ),
            accelerators,
        };
        Bench::named(catalog, &names)
    }

    /// The network that the question names, with all the NICs that the host takes unless it says
    /// how many.
    pub(crate) fn connection<'c>(
        &self,
        catalog: &'c Catalog,
        fit: &Fit,
    ) -> Result<Option<Connection<'c>>, Vec<Diagnostic>> {
        let Some(id) = &self.network else {
            return Ok(None);
        };
        let most = catalog.network(id).map_or(1, |network| {
            let fitting = network.nics_per_host.iter().copied();
            fitting
                .filter(|nics| *nics <= fit.host.room_for(network))
                .max()
                .unwrap_or(1)
        });
        line_of(catalog, id, self.nics_per_host.unwrap_or(most))
    }

    /// Checks that every count can be one.
    ///
    /// # Errors
    ///
    /// Each number that cannot be, or the size of the cluster.
    pub fn check(&self) -> Result<(), Vec<Diagnostic>> {
        let counts = [
            ("tp", Some(self.tp), LARGEST_COUNT),
            ("pp", Some(self.pp), LARGEST_COUNT),
            ("vpp", Some(self.vpp), LARGEST_COUNT),
            ("dp", Some(self.dp), LARGEST_COUNT),
            ("cp", Some(self.cp), LARGEST_COUNT),
            ("ep", Some(self.ep), LARGEST_COUNT),
            ("micro_batch", Some(self.micro_batch), LARGEST_BATCH),
            ("global_batch", self.global_batch, LARGEST_BATCH),
            ("seq_len", self.seq_len, LONGEST_SEQUENCE),
            ("loss_chunks", Some(self.loss_chunks), LARGEST_COUNT),
            ("shard_group", self.shard_group, LARGEST_COUNT),
            ("lora_rank", self.lora_rank, LARGEST_COUNT),
            (
                "accelerators_per_host",
                self.accelerators_per_host,
                LARGEST_COUNT,
            ),
            ("nics_per_host", self.nics_per_host, LARGEST_NICS),
        ];
        let mut problems = Problems::default();
        for (option, count, largest) in counts {
            if let Some(count) = count.filter(|count| !(1..=largest).contains(count)) {
                let accepted = format!("a whole number from 1 to {largest}");
                problems.push(wrong_option(option, count.to_string(), accepted));
            }
        }
        if let Some(modules) = self.mtp_modules.filter(|many| *many > MOST_MTP_MODULES) {
            let accepted = format!("a whole number from 0 to {MOST_MTP_MODULES}");
            problems.push(wrong_option("mtp_modules", modules.to_string(), accepted));
        }
        if let Some(spares) = self.redundancy.filter(|many| *many > LARGEST_COUNT) {
            let accepted = format!("a whole number from 0 to {LARGEST_COUNT}");
            problems.push(wrong_option("redundancy", spares.to_string(), accepted));
        }
        let amounts = [
            ("tokens", self.tokens, f64::MAX),
            ("nominal_parameters", self.nominal_parameters, f64::MAX),
            ("mfu", self.mfu, 1.0),
        ];
        for (option, amount, most) in amounts {
            if let Some(amount) = amount.filter(|amount| !(*amount > 0.0 && *amount <= most)) {
                let accepted = if most > 1.0 {
                    "a number above 0"
                } else {
                    "a share above 0, at most 1"
                };
                problems.push(wrong_option(
                    option,
                    amount.to_string(),
                    accepted.to_owned(),
                ));
            }
        }
        problems.unless_any(())?;
        self.check_size()
    }

    /// Products of counts that stay counts.
    fn check_size(&self) -> Result<(), Vec<Diagnostic>> {
        let mut problems = Problems::default();
        let degrees = [self.tp, self.pp, self.dp, self.cp];
        let accelerators: f64 = degrees.into_iter().map(f64::from).product();
        #[expect(clippy::cast_precision_loss, reason = "a power of two")]
        let largest = LARGEST_CLUSTER as f64;
        if accelerators > largest {
            let accepted = format!(
                "at most {LARGEST_CLUSTER} accelerators: tp x pp x dp x cp is {accelerators}"
            );
            problems.push(wrong_option("dp", self.dp.to_string(), accepted));
        }
        if u64::from(self.dp) * u64::from(self.micro_batch) > u64::from(LARGEST_BATCH) {
            let accepted = format!("dp x micro-batch of at most {LARGEST_BATCH} sequences");
            problems.push(wrong_option(
                "micro_batch",
                self.micro_batch.to_string(),
                accepted,
            ));
        }
        problems.unless_any(())
    }
}

/// Evaluates one configuration of a training run, whether or not it works.
///
/// # Errors
///
/// Everything in the question that is not known or cannot be.
pub fn evaluate_training(
    catalog: &Catalog,
    request: &EvaluateTraining,
) -> Result<TrainingAnswer, Vec<Diagnostic>> {
    let transformer = request.model().transformer(catalog)?;
    request.check()?;
    let recipe = request.recipe(&transformer)?;
    let layout = request.layout()?;
    let run = request.run()?;
    let assumptions = &catalog.assumptions.entity;
    let training = request.assumptions(assumptions)?;
    let told = Told {
        transformer: &transformer,
        recipe: &recipe,
        layout: &layout,
        run,
        rented: request.terms.is_some(),
        assumptions,
        training: &training,
    };
    if request.terms.is_some() {
        let key = request.offer();
        let instances = key.rented(catalog)?;
        let (fit, network) = key.resolve(catalog, &instances, assumptions)?;
        return Ok(Subject::new(&told, &fit, network).answer());
    }
    let bench = request.bench(catalog, &request.accelerator, layout.accelerators())?;
    let fit = fit_of(catalog, &bench)?;
    let network = request.connection(catalog, &fit)?;
    Ok(Subject::new(&told, &fit, network).answer())
}

/// What is on a bench, with its links.
pub(crate) fn fit_of<'c>(
    catalog: &'c Catalog,
    bench: &'c Bench,
) -> Result<Fit<'c>, Vec<Diagnostic>> {
    let assumptions = &catalog.assumptions.entity;
    bench.fit(catalog, assumptions)
}

pub(crate) fn no_training(assumptions: &Assumptions) -> Diagnostic {
    let message = format!(
        "the assumptions `{}` say nothing of training",
        assumptions.id
    );
    Diagnostic::new(diagnostic::MISSING_KEY, message)
        .field("--assumptions")
        .value(assumptions.id.clone())
        .accepted("assumptions with a table `[training]`")
        .help("use `calibrated`, or add the table to your own")
}

/// Longest sequence that anything was trained on, and more.
const LONGEST_SEQUENCE: u32 = 1 << 27;

/// Largest batch and micro-batch, in sequences.
const LARGEST_BATCH: u32 = 1 << 20;
