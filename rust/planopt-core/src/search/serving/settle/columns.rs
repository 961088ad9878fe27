//! Every column of a question: all units, whatever beats or replaces them, at rates that nothing refuses.

use super::judge::{LEVELS, Verdict};
use super::kinds::{Kinds, SettledPart, rounded};
use super::settling::{Rated, Settling};
use crate::quantity::real;
use crate::search::result::SearchResult;
use crate::search::serving::found::FoundUnit;
use rayon::prelude::*;
use std::collections::BTreeMap;

/// Every column of a question.
#[derive(Debug)]
pub struct Columns<'a> {
    /// Units at the most that is not refused, each with the place of its part.
    pub units: Vec<(usize, FoundUnit<'a>)>,
    /// Places of the rates that no run of now decides to violate the SLO, or that no unit has.
    pub unconfirmed: Vec<usize>,
    /// What was looked at.
    pub searched: Vec<SearchResult<FoundUnit<'a>>>,
}

/// Gathers every unit of some parts that serves one user in time, with the fluid bound of its replicas;
/// or below the rate that is said to be refused, where a run of now decides so again.
pub fn columns<'a>(
    parts: &[SettledPart<'_, 'a>],
    refused: &[Rated],
    settling: Settling<'_>,
) -> Columns<'a> {
    let limits = settling.limits;
    let are_all = !settling.most && limits.tokens_per_second <= 0.0;
    let users = are_all.then(|| real(limits.users));
    let mut all = Columns {
        units: Vec::new(),
        unconfirmed: Vec::new(),
        searched: Vec::new(),
    };
    let mut confirmed = vec![false; refused.len()];
    for (place, &part) in parts.iter().enumerate() {
        let (of_part, mut kinds, units, result) = Kinds::of(part, users, settling);
        kinds.par_iter_mut().for_each(|kind| of_part.sharpen(kind));
        let is_closed = of_part.judge.is_closed();
        let mut said: BTreeMap<usize, usize> = BTreeMap::new();
        for (kind, unit) in &units {
            let layout = kinds[*kind].layout();
            let named = refused
                .iter()
                .position(|rated| rated.names(place, unit, layout));
            if let Some(named) = named {
                said.insert(*kind, named);
            }
        }
        let looks = kinds.par_iter_mut().enumerate();
        let looks = looks.filter_map(|(kind, each)| Some((each, *said.get(&kind)?)));
        let again: Vec<(usize, bool)> = looks
            .filter_map(|(kind, named)| {
                let rate = rounded(refused[named].rate?, is_closed);
                // A look ends where it is decided: longer ones may follow, and none is another.
                kind.bracket.level = LEVELS.len() - 1;
                let is_refused = of_part.decide(kind, rate) == Verdict::Violating;
                let some = of_part.judge.together(rate);
                if !is_refused && of_part.last(kind, some, rate).0 == Verdict::Violating {
                    // A final run has refused what looks had let pass.
                    kind.bracket.refuse(rate, Verdict::Violating);
                }
                Some((named, kind.bracket.violating <= rate))
            })
            .collect();
        for (named, is_refused) in again {
            confirmed[named] |= is_refused;
        }
        all.units.extend(units.into_iter().map(|(kind, unit)| {
            let kind = &kinds[kind];
            let rate = kind.bracket.not_violating(is_closed);
            (place, of_part.supplying(kind, &unit, rate))
        }));
        all.searched.push(result);
    }
    let unconfirmed = confirmed.iter().enumerate();
    all.unconfirmed = unconfirmed
        .filter(|(_, is)| !**is)
        .map(|(at, _)| at)
        .collect();
    all
}
