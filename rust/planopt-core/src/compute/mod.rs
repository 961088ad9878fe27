//! Time of operations on one rank: a roofline with an efficiency that is smooth in every dimension.
//!
//! What depends only on the model, the accelerator, the formats and the tensor-parallel degree is
//! worked out once per [`Rank`]; what is left for a step of `m` tokens is a few multiplications per
//! operation. Formulas: `docs/reference/model.md`, sections 1 to 3.

mod adapters;
mod encoder;
mod operation;
mod rank;
mod rates;
mod scan;
mod shape;
mod step;

pub use adapters::Adapters;
pub use encoder::Encoder;
pub use rank::{Cache, Exchange, Rank, RankBlock, RankDraft};
pub use rates::{Formats, Rates, Stored};
pub use shape::{causal_mean, distinct_experts, local_shape, parameter_fraction};
pub(crate) use shape::{real, saturation, share_met};
pub use step::{OperationTime, Step, roofline};
