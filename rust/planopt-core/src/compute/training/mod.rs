//! What a micro-batch costs in training: the twin of the rank that serves.

mod attention;
mod candidate;
mod flops;
mod heads;
mod layer;
mod model;
mod operation;
mod pricing;
mod resident;
mod scan;

pub(crate) use self::candidate::Candidate;
pub use self::flops::model_flops_per_token;
pub use self::layer::{LayerCost, Recomputed};
pub use self::model::PricedModel;
pub use self::resident::Resident;
