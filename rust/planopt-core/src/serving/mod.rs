//! Serving: memory, speed and first token of one replica.

pub mod engine;
mod evaluate;
mod evaluation;
mod offload;
mod parts;
mod prepared;
mod replica;
mod transfer;

pub use self::evaluate::{evaluate_unit, with_replica};
pub use self::evaluation::{Decode, Mixed, Prefill, ReplicaEvaluation};
pub use self::parts::TimeParts;
pub use self::prepared::Prepared;
pub use self::replica::{Replica, step_seconds, tokens_per_second};
pub use self::transfer::{End, prompt_cache, transfer};
