//! From the list of operations to what they cost one rank in forward and backward, and to what
//! backward needs kept. Nothing here is a closed formula of a layer: each operation keeps its own
//! inputs, and the sums come out as published (arXiv 2205.05198, table 2).

use super::candidate::{Layout, Precision, Recipe};
use super::collectives::Groups;
use super::hold::{Held, is_routed};
use super::layer::LayerCost;
use crate::catalog::TrainingAssumptions;
use crate::compute::{Rates, distinct_experts, local_shape, real, roofline, saturation};
use crate::quantity::{Bytes, FlopsPerSecond, Seconds};
use crate::transformer::{Operation, Shard, Work};

/// Bytes of an element of a dropout mask.
pub(super) const MASK: f64 = 1.0;
/// Logits are softmaxed in 32 bits and kept so for backward.
const LOGIT: f64 = 4.0;

/// Outputs of the product that efficiencies are quoted for: 8192 x 8192.
const REFERENCE_OUTPUTS: f64 = 8192.0 * 8192.0;
/// Copies that a cast writes.
const CAST_COPIES: f64 = 2.0;
/// Elements that shapes of products are multiples of where tensor cores run at full rate.
const ALIGNMENT: f64 = 8.0;
/// The product into the vocabulary, which trainers pad (Megatron-LM,
/// `make_vocab_size_divisible_by`).
const HEAD: &str = "head";
/// Products that read a latent and not the stream between layers.
const LATENT_PRODUCTS: [&str; 2] = ["query_up", "key_value_up"];

/// The product that reads what experts of a latent width leave.
const EXPERTS_OUTPUT: &str = "latent_up";

/// Everything that the cost of an operation depends on.
pub(super) struct Pricing<'a> {
    pub(super) recipe: &'a Recipe,
    pub(super) layout: &'a Layout,
    pub(super) rates: &'a Rates,
    pub(super) groups: &'a Groups,
    pub(super) training: &'a TrainingAssumptions,
}

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
            let held = self.held(operation);
            if is_routed(operation) {
                walk.cost.experts = walk.cost.experts + held;
            } else {
                walk.cost.dense = walk.cost.dense + held;
            }
            match operation.work {
                Work::MatMul { .. } => self.product(operation, part, &mut walk),
                Work::Attention { .. } | Work::LatentAttention { .. } => {
                    self.attention(operation, &mut walk.cost);
                    walk.columns = None;
                }
                Work::StateSpace(mixer) => {
                    self.scan(&mixer, &mut walk.cost);
                    walk.columns = None;
                }
                Work::Elementwise { width } => {
                    let keeps = operation.name.ends_with("norm");
                    self.elementwise(real(width), keeps, &mut walk.cost);
                    walk.stream_kept = false;
                }
                Work::Gather { width } => {
                    // Rows are read and written, and their gradients added up.
                    self.pass(&mut walk.cost, real(width) * self.stream(), (2.0, 3.0), 0.0);
                }
                Work::AllReduce { width } => {
                    let summed = !std::mem::take(&mut walk.scattered);
                    self.reduction(real(width), part, summed, &mut walk.cost);
                }
            }
        }
        walk.cost
    }

    /// What a rank holds of an operation; weights without the copy in 16 bits where the framework
    /// has them in 8 bits alone.
    fn held(&self, operation: &Operation) -> Held {
        let held = self.recipe.hold(operation, self.layout);
        let narrow = self.training.framework.eight_bit_weights
            && self.recipe.precision == Precision::Fp8
            && self.recipe.adapters.is_none()
            && operation.quantised;
        if narrow {
            Held {
                weights: held.weights - held.trained,
                ..held
            }
        } else {
            held
        }
    }

    pub(super) fn tokens(&self) -> f64 {
        self.layout.tokens(self.recipe)
    }

    pub(super) fn tp(&self) -> f64 {
        f64::from(self.layout.tp)
    }

    fn stream(&self) -> f64 {
        self.layout.stream_share()
    }

    pub(super) fn activation(&self) -> f64 {
        self.recipe.precision.activation_bytes()
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

    pub(super) fn launch(&self) -> Seconds {
        self.rates.base_products.dense.operation_overhead
    }

    /// A pass over `elements` per token: reads and writes per element in forward and backward, and
    /// bytes beside them.
    pub(super) fn pass(
        &self,
        cost: &mut LayerCost,
        elements: f64,
        (forward, backward): (f64, f64),
        extra: f64,
    ) {
        let each = self.tokens() * elements;
        let moved = |times: f64| (times * self.activation() + extra) * each;
        self.traffic(cost, (moved(forward), moved(backward)));
    }

    /// So many bytes moved between products, in forward and in backward, as the framework does.
    fn traffic(&self, cost: &mut LayerCost, (forward, backward): (f64, f64)) {
        let memory = self.rates.memory.0 / self.training.framework.elementwise;
        cost.add_forward(Seconds(forward / memory) + self.launch());
        cost.add_backward(Seconds(backward / memory) + self.launch());
    }

    /// Peak rate of a product, as far as it is there for hours.
    fn sustained(&self, operation: &Operation) -> FlopsPerSecond {
        let hardware = &self.rates.trainer;
        let (peak, share) = match self.recipe.precision {
            _ if !operation.quantised => (self.rates.base, hardware.sustained),
            Precision::Fp8 => (self.rates.quantised, hardware.sustained_8bit),
            Precision::Nvfp4 => (self.rates.quantised, hardware.sustained_4bit),
            _ => (self.rates.quantised, hardware.sustained),
        };
        let grouped = match self.recipe.precision {
            _ if !is_routed(operation) => 1.0,
            Precision::Fp8 | Precision::Nvfp4 => hardware.grouped_8bit,
            _ => hardware.grouped,
        };
        peak * (share * hardware.clock * grouped)
    }

    /// The same of products that are not quantised, of operands whose rows are so wide.
    pub(super) fn base_rate(&self, widths: [f64; 2]) -> FlopsPerSecond {
        let hardware = &self.rates.trainer;
        self.aligned(
            self.rates.base * (hardware.sustained * hardware.clock),
            widths,
        )
    }

    /// Normalisation: input read, output written; backward reads the input and the gradient.
    fn elementwise(&self, width: f64, keeps: bool, cost: &mut LayerCost) {
        let elements = width * self.stream();
        self.pass(cost, elements, (2.0, 3.0), 0.0);
        if keeps {
            cost.kept += Bytes(self.tokens() * elements * self.activation());
        }
    }

    /// The sum over the tensor-parallel group, with what follows it: dropout, and in a layer the
    /// residual. Under sequence parallelism it is a reduce-scatter here and an all-gather before
    /// the next product, of the same volume.
    ///
    /// In backward the sum of a product's input gradients goes on beside its weight gradients;
    /// under sequence parallelism the input is gathered again beside its input gradients, while
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
            cost.tensor_beside += time;
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

    fn product(&self, operation: &Operation, part: Part, walk: &mut Walk) {
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
        // Experts of this rank see the tokens of all ranks they are dealt among.
        let (matrices, copies) = if routed {
            let met = distinct_experts(real(experts), real(active), tokens * ep) / ep;
            (met, real(active) * self.training.expert_imbalance)
        } else {
            (1.0, 1.0)
        };
        let rows = tokens * copies / matrices;
        self.products(operation, matrices, (rows, columns, depth), &mut walk.cost);
        if routed && operation.parameters > experts * k * n {
            // Kernels of many products add no biases: outputs are read and written again, and
            // their gradients read once more (`NVIDIA/TransformerEngine`, `GroupedLinear`).
            let traffic = tokens * copies * columns * self.activation();
            self.traffic(&mut walk.cost, (2.0 * traffic, traffic));
        }

        let by_rows = shard == Shard::Rows;
        let gathered = matches!(shard, Shard::Columns | Shard::Heads { .. });
        let kept = match walk.columns {
            Some(before) if by_rows => {
                self.activation_function(tokens, before * copies, depth * copies, walk);
                depth * copies
            }
            _ if by_rows => depth,
            // Experts read copies of their tokens, made when they are dispatched.
            _ if routed => {
                self.dispatch(real(k), copies, &mut walk.cost);
                walk.scattered = self.layout.whole_experts && self.layout.tp > 1;
                // Of experts' own share of the tokens nothing is left to divide.
                let stream = if self.layout.whole_experts {
                    1.0
                } else {
                    self.stream()
                };
                depth * copies * stream
            }
            // What experts left of a token, on its way back from their width.
            _ if operation.name == EXPERTS_OUTPUT => depth * self.stream(),
            // Out of a latent: the latent, and before its normalisation.
            _ if LATENT_PRODUCTS.contains(&operation.name) => 2.0 * depth * self.stream(),
            _ if walk.stream_kept => 0.0,
            _ => {
                walk.stream_kept = true;
                depth * self.stream()
            }
        };
        walk.cost.kept += Bytes(tokens * kept * self.input_bytes(operation));
        walk.columns = gathered.then_some(columns);
        if part == Part::Head {
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
        let rate = if operation.name == HEAD {
            peak
        } else {
            self.aligned(peak, [columns, depth])
        };
        let input = self.input_bytes(operation);
        let weight = match self.recipe.adapters {
            Some(adapters) if operation.quantised => adapters.frozen.bytes_per_element(),
            _ => input,
        };
        // Each has waves of tiles of its own.
        let time = |shape, bytes| self.time(rate, 1.0, shape, bytes) * matrices;
        let moved = rows * (columns + depth) * self.activation();
        let stored = columns * depth;
        let of_weights = moved + stored * weight;
        cost.add_forward_of(matrices, time((rows, columns, depth), of_weights));
        cost.add_backward_of(matrices, time((rows, depth, columns), of_weights));
        if operation.quantised && self.recipe.precision.casts() {
            let elements = (matrices * rows * depth, matrices * rows * columns);
            self.casts(operation, elements, cost);
        }
        cost.forward_flop += 2.0 * matrices * rows * columns * depth;
        match self.recipe.adapters {
            None => {
                // The gradient is added to what is there: read and written.
                let summed = moved + stored * 2.0 * self.recipe.gradients.bytes_per_element();
                cost.add_backward_of(matrices, time((depth, columns, rows), summed));
            }
            Some(adapters) if operation.quantised => {
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

    /// A product of so many matrices: the roofline of serving (`compute.rs`), of any operand.
    ///
    /// Libraries of training follow one curve in all formats, that of plain products in 16 bits:
    /// kernels of serving engines, which scale in blocks and are made for few rows, say nothing of
    /// them.
    pub(super) fn time(
        &self,
        rate: FlopsPerSecond,
        matrices: f64,
        (rows, columns, depth): (f64, f64, f64),
        bytes: f64,
    ) -> Seconds {
        let reached = self.rates.base_products.dense;
        // Tiles stick out over the edges, and the last wave of them is half full in the mean.
        let filled = |matrices: f64, rows: f64, columns: f64| {
            let tiles = matrices * (rows + reached.half_rows) * (columns + reached.half_columns);
            matrices * rows * columns / (tiles + self.training.half_outputs)
        };
        let reached_rate = rate.0
            * reached.efficiency
            * (filled(matrices, rows, columns)
                / saturation(REFERENCE_OUTPUTS, self.training.half_outputs))
            * saturation(depth, reached.half_depth);
        let arithmetic = 2.0 * matrices * rows * columns * depth / reached_rate;
        let traffic = bytes / (self.rates.bandwidth.0 * reached.bandwidth_efficiency);
        let overlap = self.rates.compute.roofline_overlap;
        Seconds(roofline(arithmetic, traffic, overlap)) + reached.operation_overhead
    }

    /// What is left of a rate where rows of operands, as they lie in memory, are no multiples of 8
    /// elements of 16 bits, which tensor cores load (NVIDIA, Matrix Multiplication Background).
    /// Tokens are many rows and never the width of one: any number of them will do.
    fn aligned(&self, rate: FlopsPerSecond, widths: [f64; 2]) -> FlopsPerSecond {
        if widths.iter().all(|width| width % ALIGNMENT == 0.0) {
            rate
        } else {
            rate * self.training.unaligned
        }
    }

    /// Between the columns of one product and the rows of the next: its input is kept.
    fn activation_function(&self, tokens: f64, before: f64, after: f64, walk: &mut Walk) {
        let per_element = tokens * self.activation();
        let moved = |elements: f64| per_element * elements;
        self.traffic(
            &mut walk.cost,
            (moved(before + after), moved(2.0 * before + after)),
        );
        walk.cost.kept += Bytes(per_element * before);
    }

    /// Tokens go to their experts and come back, in forward and in backward.
    fn dispatch(&self, width: f64, copies: f64, cost: &mut LayerCost) {
        let elements = width * copies * self.stream();
        let payload = Bytes(self.tokens() * elements * self.activation());
        cost.routed += 1.0;
        let group = &self.groups.expert;
        // Experts of a token on the same distant host need it once.
        let across = if self.training.framework.send_once {
            let hosts = f64::from(group.domains());
            let met = hosts * (1.0 - (1.0 - 1.0 / hosts).powf(copies));
            (met / copies).min(1.0)
        } else {
            1.0
        };
        let there_and_back = group.all_to_all(payload, across) * 2.0;
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
        cost.tensor_beside += self.groups.tensor.all_reduce(payload);
    }
}
