//! Time of operations on one rank: a roofline with an efficiency that is smooth in every dimension.
//!
//! What depends only on the model, the accelerator, the formats and the tensor-parallel degree is
//! worked out once per [`Rank`]; what is left for a step of `m` tokens is a few multiplications per
//! operation. Formulas: `docs/reference/model.md`, sections 1 to 3.

mod adapters;
mod encoder;
mod operation;
mod rank;
mod scan;
mod shape;
mod step;
pub mod training;

pub use self::rank::{Cache, Rank, RankBlock, RankDraft};
pub use self::shape::causal_mean;
pub use self::step::{OperationTime, Step, roofline};
