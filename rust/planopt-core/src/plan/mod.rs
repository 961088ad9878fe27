//! Plans put together from evaluations.

pub mod serving;
pub mod training;
pub mod training_problem;
