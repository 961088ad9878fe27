//! What is asked about training, in SI units and catalog ids.

use serde::Deserialize;

use super::words::{
    CONTEXT_PARALLEL, GRADIENTS, OFFLOADS, OPTIMIZERS, PRECISIONS, SCHEDULES, SHARDINGS, chosen,
    recompute,
};
use crate::ask::ModelRequest;
use crate::ask::request::{unknown_name, wrong_option};
use crate::ask::served::format_named;
use crate::catalog::{Assumptions, Format};
use crate::diagnostic::{Diagnostic, Problems};
use crate::training::{Adapters, FlopsConvention, Layout, Recipe};
use crate::transformer::Transformer;

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
}
