//! Metrics of serving candidates.

use crate::bulk::columns::{Column, columns};
use crate::bulk::front::Ranked;

columns! {
    /// The contract's evaluation of serving candidates. Percentiles need arrivals, of which a
    /// space says nothing.
    ServingColumns {
        weights_bytes,
        kv_cache_bytes,
        activations_bytes,
        overhead_bytes,
        total_bytes,
        capacity_bytes,
        step_seconds,
        compute_seconds,
        memory_seconds,
        communication_seconds,
        host_seconds,
        waiting_seconds,
        tpot_seconds,
        tokens_per_second_per_user,
        tokens_per_second,
        prefill_seconds,
        price_usd,
        usd_per_hour,
        usd_per_million_tokens,
        tokens_per_usd,
        power_watts,
    }
}

impl Ranked for ServingColumns {
    fn ranked(&self) -> [&Column; 2] {
        [&self.usd_per_million_tokens, &self.tpot_seconds]
    }
}
