//! Questions about a model alone.

use serde::Serialize;

/// A model in short.
#[derive(Clone, Debug, Serialize)]
pub struct ModelAnswer {
    /// Catalog id, or the name of the file.
    pub id: String,
    /// Full name.
    pub name: String,
    /// Parameters of the operation list.
    pub parameters: u64,
    /// Parameters that a token meets.
    pub active_parameters: u64,
    /// Modules of multi-token prediction.
    pub mtp_modules: u32,
    /// Parameters of all of them, beside those they share with the model.
    pub mtp_parameters: u64,
    /// Parameters of the checkpoint outside of the list: what they are, and how many.
    pub outside: Vec<(String, u64)>,
    /// Format of the published weights.
    pub weights: &'static str,
    /// Longest context the model was made for.
    pub max_context: u64,
    /// Width of the residual stream.
    pub hidden: u64,
    /// Query heads.
    pub heads: u64,
    /// Layers.
    pub layers: usize,
    /// Every kind of operation, by where it stands.
    pub operations: Vec<OperationAnswer>,
}

/// An operation with how often it occurs.
#[derive(Clone, Debug, Serialize)]
pub struct OperationAnswer {
    /// Name.
    pub name: &'static str,
    /// How often it occurs in the model.
    pub count: usize,
    /// Parameters of one.
    pub parameters: u64,
    /// Arithmetic of one on one token, attention left out.
    pub flop_per_token: f64,
    /// Of the parameters, weights that project to keys and values.
    pub key_value_weights: u64,
    /// Arithmetic of these on one token.
    pub key_value_flop_per_token: f64,
}
