//! Rates of an accelerator for a choice of number formats.
//! Formulas: `docs/reference/model.md`, section 2.

use crate::catalog::{
    Accelerator, Assumptions, ComputeAssumptions, HardwareAssumptions, OwnKernels,
    ProductAssumptions, Products,
};
use crate::format::{Format, Formats};
use crate::quantity::{BytesPerSecond, FlopsPerSecond, Seconds};
use crate::transformer::Operation;

/// Arithmetic of 2:4 sparse matrices over that of dense ones, where the hardware knows them: half of
/// the products are left out (NVIDIA H100 data sheet: 3958 against 1979 TFLOPS).
const SPARSE_OVER_DENSE: f64 = 2.0;

/// Families that know them (NVIDIA, "Accelerating Inference with Sparsity", and the white papers of
/// the later ones).
const SPARSE_FAMILIES: [&str; 4] = ["ampere", "ada", "hopper", "blackwell"];

/// Rates of an accelerator for a choice of formats.
#[derive(Clone, Debug)]
pub struct Rates {
    /// Arithmetic of operations that are not quantised, and of attention.
    pub base: FlopsPerSecond,
    /// Arithmetic of quantised operations.
    pub quantised: FlopsPerSecond,
    /// Memory bandwidth, before any share of it.
    pub bandwidth: BytesPerSecond,
    /// Reading activations in training, as reached.
    pub memory: BytesPerSecond,
    /// What products that are not quantised reach of these, in training.
    pub base_products: Products,
    /// What they reach in serving, whose kernels were measured apart.
    served_products: Products,
    /// What quantised products reach.
    pub quantised_products: Products,
    /// Tokens of the busiest of several parts of the experts over the mean.
    pub expert_imbalance: f64,
    /// Seconds that widening a weight takes.
    widening: f64,
    /// What else the accelerator reaches.
    pub compute: ComputeAssumptions,
    /// What it reaches at training.
    pub trainer: HardwareAssumptions,
    /// Kernels of the engine's own, if it has some.
    pub own: Option<OwnRates>,
}

/// What an accelerator gives to kernels of an engine's own.
#[derive(Clone, Copy, Debug)]
pub struct OwnRates {
    /// What they reach of it.
    pub kernels: OwnKernels,
    /// Its memory bandwidth.
    pub bandwidth: BytesPerSecond,
    /// Its rate with weights and sums of 16 bits.
    pub rate: FlopsPerSecond,
    /// Clocks of all of its multiprocessors in a second: the rate in fp32, two operations for each
    /// lane, over their lanes.
    pub clocks: f64,
}

impl OwnRates {
    fn of(accelerator: &Accelerator, assumptions: &Assumptions) -> Option<Self> {
        let peak = &accelerator.peak;
        let narrow = peak.fp16_fp16_accumulate.or(peak.fp16).or(peak.bf16);
        let fp32 = peak.fp32.or(narrow)?;
        Some(Self {
            kernels: assumptions.own_kernels(accelerator)?,
            bandwidth: accelerator.memory_bandwidth,
            rate: narrow.unwrap_or(fp32),
            clocks: fp32.0 / (2.0 * f64::from(accelerator.lanes)),
        })
    }

    /// The same as products and attention are priced with: nothing is launched but layers.
    fn over(&self, compute: &ComputeAssumptions) -> ComputeAssumptions {
        let launched = |products: ProductAssumptions| ProductAssumptions {
            operation_overhead: Seconds::ZERO,
            ..products
        };
        let products = |own: Products| Products {
            dense: launched(own.dense),
            experts: launched(own.experts),
            kernels: own.kernels.map(|kernel| kernel.map(launched)),
        };
        let own = compute.formats.iter();
        ComputeAssumptions {
            products: products(compute.products),
            formats: own.map(|(format, own)| (*format, products(*own))).collect(),
            attention_efficiency: self.kernels.attention,
            decode_attention_efficiency: self.kernels.attention,
            half_prompt: 0.0,
            attention_overhead: Seconds::ZERO,
            kv_bandwidth_efficiency: self.kernels.cache,
            activation_traffic: false,
            ..compute.clone()
        }
    }
}

impl Rates {
    /// The rates of `accelerator`, or nothing if it has none for these weights.
    pub fn of(
        accelerator: &Accelerator,
        weights: Format,
        assumptions: &Assumptions,
    ) -> Option<Self> {
        let measured = assumptions.compute_of(accelerator);
        let own = OwnRates::of(accelerator, assumptions);
        let own_compute = own.map(|own| own.over(measured));
        let compute = own_compute.as_ref().unwrap_or(measured);
        let peak = &accelerator.peak;
        let base = match weights {
            Format::Fp32 => peak.tf32.or(peak.fp32),
            _ if compute.fp16_accumulate && peak.fp16_fp16_accumulate.is_some() => {
                peak.fp16_fp16_accumulate
            }
            Format::Fp16 => peak.fp16.or(peak.bf16).or(peak.fp32),
            _ => peak.bf16.or(peak.fp16).or(peak.fp32),
        }?;
        let quantised = match weights {
            Format::Fp8 if compute.fp16_accumulate => peak.fp8_fp16_accumulate.or(peak.fp8)?,
            Format::Fp8 => peak.fp8?,
            Format::Nvfp4 => peak.fp4?,
            Format::Int8 => peak.int8.unwrap_or(base),
            Format::W4a8 => peak.int8.or(peak.fp8)?,
            Format::Fp8Sparse if SPARSE_FAMILIES.contains(&accelerator.family.as_str()) => {
                peak.fp8? * SPARSE_OVER_DENSE
            }
            Format::Fp8Sparse => return None,
            // Weight-only formats are widened to 16 bits before the product.
            Format::Int4
            | Format::Mxfp4
            | Format::Packed(_)
            | Format::Fp32
            | Format::Bf16
            | Format::Fp16 => base,
        };
        let bandwidth = accelerator.memory_bandwidth;
        Some(Self {
            base: own.map_or(base, |own| own.rate),
            quantised,
            bandwidth,
            memory: bandwidth * compute.products.dense.bandwidth_efficiency,
            base_products: compute.products,
            served_products: compute.products_in(Format::Bf16),
            quantised_products: compute.products_in(weights),
            expert_imbalance: assumptions.experts.imbalance,
            widening: compute.widening / peak.fp32.unwrap_or(base).0,
            compute: compute.clone(),
            trainer: assumptions.trainer(accelerator),
            own,
        })
    }

    /// Time to widen a weight of `operation`, if it is stored in less than 16 bits.
    pub fn widening(&self, formats: Formats, operation: &Operation) -> f64 {
        let narrow = operation.stored_bytes(formats) < formats.activation_bytes();
        if narrow && formats.weights.is_weight_only() {
            self.widening
        } else {
            0.0
        }
    }

    /// Reading activations in serving, as reached.
    pub fn served_memory(&self) -> BytesPerSecond {
        self.bandwidth * self.served_products.dense.bandwidth_efficiency
    }

    /// Reading a KV cache of that format, as reached.
    pub fn kv_cache(&self, format: Format) -> BytesPerSecond {
        let reached = if format.bytes_per_element() <= 1.0 {
            self.compute.kv_bandwidth_efficiency_8bit
        } else {
            self.compute.kv_bandwidth_efficiency
        };
        self.bandwidth * reached
    }

    /// Share of the work on experts that the busiest of `parts` has.
    pub fn share_of_busiest(&self, parts: f64) -> f64 {
        (self.expert_imbalance / parts).min(1.0)
    }

    /// Peak arithmetic of an operation, and what products of its kind reach.
    pub fn of_operation(
        &self,
        quantised: bool,
        experts: bool,
    ) -> (FlopsPerSecond, ProductAssumptions) {
        let (rate, products) = if quantised {
            (self.quantised, self.quantised_products)
        } else {
            (self.base, self.served_products)
        };
        (
            rate,
            if experts {
                products.experts
            } else {
                products.dense
            },
        )
    }
}
