//! What the operations of one layer cost one rank for one micro-batch.

use super::resident::{Resident, by_field};
use crate::parallel::{MODULES, Module, Modules, Recompute};
use crate::quantity::{Bytes, Seconds};
use std::ops::{Add, Mul};

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
    /// Tensor-parallel collectives of forward.
    pub tensor_forward: Seconds,
    /// Of backward, those that products wait for.
    pub tensor_backward: Seconds,
    /// Of backward, those that overlap the weight-gradient products.
    pub tensor_overlapped: Seconds,
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
    /// Of all that, what each module has a part in, as far as it can be recomputed.
    pub modules: [Recomputed; MODULES],
    /// The input, from which full recomputation starts.
    pub input: Bytes,
    /// What lives only while forward turns to backward: gradients of logits.
    pub transient: Bytes,
    /// Weights, gradients and state that all of `dp * cp` ranks hold alike.
    pub dense: Resident,
    /// The same of routed experts.
    pub experts: Resident,
    /// Arithmetic of forward as executed, in floating-point operations.
    pub forward_flop: f64,
    /// Of backward, the gradients of weights.
    pub weight_gradients: Seconds,
}

/// What a module keeps, and what it takes to recompute that.
#[derive(Clone, Copy, Debug, Default)]
pub struct Recomputed {
    /// Kept of forward.
    pub kept: Bytes,
    /// Forward: arithmetic and memory traffic.
    pub forward: Seconds,
    /// Its arithmetic, in floating-point operations.
    pub flop: f64,
    /// Kernels that the host launches.
    pub kernels: f64,
    /// Layers with routed experts.
    pub routed: f64,
    /// Tensor-parallel collectives.
    pub tensor: Seconds,
    /// Expert all-to-all.
    pub expert: Seconds,
}

by_field!(Recomputed {
    kept,
    forward,
    flop,
    kernels,
    routed,
    tensor,
    expert
});

impl LayerCost {
    /// Forward so far.
    fn spent(&self) -> Recomputed {
        Recomputed {
            kept: Bytes::ZERO,
            forward: self.forward,
            flop: self.forward_flop,
            kernels: self.forward_kernels,
            routed: self.routed,
            tensor: self.tensor_forward,
            expert: self.expert_forward,
        }
    }

    /// Work that is a module's part, where it is one's.
    pub(super) fn within(&mut self, module: Option<Module>, work: impl FnOnce(&mut Self)) {
        let before = self.spent();
        work(self);
        if let Some(module) = module {
            self.modules[module as usize] =
                self.modules[module as usize] + self.spent() + before * -1.0;
        }
    }

    /// Keeps what is a module's part, where it is one's.
    pub(super) fn keep(&mut self, module: Option<Module>, bytes: Bytes) {
        self.kept += bytes;
        if let Some(module) = module {
            self.modules[module as usize].kept += bytes;
        }
    }

    /// What backward recomputes on a stage of so many layers, and the copies of context-parallel
    /// messages that go with it.
    pub(crate) fn recomputed(&self, recompute: Recompute, layers: f64) -> (Recomputed, f64) {
        let share = match recompute {
            Recompute::None => 0.0,
            Recompute::Modules(modules) => return (self.of_modules(modules), 0.0),
            Recompute::Full | Recompute::Block(_) => 1.0,
            Recompute::Layers(some) => (f64::from(some) / layers.max(1.0)).min(1.0),
        };
        (self.spent() * share, share)
    }

    /// What some modules recompute.
    fn of_modules(&self, modules: Modules) -> Recomputed {
        let own = Module::ALL.into_iter().zip(self.modules);
        own.filter(|((module, _), _)| modules.cover(*module))
            .fold(Recomputed::default(), |sum, (_, recomputed)| {
                sum + recomputed
            })
    }

    /// One more kernel of forward.
    pub(super) fn add_forward(&mut self, time: Seconds) {
        self.forward += time;
        self.forward_kernels += 1.0;
    }

    /// One more kernel of backward.
    pub(super) fn add_backward(&mut self, time: Seconds) {
        self.backward += time;
        self.backward_kernels += 1.0;
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
            tensor_forward: self.tensor_forward + other.tensor_forward,
            tensor_backward: self.tensor_backward + other.tensor_backward,
            tensor_overlapped: self.tensor_overlapped + other.tensor_overlapped,
            context_forward: self.context_forward + other.context_forward,
            context_backward: self.context_backward + other.context_backward,
            expert_forward: self.expert_forward + other.expert_forward,
            expert_backward: self.expert_backward + other.expert_backward,
            kept: self.kept + other.kept,
            modules: std::array::from_fn(|module| self.modules[module] + other.modules[module]),
            input: self.input + other.input,
            transient: self.transient + other.transient,
            dense: self.dense + other.dense,
            experts: self.experts + other.experts,
            forward_flop: self.forward_flop + other.forward_flop,
            weight_gradients: self.weight_gradients + other.weight_gradients,
        }
    }
}
