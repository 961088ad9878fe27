//! What ranks that divide contexts do: each holds its share of the cache and all of the weights, and
//! has its share of the arithmetic of a prompt.

use planopt_core::compute::{Rank, Step};
use planopt_core::hardware::Rates;
use planopt_core::parallel::{Degrees, Layout};

use proptest::prelude::*;

use crate::candidate::{Candidate, at_most, candidates};

/// The same candidate with whole contexts, and with contexts that `ranks` divide, if both can be
/// laid out.
fn whole_and_divided(candidate: &Candidate, ranks: u32) -> Option<(Candidate, Candidate)> {
    let with = |cp| {
        let degrees = Degrees {
            cp,
            ..Degrees::tensor(candidate.layout.tp)
        };
        // One stage: of several another one may be the fullest.
        let layout = Layout {
            batch: candidate.layout.batch,
            in_flight: candidate.layout.in_flight,
            ..Layout::staged(degrees, 1)
        };
        layout.place(candidate.host.slots).ok()?;
        let mut other = candidate.clone();
        other.layout = layout;
        Some(other)
    };
    Some((with(1)?, with(ranks)?))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn a_rank_holds_its_share_of_the_cache_and_all_of_the_weights(
        candidate in candidates(),
        ranks in 2_u32..8,
    ) {
        let Some((whole, divided)) = whole_and_divided(&candidate, ranks) else {
            return Ok(());
        };
        let (one, of_many) = (whole.evaluate().memory, divided.evaluate().memory);
        let share = one.kv_cache.0 / f64::from(ranks);

        prop_assert!(one.weights == of_many.weights);
        prop_assert!(at_most(of_many.kv_cache.0, one.kv_cache.0));
        prop_assert!(at_most(share, of_many.kv_cache.0));
    }

    #[test]
    fn a_rank_has_its_share_of_the_time_of_a_prompt(
        candidate in candidates(),
        ranks in 2_u32..8,
        tokens in 1.0..200_000.0_f64,
    ) {
        let formats = candidate.question.formats;
        let rates = Rates::of(&candidate.accelerator, formats.weights, &candidate.assumptions)
            .expect("made-up accelerators have a rate for every format that is asked for");
        let degrees = Degrees::tensor(candidate.layout.tp);
        let rank = Rank::new(&candidate.transformer, formats, &rates, degrees);
        let whole = Step::prefill(tokens);
        let share = Step { split: f64::from(ranks), ..whole };
        prop_assert!(at_most(share.tokens() * f64::from(ranks), tokens));
        for block in &rank.blocks {
            let all = block.time(whole, whole.tokens()).total().0;
            let own = block.time(share, share.tokens()).total().0;
            // Weights are read by each, fewer rows are multiplied less efficiently, and latents of the
            // others are expanded again.
            prop_assert!(at_most(all / f64::from(ranks), own));
        }
    }
}
