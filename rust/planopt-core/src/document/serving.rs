//! The answers, in the words of the contract's JSON.

use super::bill::BomLine;
use super::rejection::RejectionAnswer;
use crate::cost::Cost;
use crate::memory::ServingMemory;
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
}

/// One configuration.
#[derive(Clone, Debug, Serialize)]
pub struct EvaluationAnswer {
    /// Whether it works.
    pub feasible: bool,
    /// Why not.
    pub rejections: Vec<RejectionAnswer>,
    /// Memory of the fullest accelerator; none where the layout cannot be laid out.
    pub memory: Option<ServingMemory>,
    /// One token of every sequence.
    pub decode: Option<Decode>,
    /// A prompt read alone.
    pub prefill: Option<Prefill>,
    /// The last chunk of a prompt beside the decoding batch.
    pub mixed: Option<Mixed>,
    /// Tokens of KV cache that a replica holds, in sequences of the question's context.
    pub kv_capacity_tokens: Option<f64>,
    /// Time to first token under load; not modelled yet.
    pub ttft_seconds: Percentiles,
    /// Time per output token under load; not modelled yet.
    pub tpot_seconds: Percentiles,
    /// Money, where everything has a price.
    pub cost: Option<Cost>,
    /// Draw at work, where it is known.
    pub power_watts: Option<f64>,
    /// Messages of a step.
    pub messages: Option<Messages>,
    /// Hosts of one replica.
    pub hosts: Option<u32>,
    /// Accelerators of one replica.
    pub accelerators: u32,
    /// Where it runs.
    pub hardware: HardwareAnswer,
    /// Formats that were evaluated.
    pub weights: &'static str,
    /// Format of the KV cache.
    pub kv: &'static str,
    /// Micro-batches in flight.
    pub in_flight: u32,
    /// Layers of each stage whose weights rest in the host, if any may.
    pub offload: Option<u32>,
    /// Replicas.
    pub replicas: u32,
    /// Parts, where everything has a price.
    pub bill_of_materials: Vec<BomLine>,
}

/// Mean and percentiles of a latency; null until arrivals are modelled.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Percentiles {
    /// Mean.
    pub mean: Option<f64>,
    /// Median.
    pub p50: Option<f64>,
    /// 95th percentile.
    pub p95: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
}
