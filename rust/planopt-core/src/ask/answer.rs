//! The answers, in the words of the contract's JSON.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::bill::BillLine;
use crate::cost::Cost;
use crate::memory::ServingMemory;
use crate::search::{Nearest, Tally};
use crate::serving::{Decode, Mixed, Percentiles, Prefill};

/// A rejection with its sentence.
#[derive(Clone, Debug, Serialize)]
pub struct RejectionAnswer {
    /// Short name.
    pub code: &'static str,
    /// The sentence, with the numbers.
    pub message: String,
    /// The numbers by name.
    pub numbers: BTreeMap<&'static str, serde_json::Value>,
}

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

/// A line of a bill of materials in dollars.
#[derive(Clone, Debug, Serialize)]
pub struct BillAnswer {
    /// Kind of part.
    pub kind: &'static str,
    /// Catalog or part id.
    pub id: String,
    /// Full name.
    pub name: String,
    /// How many.
    pub quantity: u32,
    /// Price of one, in micro-dollars.
    pub unit_price_micro_usd: i64,
}

impl From<&BillLine> for BillAnswer {
    fn from(line: &BillLine) -> Self {
        Self {
            kind: line.kind,
            id: line.id.clone(),
            name: line.name.clone(),
            quantity: line.quantity,
            unit_price_micro_usd: line.unit_price.0,
        }
    }
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
    pub bill_of_materials: Vec<BillAnswer>,
}

/// The fastest layout on a purchase.
#[derive(Clone, Debug, Serialize)]
pub struct FastestAnswer {
    /// Tensor-parallel degree.
    pub tp: u32,
    /// Context-parallel degree.
    pub cp: u32,
    /// Attention data-parallel degree.
    pub dp: u32,
    /// Expert-parallel degree.
    pub ep: u32,
    /// Pipeline stages.
    pub pp: u32,
    /// Sequences of a micro-batch.
    pub batch: u32,
    /// Replicas of a unit.
    pub unit_replicas: u32,
    /// The configuration, of one unit.
    pub evaluation: EvaluationAnswer,
}

/// The units found, as columns of one length.
#[derive(Clone, Debug, Default, Serialize)]
pub struct UnitColumns {
    /// Accelerator ids.
    pub accelerator: Vec<String>,
    /// Host ids.
    pub host: Vec<String>,
    /// Terms of rented hosts.
    pub terms: Vec<Option<String>>,
    /// Share of the time that the host is there and at work.
    pub goodput: Vec<f64>,
    /// Network ids.
    pub network: Vec<Option<String>>,
    /// NICs of a host.
    pub nics_per_host: Vec<u32>,
    /// Switch ids.
    pub switch: Vec<Option<String>>,
    /// Blocks of ports.
    pub switch_port_blocks: Vec<u32>,
    /// Hosts of the unit.
    pub hosts: Vec<u32>,
    /// Accelerators that come with it.
    pub accelerators: Vec<u32>,
    /// Tensor-parallel degree.
    pub tp: Vec<u32>,
    /// Context-parallel degree.
    pub cp: Vec<u32>,
    /// Attention data-parallel degree.
    pub dp: Vec<u32>,
    /// Expert-parallel degree.
    pub ep: Vec<u32>,
    /// Pipeline stages.
    pub pp: Vec<u32>,
    /// Sequences of a micro-batch.
    pub batch: Vec<u32>,
    /// Micro-batches in flight.
    pub in_flight: Vec<u32>,
    /// Replicas of the unit.
    pub replicas: Vec<u32>,
    /// Users of the unit.
    pub users: Vec<u64>,
    /// Tokens per second of each user.
    pub tokens_per_second_per_user: Vec<f64>,
    /// Tokens per second of the unit.
    pub tokens_per_second: Vec<f64>,
    /// Price, in micro-dollars; of a rented unit, that of an hour.
    pub price_micro_usd: Vec<i64>,
    /// Draw at work.
    pub power_watts: Vec<f64>,
    /// Rack units.
    pub rack_units: Vec<f64>,
    /// Written off, electricity and hosting, or the rent of an hour, busy or not.
    pub usd_per_hour: Vec<f64>,
    /// Whether copies of it are one of the cheapest builds.
    pub is_build: Vec<bool>,
}

/// What a search found.
#[derive(Clone, Debug, Serialize)]
pub struct SearchAnswer {
    /// The units.
    pub units: UnitColumns,
    /// Candidates in the space.
    pub covered: u64,
    /// Candidates whose speed was computed.
    pub evaluated: u64,
    /// Why others were rejected.
    pub rejected: Tally,
    /// How close they came.
    pub nearest: Nearest,
    /// Whether any unit was beyond the cap on prices.
    pub is_cut_by_price: bool,
    /// Whether any host of the space has accelerators that all-reduce over its PCIe.
    pub reduces_over_pcie: bool,
    /// Whether it was stopped before its end.
    pub interrupted: bool,
    /// Format of the weights that it was about.
    pub weights: &'static str,
    /// Format of the KV cache.
    pub kv: &'static str,
}
