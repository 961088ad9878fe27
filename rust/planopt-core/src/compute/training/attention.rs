//! Attention of training: over a whole sequence, with what backward keeps of it and what
//! context-parallel ranks send each other.

use super::heads::Heads;
use super::layer::LayerCost;
use super::pricing::{MASK, Pricing};
use crate::compute::shape::causal_mean;
use crate::hardware::saturation;
use crate::parallel::{ContextParallel, Module};
use crate::quantity::{Bytes, Seconds, real};
use crate::transformer::{Operation, Work};

/// The log-sum-exp of a row that attention without stored probabilities keeps (arXiv 2205.14135).
const LOG_SUM: f64 = 4.0;

/// Arithmetic of its backward over its forward: five products, two of them scores again
/// (arXiv 2307.08691, section 3).
const FLASH_BACKWARD: f64 = 2.5;

/// Share of the scores that a causal softmax reads (`NVIDIA/Megatron-LM`,
/// `scaled_upper_triang_masked_softmax`).
const CAUSAL_SHARE: f64 = 0.5;

/// Kernels of attention with stored probabilities: two products and a softmax forward, four
/// products and a softmax backward.
const STORED_KERNELS: (f64, f64) = (3.0, 5.0);

impl Pricing<'_> {
    pub(super) fn attention(&self, operation: &Operation, cost: &mut LayerCost) {
        let Some(heads) = Heads::of(operation.work, self.tp()) else {
            return;
        };
        let tokens = self.tokens();
        let queries = heads.query * heads.depth;
        let keys_and_values = heads.key_value * (heads.depth + heads.value);
        let out_of_latents = matches!(operation.work, Work::LatentAttention { .. });
        cost.keep(
            out_of_latents.then_some(Module::LatentUp),
            Bytes(tokens * (queries + keys_and_values) * self.activation()),
        );
        let before = (cost.forward, cost.backward);
        // Scores of an indexer leave the chip as the best of them alone.
        if self.recipe.flash_attention || matches!(operation.work, Work::Index { .. }) {
            self.fused_attention(&heads, cost);
        } else {
            self.stored_attention(&heads, cost);
        }
        let forward = cost.forward - before.0;
        let backward = cost.backward - before.1;
        self.context(&heads, (forward, backward), cost);
    }

    /// Scores and probabilities never leave the chip (arXiv 2205.14135).
    fn fused_attention(&self, heads: &Heads, cost: &mut LayerCost) {
        let tokens = self.tokens();
        let sequence = f64::from(self.recipe.seq_len);
        let seen = match heads.window.map(real) {
            _ if self.recipe.causal => causal_mean(sequence, heads.window),
            Some(window) => window.min(sequence),
            None => sequence,
        };
        let flop = 2.0 * tokens * heads.query * (heads.depth + heads.value) * seen;
        let hardware = &self.rates.trainer;
        let portable = if self.training.framework.portable_attention {
            hardware.portable_attention
        } else {
            1.0
        };
        let rate = self.rates.base.0
            * portable
            * hardware.clock
            * saturation(seen, hardware.attention_half_length)
            * saturation(
                f64::midpoint(heads.depth, heads.value),
                hardware.attention_half_head,
            );
        let bytes = tokens
            * (heads.query + heads.key_value)
            * (heads.depth + heads.value)
            * self.activation();
        let memory = bytes / self.rates.memory.0;
        let forward = flop / (rate * hardware.attention_forward);
        cost.add_forward(Seconds(forward.max(memory)) + self.launch());
        let backward = FLASH_BACKWARD * flop / (rate * hardware.attention_backward);
        cost.add_backward(Seconds(backward.max(2.0 * memory)) + self.launch());
        cost.forward_flop += flop;
        cost.kept += Bytes(tokens * heads.query * LOG_SUM);
    }

    /// Scores and probabilities are stored: two products with a softmax, and a dropout, between.
    fn stored_attention(&self, heads: &Heads, cost: &mut LayerCost) {
        let sequence = f64::from(self.recipe.seq_len);
        let rows = sequence / f64::from(self.layout.cp);
        let matrices = f64::from(self.layout.batch) * heads.query;
        let scores = matrices * rows * sequence;
        let product = |shape| self.base_product(matrices, shape);
        let score = product((rows, sequence, heads.depth));
        let score_gradient = product((rows, sequence, heads.value));
        let mixed = product((rows, heads.value, sequence));
        let mixed_gradients = product((rows, heads.depth, sequence)) * 2.0 + mixed;
        let per_pass = |bytes: f64| Seconds(scores * bytes / self.rates.memory.0) + self.launch();
        let element = self.activation();
        // The softmax of causal scores reads those of tokens before and writes zeros for the rest.
        let read = if self.recipe.causal {
            CAUSAL_SHARE
        } else {
            1.0
        };
        let mut forward = score + mixed + per_pass((read + 1.0) * element);
        cost.backward += score_gradient + mixed_gradients + per_pass((2.0 * read + 1.0) * element);
        cost.forward_kernels += STORED_KERNELS.0;
        cost.backward_kernels += STORED_KERNELS.1;
        let mut kept = scores * element;
        if self.recipe.dropout {
            forward += per_pass(2.0 * element + MASK);
            cost.backward += per_pass(2.0 * element + MASK);
            cost.forward_kernels += 1.0;
            cost.backward_kernels += 1.0;
            kept += scores * (element + MASK);
        }
        cost.forward += forward;
        cost.kept += Bytes(kept);
        let flop = 2.0 * scores * (heads.depth + heads.value);
        cost.forward_flop += flop;
        // Its kernels are not launched again: they hide behind those that are there.
        let core = &mut cost.modules[Module::CoreAttention as usize];
        core.forward += forward;
        core.flop += flop;
        core.kept += Bytes(kept);
    }

    /// What context-parallel ranks send, as far as attention does not hide it.
    fn context(&self, heads: &Heads, attention: (Seconds, Seconds), cost: &mut LayerCost) {
        let cp = self.layout.cp;
        if cp == 1 {
            return;
        }
        let group = &self.groups.context;
        let per_element = self.tokens() * self.activation();
        let keys_and_values = heads.key_value * (heads.depth + heads.value) * per_element;
        match self.layout.context_parallel {
            ContextParallel::Ring => {
                let round = group.send(Bytes(keys_and_values)) * f64::from(cp - 1);
                let hidden = self.training.context_overlap;
                let exposed =
                    |sent: Seconds, work: Seconds| (sent - work * hidden).max(Seconds::ZERO);
                cost.context_forward += exposed(round, attention.0);
                // Keys and values go round again, and their gradients with them.
                cost.context_backward += exposed(round * 2.0, attention.1);
            }
            ContextParallel::AllToAll => {
                let queries = heads.query * heads.depth * per_element;
                let outputs = heads.query * heads.value * per_element;
                let exchanged = group.all_to_all(Bytes(queries + keys_and_values), 1.0)
                    + group.all_to_all(Bytes(outputs), 1.0);
                cost.context_forward += exchanged;
                cost.context_backward += exchanged;
            }
        }
    }
}
