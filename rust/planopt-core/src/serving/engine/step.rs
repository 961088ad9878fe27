//! How long a step of an engine takes.

use crate::compute::Step;
use serde::Deserialize;

/// The tokens that go through a step together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StepWork {
    /// Tokens of prompts that are read, of all chunks together.
    pub prefill_tokens: f64,
    /// Prompts that these belong to.
    pub chunks: f64,
    /// Tokens that one of them looks at on average, itself included.
    pub prefill_context: f64,
    /// Sequences that get a token each.
    pub decode_sequences: f64,
    /// Tokens cached for one of them, on average.
    pub decode_context: f64,
}

impl StepWork {
    /// A step that only decodes.
    pub fn decode(sequences: f64, context: f64) -> Self {
        Self {
            decode_sequences: sequences,
            decode_context: context,
            ..Self::default()
        }
    }

    /// The same step with one chunk of a prompt more, behind `cached` tokens of it.
    #[must_use]
    pub fn with_chunk(mut self, tokens: f64, cached: f64) -> Self {
        let attended_tokens = self.prefill_tokens * self.prefill_context
            + tokens * (cached + f64::midpoint(tokens, 1.0));
        self.prefill_tokens += tokens;
        self.chunks += 1.0;
        self.prefill_context = attended_tokens / self.prefill_tokens;
        self
    }

    /// Tokens cached ahead of a chunk, if all chunks were alike: the inverse of
    /// `prefill_context = cached + (chunk + 1) / 2`.
    pub fn prefill_cached(&self) -> f64 {
        if self.chunks > 0.0 {
            let chunk = self.prefill_tokens / self.chunks;
            (self.prefill_context - f64::midpoint(chunk, 1.0)).max(0.0)
        } else {
            0.0
        }
    }

    /// The same as formulas read it: chunks all alike.
    pub fn step(&self) -> Step {
        Step {
            prompts: self.chunks,
            chunk: if self.chunks > 0.0 {
                self.prefill_tokens / self.chunks
            } else {
                0.0
            },
            cached: self.prefill_cached(),
            sequences: self.decode_sequences,
            context: self.decode_context,
            ..Step::default()
        }
    }

    /// Whether nothing is to be done.
    pub fn is_empty(&self) -> bool {
        self.prefill_tokens <= 0.0 && self.decode_sequences <= 0.0
    }
}

/// Time of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepSeconds {
    /// From its start until its tokens are out: the way through all stages.
    pub latency: f64,
    /// From its start until the next step of another micro-batch may start: the slowest stage. It
    /// is `latency` where there is one stage.
    pub interval: f64,
}

/// Times of the steps of an engine.
pub trait StepTime {
    /// Time of a step.
    fn seconds(&self, work: &StepWork) -> StepSeconds;
}

/// A step that grows linearly in everything: for tests, and for engines known by measurement.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AffineStep {
    /// Seconds of any step.
    pub fixed: f64,
    /// Seconds per token of a prompt.
    pub per_prefill_token: f64,
    /// Seconds per token of a prompt and token that it looks at.
    pub per_prefill_token_context: f64,
    /// Seconds per decoding sequence.
    pub per_sequence: f64,
    /// Seconds per token cached for a decoding sequence.
    pub per_cached_token: f64,
    /// Stages that share the step evenly; 0 counts as 1.
    pub stages: f64,
}

impl StepTime for AffineStep {
    fn seconds(&self, work: &StepWork) -> StepSeconds {
        let latency = self.fixed
            + self.per_prefill_token * work.prefill_tokens
            + self.per_prefill_token_context * work.prefill_tokens * work.prefill_context
            + self.per_sequence * work.decode_sequences
            + self.per_cached_token * work.decode_sequences * work.decode_context;
        StepSeconds {
            latency,
            interval: latency / self.stages.max(1.0),
        }
    }
}
