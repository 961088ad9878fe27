//! What adapters of low rank do: nothing where there are none, and more of them are never faster nor
//! smaller.

use planopt_core::load::serving::Adapters;
use planopt_core::serving::ReplicaEvaluation;

use proptest::prelude::*;

use crate::candidate::{Candidate, at_most, candidates};

fn with(candidate: &Candidate, count: u32, rank: u32) -> ReplicaEvaluation {
    let mut other = candidate.clone();
    other.question.adapters = Some(Adapters { count, rank });
    other.evaluate()
}

fn costs_no_less(small: &ReplicaEvaluation, large: &ReplicaEvaluation) -> bool {
    at_most(small.memory.total.0, large.memory.total.0)
        && at_most(small.decode.step_seconds.0, large.decode.step_seconds.0)
        && at_most(small.prefill.seconds.0, large.prefill.seconds.0)
        && at_most(small.mixed.step_seconds.0, large.mixed.step_seconds.0)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn more_adapters_and_larger_ones_take_more_memory_and_time(
        candidate in candidates(),
        (count, rank) in (1_u32..300, 1_u32..128),
        (more, wider) in (0_u32..300, 0_u32..128),
    ) {
        let few = with(&candidate, count, rank);
        prop_assert!(costs_no_less(&candidate.evaluate(), &few));
        prop_assert!(costs_no_less(&few, &with(&candidate, count + more, rank)));
        prop_assert!(costs_no_less(&few, &with(&candidate, count, rank + wider)));
    }
}
