//! Time of collectives, against the formulas of `docs/reference/model.md`, section 4.

use crate::candidate::alike;
use crate::made_up::accelerators;
use crate::stock::bundled;
use planopt_core::catalog::ScaleUp;
use planopt_core::hardware::{Fabric, Links};
use planopt_core::parallel::{Degrees, Placement, all_reduce};
use planopt_core::quantity::{Bytes, BytesPerSecond};
use proptest::prelude::*;

proptest! {
    /// Small messages go to everybody at once, large ones around the ring.
    #[test]
    fn an_all_reduce_over_a_scale_up_link_takes_the_fastest_of_its_ways(
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
            between_hosts: false,
        };
        let links = Links {
            scale_up: Some(&scale_up),
            pcie: BytesPerSecond(1e9),
            all_reduce_bus: None,
            network: None,
        };
        let placement = Placement::new(Degrees::tensor(tp), 1, tp).expect("one full host");
        let reached = &assumptions.communication;
        let across = payload / (scale_up.bandwidth.0 * reached.scale_up.efficiency);
        let n = f64::from(tp);
        let shares = 2.0 * (n - 1.0) / n * across;
        let ring = reached.scale_up.overhead.0
            + 2.0 * (n - 1.0) * reached.scale_up.latency.0
            + shares;
        let one_shot = reached.scale_up.one_shot_latency.0 + (n - 1.0) * across;
        let two_shot = reached.scale_up.two_shot_latency.map(|latency| latency.0 + shares);
        let bulk = reached.scale_up.bulk.map(|(latency, share)| {
            latency.0 + shares * reached.scale_up.efficiency / share
        });
        let fastest = [Some(ring), Some(one_shot), two_shot, bulk]
            .into_iter()
            .flatten()
            .fold(f64::INFINITY, f64::min);

        let taken = all_reduce(&Fabric::new(&accelerator, &links, assumptions), placement, Bytes(payload));

        prop_assert!(alike(taken.0, fastest), "{taken:?}: {fastest}");
    }
}
