//! Step times of an engine on a grid: asked for once, interpolated ever after.

use crate::serving::engine::step::{StepTime, StepWork};

/// Places on the grid of prompt tokens: none, and halves of the budget.
const READS: usize = 9;

/// Places on the grid of decoding sequences.
const POPULATIONS: usize = 5;

/// Times of steps that read so many tokens beside so many decoding sequences.
#[derive(Clone, Copy, Debug)]
pub(super) struct Surface {
    reads: [f64; READS],
    populations: [f64; POPULATIONS],
    seconds: [[f64; POPULATIONS]; READS],
    /// Tokens looked at that the grid was asked for.
    attended_tokens: f64,
    /// Seconds per token read and token looked at more.
    per_attended_token: f64,
}

impl Surface {
    /// Asks for steps of up to `budget` tokens and `most` sequences.
    pub(super) fn new(
        step: &impl StepTime,
        budget: f64,
        most: f64,
        prompt: f64,
        attended_tokens: f64,
        context: f64,
    ) -> Self {
        let mut reads = [0.0; READS];
        for (at, read) in reads.iter_mut().enumerate().skip(1) {
            *read = budget / f64::from(1_u32 << (READS - 1 - at));
        }
        let populations = [0.0, most / 16.0, most / 4.0, most / 2.0, most];
        let time = |read: f64, population: f64, attended_tokens: f64| {
            let work = StepWork {
                prefill_tokens: read,
                chunks: if read > 0.0 {
                    (read / prompt).max(1.0)
                } else {
                    0.0
                },
                prefill_context: attended_tokens,
                decode_sequences: population,
                decode_context: context,
            };
            // An empty step is what a step of a single token takes that looks at no other: one that
            // decodes, as those beside it on the grid do. Prompts may take launches.
            let work = if work.is_empty() {
                StepWork::decode(1.0, 1.0)
            } else {
                work
            };
            step.seconds(&work).latency
        };
        let mut seconds = [[0.0; POPULATIONS]; READS];
        for (row, &read) in seconds.iter_mut().zip(&reads) {
            for (cell, &population) in row.iter_mut().zip(&populations) {
                *cell = time(read, population, attended_tokens);
            }
        }
        let farther = time(budget, 0.0, 2.0 * attended_tokens);
        let per_attended_token = (farther - seconds[READS - 1][0]) / (budget * attended_tokens);
        Self {
            reads,
            populations,
            seconds,
            attended_tokens,
            per_attended_token: per_attended_token.max(0.0),
        }
    }

    /// Time of a step that reads `read` tokens of prompts of average length.
    pub(super) fn at(&self, read: f64, population: f64) -> f64 {
        let (row, along) = place(&self.reads, read);
        let (column, across) = place(&self.populations, population);
        let between = |low: f64, high: f64, share: f64| low + (high - low) * share;
        let [low, high] = [row, row + 1].map(|row| {
            let cells = &self.seconds[row];
            between(cells[column], cells[column + 1], across)
        });
        between(low, high, along)
    }

    /// The same for prompts whose tokens attend to `attended_tokens`.
    pub(super) fn attending_to(&self, read: f64, population: f64, attended_tokens: f64) -> f64 {
        let more = read * (attended_tokens - self.attended_tokens) * self.per_attended_token;
        (self.at(read, population) + more).max(f64::MIN_POSITIVE)
    }
}

/// The cell of a grid that `x` is in, and how far along; beyond the grid it goes on as it ends.
fn place<const N: usize>(grid: &[f64; N], x: f64) -> (usize, f64) {
    let mut at = 0;
    while at + 2 < N && x > grid[at + 1] {
        at += 1;
    }
    let width = grid[at + 1] - grid[at];
    let along = if width > 0.0 {
        (x - grid[at]) / width
    } else {
        0.0
    };
    (at, along.max(0.0))
}
