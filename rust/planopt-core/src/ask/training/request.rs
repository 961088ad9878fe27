//! What is asked about training, in SI units and catalog ids.

use serde::Deserialize;

use crate::ask::ModelRequest;
use crate::ask::request::{
    LARGEST_CLUSTER, LARGEST_COUNT, LARGEST_NICS, format_named, unknown_name, wrong_option,
};
use crate::catalog::Format;
use crate::diagnostic::{Diagnostic, Problems};
use crate::training::{
    Adapters, ContextParallel, FlopsConvention, Layout, Optimizer, Precision, Recipe, Recompute,
    Schedule, Sharding,
};
use crate::transformer::{MOST_MTP_MODULES, Transformer};

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
    /// `bf16` (default), `fp16`, `fp8` or `fp32`.
    #[serde(default)]
    pub precision: Option<String>,
    /// Format that gradients are summed and reduced in: `fp32` (default), `bf16` or `fp16`.
    #[serde(default)]
    pub gradients: Option<String>,
    /// `adam` (default), `adam8bit`, `sgd`, `adafactor` or `muon`.
    #[serde(default)]
    pub optimizer: Option<String>,
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
/// Tokens of a sequence where none are given.
const SEQUENCE: u32 = 4096;
/// Longest sequence that anything was trained on, and more.
const LONGEST_SEQUENCE: u32 = 1 << 27;
/// Largest batch and micro-batch, in sequences.
const LARGEST_BATCH: u32 = 1 << 20;

const SCHEDULES: [(&str, Schedule); 3] = [
    ("gpipe", Schedule::GPipe),
    ("1f1b", Schedule::OneForwardOneBackward),
    ("interleaved", Schedule::Interleaved),
];
const CONTEXT_PARALLEL: [(&str, ContextParallel); 2] = [
    ("ring", ContextParallel::Ring),
    ("all-to-all", ContextParallel::AllToAll),
];
pub(super) const SHARDINGS: [(&str, Sharding); 4] = [
    ("none", Sharding::None),
    ("zero1", Sharding::Zero1),
    ("zero2", Sharding::Zero2),
    ("zero3", Sharding::Zero3),
];
const PRECISIONS: [(&str, Precision); 4] = [
    ("bf16", Precision::Bf16),
    ("fp16", Precision::Fp16),
    ("fp8", Precision::Fp8),
    ("fp32", Precision::Fp32),
];
const GRADIENTS: [(&str, Format); 3] = [
    ("fp32", Format::Fp32),
    ("bf16", Format::Bf16),
    ("fp16", Format::Fp16),
];
const OPTIMIZERS: [(&str, Optimizer); 5] = [
    ("adam", Optimizer::Adam),
    ("adam8bit", Optimizer::Adam8bit),
    ("sgd", Optimizer::Sgd),
    ("adafactor", Optimizer::Adafactor),
    ("muon", Optimizer::Muon),
];
const OFFLOADS: [&str; 2] = ["optimizer", "activations"];

/// What a word stands for, the first choice where none is given.
fn chosen<T: Copy>(
    option: &str,
    word: Option<&str>,
    choices: &[(&str, T)],
    problems: &mut Problems,
) -> T {
    let default = choices[0].1;
    let Some(word) = word else {
        return default;
    };
    let named = choices.iter().find(|(name, _)| *name == word);
    named.map_or_else(
        || {
            let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
            problems.push(unknown_name(option, word, names.join(", ")));
            default
        },
        |(_, choice)| *choice,
    )
}

impl EvaluateTraining {
    /// The part that names the model.
    pub fn model(&self) -> ModelRequest {
        ModelRequest {
            model: self.model.clone(),
            kv_heads: self.kv_heads,
        }
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
            adapters: self.lora_rank.map(|rank| Adapters {
                rank,
                frozen: frozen.unwrap_or(match precision {
                    Precision::Fp8 => Format::Bf16,
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
            micro_batch: self.micro_batch,
            recompute: recompute(self.recompute.as_deref(), &mut problems),
            sharding: chosen("shard", self.shard.as_deref(), &SHARDINGS, &mut problems),
            shard_group: self.shard_group,
            offload_optimizer: offloads("optimizer"),
            offload_activations: offloads("activations"),
        };
        problems.unless_any(layout)
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

/// `none`, `selective`, `full`, `block:K` or `layers:K`.
fn recompute(word: Option<&str>, problems: &mut Problems) -> Recompute {
    let parsed = match word {
        None | Some("none") => Some(Recompute::None),
        Some("selective") => Some(Recompute::Selective),
        Some("full") => Some(Recompute::Full),
        Some(other) => other.split_once(':').and_then(|(kind, count)| {
            let count = count.parse().ok().filter(|count| *count > 0)?;
            match kind {
                "block" => Some(Recompute::Block(count)),
                "layers" => Some(Recompute::Layers(count)),
                _ => None,
            }
        }),
    };
    parsed.unwrap_or_else(|| {
        let accepted = "none, selective, full, block:K or layers:K with K from 1".to_owned();
        problems.push(unknown_name(
            "recompute",
            word.unwrap_or_default(),
            accepted,
        ));
        Recompute::None
    })
}
