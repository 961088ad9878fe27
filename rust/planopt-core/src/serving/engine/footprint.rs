//! What requests of a trace find of each other's prompts in a cache of any size.
//!
//! The clock is tokens of prompts, not seconds (docs/reference/serving.md, section 18). Of a window `w`
//! of it, `u(w)` are the tokens that were touched within, each once, on average over all windows that
//! end from `w` on; `H(w)` those whose last touch was at most `w` ago, over all tokens. A cache of
//! `C` tokens finds `H(w)` at `u(w) = C`. Who leaves touches the end of his prompt first.

use crate::load::Hashed;
use std::collections::{HashMap, HashSet};

/// Windows that are looked at, evenly by their logarithm.
const WINDOWS: usize = 64;

/// Of what could be found, what is worth its room.
const NEARLY_ALL: f64 = 0.99;

/// What is found of prompts, by what there is room for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Footprint {
    /// Tokens of each window, and what is found of prompts in a cache that holds as many.
    points: [(f64, f64); WINDOWS],
    /// Share of the tokens of prompts that are found where nothing is ever forgotten.
    pub all_hit_rate: f64,
    /// Tokens that a token which is read then looks at, on average.
    pub(super) attended: f64,
    /// Tokens of a prompt that are found then, on average.
    pub(super) in_common: f64,
}

/// A piece of a prompt as it was touched.
#[derive(Clone, Copy, Debug)]
struct Touch {
    at: f64,
    tokens: f64,
    /// The time since the touch before, when it was looked for; without one there is no end to it.
    since: f64,
    /// When it was touched again.
    next: f64,
}

impl Footprint {
    /// Of the prompts of a trace.
    pub fn of(hashed: &Hashed, prompts: &[u32]) -> Self {
        let (touches, all) = touched(hashed, prompts);
        let found = |within: f64| {
            let found = touches.iter().filter(|touch| touch.since <= within);
            found.map(|touch| touch.tokens).sum::<f64>() / all
        };
        let mut within = f64::from(hashed.tokens).min(all);
        let growth = (all / within).powf(1.0 / f64::from(u32::try_from(WINDOWS).unwrap_or(1)));
        let points = std::array::from_fn(|_| {
            let point = (occupied(&touches, within, all), found(within));
            within *= growth;
            point
        });
        let [work, read, in_common] = read_at_best(hashed, prompts);
        Self {
            points,
            all_hit_rate: found(f64::MAX),
            attended: work / read.max(1.0),
            in_common,
        }
    }

    /// Tokens of which nearly all is found that could be.
    pub(crate) fn needed(&self) -> f64 {
        let enough = NEARLY_ALL * self.all_hit_rate;
        let found = self.points.iter().find(|(_, found)| *found >= enough);
        found
            .or(self.points.last())
            .map_or(0.0, |(tokens, _)| *tokens)
    }

    /// Share of the tokens of prompts that a cache of so many tokens finds.
    pub fn hit_rate(&self, room: f64) -> f64 {
        let above = self.points.partition_point(|(tokens, _)| *tokens <= room);
        let Some(&(most, high)) = self.points.get(above) else {
            return self.all_hit_rate;
        };
        let (least, low) = match above {
            0 => (0.0, 0.0),
            _ => self.points[above - 1],
        };
        low + (high - low) * (room - least) / (most - least).max(f64::MIN_POSITIVE)
    }
}

/// Pieces in the order of the requests, and all tokens of prompts.
fn touched(hashed: &Hashed, prompts: &[u32]) -> (Vec<Touch>, f64) {
    let mut touches: Vec<Touch> = Vec::new();
    let mut last: HashMap<u64, usize> = HashMap::new();
    let mut before = 0.0;
    for (pieces, &prompt) in hashed.pieces.iter().zip(prompts) {
        let mut left = prompt;
        for &piece in pieces {
            let tokens = left.min(hashed.tokens);
            let at = before + f64::from(left);
            left -= tokens;
            let same = last.insert(piece, touches.len());
            let since = same.map_or(f64::INFINITY, |same| before - touches[same].at);
            if let Some(same) = same {
                touches[same].next = at;
            }
            touches.push(Touch {
                at,
                tokens: f64::from(tokens),
                since,
                next: f64::INFINITY,
            });
        }
        before += f64::from(prompt);
    }
    (touches, before.max(1.0))
}

/// Tokens that are in a window of so many until `end`, on average.
fn occupied(touches: &[Touch], within: f64, end: f64) -> f64 {
    let there = touches.iter().map(|touch| {
        let until = touch.next.min(touch.at + within).min(end);
        touch.tokens * (until - touch.at.max(within)).max(0.0)
    });
    there.sum::<f64>() / (end - within).max(1.0)
}

/// Where nothing is ever forgotten: tokens that are looked at by those that are read, these, and tokens
/// found of a prompt on average.
fn read_at_best(hashed: &Hashed, prompts: &[u32]) -> [f64; 3] {
    let mut known: HashSet<u64> = HashSet::new();
    let (mut work, mut read, mut found, mut count) = (0.0, 0.0, 0.0, 0.0);
    for (pieces, &prompt) in hashed.pieces.iter().zip(prompts) {
        let here = pieces.iter().take_while(|piece| known.contains(*piece));
        let here = u32::try_from(here.count()).unwrap_or(u32::MAX);
        let here = here
            .saturating_mul(hashed.tokens)
            .min(prompt.saturating_sub(1));
        known.extend(pieces);
        let (here, new) = (f64::from(here), f64::from(prompt - here));
        work += new * (here + new / 2.0);
        read += new;
        found += here;
        count += 1.0;
    }
    [work, read, found / f64::max(count, 1.0)]
}

#[cfg(test)]
mod tests {
    use super::Footprint;
    use crate::load::Hashed;

    #[test]
    fn two_prompts_that_begin_alike_share_what_they_begin_with() {
        let pieces = vec![vec![1, 2, 3], vec![1, 2, 4]];
        let found = Footprint::of(&Hashed { tokens: 4, pieces }, &[12, 12]);
        // 12 tokens are read, each looks at 6 others on average; then 4 that look at 8 and at 2.
        let attended = (12.0 * 6.0 + 4.0 * 10.0) / 16.0;
        assert_eq!((found.attended, found.in_common), (attended, 8.0 / 2.0));
    }
}
