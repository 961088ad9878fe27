//! The scan of a state-space layer (Mamba-2, arXiv 2405.21060; delta rules, arXiv 2412.06464) when
//! serving: prompts in chunks as products, what decodes by reading and writing the state of each
//! sequence.
//! Formulas: `docs/reference/serving.md`, section 14.

use super::step::{OperationTime, Step};
use crate::format::Formats;
use crate::hardware::{Rates, saturation};
use crate::quantity::{Bytes, real};
use crate::transformer::{Rule, StateSpace};

/// States are kept, and go from chunk to chunk, in 32 bits.
pub(super) const STATE_ELEMENT: f64 = 4.0;

/// Times that the state of a chunk is moved: written, read and written by the pass over chunks, and
/// read.
pub(super) const STATE_PASSES: f64 = 4.0;

/// Times that elements of the convolution, and of the gated normalisation, are moved.
const CONVOLUTION_PASSES: f64 = 2.0;

const NORMALISATION_PASSES: f64 = 3.0;

/// What a sequence leaves in one layer on one of `tp` ranks: the state of each head, and the tokens
/// that the convolution still reads.
pub(super) fn state(mixer: &StateSpace, formats: Formats, tp: u32) -> Bytes {
    let elements = real(mixer.inner() * mixer.state);
    let convolved = real(mixer.convolved() * mixer.conv.saturating_sub(1));
    let bytes = elements * STATE_ELEMENT + convolved * formats.activation_bytes();
    Bytes(bytes / f64::from(tp))
}

/// A scan with seconds per unit of work.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScanPrice {
    /// Arithmetic of one token of a long prompt.
    prefill_compute: f64,
    half_prompt: f64,
    /// Memory traffic of one token of a prompt.
    prefill_memory: f64,
    /// Arithmetic of one decoded token.
    decode_compute: f64,
    /// Reading and writing the state of one sequence.
    state_memory: f64,
    /// Convolution and normalisation of one token.
    memory_per_token: f64,
}

impl ScanPrice {
    pub(super) fn new(mixer: &StateSpace, formats: Formats, rates: &Rates, tp: u32) -> Self {
        let tp_share = f64::from(tp);
        let inner = real(mixer.inner()) / tp_share;
        let state_width = real(mixer.state);
        let chunk = real(mixer.chunk);
        let of_states = 2.0 * real(mixer.state_products()) * inner * state_width;
        let within_chunk = match mixer.rule {
            Rule::Convolution => 0.0,
            Rule::Decay => {
                2.0 * real(mixer.groups) / tp_share * chunk * state_width + 2.0 * inner * chunk
            }
            // Scores of keys and of queries, and keys and values as the keys before leave them.
            Rule::GatedDelta | Rule::KimiDelta => {
                6.0 * real(mixer.heads) / tp_share * chunk * state_width + 4.0 * inner * chunk
            }
        };
        let flop = within_chunk + of_states;
        let around =
            CONVOLUTION_PASSES * real(mixer.convolved()) / tp_share + NORMALISATION_PASSES * inner;
        let compute = &rates.compute;
        let memory_per_token = if compute.activation_traffic {
            around * formats.activation_bytes() / rates.served_memory().0
        } else {
            0.0
        };
        let state_rate = (rates.bandwidth * compute.kv_bandwidth_efficiency).0;
        let carried = inner * state_width * STATE_ELEMENT * STATE_PASSES / chunk;
        Self {
            prefill_compute: flop / (rates.base.0 * compute.attention_efficiency),
            half_prompt: compute.half_prompt,
            prefill_memory: carried / state_rate + memory_per_token,
            decode_compute: of_states / (rates.base.0 * compute.decode_attention_efficiency),
            state_memory: 2.0 * state(mixer, formats, tp).0 / state_rate,
            memory_per_token,
        }
    }

    /// Each part of a step has its own kernel.
    pub(super) fn time(self, step: Step, overlap: f64, overhead: f64) -> OperationTime {
        let mut time = OperationTime::default();
        if step.prompts > 0.0 {
            let tokens = step.prompts * step.chunk;
            let reached = saturation(step.chunk, self.half_prompt);
            time = time.then(OperationTime::roofline(
                tokens * self.prefill_compute / reached,
                tokens * self.prefill_memory + step.prompts * self.state_memory,
                overlap,
                overhead,
            ));
        }
        if step.sequences > 0.0 {
            time = time.then(OperationTime::roofline(
                step.sequences * self.decode_compute,
                step.sequences * (self.state_memory + self.memory_per_token),
                overlap,
                overhead,
            ));
        }
        time
    }
}
