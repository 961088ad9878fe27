//! The prefix cache of an engine: full blocks of what was read and answered, kept while there is
//! room; the one that was not used for longest goes first.
//!
//! Blocks that follow each other in one text are kept as a *run*: a system prompt, the history of a
//! session, a hashed piece of a trace. A prompt goes through runs from its beginning, and into each
//! a number of blocks; two prompts that part inside of a run share what stands before (copy on
//! write). Whoever leaves touches his blocks from the last to the first (vLLM frees them in that
//! order), so that no block is younger than the one before it, what is there is there with all that
//! stands before it, and runs lose their ends. This is the same as an LRU of single blocks, and costs as
//! much as there are runs in a prompt (`tests/laws/prefixes.rs`).

use std::collections::{BTreeSet, HashMap};

/// How far a prompt goes into a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// Which run: whoever reaches it has come through the same runs before.
    pub run: u64,
    /// Blocks of it, from its first.
    pub blocks: u64,
}

/// Blocks of a run that were last used together.
#[derive(Clone, Copy, Debug)]
struct Part {
    /// Blocks of the run up to its end.
    end: u64,
    /// When it was last used; never later than the part before it.
    used: u64,
    /// Requests in the engine that hold it.
    held: u32,
}

/// What of a prompt is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Blocks from the beginning.
    pub blocks: u64,
    /// Of these, blocks that nobody holds.
    pub idle: u64,
}

/// The blocks of one engine.
#[derive(Clone, Debug, Default)]
pub struct Prefixes {
    runs: HashMap<u64, Vec<Part>>,
    /// Parts that nobody holds, by when they were last used, with their run.
    order: BTreeSet<(u64, u64)>,
    idle: u64,
    clock: u64,
}

impl Prefixes {
    /// Blocks that nobody holds.
    pub fn idle(&self) -> u64 {
        self.idle
    }

    /// What is there of the first `most` blocks of a prompt.
    pub fn find(&self, path: &[Stretch], most: u64) -> Found {
        let mut found = Found::default();
        for stretch in path {
            let wanted = stretch.blocks.min(most - found.blocks);
            let mut begin = 0;
            for part in self.runs.get(&stretch.run).into_iter().flatten() {
                let here = part.end.min(wanted).saturating_sub(begin);
                found.blocks += here;
                found.idle += if part.held == 0 { here } else { 0 };
                begin += here;
            }
            if begin < stretch.blocks {
                break;
            }
        }
        found
    }

    /// Holds the first `blocks` of a prompt, which have been found.
    pub fn hold(&mut self, path: &[Stretch], blocks: u64) {
        for (run, blocks) in split(path, blocks) {
            self.change(run, |parts| {
                cut(parts, blocks);
                for part in parts.iter_mut().filter(|part| part.end <= blocks) {
                    part.held += 1;
                }
            });
        }
    }

    /// Lets go of the first `held` blocks of a prompt and leaves its first `blocks`, these and
    /// others, as the last that were used. Tells how many of those that were held nobody holds any
    /// more.
    pub fn leave(&mut self, path: &[Stretch], held: u64, blocks: u64) -> u64 {
        let held: Vec<(u64, u64)> = split(path, held).collect();
        let left: Vec<(u64, u64)> = split(path, blocks).collect();
        let mut freed = 0;
        for (at, &(run, blocks)) in left.iter().enumerate().rev() {
            let held = held.get(at).map_or(0, |&(_, held)| held);
            self.clock += 1;
            let now = self.clock;
            self.change(run, |parts| {
                cut(parts, held);
                cut(parts, blocks);
                let mut begin = 0;
                for part in parts.iter_mut().filter(|part| part.end <= blocks) {
                    part.used = now;
                    if part.end <= held {
                        part.held -= 1;
                        freed += if part.held == 0 { part.end - begin } else { 0 };
                    }
                    begin = part.end;
                }
                if begin < blocks {
                    parts.push(Part {
                        end: blocks,
                        used: now,
                        held: 0,
                    });
                }
            });
        }
        freed
    }

    /// Gives up the blocks that were not used for longest until no more than `room` are idle.
    pub fn trim(&mut self, room: u64) {
        while self.idle > room {
            let Some(&(used, run)) = self.order.first() else {
                return;
            };
            let over = self.idle - room;
            self.change(run, |parts| {
                // Parts grow older towards the end: the oldest is the last.
                let begin = parts.iter().rev().find(|part| part.used > used);
                let begin = begin.map_or(0, |part| part.end);
                let kept = parts.iter().rev().find(|part| part.held > 0);
                let begin = begin.max(kept.map_or(0, |part| part.end));
                let end = parts.last().map_or(0, |part| part.end);
                let end = begin.max(end.saturating_sub(over));
                cut(parts, end);
                parts.retain(|part| part.end <= end);
            });
        }
    }

    /// Changes the parts of a run, and what is known of those that are idle with them.
    fn change(&mut self, run: u64, change: impl FnOnce(&mut Vec<Part>)) {
        let mut parts = self.runs.remove(&run).unwrap_or_default();
        for (part, blocks) in idle(&parts) {
            self.order.remove(&(part.used, run));
            self.idle -= blocks;
        }
        change(&mut parts);
        parts.dedup_by(|next, part| {
            let alike = (next.used, next.held) == (part.used, part.held);
            part.end = if alike { next.end } else { part.end };
            alike
        });
        for (part, blocks) in idle(&parts) {
            self.order.insert((part.used, run));
            self.idle += blocks;
        }
        if !parts.is_empty() {
            self.runs.insert(run, parts);
        }
    }
}

/// Parts that nobody holds, with their blocks.
fn idle(parts: &[Part]) -> impl Iterator<Item = (Part, u64)> {
    let begins = std::iter::once(0).chain(parts.iter().map(|part| part.end));
    let each = parts.iter().zip(begins);
    each.filter(|(part, _)| part.held == 0)
        .map(|(part, begin)| (*part, part.end - begin))
}

/// Cuts the part that goes beyond so many blocks in two.
fn cut(parts: &mut Vec<Part>, blocks: u64) {
    let at = parts.partition_point(|part| part.end <= blocks);
    let begin = at.checked_sub(1).map_or(0, |before| parts[before].end);
    if at < parts.len() && begin < blocks {
        let part = parts[at];
        parts.insert(
            at,
            Part {
                end: blocks,
                ..part
            },
        );
    }
}

/// The first `blocks` of a prompt by its runs, with how many of each.
fn split(path: &[Stretch], blocks: u64) -> impl Iterator<Item = (u64, u64)> {
    let mut left = blocks;
    let each = path.iter().map(move |stretch| {
        let here = stretch.blocks.min(left);
        left -= here;
        (stretch.run, here)
    });
    each.filter(|&(_, here)| here > 0)
}
