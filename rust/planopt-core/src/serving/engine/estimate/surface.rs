//! Step times of an engine on a grid: asked for once, interpolated ever after.

use crate::serving::engine::step::{StepTime, StepWork};

/// Points of the grid of prompt tokens: none, and halves of the budget.
const READS: usize = 9;

/// Points of the grid of decoding sequences.
const POPULATIONS: usize = 5;

/// Times of steps that read so many tokens with so many decoding sequences.
#[derive(Clone, Copy, Debug)]
pub(super) struct Surface {
    reads: [f64; READS],
    /// By sequences, for each number of tokens read.
    seconds: [Linear<POPULATIONS>; READS],
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
            // decodes, as its neighbours on the grid do. Prompts may take launches.
            let work = if work.is_empty() {
                StepWork::decode(1.0, 1.0)
            } else {
                work
            };
            step.seconds(&work).latency
        };
        let seconds = reads.map(|read| {
            let row = populations.map(|population| time(read, population, attended_tokens));
            Linear::new(populations, row)
        });
        let farther = time(budget, 0.0, 2.0 * attended_tokens);
        let per_attended_token =
            (farther - seconds[READS - 1].at(0.0)) / (budget * attended_tokens);
        Self {
            reads,
            seconds,
            attended_tokens,
            per_attended_token: per_attended_token.max(0.0),
        }
    }

    /// Times of mixed steps with so many decoding sequences.
    pub(super) fn mixed(&self, population: f64) -> MixedSteps {
        MixedSteps {
            steps: Linear::new(
                self.reads,
                self.seconds.each_ref().map(|row| row.at(population)),
            ),
            attended_tokens: self.attended_tokens,
            per_attended_token: self.per_attended_token,
        }
    }

    /// Time of a step that only decodes.
    pub(super) fn decode(&self, population: f64) -> f64 {
        self.seconds[0].at(population)
    }
}

/// Times of steps that read with a number of decoding sequences.
#[derive(Clone, Copy, Debug)]
pub(super) struct MixedSteps {
    steps: Linear<READS>,
    attended_tokens: f64,
    per_attended_token: f64,
}

impl MixedSteps {
    /// Time of a step that reads `read` tokens of prompts of average length.
    pub(super) fn at(&self, read: f64) -> f64 {
        self.steps.at(read)
    }

    /// The same for prompts whose tokens attend to `attended_tokens`.
    pub(super) fn attending_to(&self, read: f64, attended_tokens: f64) -> f64 {
        let more = read * (attended_tokens - self.attended_tokens) * self.per_attended_token;
        (self.at(read) + more).max(f64::MIN_POSITIVE)
    }
}

/// A value between points of a grid; beyond it goes on as it ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Linear<const N: usize> {
    points: [f64; N],
    values: [f64; N],
    slopes: [f64; N],
}

impl<const N: usize> Linear<N> {
    pub(super) fn new(points: [f64; N], values: [f64; N]) -> Self {
        let slopes = std::array::from_fn(|cell| {
            let (from, to) = (cell.min(N - 2), cell.min(N - 2) + 1);
            let width = points[to] - points[from];
            (values[to] - values[from]) / width.max(f64::MIN_POSITIVE)
        });
        Self {
            points,
            values,
            slopes,
        }
    }

    pub(super) fn at(&self, x: f64) -> f64 {
        let inner = &self.points[1..N - 1];
        let cell = inner.iter().filter(|&&point| x > point).count();
        self.values[cell] + (x - self.points[cell]).max(0.0) * self.slopes[cell]
    }
}
