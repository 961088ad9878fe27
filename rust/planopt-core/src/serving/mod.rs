//! Serving: memory, speed and first token of one replica.

pub mod engine;
mod evaluation;
mod offload;
pub mod pools;
mod replica;

pub use evaluation::{Decode, Mixed, Percentiles, Prefill, Rejection, ReplicaEvaluation};
pub use offload::Offload;
pub use replica::{
    Batching, Overlap, Question, Replica, Speculation, step_seconds, tokens_per_second,
};
