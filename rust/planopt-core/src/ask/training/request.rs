//! What is asked about training, in SI units and catalog ids.

use serde::Deserialize;

use crate::ask::ModelRequest;

/// One configuration of a training run, whether or not it works.
///
/// Every count defaults to 1 and every choice to the commonest one, so that a script names only
/// what it means to vary.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
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
    /// it, memory and the division into parts stay computed.
    #[serde(default)]
    pub mfu: Option<f64>,
}

fn one() -> u32 {
    1
}

fn yes() -> bool {
    true
}

impl EvaluateTraining {
    /// The part that names the model.
    pub fn model(&self) -> ModelRequest {
        ModelRequest {
            model: self.model.clone(),
            kv_heads: self.kv_heads,
        }
    }
}
