//! What goes through the door: JSON, in and out.

use planopt_core::diagnostic::Diagnostic;
use planopt_core::request;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::errors::input_error;

/// Reads a question that people ask: everything that is wrong with it is told.
///
/// # Errors
///
/// `InputError` with each problem and its place.
pub(crate) fn question<T: DeserializeOwned>(py: Python<'_>, json: &[u8]) -> PyResult<T> {
    let asked = request::read_json(json);
    asked.map_err(|problems| input_error(py, &problems))
}

/// Reads what planopt itself has written.
///
/// # Errors
///
/// `ValueError` where it is something else.
pub(crate) fn read<T: DeserializeOwned>(json: &[u8]) -> PyResult<T> {
    serde_json::from_slice(json).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// Writes an answer.
///
/// # Errors
///
/// `ValueError` for a map whose keys are no text.
pub(crate) fn written(answer: &impl Serialize) -> PyResult<Vec<u8>> {
    serde_json::to_vec(answer).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// Writes an answer, if there is one.
///
/// # Errors
///
/// `InputError` with the problems in its place.
pub(crate) fn answer<T: Serialize>(
    py: Python<'_>,
    answer: Result<T, Vec<Diagnostic>>,
) -> PyResult<Vec<u8>> {
    written(&answer.map_err(|problems| input_error(py, &problems))?)
}
