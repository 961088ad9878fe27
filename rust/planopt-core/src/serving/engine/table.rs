//! Step times of an engine, looked up instead of worked out: a simulation asks for the same steps
//! over and over.
//!
//! Prompt tokens and sequences are the two axes, finer where few of them share a step; contexts are
//! linear, which attention is (`docs/reference/serving.md`, section 9). A step in between is
//! interpolated. It is for the short runs that compare layouts: what is bought is simulated with the
//! steps themselves.

use super::estimate::Traffic;
use super::limits::EngineLimits;
use super::step::{StepSeconds, StepTime, StepWork};
use crate::quantity::real;

/// Prompt tokens of the first steps, before they grow by [`APART`].
const FIRST_TOKENS: [f64; 5] = [0.0, 1.0, 4.0, 16.0, 64.0];

/// By how much further prompt tokens, and sequences, grow from line to line.
const APART: f64 = 1.3;

/// Sequences that each have a line of their own.
const FIRST_SEQUENCES: u32 = 16;

/// Prompt tokens, or sequences, at which steps are known, in growing order from 0.
#[derive(Clone, Debug)]
struct Axis(Vec<f64>);

impl Axis {
    fn new(first: impl Iterator<Item = f64>, most: f64) -> Self {
        let mut lines: Vec<f64> = first.take_while(|&at| at < most).collect();
        while let Some(&last) = lines.last() {
            let next = (last * APART).ceil();
            if next >= most {
                break;
            }
            lines.push(next);
        }
        lines.push(most);
        Self(lines)
    }

    /// The line at or below a figure, and how far towards the next it is; beyond the last one it is
    /// further than that.
    fn place(&self, at: f64) -> (usize, f64) {
        let above = self.0.partition_point(|&line| line <= at);
        let below = above.clamp(1, self.0.len() - 1) - 1;
        let (low, high) = (self.0[below], self.0[below + 1]);
        (below, (at - low) / (high - low))
    }
}

/// Of a step: its time at the usual contexts, and what each token of context adds.
#[derive(Clone, Copy, Debug)]
struct Cell {
    seconds: StepSeconds,
    per_prefill_context: StepSeconds,
    per_decode_context: StepSeconds,
}

/// Step times of one engine, tabulated.
#[derive(Clone, Debug)]
pub struct StepTable {
    tokens: Axis,
    sequences: Axis,
    /// By sequences, then by prompt tokens.
    cells: Vec<Cell>,
    prefill_context: f64,
    decode_context: f64,
}

/// Contexts from which slopes are taken, as multiples of the usual one.
const FURTHER: f64 = 2.0;

impl StepTable {
    /// Tabulates steps within an engine's limits, about the contexts of its traffic.
    pub fn new(step: &impl StepTime, limits: &EngineLimits, traffic: &Traffic) -> Self {
        let budget = f64::from(limits.token_budget.min(MOST_TOKENS)).max(1.0);
        let tokens = Axis::new(FIRST_TOKENS.into_iter(), budget);
        let resident = real(limits.kv_tokens) / traffic.mean_prompt().max(1.0);
        let places = f64::from(limits.max_sequences).min(resident.ceil());
        let first = (0..=FIRST_SEQUENCES).map(f64::from);
        let sequences = Axis::new(first, places.max(1.0));
        let (prefill_context, decode_context) =
            (traffic.mean_attended_tokens(), traffic.decode_context());
        let read = traffic.mean_read().max(1.0);
        let mut cells = Vec::with_capacity(tokens.0.len() * sequences.0.len());
        for &decoding in &sequences.0 {
            for &prompt in &tokens.0 {
                let at = |of_prompts: f64, of_decoding: f64| {
                    let work = StepWork {
                        prefill_tokens: prompt,
                        chunks: if prompt > 0.0 {
                            (prompt / read).max(1.0)
                        } else {
                            0.0
                        },
                        prefill_context: of_prompts,
                        decode_sequences: decoding,
                        decode_context: of_decoding,
                    };
                    if work.is_empty() {
                        NOTHING
                    } else {
                        step.seconds(&work)
                    }
                };
                let seconds = at(prefill_context, decode_context);
                let slope = |further: StepSeconds, over: f64| StepSeconds {
                    latency: (further.latency - seconds.latency) / over,
                    interval: (further.interval - seconds.interval) / over,
                };
                let more = FURTHER - 1.0;
                let reads = at(FURTHER * prefill_context, decode_context);
                let decodes = at(prefill_context, FURTHER * decode_context);
                cells.push(Cell {
                    seconds,
                    per_prefill_context: slope(reads, more * prefill_context),
                    per_decode_context: slope(decodes, more * decode_context),
                });
            }
        }
        Self {
            tokens,
            sequences,
            cells,
            prefill_context,
            decode_context,
        }
    }
}

/// Prompt tokens of the largest step that is tabulated, where the engine sets no limit.
const MOST_TOKENS: u32 = 1 << 16;

const NOTHING: StepSeconds = StepSeconds {
    latency: 0.0,
    interval: 0.0,
};

impl StepTime for StepTable {
    fn seconds(&self, work: &StepWork) -> StepSeconds {
        let further_in = work.prefill_context - self.prefill_context;
        let further_out = work.decode_context - self.decode_context;
        let (row, down) = self.sequences.place(work.decode_sequences);
        let (column, along) = self.tokens.place(work.prefill_tokens);
        let wide = self.tokens.0.len();
        let mut seconds = NOTHING;
        let mut add = |place: usize, share: f64| {
            let cell = &self.cells[place];
            let of = |time: f64, reading: f64, decoding: f64| {
                share * (time + further_in * reading + further_out * decoding)
            };
            let (reading, decoding) = (cell.per_prefill_context, cell.per_decode_context);
            seconds.latency += of(cell.seconds.latency, reading.latency, decoding.latency);
            seconds.interval += of(cell.seconds.interval, reading.interval, decoding.interval);
        };
        let place = row * wide + column;
        if work.prefill_tokens > 0.0 {
            add(place, (1.0 - down) * (1.0 - along));
            add(place + 1, (1.0 - down) * along);
            add(place + wide, down * (1.0 - along));
            add(place + wide + 1, down * along);
        } else {
            add(place, 1.0 - down);
            add(place + wide, down);
        }
        // Contexts far below the usual ones: a step takes some time whatever it is about.
        let least = 0.1 * self.cells[place].seconds.latency;
        StepSeconds {
            latency: seconds.latency.max(least),
            interval: seconds
                .interval
                .max(least.min(seconds.latency))
                .min(seconds.latency.max(least)),
        }
    }
}
