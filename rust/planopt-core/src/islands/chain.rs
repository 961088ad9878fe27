//! A chain of machines that are not alike: which holds which layers.

use crate::quantity::Seconds;
use std::ops::Range;

/// States of a search, times what leads to each, at most: some seconds of work.
const MOST_WORK: usize = 2_000_000_000;

/// Share by which times are taken to be alike.
const ALIKE: f64 = 1e-9;

/// What stretches of layers take on machines of a kind: those from `first` to before `end`.
#[derive(Clone, Debug)]
pub struct Stretches {
    layers: usize,
    /// Infinite where such a machine does not hold them.
    seconds: Vec<f64>,
}

impl Stretches {
    /// All stretches of so many layers, shorter ones first of those that begin alike.
    pub fn of(layers: usize) -> impl Iterator<Item = Range<usize>> {
        (0..layers).flat_map(move |first| (first + 1..=layers).map(move |end| first..end))
    }

    /// From what each of [`Stretches::of`] takes.
    pub fn new(layers: usize, seconds: Vec<f64>) -> Self {
        Self { layers, seconds }
    }

    /// Where in [`Stretches::of`] these layers are.
    pub fn index(layers: usize, stretch: &Range<usize>) -> usize {
        let before = stretch.start * layers - stretch.start * stretch.start.saturating_sub(1) / 2;
        before + stretch.end - stretch.start - 1
    }

    /// What each takes.
    pub fn seconds(&self) -> &[f64] {
        &self.seconds
    }

    fn at(&self, stretch: &Range<usize>) -> f64 {
        self.seconds[Self::index(self.layers, stretch)]
    }
}

/// A stage of a chain: machines of which kind hold which layers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Of the kinds that were handed in.
    pub kind: usize,
    /// Its layers.
    pub layers: Range<usize>,
}

/// Machines that a chain may be made of.
pub struct Chains<'a> {
    /// Layers of the model.
    pub layers: usize,
    /// Machines of each kind.
    pub machines: &'a [u32],
    /// What layers take on each.
    pub stretches: &'a [Stretches],
    /// What the way from one kind to another takes: infinite where nothing may go it.
    pub hops: &'a [Vec<f64>],
}

impl Chains<'_> {
    /// Whether the search is short enough to be done.
    pub fn is_small(machines: &[u32], layers: usize, stages: u32) -> bool {
        let kinds = machines.len();
        let used: usize = machines
            .iter()
            .map(|own| own.min(&stages).saturating_add(1) as usize)
            .fold(1, usize::saturating_mul);
        used.saturating_mul(kinds * kinds * layers * layers / 2) <= MOST_WORK
    }

    /// The chain of so many stages that a token passes first, of which none takes longer than `most`:
    /// over all ways to cut the layers, and all orders of the machines. An exact dynamic programme:
    /// `best[end][used][kind]` is the least time to `end`, with so many machines of each kind `used`
    /// and one of `kind` the last. Of ways that take alike, that with the faster slowest stage.
    pub fn fastest(&self, stages: u32, most: Seconds) -> Option<Vec<Link>> {
        let kinds = self.machines.len();
        let sizes: Vec<usize> = (self.machines.iter())
            .map(|own| (*own).min(stages) as usize + 1)
            .collect();
        let strides: Vec<usize> = (0..kinds).map(|k| sizes[..k].iter().product()).collect();
        let all: usize = sizes.iter().product();
        let used = |set: usize, kind: usize| set / strides[kind] % sizes[kind];
        let place = |end: usize, set: usize, kind: usize| (end * all + set) * kinds + kind;
        let mut best = vec![f64::INFINITY; (self.layers + 1) * all * kinds];
        let mut longest = vec![0.0_f64; best.len()];
        let mut from = vec![(0_usize, 0_usize); best.len()];
        let mut found: Option<(f64, usize, usize)> = None;
        let shortest = self.shortest(most.0);
        for set in 1..all {
            let stage: usize = (0..kinds).map(|kind| used(set, kind)).sum();
            if stage > stages as usize {
                continue;
            }
            for kind in (0..kinds).filter(|kind| used(set, *kind) > 0) {
                let before = set - strides[kind];
                for end in stage..=self.layers {
                    let starts = if stage == 1 {
                        0..1
                    } else {
                        (stage - 1).max(shortest[kind][end])..end
                    };
                    let (mut least, mut way) = (f64::INFINITY, (0, 0));
                    let mut slowest = f64::INFINITY;
                    for start in starts {
                        let own = self.stretches[kind].at(&(start..end));
                        if own > most.0 {
                            continue;
                        }
                        if stage == 1 {
                            (least, slowest, way) = (own, own, (0, kinds));
                            continue;
                        }
                        for last in 0..kinds {
                            let there = best[place(start, before, last)];
                            let time = there + self.hops[last][kind] + own;
                            if time >= least * (1.0 + ALIKE) || time.is_infinite() {
                                continue;
                            }
                            let slow = longest[place(start, before, last)].max(own);
                            if time < least * (1.0 - ALIKE) || slow < slowest {
                                (least, slowest, way) = (time, slow, (start, last));
                            }
                        }
                    }
                    best[place(end, set, kind)] = least;
                    longest[place(end, set, kind)] = slowest;
                    from[place(end, set, kind)] = way;
                    let is_whole = end == self.layers && stage == stages as usize;
                    if is_whole && found.is_none_or(|(known, ..)| least < known) {
                        found = Some((least, set, kind));
                    }
                }
            }
        }
        let (_, mut set, mut kind) = found.filter(|(time, ..)| time.is_finite())?;
        let mut chain = Vec::new();
        let mut end = self.layers;
        while end > 0 {
            let (start, last) = from[place(end, set, kind)];
            chain.push(Link {
                kind,
                layers: start..end,
            });
            set -= strides[kind];
            (end, kind) = (start, last);
        }
        chain.reverse();
        Some(chain)
    }

    /// Of each kind, and each layer that a stretch may end before, the first that it may begin with.
    fn shortest(&self, most: f64) -> Vec<Vec<usize>> {
        let first = |own: &Stretches, end: usize| {
            let mut starts = 0..end;
            starts.find(|start| own.at(&(*start..end)) <= most)
        };
        let of_kind = |own| (0..=self.layers).map(move |end| first(own, end).unwrap_or(end));
        let kinds = self.stretches.iter();
        kinds.map(|own| of_kind(own).collect()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Machines that hold so many layers and take so long for one.
    fn stretches(layers: usize, holds: usize, each: f64) -> Stretches {
        let seconds = Stretches::of(layers).map(|own| {
            let many = own.len();
            let time = each * f64::from(u32::try_from(many).expect("few"));
            if many > holds { f64::INFINITY } else { time }
        });
        Stretches::new(layers, seconds.collect())
    }

    /// Every chain there is, by trying.
    fn tried(chains: &Chains, stages: u32, at: usize, left: &[u32], last: Option<usize>) -> f64 {
        if stages == 0 {
            return if at == chains.layers {
                0.0
            } else {
                f64::INFINITY
            };
        }
        let mut best = f64::INFINITY;
        for kind in (0..left.len()).filter(|kind| left[*kind] > 0) {
            let mut fewer = left.to_vec();
            fewer[kind] -= 1;
            for end in at + 1..=chains.layers {
                let own = chains.stretches[kind].at(&(at..end));
                let hop = last.map_or(0.0, |last| chains.hops[last][kind]);
                let rest = tried(chains, stages - 1, end, &fewer, Some(kind));
                best = best.min(own + hop + rest);
            }
        }
        best
    }

    #[test]
    fn no_other_chain_is_faster() {
        let own = [
            stretches(7, 4, 1.0),
            stretches(7, 2, 0.25),
            stretches(7, 3, 0.5),
        ];
        let hops = [
            vec![0.1, 0.9, 0.3],
            vec![0.9, 2.0, 0.1],
            vec![0.2, 0.1, 0.7],
        ];
        let mut known = 0;
        for machines in [[3, 1, 1], [1, 2, 2], [0, 3, 1], [2, 0, 2], [4, 0, 0]] {
            let chains = Chains {
                layers: 7,
                machines: &machines,
                stretches: &own,
                hops: &hops,
            };
            for stages in 1..=4 {
                let expected = tried(&chains, stages, 0, &machines, None);
                let found = chains.fastest(stages, Seconds(f64::INFINITY));
                let Some(chain) = found else {
                    assert!(expected.is_infinite(), "{machines:?} {stages}");
                    continue;
                };
                known += 1;
                let mut time: f64 = (chain.iter())
                    .map(|link| own[link.kind].at(&link.layers))
                    .sum();
                time += (chain.windows(2))
                    .map(|pair| hops[pair[0].kind][pair[1].kind])
                    .sum::<f64>();
                assert!((time - expected).abs() < 1e-12, "{machines:?} {stages}");
            }
        }
        assert!(known > 8);
    }

    #[test]
    fn a_stage_that_takes_too_long_is_not_taken() {
        let own = [stretches(6, 6, 1.0)];
        let chains = Chains {
            layers: 6,
            machines: &[3],
            stretches: &own,
            hops: &[vec![0.0]],
        };
        let sizes = |most| {
            let chain = chains.fastest(3, Seconds(most))?;
            let sizes: Vec<usize> = chain.iter().map(|link| link.layers.len()).collect();
            Some(sizes)
        };
        assert_eq!(sizes(2.0), Some(vec![2, 2, 2]));
        // Any cut takes as long: the one that is even is taken.
        assert_eq!(sizes(6.0), Some(vec![2, 2, 2]));
        assert_eq!(sizes(1.5), None);
    }
}
