//! More of what hardware is made of never hurts.

use planopt_core::quantity::{FlopsPerSecond, Seconds};
use planopt_core::serving::{ReplicaEvaluation, TimeParts};

use proptest::prelude::*;
use proptest::sample::select;

use crate::candidate::{Candidate, at_most, candidates};

/// What a candidate may have more of.
#[derive(Clone, Copy, Debug)]
enum Resource {
    Memory,
    MemoryBandwidth,
    PeakRate,
    ScaleUp,
    Pcie,
    AllReduceBus,
    Network,
    Nics,
}

const RESOURCES: [Resource; 8] = [
    Resource::Memory,
    Resource::MemoryBandwidth,
    Resource::PeakRate,
    Resource::ScaleUp,
    Resource::Pcie,
    Resource::AllReduceBus,
    Resource::Network,
    Resource::Nics,
];

fn with_more(candidate: &Candidate, resource: Resource, times: u32) -> Candidate {
    let mut better = candidate.clone();
    let factor = f64::from(times) * 1.01;
    let accelerator = &mut better.accelerator;
    match resource {
        Resource::Memory => accelerator.memory = accelerator.memory * factor,
        Resource::MemoryBandwidth => {
            accelerator.memory_bandwidth = accelerator.memory_bandwidth * factor;
        }
        Resource::PeakRate => {
            let peak = &mut accelerator.peak;
            let rates: [&mut Option<FlopsPerSecond>; 9] = [
                &mut peak.fp32,
                &mut peak.tf32,
                &mut peak.fp16,
                &mut peak.fp16_fp16_accumulate,
                &mut peak.bf16,
                &mut peak.fp8,
                &mut peak.fp8_fp16_accumulate,
                &mut peak.int8,
                &mut peak.fp4,
            ];
            for rate in rates.into_iter().flatten() {
                *rate = *rate * factor;
            }
        }
        Resource::ScaleUp => {
            if let Some(link) = &mut accelerator.scale_up {
                link.bandwidth = link.bandwidth * factor;
            }
        }
        Resource::Pcie => better.pcie = better.pcie * factor,
        Resource::AllReduceBus => {
            if let Some(bus) = &mut better.bus {
                bus.group_2 = bus.group_2 * factor;
                bus.group_4 = bus.group_4 * factor;
                bus.group_8 = bus.group_8 * factor;
            }
        }
        Resource::Network => better.line.rate = better.line.rate * factor,
        Resource::Nics => better.line.nics_per_host *= times,
    }
    better
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn more_of_a_resource_never_slows_or_overfills(
        candidate in candidates(),
        resource in select(RESOURCES.as_slice()),
        times in 1_u32..=4,
    ) {
        let before = candidate.evaluate();
        let after = with_more(&candidate, resource, times).evaluate();

        prop_assert!(after.memory.fits() || !before.memory.fits());
        prop_assert!(at_most(after.decode.step_seconds.0, before.decode.step_seconds.0));
        prop_assert!(at_most(after.prefill.seconds.0, before.prefill.seconds.0));
        prop_assert!(at_most(
            before.decode.tokens_per_second_per_user,
            after.decode.tokens_per_second_per_user,
        ));
        prop_assert!(at_most(before.decode.tokens_per_second, after.decode.tokens_per_second));
    }

    #[test]
    fn every_figure_is_a_positive_number(candidate in candidates()) {
        let evaluation = candidate.evaluate();
        let memory = evaluation.memory;
        let decode = evaluation.decode;
        for figure in [
            memory.total.0,
            memory.capacity.0,
            decode.step_seconds.0,
            decode.tpot_seconds.0,
            decode.tokens_per_second,
            decode.tokens_per_second_per_user,
            evaluation.prefill.seconds.0,
        ] {
            prop_assert!(figure.is_finite() && figure > 0.0, "{figure} in {evaluation:?}");
        }
        prop_assert!(memory.fits() == evaluation.rejections.is_empty());
    }

    #[test]
    fn parts_of_a_step_and_of_a_prompt_sum_to_it(candidate in candidates()) {
        let ReplicaEvaluation { decode, prefill, .. } = candidate.evaluate();
        for (parts, waiting, whole) in [
            (decode.turn, decode.waiting_seconds, decode.step_seconds),
            (prefill.parts, Seconds::ZERO, prefill.seconds),
        ] {
            let TimeParts { compute, memory, communication, offload, host } = parts;
            let told = [compute, memory, communication, offload, host, waiting];
            prop_assert!(told.iter().all(|part| part.0 >= 0.0), "{told:?}");
            let sum: Seconds = told.into_iter().sum();
            prop_assert!(at_most(sum.0, whole.0) && at_most(whole.0, sum.0), "{told:?}");
        }
    }
}
