//! What the evaluation of a replica says, in the words of the contract's JSON.

use super::parts::TimeParts;
use crate::memory::ServingMemory;
use crate::parallel::Rejection;
use crate::quantity::Seconds;
use serde::Serialize;

/// One token of every sequence.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Decode {
    /// One micro-batch through all stages, or the slowest stage's turn.
    pub step_seconds: Seconds,
    /// What the turn of one micro-batch through all stages consists of.
    #[serde(flatten)]
    pub turn: TimeParts,
    /// The rest of the step: waiting for the other micro-batches at the slowest stage.
    pub waiting_seconds: Seconds,
    /// Time per output token of a user, the first one excluded.
    pub tpot_seconds: Seconds,
    /// Its inverse.
    pub tokens_per_second_per_user: f64,
    /// Of the replica.
    pub tokens_per_second: f64,
}

/// A prompt read alone.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Prefill {
    /// Until its first token.
    pub seconds: Seconds,
    /// What they consist of.
    #[serde(flatten)]
    pub parts: TimeParts,
}

/// A step in which the last chunk of a prompt is read beside the decoding batch: the longest step
/// that a user waits for a token while another user's prompt comes in.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Mixed {
    /// Tokens of the chunk.
    pub chunk_tokens: f64,
    /// Tokens of the prompt before it.
    pub cached_tokens: f64,
    /// The step.
    pub step_seconds: Seconds,
}

/// A replica, whether or not it works.
#[derive(Clone, Debug)]
pub struct ReplicaEvaluation {
    /// Why it does not work; empty if it does.
    pub rejections: Vec<Rejection>,
    /// Memory of the fullest accelerator.
    pub memory: ServingMemory,
    /// One token of every sequence.
    pub decode: Decode,
    /// A prompt read alone.
    pub prefill: Prefill,
    /// A chunk of a prompt beside the decoding batch.
    pub mixed: Mixed,
    /// Tokens of KV cache that a replica holds.
    pub kv_capacity_tokens: f64,
}
