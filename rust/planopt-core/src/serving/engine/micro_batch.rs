//! One micro-batch of an engine: who is in it, kept as sums, so that a step costs the same
//! however many sequences decode.

use super::pages::Pages;
use crate::quantity::real;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// A sequence by its place in the engine and by how often that place has been given away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Ticket {
    pub(super) place: u32,
    pub(super) epoch: u32,
}

/// What a micro-batch is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) enum Doing {
    /// Nothing.
    #[default]
    Idle,
    /// It may start a step at this time.
    Waits(f64),
    /// Its step ends at this time.
    Steps(f64),
}

impl Doing {
    /// When something happens.
    pub(super) fn until(self) -> f64 {
        match self {
            Self::Idle => f64::INFINITY,
            Self::Waits(time) | Self::Steps(time) => time,
        }
    }
}

/// Steps of which each is a little longer than the one before, as all contexts grow by a token.
#[derive(Clone, Copy, Debug)]
pub(super) struct Jump {
    /// When the first begins.
    pub(super) start: f64,
    /// Seconds of the first.
    pub(super) first: f64,
    /// By how much each takes longer than the one before.
    pub(super) growth: f64,
    /// How many there are.
    pub(super) steps: u64,
}

impl Jump {
    /// When so many of them are through.
    pub(super) fn until(&self, steps: u64) -> f64 {
        let steps = real(steps);
        self.start + steps * self.first + self.growth * steps * (steps - 1.0) / 2.0
    }

    /// The same, left at the end of the step that is under way at `now`.
    #[must_use]
    pub(super) fn left_at(self, now: f64) -> Self {
        let (mut low, mut high) = (1, self.steps);
        while low < high {
            let middle = low.midpoint(high);
            if self.until(middle) < now {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Self { steps: low, ..self }
    }
}

/// One micro-batch.
#[derive(Clone, Debug, Default)]
pub(super) struct MicroBatch {
    pub(super) doing: Doing,
    /// The steps under way, where they are several that only decode.
    pub(super) jump: Option<Jump>,
    /// Tokens that every decoding sequence has got since the micro-batch began.
    pub(super) steps: u64,
    /// Sequences that decode.
    pub(super) decoding: u32,
    /// Tokens cached for them.
    pub(super) context: u64,
    /// How many of them need a page when `steps` leaves a remainder by the page size.
    crossing: Vec<u32>,
    /// When each of them ends, in `steps`; of those of one step, who has decoded for longest is first.
    ends: BinaryHeap<Reverse<(u64, u64, Ticket)>>,
    /// How many have begun to decode.
    joined: u64,
    /// Prompts that are being read, in order.
    pub(super) reading: VecDeque<Ticket>,
    /// Tokens of each of the first of `reading` in the step under way.
    pub(super) chunks: Vec<u32>,
    /// Whether the step under way decodes.
    pub(super) decodes: bool,
    /// Whether its last step let nobody in, and nothing has changed since.
    pub(super) lets_nobody_in: bool,
    /// Everybody in order of admission, with some who have left.
    admitted: Vec<Ticket>,
}

impl MicroBatch {
    pub(super) fn new(page_tokens: u32) -> Self {
        Self {
            crossing: vec![0; page_tokens as usize],
            ..Self::default()
        }
    }

    /// Sequences in it.
    pub(super) fn sequences(&self) -> usize {
        self.decoding as usize + self.reading.len()
    }

    /// Mean tokens cached for those who decode.
    #[expect(
        clippy::cast_precision_loss,
        reason = "fewer tokens than a double counts exactly"
    )]
    pub(super) fn mean_context(&self) -> f64 {
        if self.decoding == 0 {
            0.0
        } else {
            self.context as f64 / f64::from(self.decoding)
        }
    }

    /// Pages that the next decoding step needs.
    pub(super) fn pages_to_grow(&self) -> u64 {
        let page = self.crossing.len() as u64;
        let phase = usize::try_from(self.steps % page).unwrap_or_default();
        u64::from(self.crossing[phase])
    }

    /// Pages that the so many decoding steps behind the next one need.
    pub(super) fn pages_behind_next(&self, steps: u64) -> u64 {
        let page = self.crossing.len() as u64;
        let turns = steps / page * u64::from(self.decoding);
        let rest = (1..=steps % page).map(|step| {
            let phase = usize::try_from((self.steps + step) % page).unwrap_or_default();
            u64::from(self.crossing[phase])
        });
        turns + rest.sum::<u64>()
    }

    /// Decoding steps until the first of those who decode ends, or has before he was preempted.
    pub(super) fn steps_to_end(&self) -> u64 {
        let end = self.ends.peek().map_or(0, |&Reverse((end, ..))| end);
        end.saturating_sub(self.steps).max(1)
    }

    /// Remainder of `steps` at which a sequence with so many tokens cached now needs a page.
    fn phase(&self, cached: u32) -> usize {
        let page = self.crossing.len() as u64;
        let to_go = (page - u64::from(cached) % page) % page;
        usize::try_from((self.steps + to_go) % page).unwrap_or_default()
    }

    /// Somebody starts to decode with `cached` tokens and `remaining` ones to put out.
    pub(super) fn join(&mut self, ticket: Ticket, cached: u32, remaining: u32) {
        let phase = self.phase(cached);
        self.crossing[phase] += 1;
        self.decoding += 1;
        self.context += u64::from(cached);
        let end = self.steps + u64::from(remaining);
        self.ends.push(Reverse((end, self.joined, ticket)));
        self.joined += 1;
    }

    /// Somebody who decodes leaves with `cached` tokens.
    pub(super) fn leave(&mut self, cached: u32) {
        let phase = self.phase(cached);
        self.crossing[phase] -= 1;
        self.decoding -= 1;
        self.context -= u64::from(cached);
    }

    /// Every decoding sequence gets so many tokens.
    pub(super) fn step(&mut self, steps: u64) {
        self.steps += steps;
        self.context += steps * u64::from(self.decoding);
    }

    /// Somebody who has put out everything, if there is one; he may have been preempted before.
    pub(super) fn next_ended(&mut self) -> Option<Ticket> {
        let &Reverse((end, _, ticket)) = self.ends.peek()?;
        (end <= self.steps).then(|| {
            self.ends.pop();
            ticket
        })
    }

    /// Somebody is admitted. `is_here` tells who has not left yet.
    pub(super) fn admit(&mut self, ticket: Ticket, is_here: impl Fn(Ticket) -> bool) {
        // Those who left are swept out whenever they are the majority: constant time each.
        if self.admitted.len() > 2 * self.sequences() + 64 {
            self.admitted.retain(|&ticket| is_here(ticket));
        }
        self.admitted.push(ticket);
    }

    /// The latest who was admitted and is still here.
    pub(super) fn latest(&mut self, is_here: impl Fn(Ticket) -> bool) -> Option<Ticket> {
        while let Some(ticket) = self.admitted.pop() {
            if is_here(ticket) {
                return Some(ticket);
            }
        }
        None
    }
}

/// Pages of somebody who decodes or is about to.
pub(super) fn pages_of(pages: &Pages, cached: u32, reserved: u32) -> u64 {
    pages.of(cached.max(reserved))
}
