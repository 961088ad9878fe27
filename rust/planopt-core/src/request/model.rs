//! What is served: which model, in which formats, at which context, and what drafts for it.

use crate::catalog::Catalog;
use crate::diagnostic::Diagnostic;
use crate::diagnostic::option::wrong_option;
use crate::document::{ModelAnswer, OperationAnswer};
use crate::format::{Format, Formats, Stored};
use crate::load::serving::{Adapters, Encoder, Overlap, Question, Speculation};
use crate::quantity::{BITS_PER_BYTE, real};
use crate::transformer::{Drafter, Operation, Transformer, set_kv_heads};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Which model.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ModelRequest {
    /// Catalog id, or path of a Hugging Face `config.json`.
    pub name: String,
    /// Key/value heads in place of the model's own (the seed article asks for 64 and for 8).
    pub kv_heads: Option<u64>,
}

/// Which model, and how it is served.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ServedModel {
    /// Catalog id, or path of a Hugging Face `config.json`.
    pub name: String,
    /// Key/value heads in place of the model's own.
    pub kv_heads: Option<u64>,
    /// Format of the weights in place of the published one.
    pub weights: Option<String>,
    /// Format of the KV cache in place of that of the activations.
    pub kv: Option<String>,
    /// Bits of a quantised weight in the checkpoint, in place of its format's.
    pub weight_bits: Option<f64>,
    /// Bits of a weight of its head, in place of its format's.
    pub head_bits: Option<f64>,
    /// Whether communication hides behind the arithmetic of another batch.
    #[serde(default)]
    pub overlap: Overlap,
    /// What drafts tokens: `mtp`, or a model as [`ModelRequest::name`].
    pub draft: Option<String>,
    /// Tokens drafted ahead of a check.
    pub draft_tokens: Option<u32>,
    /// Chance that one of them is accepted.
    pub acceptance: Option<f64>,
    /// Adapters of low rank that accelerators hold.
    pub lora_adapters: Option<u32>,
    /// Their rank.
    pub lora_rank: Option<u32>,
    /// Parameters of what encodes the images of a prompt.
    pub encoder_parameters: Option<f64>,
    /// Tokens of a prompt that come from images; they are counted in it.
    pub image_tokens: Option<u64>,
    /// Patches of the images of a prompt.
    pub image_patches: Option<f64>,
}

/// To which prompts.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Prompts {
    /// Tokens of a prompt.
    pub prompt: u64,
    /// Tokens cached per sequence when speed is judged.
    pub context: u64,
}

/// What serves it, in place of what the assumptions say.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Engine {
    /// One of the engines of the assumptions; kernels as measured where there is none.
    pub name: Option<String>,
    /// Latency of every message, in seconds.
    pub software_latency_seconds: Option<f64>,
    /// Share of an accelerator's memory that the engine plans with.
    pub usable_fraction: Option<f64>,
    /// Class of PCIe all-reduce.
    pub pcie_all_reduce: Option<String>,
    /// Tokens of a step of an engine that reads prompts in chunks of so many.
    pub step_tokens: Option<u32>,
    /// Tokens of the largest step with prompts that a graph was captured for.
    pub graph_tokens: Option<u32>,
    /// How many times longer than predicted steps take, by accelerator.
    pub slower: BTreeMap<String, f64>,
}

impl ModelRequest {
    /// A model as it is.
    pub fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            kv_heads: None,
        }
    }

    /// The model as a list of operations.
    pub fn transformer(&self, catalog: &Catalog) -> Result<Transformer, Vec<Diagnostic>> {
        let mut architecture = catalog.architecture(&self.name)?;
        if let Some(kv_heads) = self.kv_heads {
            set_kv_heads(&mut architecture, kv_heads)?;
        }
        Ok(Transformer::from(&architecture))
    }
}

/// A state cannot be taken back where a drafted token is not accepted, as a cache can.
fn drafting_with_states(draft: &str) -> Diagnostic {
    let accepted = "models without state-space layers, on both sides: states that are taken back \
                    are not modelled";
    wrong_option("draft", draft, accepted)
}

/// Tokens drafted ahead of a check, at most: beyond what any engine drafts.
const MOST_DRAFTED: u32 = 64;

impl ServedModel {
    /// The model as a list of operations, with what drafts for it.
    pub fn transformer(&self, catalog: &Catalog) -> Result<Transformer, Vec<Diagnostic>> {
        let model = ModelRequest {
            name: self.name.clone(),
            kv_heads: self.kv_heads,
        };
        let mut transformer = model.transformer(catalog)?;
        if let Some(draft) = self
            .draft
            .as_ref()
            .filter(|_| transformer.has_state_space())
        {
            return Err(vec![drafting_with_states(draft)]);
        }
        transformer.drafter = match self.draft.as_deref() {
            None => None,
            Some("mtp") => Some(Drafter::Mtp),
            Some(model) => {
                let drafts = ModelRequest::named(model).transformer(catalog);
                let drafts = drafts.map_err(|problems| {
                    let of_draft = |problem: Diagnostic| problem.field("--draft");
                    problems.into_iter().map(of_draft).collect::<Vec<_>>()
                })?;
                if drafts.has_state_space() {
                    return Err(vec![drafting_with_states(model)]);
                }
                Some(Drafter::Model(Box::new(drafts)))
            }
        };
        if matches!(transformer.drafter, Some(Drafter::Mtp)) && transformer.mtp_modules == 0 {
            let accepted = "a smaller model: this one has no multi-token prediction";
            return Err(vec![wrong_option("draft", "mtp", accepted)]);
        }
        Ok(transformer)
    }

    fn speculation(&self, problems: &mut Vec<Diagnostic>) -> Option<Speculation> {
        self.draft.as_ref()?;
        let (tokens, acceptance) = (self.draft_tokens.unwrap_or(1), self.acceptance?);
        if !(1..=MOST_DRAFTED).contains(&tokens) {
            let accepted = format!("a whole number from 1 to {MOST_DRAFTED}");
            problems.push(wrong_option("draft_tokens", &tokens, accepted));
        }
        if !(0.0..=1.0).contains(&acceptance) {
            let accepted = "a share from 0 to 1";
            problems.push(wrong_option("acceptance", &acceptance, accepted));
        }
        Some(Speculation { tokens, acceptance })
    }

    fn adapters(
        &self,
        transformer: &Transformer,
        problems: &mut Vec<Diagnostic>,
    ) -> Option<Adapters> {
        let count = self.lora_adapters.filter(|&count| count > 0)?;
        let rank = self.lora_rank?;
        if !(1..=transformer.hidden).contains(&u64::from(rank)) {
            let accepted = format!("a whole number from 1 to the width, {}", transformer.hidden);
            problems.push(wrong_option("lora_rank", &rank, accepted));
        }
        Some(Adapters { count, rank })
    }

    fn encoder(&self, prompt: u64, problems: &mut Vec<Diagnostic>) -> Option<Encoder> {
        let (parameters, patches) = (self.encoder_parameters?, self.image_patches?);
        for (option, given) in [
            ("encoder_parameters", parameters),
            ("image_tokens", patches),
        ] {
            if !(given.is_finite() && given >= 0.0) {
                let accepted = "a number above 0";
                problems.push(wrong_option(option, &given, accepted));
            }
        }
        (parameters > 0.0).then(|| Encoder {
            parameters,
            tokens: self.image_tokens.unwrap_or(0),
            patches,
            patches_per_token: patches / real(prompt.max(1)),
        })
    }

    /// The formats, those that the model is published in where none are given.
    ///
    /// # Errors
    ///
    /// Unknown formats, with what would be accepted.
    pub fn formats(&self, transformer: &Transformer) -> Result<Formats, Vec<Diagnostic>> {
        let mut problems = Vec::new();
        let weights = format_named("weights", self.weights.as_deref(), &mut problems)
            .unwrap_or(transformer.weights);
        let kv = format_named("kv", self.kv.as_deref(), &mut problems).unwrap_or(match weights {
            Format::Fp32 => Format::Fp32,
            _ => Format::Bf16,
        });
        if !problems.is_empty() {
            return Err(problems);
        }
        let bytes = |bits: f64| bits / BITS_PER_BYTE;
        Ok(Formats {
            stored: Stored {
                weights: self.weight_bits.map(bytes),
                head: self.head_bits.map(bytes),
            },
            ..Formats::new(weights, kv)
        })
    }

    /// The question.
    ///
    /// # Errors
    ///
    /// Unknown formats, and numbers that cannot be, with what would be accepted.
    pub fn question(
        &self,
        workload: &Prompts,
        transformer: &Transformer,
    ) -> Result<Question, Vec<Diagnostic>> {
        let mut problems = Vec::new();
        let formats = self
            .formats(transformer)
            .map_err(|wrong| problems.extend(wrong));
        let speculation = self.speculation(&mut problems);
        let adapters = self.adapters(transformer, &mut problems);
        let encoder = self.encoder(workload.prompt, &mut problems);
        let Ok(formats) = formats else {
            return Err(problems);
        };
        if !problems.is_empty() {
            return Err(problems);
        }
        Ok(Question {
            formats,
            context: workload.context,
            prompt: workload.prompt,
            overlap: self.overlap,
            speculation,
            offload: None,
            adapters,
            encoder,
            context_ranks: None,
            allow_odd: false,
        })
    }
}

/// The format of that name, or a problem.
pub(super) fn format_named(
    option: &str,
    name: Option<&str>,
    problems: &mut Vec<Diagnostic>,
) -> Option<Format> {
    let name = name?;
    let format = Format::from_name(name);
    if format.is_none() {
        problems.push(unknown_format(name).field(format!("--{option}")));
    }
    format
}

/// A format that does not exist, with the nearest ones.
pub(super) fn unknown_format(name: &str) -> Diagnostic {
    Diagnostic::unknown_name("format", name, Format::all().map(Format::name))
}

/// Describes a model.
pub fn describe_model(
    catalog: &Catalog,
    request: &ModelRequest,
) -> Result<ModelAnswer, Vec<Diagnostic>> {
    let transformer = request.transformer(catalog)?;
    let mut operations = Vec::new();
    let mut describe = |list: &[Operation], count: usize| {
        operations.extend(list.iter().map(|operation| OperationAnswer {
            name: operation.name,
            count,
            parameters: operation.parameters,
            flop_per_token: operation.flop_per_token(),
            key_value_weights: operation.key_value_weights(),
            key_value_flop_per_token: operation.key_value_flop_per_token(),
        }));
    };
    describe(&transformer.embedding, 1);
    for (kind, block) in transformer.blocks.iter().enumerate() {
        let count = transformer
            .layers
            .iter()
            .filter(|&&layer| layer == kind)
            .count();
        describe(&block.operations, count);
    }
    describe(&transformer.head, 1);
    let modules = transformer.mtp_modules;
    if modules > 0 {
        let module: Vec<Operation> = transformer.mtp_operations().cloned().collect();
        describe(&module, modules as usize);
    }
    Ok(ModelAnswer {
        parameters: transformer.parameters(),
        active_parameters: transformer.active_parameters(),
        mtp_modules: modules,
        mtp_parameters: u64::from(modules) * transformer.mtp_parameters(),
        outside: transformer.outside.clone(),
        weights: transformer.weights.name(),
        max_context: transformer.max_context,
        hidden: transformer.hidden,
        heads: transformer.heads,
        layers: transformer.layers.len(),
        operations,
        id: transformer.id,
        name: transformer.name,
    })
}
