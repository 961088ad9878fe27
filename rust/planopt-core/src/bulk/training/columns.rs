//! Metrics of training candidates.

use crate::bulk::columns::{Column, columns};
use crate::bulk::front::Ranked;

columns! {
    /// The contract's evaluation of training candidates.
    TrainingColumns {
        weights_bytes,
        gradients_bytes,
        optimizer_bytes,
        activations_bytes,
        overhead_bytes,
        total_bytes,
        capacity_bytes,
        step_seconds,
        compute_seconds,
        bubble_seconds,
        exposed_communication_seconds,
        host_seconds,
        tokens_per_second,
        tokens_per_second_per_accelerator,
        model_tflops_per_accelerator,
        mfu,
        goodput,
        days,
        price_usd,
        usd_per_hour,
        usd_per_million_tokens,
        tokens_per_usd,
    }
}

impl Ranked for TrainingColumns {
    fn ranked(&self) -> [&Column; 2] {
        [&self.price_usd, &self.days]
    }
}
