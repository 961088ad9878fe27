//! How far predictions are from what is measured.

use serde::Deserialize;
use std::collections::BTreeMap;

use super::model::ModelRequest;
use crate::catalog::Catalog;
use crate::diagnostic::Diagnostic;
use crate::plan::{Errors, Predicted, STEPS_OF_SERVING, STEPS_OF_TRAINING};

/// A question about errors of a model on an accelerator.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ErrorsRequest {
    /// Catalog id, or path of a file.
    pub model: String,
    /// Accelerator id.
    #[serde(default)]
    pub accelerator: String,
    /// Several of them: how long do steps take on each?
    #[serde(default)]
    pub steps_on: Vec<String>,
    /// Whether those steps train.
    #[serde(default)]
    pub training: bool,
    /// Whether no engine was named: serving that is measured under any.
    #[serde(default)]
    pub any_engine: bool,
    /// Metrics whose errors are asked for.
    #[serde(default)]
    pub metrics: Vec<String>,
    /// Figures of serving, in place of metrics: what are they expected to lie in?
    pub predicted: Option<Predicted>,
}

/// Errors by metric, or intervals by figure.
pub fn errors_of(
    catalog: &Catalog,
    request: &ErrorsRequest,
) -> Result<serde_json::Value, Vec<Diagnostic>> {
    let model = ModelRequest::named(&request.model);
    let experts = model.transformer(catalog)?.experts().is_some();
    let of = |accelerator| Errors::of(catalog, accelerator, experts, request.any_engine);
    if !request.steps_on.is_empty() {
        let metrics: &[&str] = if request.training {
            &STEPS_OF_TRAINING
        } else {
            &STEPS_OF_SERVING
        };
        let mut steps = BTreeMap::new();
        for id in &request.steps_on {
            let accelerator = catalog.accelerator(id)?;
            steps.insert(id, of(accelerator).of_steps(metrics)?);
        }
        return Ok(serde_json::to_value(steps).unwrap_or_default());
    }
    let errors = of(catalog.accelerator(&request.accelerator)?);
    if let Some(predicted) = &request.predicted {
        return errors.of_serving(predicted).map(Into::into);
    }
    let each = errors.each(&request.metrics)?;
    Ok(serde_json::to_value(each).unwrap_or_default())
}
