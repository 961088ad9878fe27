//! Diagnostics of the core as Python exceptions.

use planopt_core::diagnostic::Diagnostic;
use planopt_core::quantity::QuantityError;

use pyo3::prelude::*;

use crate::json::written;

pyo3::import_exception!(planopt.errors, InputError);
pyo3::import_exception!(planopt.errors, InternalError);

/// Problems of an input, all at once.
pub(crate) fn input_error(py: Python<'_>, problems: &[Diagnostic]) -> PyErr {
    let raised = written(&problems).and_then(|json| {
        let kind = py.get_type::<InputError>();
        kind.call_method1("read", (json,))
    });
    raised.map_or_else(|error| error, PyErr::from_value)
}

/// A quantity that cannot be read: the caller knows the option or the field it stands in.
pub(crate) fn quantity_error(error: &QuantityError) -> PyErr {
    pyo3::exceptions::PyValueError::new_err((
        if error.is_out_of_range() {
            "range"
        } else {
            "malformed"
        },
        error.to_string(),
        error.accepted().to_owned(),
    ))
}
