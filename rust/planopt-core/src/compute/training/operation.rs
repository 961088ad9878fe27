//! From the list of operations to what they cost one rank in forward and backward, and to what
//! backward needs kept. Nothing here is a closed formula of a layer: each operation keeps its own
//! inputs, and the sums come out as published (arXiv 2205.05198, table 2).

use super::layer::LayerCost;
use super::pricing::{MASK, Pricing};
use super::resident::{is_adapted, is_routed};
use crate::load::training::Precision;
use crate::parallel::{Module, distinct_experts, local_shape};
use crate::quantity::{Bytes, Seconds, real};
use crate::transformer::{Operation, Role, Shard, Work};

/// Logits are softmaxed in 32 bits and kept so for backward.
const LOGIT: f64 = 4.0;

/// Copies that a cast writes.
const CAST_COPIES: f64 = 2.0;

/// Memory traffic of the activation function of experts with biases over that of a fused one: both
/// halves are clamped, and each operation is a pass of its own, 9 reads and 7 writes in place of 3
/// (`NVIDIA-NeMo/Megatron-Bridge`, GPT-OSS: clamped `SwiGLU`).
const CLAMPED_PASSES: f64 = 16.0 / 3.0;

/// Where operations stand: it decides what lies around an all-reduce.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Embedding,
    Layer,
    Head,
}

/// What the walk along the operations remembers.
#[derive(Default)]
struct Walk {
    cost: LayerCost,
    /// The normalised stream is kept already: several products read it.
    stream_kept: bool,
    /// The stream comes from a normalisation.
    normalised: bool,
    /// The feed-forward network before.
    network: Option<Module>,
    /// Columns of the product before, and whether of experts: a product by rows then has an
    /// activation function in front.
    columns: Option<f64>,
    /// Behind experts whose ranks have tokens of their own: there is nothing to sum.
    scattered: bool,
}

impl Pricing<'_> {
    /// Cost of the operations of a layer, of the embedding or of the head.
    pub(super) fn price(&self, operations: &[Operation], part: Part, hidden: u64) -> LayerCost {
        let mut walk = Walk::default();
        walk.cost.input = Bytes(self.tokens() * real(hidden) * self.stream() * self.activation());
        for operation in operations {
            let resident = self.resident(operation);
            if is_routed(operation) {
                walk.cost.experts = walk.cost.experts + resident;
            } else {
                walk.cost.dense = walk.cost.dense + resident;
            }
            match operation.work {
                Work::MatMul { .. } => self.product(operation, &mut walk),
                Work::Attention { .. } | Work::LatentAttention { .. } | Work::Index { .. } => {
                    self.attention(operation, &mut walk.cost);
                    walk.columns = None;
                }
                Work::StateSpace(mixer) => {
                    self.scan(&mixer, &mut walk.cost);
                    walk.columns = None;
                }
                Work::Elementwise { width } => {
                    let norm = operation.role == Role::Norm;
                    let module = norm.then_some(Module::LayerNorm);
                    walk.cost
                        .within(module, |cost| self.elementwise(real(width), norm, cost));
                    walk.stream_kept = false;
                    walk.normalised = norm;
                }
                Work::Gather { width } => {
                    // Rows are read and written, and their gradients added up.
                    self.pass(&mut walk.cost, real(width) * self.stream(), (2.0, 3.0), 0.0);
                }
                // Statistics that ranks of one norm bring together are no part of the stream, and
                // beside it their few bytes a token are nothing.
                Work::AllReduce { width } if width < hidden => {}
                Work::AllReduce { width } => {
                    let summed = !std::mem::take(&mut walk.scattered);
                    let before = walk.cost.tensor_forward;
                    self.reduction(real(width), part, summed, &mut walk.cost);
                    if let Some(network) = walk.network.take() {
                        let sum = walk.cost.tensor_forward - before;
                        walk.cost.modules[network as usize].tensor += sum;
                    }
                }
            }
        }
        walk.cost
    }

    /// Bytes of an input of a product.
    fn input_bytes(&self, operation: &Operation) -> f64 {
        match self.recipe.precision {
            precision if precision.casts() && operation.quantised => {
                precision.format().bytes_per_element()
            }
            precision => precision.activation_bytes(),
        }
    }

    /// The sum over the tensor-parallel group, with what follows it: dropout, and in a layer the
    /// residual. Under sequence parallelism it is a reduce-scatter here and an all-gather before
    /// the next product, of the same volume.
    ///
    /// In backward the sum of a product's input gradients overlaps its weight gradients;
    /// under sequence parallelism the input is gathered again while its input gradients are computed, while
    /// the gradient of the output is waited for (Megatron-LM, `tensor_parallel/layers.py`).
    fn reduction(&self, width: f64, part: Part, summed: bool, cost: &mut LayerCost) {
        let payload = if summed {
            Bytes(self.tokens() * width * self.activation())
        } else {
            Bytes::ZERO
        };
        let time = self.groups.tensor.all_reduce(payload);
        cost.tensor_forward += time;
        if self.layout.sequence_parallel {
            cost.tensor_backward += self.groups.tensor.all_gather(payload);
        }
        if part == Part::Layer {
            cost.tensor_overlapped += time;
        }
        if self.layout.tp > 1 && summed {
            cost.forward_kernels += 1.0;
            cost.backward_kernels += 1.0;
        }
        let elements = width * self.stream();
        let mask = if self.recipe.dropout { MASK } else { 0.0 };
        match part {
            // Branch and residual read, sum written; both gradients read, their sum written.
            Part::Layer if self.recipe.dropout => self.pass(cost, elements, (3.0, 5.0), mask),
            Part::Layer => self.pass(cost, elements, (3.0, 3.0), 0.0),
            Part::Embedding | Part::Head if self.recipe.dropout => {
                self.pass(cost, elements, (2.0, 2.0), mask);
            }
            Part::Embedding | Part::Head => {}
        }
        cost.kept += Bytes(self.tokens() * elements * mask);
    }

    fn product(&self, operation: &Operation, walk: &mut Walk) {
        let Work::MatMul {
            k,
            n,
            shard,
            experts,
            active,
        } = operation.work
        else {
            return;
        };
        let ep = f64::from(self.layout.ep);
        let routed = is_routed(operation);
        let tp = if routed {
            self.layout.expert_tp()
        } else {
            self.layout.tp
        };
        let (depth, columns) = local_shape(k, n, shard, tp);
        // Tensor-parallel ranks with experts of their own have a share of the tokens each.
        let tokens = self.tokens() * f64::from(tp) / self.tp();
        // Experts of this rank see the tokens of all ranks they are assigned among.
        let (matrices, copies) = if routed {
            let distinct = distinct_experts(real(experts), real(active), tokens * ep) / ep;
            (distinct, real(active) * self.training.expert_imbalance)
        } else {
            (1.0, 1.0)
        };
        let rows = tokens * copies / matrices;
        let added = routed && operation.parameters > experts * k * n;
        let module = module(operation.role, routed);
        walk.cost.within(module, |cost| {
            self.products(operation, matrices, (rows, columns, depth), cost);
            if added {
                // Kernels of many products add no biases: outputs are read and written again, and
                // their gradients read once more (`NVIDIA/TransformerEngine`, `GroupedLinear`).
                let traffic = tokens * copies * columns * self.activation();
                self.traffic(cost, (2.0 * traffic, traffic));
            }
        });
        if operation.role == Role::Down {
            walk.network = module;
        }
        // A frozen product needs no input for gradients of its weights.
        let needed = f64::from(u8::from(
            self.recipe.adapters.is_none() || is_adapted(self.recipe, operation),
        ));

        let by_rows = shard == Shard::Rows;
        let gathered = matches!(shard, Shard::Columns | Shard::Heads { .. });
        let (kept, of_module) = match walk.columns {
            Some(before) if by_rows => {
                let (whole, activation) = if routed {
                    (Module::Experts, Module::ExpertActivation)
                } else {
                    (Module::Mlp, Module::Activation)
                };
                let elements = (before * copies, depth * copies);
                let passes = if added { CLAMPED_PASSES } else { 1.0 };
                walk.cost.within(Some(activation), |cost| {
                    self.activation_function(tokens * passes, elements, cost);
                });
                let output = tokens * elements.0 * self.between_products(operation);
                walk.cost.keep(Some(whole), Bytes(output));
                (depth * copies * needed, Some(activation))
            }
            // Backward of attention reads its output, too.
            _ if by_rows => (depth, None),
            // Experts read copies of their tokens, made when they are dispatched.
            _ if routed => {
                let element = self.between_products(operation);
                walk.cost.within(Some(Module::Experts), |cost| {
                    self.dispatch(real(k), copies, element, cost);
                });
                walk.scattered = self.layout.whole_experts && self.layout.tp > 1;
                // Of experts' own share of the tokens nothing is left to divide.
                let stream = if self.layout.whole_experts {
                    1.0
                } else {
                    self.stream()
                };
                (depth * copies * stream * needed, Some(Module::Experts))
            }
            // What experts left of a token, on its way back from their width.
            _ if operation.role == Role::LatentUp => (depth * self.stream() * needed, None),
            // Out of a latent: the latent before its normalisation, and behind it.
            _ if matches!(operation.role, Role::QueryUp | Role::KeyValueUp) => {
                let latent = depth * self.stream();
                let before = Bytes(tokens * latent * self.input_bytes(operation));
                walk.cost.keep(None, before);
                (latent * needed, Some(Module::LayerNorm))
            }
            _ if walk.stream_kept || needed <= 0.0 => (0.0, None),
            _ => {
                walk.stream_kept = true;
                let recomputed = walk.normalised.then_some(Module::LayerNorm);
                (depth * self.stream(), recomputed)
            }
        };
        let bytes = Bytes(tokens * kept * self.input_bytes(operation));
        walk.cost.keep(of_module, bytes);
        walk.columns = gathered.then_some(columns);
        if operation.role == Role::Head {
            self.loss(real(k), columns, &mut walk.cost);
        }
    }

    /// Forward, gradient of the input, gradient of the weights. The host launches the products of
    /// experts one by one (`NVIDIA/TransformerEngine`, `multi_stream_cublas_gemm`).
    fn products(
        &self,
        operation: &Operation,
        matrices: f64,
        (rows, columns, depth): (f64, f64, f64),
        cost: &mut LayerCost,
    ) {
        let peak = self.sustained(operation);
        // Trainers pad the vocabulary (Megatron-LM, `make_vocab_size_divisible_by`).
        let rate = if operation.role == Role::Head {
            peak
        } else {
            self.aligned(peak, [columns, depth])
        };
        let input = self.input_bytes(operation);
        let weight = match self.recipe.adapters {
            Some(adapters) if operation.quantised => {
                let frozen = adapters.frozen.bytes_per_element();
                if frozen < input {
                    self.dequantise(matrices * columns * depth * (frozen + input), cost);
                }
                frozen.max(input)
            }
            _ => input,
        };
        // Streams beside each other, or one kernel: the last wave of tiles is shared.
        let time = |shape, bytes: f64| self.time(rate, matrices, shape, bytes * matrices);
        let moved = rows * (columns + depth) * self.activation();
        let stored = columns * depth;
        let of_weights = moved + stored * weight;
        cost.add_forward(time((rows, columns, depth), of_weights));
        cost.add_backward(time((rows, depth, columns), of_weights));
        if operation.quantised && self.recipe.precision.casts() {
            let elements = (matrices * rows * depth, matrices * rows * columns);
            self.casts(operation, elements, cost);
        }
        cost.forward_flop += 2.0 * matrices * rows * columns * depth;
        match self.recipe.adapters {
            None => {
                // The gradient is added to what is there: read and written.
                let summed = moved + stored * 2.0 * self.recipe.gradients.bytes_per_element();
                let gradients = time((depth, columns, rows), summed);
                cost.add_backward(gradients);
                cost.weight_gradients += gradients;
            }
            Some(adapters) if is_adapted(self.recipe, operation) => {
                let rank = f64::from(adapters.rank);
                for width in [columns, depth] {
                    let moved = matrices * rows * (width + rank) * self.activation();
                    let base = self.base_rate([width, rank]);
                    cost.forward_flop += 2.0 * matrices * rows * width * rank;
                    let forward = self.time(base, matrices, (rows, rank, width), moved);
                    cost.add_forward(forward);
                    for shape in [(rows, width, rank), (width, rank, rows)] {
                        let time = self.time(base, matrices, shape, moved);
                        cost.add_backward(time);
                    }
                }
            }
            Some(_) => {}
        }
    }

    /// Frozen weights in a narrower format than products read are written out in theirs, in
    /// forward and again in backward, whatever the tokens (`bitsandbytes`, arXiv 2305.14314).
    fn dequantise(&self, bytes: f64, cost: &mut LayerCost) {
        let rate = self.rates.bandwidth.0 * self.training.dequantisation;
        let time = Seconds(bytes / rate) + self.launch();
        cost.add_forward(time);
        cost.add_backward(time);
    }

    /// Casts of what products read: of inputs in forward, of gradients of outputs in backward,
    /// each read once and written twice, as it is and transposed (`NVIDIA/TransformerEngine`).
    fn casts(&self, operation: &Operation, (inputs, outputs): (f64, f64), cost: &mut LayerCost) {
        let framework = &self.training.framework;
        let passes = match self.recipe.precision {
            Precision::Nvfp4 => framework.casts * framework.casts_4bit,
            _ => framework.casts,
        };
        if passes <= 0.0 {
            return;
        }
        let each = self.activation() + CAST_COPIES * self.input_bytes(operation);
        let time =
            |elements: f64| Seconds(passes * elements * each / self.rates.memory.0) + self.launch();
        cost.add_forward(time(inputs));
        cost.add_backward(time(outputs));
    }

    /// Bytes of an element that is sent to experts, or read by an activation function.
    fn between_products(&self, operation: &Operation) -> f64 {
        if self.training.framework.eight_bit_activations {
            self.input_bytes(operation)
        } else {
            self.activation()
        }
    }

    /// Between the columns of one product and the rows of the next.
    fn activation_function(&self, tokens: f64, (before, after): (f64, f64), cost: &mut LayerCost) {
        let moved = |elements: f64| tokens * self.activation() * elements;
        self.traffic(cost, (moved(before + after), moved(2.0 * before + after)));
    }

    /// Tokens go to their experts and come back, in forward and in backward.
    fn dispatch(&self, width: f64, copies: f64, sent: f64, cost: &mut LayerCost) {
        let elements = width * copies * self.stream();
        cost.routed += 1.0;
        let group = &self.groups.expert;
        // Experts of a token on the same distant host need it once.
        let across = if self.training.framework.send_once {
            let hosts = f64::from(group.domains());
            let distinct = hosts * (1.0 - (1.0 - 1.0 / hosts).powf(copies));
            (distinct.min(self.training.framework.expert_hosts) / copies).min(1.0)
        } else {
            1.0
        };
        let way =
            |element: f64| group.all_to_all(Bytes(self.tokens() * elements * element), across);
        let there_and_back = way(sent) + way(self.activation());
        cost.expert_forward += there_and_back;
        cost.expert_backward += there_and_back;
        // Gathered into the order of experts and scattered back, each read and written.
        let sorted = 4.0 * self.training.framework.routing;
        self.pass(cost, elements, (sorted, sorted), 0.0);
    }

    /// Cross-entropy over logits divided by vocabulary; the gradient of the head's input is summed
    /// over the tensor-parallel group.
    fn loss(&self, hidden: f64, vocabulary: f64, cost: &mut LayerCost) {
        let logits = self.tokens() * vocabulary;
        let memory = self.rates.memory.0;
        // Logits read and their softmax written; softmax read and the gradient written.
        let traffic = logits * (LOGIT + self.activation()) * self.training.framework.loss;
        let each_way = Seconds(traffic / memory) + self.launch();
        cost.add_forward(each_way);
        cost.add_backward(each_way);
        let at_once = logits / f64::from(self.recipe.loss_chunks);
        if self.training.framework.loss_in_place {
            cost.kept += Bytes(at_once * self.activation());
        } else {
            cost.kept += Bytes(at_once * LOGIT);
            cost.transient += Bytes(at_once * self.activation());
        }
        let payload = Bytes(self.tokens() * hidden * self.activation());
        cost.tensor_overlapped += self.groups.tensor.all_reduce(payload);
    }
}

/// The module that a product is a part of.
fn module(role: Role, routed: bool) -> Option<Module> {
    match role {
        Role::QueryUp | Role::KeyValueUp => Some(Module::LatentUp),
        Role::Up | Role::GateUp | Role::Down if routed => Some(Module::Experts),
        Role::Up | Role::GateUp | Role::Down => Some(Module::Mlp),
        _ => None,
    }
}
