//! The answers, in the words of the contract's JSON.

use super::bill::BomLine;
use super::interval::Intervals;
use super::rejection::RejectionAnswer;
use crate::cost::Cost;
use crate::hardware::Owned;
use crate::load::serving::{Overlap, Speculation};
use crate::memory::ServingMemory;
use crate::parallel::Layout;
use crate::serving::{Decode, Mixed, Prefill};
use serde::Serialize;

/// The messages of a step of one micro-batch.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Messages {
    /// Activations of a micro-batch.
    pub payload_bytes: f64,
    /// One all-reduce over the tensor-parallel group.
    pub all_reduce_seconds: f64,
    /// All-reduces on the path of a token.
    pub all_reduces: f64,
    /// All hops of a micro-batch.
    pub hops_seconds: f64,
}

/// Where a replica runs.
#[derive(Clone, Debug, Serialize)]
pub struct HardwareAnswer {
    /// Host id.
    pub host: String,
    /// Hosts of one unit, or of one replica where nothing is bought.
    pub hosts: u32,
    /// Link that a tensor-parallel group uses.
    pub link: String,
    /// Network id.
    pub network: Option<String>,
    /// NICs of a host.
    pub nics_per_host: u32,
    /// Switch id.
    pub switch: Option<String>,
    /// Switches of a unit.
    pub switch_count: u32,
    /// Blocks of ports of a unit, where ports are sold in blocks.
    pub switch_port_blocks: u32,
    /// Rack units of a unit; none of what stands in no rack, or is rented.
    pub rack_units: f64,
    /// Terms of an instance that is rented.
    pub terms: Option<String>,
    /// Share of the time that it is at work.
    pub goodput: Option<f64>,
    /// What of a unit is there already.
    #[serde(skip_serializing_if = "Owned::is_none")]
    pub owned: Owned,
}

/// What a configuration does, as a plan records it.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Evaluation {
    /// Whether it works.
    pub feasible: bool,
    /// Why not.
    pub rejections: Vec<RejectionAnswer>,
    /// Memory of the fullest accelerator; none where the layout cannot be laid out.
    pub memory: Option<ServingMemory>,
    /// One token of every sequence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decode: Option<Decode>,
    /// A prompt read alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefill: Option<Prefill>,
    /// The last chunk of a prompt beside the decoding batch.
    pub mixed: Option<Mixed>,
    /// Tokens of KV cache that a replica holds, in sequences of the question's context.
    pub kv_capacity_tokens: Option<f64>,
    /// Money, where everything has a price.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
    /// Draw at work, where it is known.
    pub power_watts: Option<f64>,
    /// Messages of a step.
    pub messages: Option<Messages>,
    /// Hosts of one replica.
    pub hosts: Option<u32>,
    /// Accelerators of one replica.
    pub accelerators: u32,
    /// What figures are expected to lie in.
    pub intervals: Intervals,
}

/// One configuration: what it is, and what it does.
#[derive(Clone, Debug, Serialize)]
pub struct EvaluationAnswer {
    /// What it does.
    #[serde(flatten)]
    pub evaluation: Evaluation,
    /// How it is spread.
    pub candidate: Candidate,
    /// Where it runs.
    pub hardware: HardwareAnswer,
    /// Replicas.
    pub replicas: u32,
    /// Parts, where everything has a price.
    pub bill_of_materials: Vec<BomLine>,
}

/// How a model is spread over accelerators.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Candidate {
    /// Accelerator id.
    pub accelerator: String,
    /// Tensor-parallel degree.
    pub tp: u32,
    /// Pipeline stages.
    pub pp: u32,
    /// Context-parallel degree.
    pub cp: u32,
    /// Attention data-parallel degree.
    pub dp: u32,
    /// Expert-parallel degree.
    pub ep: u32,
    /// Sequences of a micro-batch.
    pub batch: u32,
    /// Micro-batches in flight.
    pub in_flight: u32,
    /// `none` or `two-batch`.
    pub overlap: &'static str,
    /// Format of the weights.
    pub weights: &'static str,
    /// Format of the KV cache.
    pub kv: &'static str,
    /// What drafts, if anything does.
    #[serde(flatten)]
    pub drafted: Option<Drafted>,
    /// Layers of each stage whose weights rest in the host, if any may.
    pub offload: Option<u32>,
    /// `host` for its memory, or `disk`.
    pub offload_to: Option<String>,
    /// Adapters that accelerators hold.
    pub lora_adapters: Option<u32>,
    /// Their rank.
    pub lora_rank: Option<u32>,
    /// Tokens of a prompt that come from images.
    pub image_tokens: Option<u64>,
    /// Patches that they are made of.
    pub image_patches: Option<f64>,
    /// Parameters of what makes them.
    pub encoder_parameters: Option<f64>,
}

/// What drafts tokens that the model checks.
#[derive(Clone, Debug, Serialize)]
pub struct Drafted {
    /// `mtp`, or a smaller model.
    pub draft: String,
    /// Tokens drafted ahead of a check.
    pub draft_tokens: u32,
    /// Chance that one of them is accepted.
    pub acceptance: f64,
}

impl Drafted {
    /// As it was asked for.
    pub fn by(draft: &str, speculation: Speculation) -> Self {
        Self {
            draft: draft.to_owned(),
            draft_tokens: speculation.tokens,
            acceptance: speculation.acceptance,
        }
    }
}

impl Candidate {
    /// A layout; on what, and in which formats, is open.
    pub fn laid(layout: Layout, overlap: Overlap) -> Self {
        Self {
            tp: layout.tp,
            pp: layout.pp,
            cp: layout.cp,
            dp: layout.dp,
            ep: layout.ep,
            batch: layout.batch,
            in_flight: layout.in_flight,
            overlap: match overlap {
                Overlap::None => "none",
                Overlap::TwoBatch => "two-batch",
            },
            ..Self::default()
        }
    }
}
