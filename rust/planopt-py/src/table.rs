//! Figures of many candidates, handed over without a copy: to Arrow by its `PyCapsule` protocol,
//! to `NumPy` by its array interface.

use planopt_core::bulk;
use std::sync::Arc;

use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};

use crate::arrow::{Array, Schema, Stream};

/// Every figure of candidates that work.
#[pyclass(frozen, module = "planopt._native")]
pub(crate) struct Table {
    table: Arc<bulk::Table>,
}

impl Table {
    pub(crate) fn new(table: bulk::Table) -> Self {
        Self {
            table: Arc::new(table),
        }
    }
}

#[pymethods]
impl Table {
    /// Candidates.
    fn __len__(&self) -> usize {
        self.table.places.len()
    }

    /// Names of the columns: the place of each candidate, and its figures.
    #[getter]
    fn names(&self) -> Vec<&'static str> {
        let figures = self.table.names.iter().copied();
        std::iter::once("place").chain(figures).collect()
    }

    /// One column, for `numpy.asarray`.
    ///
    /// Raises
    /// ------
    /// `KeyError`
    ///     If there is none of this name.
    fn column(&self, name: &str) -> PyResult<Column> {
        let figure = if name == "place" {
            None
        } else {
            let found = self.table.names.iter().position(|other| *other == name);
            Some(found.ok_or_else(|| PyKeyError::new_err(name.to_owned()))?)
        };
        Ok(Column {
            table: Arc::clone(&self.table),
            figure,
        })
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        PyCapsule::new_with_value(py, Schema::of(&self.table), c"arrow_schema")
    }

    #[pyo3(signature = (requested_schema=None))]
    #[expect(unused_variables, reason = "a schema that is asked for may be ignored")]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        let array = PyCapsule::new_with_value(py, Array::of(&self.table), c"arrow_array")?;
        Ok((self.__arrow_c_schema__(py)?, array))
    }

    #[pyo3(signature = (requested_schema=None))]
    #[expect(unused_variables, reason = "a schema that is asked for may be ignored")]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        PyCapsule::new_with_value(py, Stream::of(&self.table), c"arrow_array_stream")
    }
}

/// One figure of many candidates, or their places.
#[pyclass(frozen, module = "planopt._native")]
pub(crate) struct Column {
    table: Arc<bulk::Table>,
    /// Which figure; none for the places.
    figure: Option<usize>,
}

#[pymethods]
impl Column {
    /// Where the numbers are, which stay as long as this object does, and cannot be written to.
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (address, kind) = match self.figure {
            None => (self.table.places.as_ptr() as usize, "u8"),
            Some(figure) => (self.table.columns[figure].as_ptr() as usize, "f8"),
        };
        let order = if cfg!(target_endian = "little") {
            '<'
        } else {
            '>'
        };
        let interface = PyDict::new(py);
        interface.set_item("version", 3)?;
        interface.set_item("shape", (self.table.places.len(),))?;
        interface.set_item("typestr", format!("{order}{kind}"))?;
        interface.set_item("data", (address, true))?;
        Ok(interface)
    }
}
