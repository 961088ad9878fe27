//! An engine that reads and decodes, as waiting sees it.

use super::surface::{MixedSteps, Surface};
use super::traffic::{STRATA, Traffic};
use crate::catalog::Policy;

/// What is the same at every load: step times, policy, budget.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Machine<'s> {
    pub(super) surface: &'s Surface,
    pub(super) traffic: &'s Traffic,
    pub(super) policy: Policy,
    pub(super) budget: f64,
    pub(super) micro_batches: f64,
}

/// How prompts are read with `decoding` sequences of a micro-batch, when they are alone.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading {
    /// Sequences that get a token in the steps that read.
    pub(super) mixed: f64,
    /// How long those take.
    pub(super) steps: MixedSteps,
    /// Tokens of prompts in a full step.
    pub(super) chunk: f64,
    /// A step that only decodes.
    pub(super) decode: f64,
    /// Steps of each stratum of prompts: how many full ones, and how long each.
    pub(super) full: [(f64, f64); STRATA],
    /// Its last step: tokens, and how long.
    pub(super) last: [(f64, f64); STRATA],
    /// Seconds per token more in a step that is long enough.
    pub(super) per_token: f64,
    /// A full step.
    pub(super) full_step: f64,
}

impl Machine<'_> {
    /// Seconds until a prompt is read together with so many tokens of others.
    pub(super) fn read_together(&self, reading: &Reading, others: f64) -> f64 {
        self.traffic.mean(|at| {
            let (steps, each) = reading.full[at];
            let tokens = reading.last[at].0 + others;
            let attended_tokens = self.traffic.attended_tokens(at);
            let full = reading.chunk.min(tokens);
            let last = reading.steps.attending_to(full, attended_tokens);
            let beyond = (tokens - full) / reading.chunk;
            steps * each + last + beyond * reading.full_step
        })
    }
}

/// Share of reading beyond which decoding counts as stopped.
pub(super) const MOST_SHARE: f64 = 0.97;
