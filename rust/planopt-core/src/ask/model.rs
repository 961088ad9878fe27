//! Questions about a model alone.

use serde::Serialize;

use super::served::ModelRequest;
use crate::catalog::Catalog;
use crate::diagnostic::Diagnostic;
use crate::transformer::Operation;

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

/// Describes a model.
///
/// # Errors
///
/// An unknown name or an unreadable file.
pub fn describe_model(
    catalog: &Catalog,
    request: &ModelRequest,
) -> Result<ModelAnswer, Vec<Diagnostic>> {
    let transformer = request.transformer(catalog)?;
    let mut operations = Vec::new();
    let mut describe = |list: &[Operation], count: usize| {
        operations.extend(list.iter().map(|operation| OperationAnswer {
            name: operation.name,
            count,
            parameters: operation.parameters,
            flop_per_token: operation.flop_per_token(),
            key_value_weights: operation.key_value_weights(),
            key_value_flop_per_token: operation.key_value_flop_per_token(),
        }));
    };
    describe(&transformer.embedding, 1);
    for (kind, block) in transformer.blocks.iter().enumerate() {
        let count = transformer
            .layers
            .iter()
            .filter(|&&layer| layer == kind)
            .count();
        describe(&block.operations, count);
    }
    describe(&transformer.head, 1);
    let modules = transformer.mtp_modules;
    if modules > 0 {
        let module: Vec<Operation> = transformer.mtp_operations().cloned().collect();
        describe(&module, modules as usize);
    }
    Ok(ModelAnswer {
        parameters: transformer.parameters(),
        active_parameters: transformer.active_parameters(),
        mtp_modules: modules,
        mtp_parameters: u64::from(modules) * transformer.mtp_parameters(),
        outside: transformer.outside.clone(),
        weights: transformer.weights.name(),
        max_context: transformer.max_context,
        hidden: transformer.hidden,
        heads: transformer.heads,
        layers: transformer.layers.len(),
        operations,
        id: transformer.id,
        name: transformer.name,
    })
}
