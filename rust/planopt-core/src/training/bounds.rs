//! Bounds on paper: what hours, bytes and bandwidths alone say of a run, before any layout is
//! evaluated. The seed article reasons with these.

use crate::quantity::{Bytes, BytesPerSecond, Flops, FlopsPerSecond, SECONDS_PER_HOUR, Seconds};

/// How long a run of so many hours of single accelerators takes on `accelerators` at once.
pub fn duration(accelerator_hours: f64, accelerators: f64) -> Seconds {
    Seconds(accelerator_hours * SECONDS_PER_HOUR / accelerators)
}

/// Accelerators, not rounded up, on which such a run takes so long: the inverse of [`duration`].
pub fn accelerators_to_finish(accelerator_hours: f64, within: Seconds) -> f64 {
    accelerator_hours * SECONDS_PER_HOUR / within.0
}

/// Accelerators of `capacity` without which `needed` bytes fit nowhere, however they are divided.
pub fn fewest_accelerators(needed: Bytes, capacity: Bytes) -> f64 {
    (needed / capacity).ceil()
}

/// Micro-batches that a stage holds where it starts one in every round and backward follows
/// without a flush: each stage behind it takes a round on the way forward and one on the way back.
pub fn in_flight_both_ways(stages_behind: f64) -> f64 {
    2.0 * stages_behind + 1.0
}

/// Forwards of single layers that backward through `layers` takes where their input alone is kept:
/// for each layer, from the last, all up to it.
pub fn forwards_from_the_input(layers: f64) -> f64 {
    layers * (layers + 1.0) / 2.0
}

/// FLOP for each byte of a message, where `degree` ranks divide the arithmetic and each of them
/// needs the whole message.
pub fn tensor_intensity(work: Flops, message: Bytes, degree: f64) -> f64 {
    work.0 / degree / message.0
}

/// Bandwidth at which the message takes as long as the arithmetic.
pub fn bandwidth_to_keep_up(rate: FlopsPerSecond, intensity: f64) -> BytesPerSecond {
    BytesPerSecond(rate.0 / intensity)
}

/// Tensor-parallel degree, not rounded down, from which on the message outlasts the arithmetic.
pub fn largest_tensor_degree(
    work: Flops,
    message: Bytes,
    rate: FlopsPerSecond,
    bandwidth: BytesPerSecond,
) -> f64 {
    (work / rate) / (message / bandwidth)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn same(found: f64, expected: f64) {
        assert!(
            (found / expected - 1.0).abs() < 1e-12,
            "{found}, not {expected}"
        );
    }

    #[test]
    fn a_run_takes_its_hours_over_its_accelerators() {
        same(duration(1000.0, 10.0).0, 100.0 * 3600.0);
        same(accelerators_to_finish(1000.0, duration(1000.0, 7.0)), 7.0);
    }

    #[test]
    fn a_byte_too_many_takes_another_accelerator() {
        same(fewest_accelerators(Bytes(160.0), Bytes(80.0)), 2.0);
        same(fewest_accelerators(Bytes(161.0), Bytes(80.0)), 3.0);
    }

    /// Micro-batch `k` is on stage `j` of `p` in round `k + j` forward, and in round
    /// `k + 2 (p - 1) - j` backward: the last stage turns it around at once.
    #[test]
    fn a_stage_holds_what_is_on_its_way_forward_and_back() {
        let stages = 5;
        let full = 20;
        for index in 0..stages {
            let held = (0..=full)
                .filter(|start| {
                    let (forward, backward) = (start + index, start + 2 * (stages - 1) - index);
                    (forward..=backward).contains(&full)
                })
                .count();
            #[expect(clippy::cast_precision_loss, reason = "a few micro-batches")]
            let held = held as f64;
            same(in_flight_both_ways(f64::from(stages - 1 - index)), held);
        }
    }

    #[test]
    fn every_layer_is_recomputed_from_the_first() {
        let counted: u32 = (1..=7).rev().sum();
        same(forwards_from_the_input(7.0), f64::from(counted));
    }

    #[test]
    fn at_the_largest_degree_message_and_arithmetic_take_as_long() {
        let (work, message) = (Flops(6.0e9), Bytes(3.0e6));
        let (rate, bandwidth) = (FlopsPerSecond(100e12), BytesPerSecond(200e9));
        let degree = largest_tensor_degree(work, message, rate, bandwidth);
        same((work / rate).0 / degree, (message / bandwidth).0);

        let intensity = tensor_intensity(work, message, degree);
        same(bandwidth_to_keep_up(rate, intensity).0, bandwidth.0);
    }
}
