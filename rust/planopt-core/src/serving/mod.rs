//! Serving: memory, speed and first token of one replica.

pub mod engine;
mod evaluation;
mod offload;
mod parts;
pub mod pools;
mod question;
mod replica;

pub use evaluation::{Decode, Mixed, Percentiles, Prefill, Rejection, ReplicaEvaluation};
pub use offload::Offload;
pub use parts::TimeParts;
pub use question::{Batching, Overlap, Question, Speculation};
pub use replica::{Replica, step_seconds, tokens_per_second};
