//! What products, attention and scans have in common when they are priced.

use super::layer::LayerCost;
use super::resident::{Resident, is_routed, resident_state};
use crate::catalog::TrainingAssumptions;
use crate::compute::step::roofline;
use crate::hardware::{Rates, saturation};
use crate::load::training::{Precision, Recipe};
use crate::parallel::{Groups, Layout};
use crate::quantity::{Bytes, FlopsPerSecond, Seconds};
use crate::transformer::Operation;

/// Bytes of an element of a dropout mask.
pub(super) const MASK: f64 = 1.0;

/// Outputs of the product that efficiencies are quoted for: 8192 x 8192.
const REFERENCE_OUTPUTS: f64 = 8192.0 * 8192.0;

/// Elements that shapes of products are multiples of where tensor cores run at full rate.
const ALIGNMENT: f64 = 8.0;

/// Everything that the cost of an operation depends on.
pub(super) struct Pricing<'a> {
    pub(super) recipe: &'a Recipe,
    pub(super) layout: &'a Layout,
    pub(super) rates: &'a Rates,
    pub(super) groups: &'a Groups,
    pub(super) training: &'a TrainingAssumptions,
}

impl Pricing<'_> {
    /// What a rank holds of an operation; weights in the copies that the framework has of them.
    pub(crate) fn resident(&self, operation: &Operation) -> Resident {
        let resident = resident_state(self.recipe, operation, self.layout);
        let precision = self.recipe.precision;
        if !precision.casts() || self.recipe.adapters.is_some() || !operation.quantised {
            return resident;
        }
        let framework = &self.training.framework;
        let parameters = resident.trained / self.activation();
        let copies = framework.weight_copies * precision.format().bytes_per_element();
        let copied = parameters * copies;
        if framework.eight_bit_weights && precision == Precision::Fp8 {
            return Resident {
                weights: copied,
                gathered: parameters * self.rates.trainer.gathered_8bit,
                ..resident
            };
        }
        Resident {
            weights: resident.trained + copied,
            ..resident
        }
    }

    pub(super) fn tokens(&self) -> f64 {
        self.layout.tokens(self.recipe)
    }

    pub(super) fn tp(&self) -> f64 {
        f64::from(self.layout.tp)
    }

    pub(crate) fn stream(&self) -> f64 {
        self.layout.stream_share()
    }

    pub(super) fn activation(&self) -> f64 {
        self.recipe.precision.activation_bytes()
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
    pub(crate) fn traffic(&self, cost: &mut LayerCost, (forward, backward): (f64, f64)) {
        let memory = self.rates.memory.0 / self.training.framework.elementwise;
        cost.add_forward(Seconds(forward / memory) + self.launch());
        cost.add_backward(Seconds(backward / memory) + self.launch());
    }

    /// Peak rate of a product, as far as it is there for hours.
    pub(crate) fn sustained(&self, operation: &Operation) -> FlopsPerSecond {
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

    /// The time of so many such products, each operand read or written once.
    pub(super) fn base_product(&self, matrices: f64, shape: (f64, f64, f64)) -> Seconds {
        let (rows, columns, depth) = shape;
        let operands = rows * depth + depth * columns + rows * columns;
        let bytes = matrices * operands * self.activation();
        self.time(self.base_rate([columns, depth]), matrices, shape, bytes)
    }

    /// Normalisation: input read, output written; backward reads the input and the gradient.
    pub(crate) fn elementwise(&self, width: f64, keeps: bool, cost: &mut LayerCost) {
        let elements = width * self.stream();
        self.pass(cost, elements, (2.0, 3.0), 0.0);
        if keeps {
            cost.kept += Bytes(self.tokens() * elements * self.activation());
        }
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
    pub(crate) fn aligned(&self, rate: FlopsPerSecond, widths: [f64; 2]) -> FlopsPerSecond {
        if widths.iter().all(|width| width % ALIGNMENT == 0.0) {
            rate
        } else {
            rate * self.training.unaligned
        }
    }
}
