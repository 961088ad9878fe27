//! What the operations of one layer cost one rank for one micro-batch.

use super::resident::Held;
use crate::quantity::{Bytes, Seconds};
use std::ops::Add;

/// Cost of a layer, of the embedding or of the head, for one micro-batch on one rank.
#[derive(Clone, Copy, Debug, Default)]
pub struct LayerCost {
    /// Forward: arithmetic and memory traffic.
    pub forward: Seconds,
    /// Backward, of inputs and of weights.
    pub backward: Seconds,
    /// Layers with routed experts.
    pub routed: f64,
    /// Kernels of forward that the host launches.
    pub forward_kernels: f64,
    /// Of backward.
    pub backward_kernels: f64,
    /// Of forward, the core of attention as far as selective recomputation does it again.
    pub attention_core: Seconds,
    /// Tensor-parallel collectives of forward.
    pub tensor_forward: Seconds,
    /// Of backward, those that products wait for.
    pub tensor_backward: Seconds,
    /// Of backward, those beside the gradients of products.
    pub tensor_beside: Seconds,
    /// Context-parallel messages of forward that attention does not hide.
    pub context_forward: Seconds,
    /// Of backward.
    pub context_backward: Seconds,
    /// Expert all-to-all of forward.
    pub expert_forward: Seconds,
    /// Of backward.
    pub expert_backward: Seconds,
    /// What backward needs of forward.
    pub kept: Bytes,
    /// Of it, what selective recomputation does without.
    pub core_kept: Bytes,
    /// The input, from which full recomputation starts.
    pub input: Bytes,
    /// What lives only while forward turns to backward: gradients of logits.
    pub transient: Bytes,
    /// Weights, gradients and state that all of `dp * cp` ranks hold alike.
    pub dense: Held,
    /// The same of routed experts.
    pub experts: Held,
    /// Arithmetic of forward as executed, in floating-point operations.
    pub forward_flop: f64,
    /// Of it, the core of attention as far as selective recomputation does it again.
    pub core_flop: f64,
}

impl LayerCost {
    /// One more kernel of forward.
    pub(super) fn add_forward(&mut self, time: Seconds) {
        self.add_forward_of(1.0, time);
    }

    /// One more kernel of backward.
    pub(super) fn add_backward(&mut self, time: Seconds) {
        self.add_backward_of(1.0, time);
    }

    /// So many more kernels of forward, which take so long together.
    pub(super) fn add_forward_of(&mut self, kernels: f64, time: Seconds) {
        self.forward += time;
        self.forward_kernels += kernels;
    }

    /// The same of backward.
    pub(super) fn add_backward_of(&mut self, kernels: f64, time: Seconds) {
        self.backward += time;
        self.backward_kernels += kernels;
    }
}

impl Add for LayerCost {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self {
            forward: self.forward + other.forward,
            backward: self.backward + other.backward,
            routed: self.routed + other.routed,
            forward_kernels: self.forward_kernels + other.forward_kernels,
            backward_kernels: self.backward_kernels + other.backward_kernels,
            attention_core: self.attention_core + other.attention_core,
            tensor_forward: self.tensor_forward + other.tensor_forward,
            tensor_backward: self.tensor_backward + other.tensor_backward,
            tensor_beside: self.tensor_beside + other.tensor_beside,
            context_forward: self.context_forward + other.context_forward,
            context_backward: self.context_backward + other.context_backward,
            expert_forward: self.expert_forward + other.expert_forward,
            expert_backward: self.expert_backward + other.expert_backward,
            kept: self.kept + other.kept,
            core_kept: self.core_kept + other.core_kept,
            input: self.input + other.input,
            transient: self.transient + other.transient,
            dense: self.dense + other.dense,
            experts: self.experts + other.experts,
            forward_flop: self.forward_flop + other.forward_flop,
            core_flop: self.core_flop + other.core_flop,
        }
    }
}
