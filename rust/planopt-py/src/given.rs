//! What Python hands over, as plain values of the core.

use planopt_core::diagnostic::{Diagnostic, code};
use planopt_core::request::{self, Given, Place};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyMapping, PyString, PyTuple};
use serde::de::DeserializeOwned;

use crate::errors::input_error;

/// Tables within tables, at most: a list that holds itself has no end.
const DEEPEST: usize = 16;

/// A question, of mappings within a mapping.
///
/// # Errors
///
/// `InputError` with everything that cannot be read.
pub(crate) fn question<T: DeserializeOwned>(request: &Bound<'_, PyAny>) -> PyResult<T> {
    let given = given(request, Place::Top, 0)?;
    request::read(&given).map_err(|problems| input_error(request.py(), &problems))
}

/// A value that stands for itself.
pub(crate) fn value<T: DeserializeOwned>(name: &str, value: &Bound<'_, PyAny>) -> PyResult<T> {
    let place = Place::Key(&Place::Top, name);
    let given = given(value, place, 0)?;
    request::read_at(place, &given).map_err(|problems| input_error(value.py(), &problems))
}

/// Plain values.
fn given(value: &Bound<'_, PyAny>, place: Place<'_>, depth: usize) -> PyResult<Given> {
    let refused = |code, what: String, accepted: &str| {
        let name = place.to_string();
        let field = if name.is_empty() { "request" } else { &name };
        let problem = Diagnostic::new(code, format!("{what} cannot be handed over"));
        let problem = problem.field(field).value(what).accepted(accepted);
        Err(input_error(value.py(), &[problem]))
    };
    if depth > DEEPEST {
        let accepted = "tables of tables, as docs/reference says of them";
        return refused(code::WRONG_TYPE, "no end of tables".to_owned(), accepted);
    }
    let items = |values: Vec<Bound<'_, PyAny>>| {
        let items = values.iter().enumerate();
        let items = items.map(|(item, value)| given(value, Place::Item(&place, item), depth + 1));
        items.collect::<PyResult<_>>().map(Given::List)
    };
    if value.is_none() {
        Ok(Given::Nothing)
    } else if let Ok(flag) = value.cast::<PyBool>() {
        Ok(Given::Flag(flag.is_true()))
    } else if let Ok(number) = value.cast::<PyInt>() {
        number.extract().map(Given::Whole).or_else(|_| {
            let accepted = "a whole number of at most 38 digits";
            refused(code::OUT_OF_RANGE, "so large a number".to_owned(), accepted)
        })
    } else if let Ok(number) = value.cast::<PyFloat>() {
        Ok(Given::Number(number.value()))
    } else if let Ok(text) = value.cast::<PyString>() {
        text.to_str()
            .map(|text| Given::Text(text.to_owned()))
            .or_else(|_| {
                let accepted = "text without half a surrogate pair";
                refused(code::WRONG_TYPE, "no text".to_owned(), accepted)
            })
    } else if let Ok(values) = value.cast::<PyList>() {
        items(values.iter().collect())
    } else if let Ok(values) = value.cast::<PyTuple>() {
        items(values.iter().collect())
    } else if value.is_instance_of::<PyDict>() || value.is_instance_of::<PyMapping>() {
        let mut table = Vec::new();
        for pair in value.cast::<PyMapping>()?.items()?.iter() {
            let (key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) = pair.extract()?;
            let Ok(key) = key.extract::<String>() else {
                let accepted = "keys that are text";
                return refused(code::WRONG_TYPE, format!("the key {key}"), accepted);
            };
            let read = given(&value, Place::Key(&place, &key), depth + 1)?;
            table.push((key, read));
        }
        Ok(Given::Table(table))
    } else {
        let kind = value.get_type().name()?;
        let accepted = "numbers, text, lists and tables";
        refused(code::WRONG_TYPE, format!("a `{kind}`"), accepted)
    }
}
