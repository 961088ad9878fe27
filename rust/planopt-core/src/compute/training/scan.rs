//! The scan of a state-space layer (Mamba-2, arXiv 2405.21060, section 6; delta rules, arXiv
//! 2406.06484, section 3): within chunks of a sequence as products, from chunk to chunk by the states
//! that they leave.

use super::layer::LayerCost;
use super::pricing::Pricing;
use crate::compute::scan::{STATE_ELEMENT, STATE_PASSES};
use crate::quantity::{Bytes, real};
use crate::transformer::{Rule, StateSpace};

/// Products of backward for each one of forward.
const GRADIENTS: f64 = 2.0;

impl Pricing<'_> {
    /// Convolution, scan, and the gated normalisation behind it.
    ///
    /// Kept are the columns of the projection inward and what the scan leaves; convolution, scores
    /// and states are recomputed in backward (`state-spaces/mamba`,
    /// `mamba_split_conv1d_scan_combined`).
    pub(super) fn scan(&self, mixer: &StateSpace, cost: &mut LayerCost) {
        let (tokens, tp, element) = (self.tokens(), self.tp(), self.activation());
        let (heads, groups) = (real(mixer.heads) / tp, real(mixer.groups) / tp);
        let (width, state, chunk) = (real(mixer.head_dim), real(mixer.state), real(mixer.chunk));
        let inner = heads * width;
        let convolved = inner + 2.0 * groups * state;
        let chunks = tokens / chunk;

        // Read and written; in backward recomputed, its gradient read and that of its input written.
        self.pass(cost, convolved, (2.0, 5.0), 0.0);

        let product = |matrices: f64, shape| self.base_product(matrices, shape);
        let within = |columns: f64| product(chunks * heads, (chunk, columns, chunk));
        let across = || product(chunks * heads, (chunk, width, state));
        let of_chunks = match mixer.rule {
            Rule::Convolution => None,
            Rule::Decay => Some(product(chunks * groups, (chunk, chunk, state))),
            // Scores of keys and of queries; keys and values as the keys before leave them, less
            // what the state says of them.
            Rule::GatedDelta | Rule::KimiDelta => Some(
                product(2.0 * chunks * heads, (chunk, chunk, state))
                    + within(state)
                    + within(width)
                    + across(),
            ),
        };
        if let Some(of_chunks) = of_chunks {
            let states = product(chunks * heads, (width, state, chunk));
            let carried = chunks * heads * width * state * STATE_ELEMENT * STATE_PASSES;
            let passed = Bytes(carried) / self.rates.memory + self.launch();
            let slower = self.training.framework.scan;
            let recomputed = (of_chunks + states + passed) * slower;
            let forward = recomputed + (within(width) + across()) * slower;
            cost.forward += forward;
            cost.backward += forward * GRADIENTS + recomputed;
            cost.forward_kernels += SCAN_KERNELS;
            cost.backward_kernels += SCAN_KERNELS * GRADIENTS;
        }

        // What the scan leaves and its gate are read, their product written.
        self.pass(cost, inner, (3.0, 5.0), 0.0);
        let columns = real(mixer.columns()) / tp;
        cost.kept += Bytes(tokens * (columns + inner) * element);
        let pair = chunk * chunk;
        let flop = chunks
            * match mixer.rule {
                Rule::Convolution => 0.0,
                Rule::Decay => {
                    2.0 * groups * pair * state + 2.0 * inner * pair + 4.0 * inner * chunk * state
                }
                Rule::GatedDelta | Rule::KimiDelta => {
                    6.0 * heads * pair * state + 4.0 * inner * pair + 6.0 * inner * chunk * state
                }
            };
        cost.forward_flop += flop;
    }
}

/// Kernels of a scan: sums of time steps, states, their pass over chunks, scores, outputs
/// (`mamba_chunk_scan_combined`).
const SCAN_KERNELS: f64 = 5.0;
