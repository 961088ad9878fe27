//! Metrics of many candidates, handed over without a copy: to Arrow by its `PyCapsule` protocol,
//! to `NumPy` by its array interface.

use planopt_core::{bulk, search};
use std::sync::Arc;

use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};

use crate::arrow::{Array, Schema, Stream};

/// Every metric of candidates that work.
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
        self.table.indices.len()
    }

    /// Names of the columns: the index of each candidate, and its metrics.
    #[getter]
    fn names(&self) -> Vec<&'static str> {
        let metrics = self.table.names.iter().copied();
        std::iter::once("index").chain(metrics).collect()
    }

    /// One column, for `numpy.asarray`.
    ///
    /// Raises
    /// ------
    /// `KeyError`
    ///     If there is none of this name.
    fn column(&self, name: &str) -> PyResult<Column> {
        let metric = if name == "index" {
            None
        } else {
            let found = self.table.names.iter().position(|other| *other == name);
            Some(found.ok_or_else(|| PyKeyError::new_err(name.to_owned()))?)
        };
        Ok(Column {
            of: Of::Table(Arc::clone(&self.table), metric),
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

/// One column of numbers.
#[pyclass(frozen, module = "planopt._native")]
pub(crate) struct Column {
    of: Of,
}

/// Whose column it is.
enum Of {
    /// A metric of candidates, or their indices.
    Table(Arc<bulk::Table>, Option<usize>),
    /// A column of rows that can be bought.
    Rows(
        Arc<search::Rows>,
        fn(&search::Rows, &str) -> Option<Values>,
        &'static str,
    ),
}

/// Where numbers are, of which kind, and how many.
pub(crate) type Values = (usize, &'static str, usize);

impl Column {
    /// A column of rows.
    pub(crate) fn of_rows(
        rows: &Arc<search::Rows>,
        find: fn(&search::Rows, &str) -> Option<Values>,
        name: &'static str,
    ) -> Self {
        Self {
            of: Of::Rows(Arc::clone(rows), find, name),
        }
    }

    fn values(&self) -> Values {
        match &self.of {
            Of::Table(table, None) => located(&table.indices, "u8"),
            Of::Table(table, Some(metric)) => located(&table.columns[*metric], "f8"),
            Of::Rows(rows, find, name) => find(rows, name).unwrap_or_default(),
        }
    }
}

/// Where numbers are.
pub(crate) fn located<T>(numbers: &[T], kind: &'static str) -> Values {
    (numbers.as_ptr() as usize, kind, numbers.len())
}

#[pymethods]
impl Column {
    /// Where the numbers are, which stay as long as this object does, and cannot be written to.
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (address, kind, length) = self.values();
        let order = match kind {
            "b1" => '|',
            _ if cfg!(target_endian = "little") => '<',
            _ => '>',
        };
        let interface = PyDict::new(py);
        interface.set_item("version", 3)?;
        interface.set_item("shape", (length,))?;
        interface.set_item("typestr", format!("{order}{kind}"))?;
        interface.set_item("data", (address, true))?;
        Ok(interface)
    }
}
