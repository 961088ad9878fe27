//! What a larger batch, a longer context and more micro-batches do: the laws that let the search
//! bisect for the largest batch instead of trying each.

use planopt_core::parallel::Batching;
use proptest::prelude::*;

use crate::candidate::{at_most, candidates};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn a_larger_batch_takes_more_memory_and_time_and_less_time_per_sequence(
        candidate in candidates(),
        more in prop_oneof![Just(1_u32), 1_u32..5000],
    ) {
        // Attention data-parallel ranks wait for the one with the most sequences: all have as many.
        let dp = candidate.layout.dp;
        let fewer = candidate.layout.batch.next_multiple_of(dp);
        let more = more.next_multiple_of(dp);
        let small = candidate.with_batch(fewer).evaluate();
        let large = candidate.with_batch(fewer + more).evaluate();
        let (quick, slow) = (small.decode.step_seconds.0, large.decode.step_seconds.0);

        prop_assert!(at_most(small.memory.total.0, large.memory.total.0));
        prop_assert!(at_most(quick, slow));
        prop_assert!(at_most(slow / f64::from(fewer + more), quick / f64::from(fewer)));
        prop_assert!(at_most(small.decode.tokens_per_second, large.decode.tokens_per_second));
        prop_assert!(at_most(
            large.decode.tokens_per_second_per_user,
            small.decode.tokens_per_second_per_user,
        ));
        prop_assert!(small.prefill.seconds == large.prefill.seconds);
    }

    #[test]
    fn a_longer_context_takes_more_memory_and_time(
        candidate in candidates(),
        more in prop_oneof![Just(1_u64), 1_u64..100_000],
    ) {
        let short = candidate.evaluate();
        let mut longer = candidate;
        longer.question.context += more;
        let long = longer.evaluate();

        prop_assert!(at_most(short.memory.total.0, long.memory.total.0));
        prop_assert!(at_most(short.decode.step_seconds.0, long.decode.step_seconds.0));
    }

    #[test]
    fn a_longer_prompt_takes_longer(candidate in candidates(), more in 1_u64..20_000) {
        let short = candidate.evaluate();
        let mut longer = candidate;
        longer.question.prompt += more;
        let long = longer.evaluate();

        prop_assert!(at_most(short.prefill.seconds.0, long.prefill.seconds.0));
        prop_assert!(short.decode.step_seconds == long.decode.step_seconds);
    }

    #[test]
    fn more_micro_batches_in_flight_take_more_memory_and_give_no_less(
        candidate in candidates(),
        more in 1_u32..8,
    ) {
        let few = candidate.evaluate();
        let mut fuller = candidate;
        fuller.layout.in_flight += more;
        let many = fuller.evaluate();

        prop_assert!(at_most(few.memory.total.0, many.memory.total.0));
        prop_assert!(at_most(few.decode.tokens_per_second, many.decode.tokens_per_second));
        prop_assert!(at_most(few.decode.step_seconds.0, many.decode.step_seconds.0));
    }

    #[test]
    fn a_chunk_beside_the_batch_makes_a_step_longer_but_shorter_than_both_apart(
        candidate in candidates(),
    ) {
        let found = candidate.evaluate();
        let (alone, mixed) = (found.decode.step_seconds.0, found.mixed);

        prop_assert!(at_most(alone, mixed.step_seconds.0));
        if mixed.chunk_tokens == 0.0 {
            prop_assert!(alone.to_bits() == mixed.step_seconds.0.to_bits());
        } else if mixed.cached_tokens == 0.0 && candidate.layout.in_flight == 1 {
            prop_assert!(at_most(mixed.step_seconds.0, alone + found.prefill.seconds.0));
        }
    }

    #[test]
    fn what_fits_in_memory_fits_in_the_capacity_for_the_cache(candidate in candidates()) {
        let found = candidate.evaluate();
        let batching = candidate.layout.batching();
        let dp = candidate.layout.dp;
        let batching = Batching { batch: batching.batch.next_multiple_of(dp), ..batching };
        let cached = batching.users(candidate.question.overlap) * candidate.question.context;

        #[expect(clippy::cast_precision_loss, reason = "far below 2^53 tokens")]
        let cached = cached as f64;
        prop_assert_eq!(found.memory.fits(), at_most(cached, found.kv_capacity_tokens));
    }
}
