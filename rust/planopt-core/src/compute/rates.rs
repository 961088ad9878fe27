//! Rates of an accelerator for a choice of number formats.
//! Formulas: `docs/reference/model.md`, section 2.

use crate::catalog::{Accelerator, Assumptions, Format};
use crate::quantity::{BytesPerSecond, FlopsPerSecond};
use crate::transformer::Operation;

/// Formats of a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Formats {
    /// Of the quantised weights.
    pub weights: Format,
    /// Of the KV cache.
    pub kv: Format,
}

impl Formats {
    /// Bytes per element of activations, and of parameters that are never quantised.
    pub fn activation_bytes(self) -> f64 {
        match self.weights {
            Format::Fp32 => Format::Fp32.bytes_per_element(),
            _ => Format::Bf16.bytes_per_element(),
        }
    }

    /// Bytes per element of the parameters of an operation.
    pub fn weight_bytes(self, operation: &Operation) -> f64 {
        if operation.quantised {
            self.weights.bytes_per_element()
        } else {
            self.activation_bytes()
        }
    }
}

/// Rates of an accelerator for a choice of formats.
#[derive(Clone, Copy, Debug)]
pub struct Rates {
    /// Arithmetic of operations that are not quantised, and of attention.
    pub base: FlopsPerSecond,
    /// Arithmetic of quantised operations.
    pub quantised: FlopsPerSecond,
    /// Reading weights and activations, as reached.
    pub memory: BytesPerSecond,
    /// Reading the KV cache, as reached.
    pub kv_cache: BytesPerSecond,
    /// Share of the arithmetic rate that a large product reaches.
    pub efficiency: f64,
}

impl Rates {
    /// The rates of `accelerator`, or nothing if it has none for these weights.
    pub fn of(
        accelerator: &Accelerator,
        weights: Format,
        assumptions: &Assumptions,
    ) -> Option<Self> {
        let compute = &assumptions.compute;
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
            // Weight-only formats are widened to 16 bits before the product.
            Format::Int4 | Format::Mxfp4 | Format::Fp32 | Format::Bf16 | Format::Fp16 => base,
        };
        let measured = assumptions
            .accelerators
            .iter()
            .find(|entry| entry.id == accelerator.id);
        let (efficiency, bandwidth_efficiency) = measured.map_or(
            (compute.efficiency, compute.bandwidth_efficiency),
            |entry| (entry.efficiency, entry.bandwidth_efficiency),
        );
        Some(Self {
            base,
            quantised,
            memory: accelerator.memory_bandwidth * bandwidth_efficiency,
            kv_cache: accelerator.memory_bandwidth * compute.kv_bandwidth_efficiency,
            efficiency,
        })
    }
}
