//! Time of collectives, against the formulas of `docs/reference/model.md`, section 4.

use planopt_core::catalog::ScaleUp;
use planopt_core::communication::{Fabric, Links};
use planopt_core::placement::Placement;
use planopt_core::quantity::{Bytes, BytesPerSecond};
use proptest::prelude::*;

use crate::candidate::alike;
use crate::made_up::accelerators;
use crate::stock::bundled;

proptest! {
    /// Small messages go to everybody at once, large ones around the ring.
    #[test]
    fn an_all_reduce_over_a_scale_up_link_takes_the_faster_of_ring_and_one_shot(
        accelerator in accelerators(),
        log_tp in 1_u32..=3,
        log_payload in 0_i32..34,
        gigabytes_per_second in 1.0..900.0,
    ) {
        let assumptions = &bundled("calibrated").assumptions.entity;
        let tp = 1_u32 << log_tp;
        let payload = 2.0_f64.powi(log_payload);
        let scale_up = ScaleUp {
            name: "bridge".to_owned(),
            bandwidth: BytesPerSecond(gigabytes_per_second * 1e9),
            domain: tp,
        };
        let links = Links {
            scale_up: Some(&scale_up),
            pcie: BytesPerSecond(1e9),
            all_reduce_bus: None,
            network: None,
        };
        let placement = Placement::new(tp, 1, tp).expect("one full host");
        let reached = &assumptions.communication;
        let across = payload / (scale_up.bandwidth.0 * reached.scale_up_efficiency);
        let n = f64::from(tp);
        let ring = 2.0 * (n - 1.0) / n * across + 2.0 * (n - 1.0) * reached.scale_up_latency.0;
        let one_shot = reached.one_shot_latency.0 + (n - 1.0) * across;

        let taken = Fabric::new(&accelerator, &links, assumptions)
            .all_reduce(placement, Bytes(payload));

        prop_assert!(alike(taken.0, ring.min(one_shot)), "{taken:?}: {ring} or {one_shot}");
    }
}
