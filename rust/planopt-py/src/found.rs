//! What a search found: a handle that keeps it. Bytes of JSON go in and out, columns are buffers.

use std::collections::BTreeMap;
use std::sync::Arc;

use planopt_core::request;
use planopt_core::search::Values as Numbers;
use planopt_core::search::{self, Limits, Objective, Offer};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use serde::{Deserialize, Serialize};

use crate::json::{answer, read, written};
use crate::table::{Column, Values, located};

/// What can be bought, as a table: a purchase is so many of each row.
#[pyclass(frozen, module = "planopt._native")]
pub(crate) struct Rows {
    rows: Arc<search::Rows>,
}

impl Rows {
    pub(crate) fn of(rows: Arc<search::Rows>) -> Self {
        Self { rows }
    }
}

#[pymethods]
impl Rows {
    /// Rows that nobody searched for.
    ///
    /// Parameters
    /// ----------
    /// rows : bytes
    ///     JSON: of each its hardware, what its accelerators are taken from, and its figures.
    #[staticmethod]
    fn said(rows: &[u8]) -> PyResult<Self> {
        Ok(Self {
            rows: Arc::new(search::Rows::said(read(rows)?)),
        })
    }

    fn __len__(&self) -> usize {
        self.rows.len()
    }

    /// The columns: name, unit, and what each is.
    #[getter]
    #[expect(clippy::unused_self, reason = "a property of Python has an object")]
    fn columns(&self) -> Vec<(&'static str, &'static str, &'static str)> {
        let described = search::Columns::DESCRIBED.iter();
        described
            .map(|each| (each.name, each.unit, each.doc))
            .collect()
    }

    /// One column, for `numpy.asarray`.
    ///
    /// Raises
    /// ------
    /// `KeyError`
    ///     If there is none of this name.
    fn column(&self, name: &str) -> PyResult<Column> {
        let mut described = search::Columns::DESCRIBED.iter();
        let found = described.find(|each| each.name == name);
        let found = found.ok_or_else(|| PyKeyError::new_err(name.to_owned()))?;
        Ok(Column::of_rows(&self.rows, of_columns, found.name))
    }

    /// What rows need of what is scarce: the names of that, where the needs of each row begin, and
    /// of each need which it is of, and how much.
    fn resources(&self) -> (Vec<String>, Column, Column, Column) {
        let column = |name| Column::of_rows(&self.rows, of_resources, name);
        (
            self.rows.resources.names.clone(),
            column("offsets"),
            column("resource"),
            column("amount"),
        )
    }

    /// Rows that no other one replaces, by name.
    ///
    /// Parameters
    /// ----------
    /// redundancy : bytes
    ///     JSON: what may fail.
    fn undominated(&self, redundancy: &[u8]) -> PyResult<Vec<usize>> {
        let all: Vec<usize> = (0..self.rows.len()).collect();
        Ok(self.rows.undominated(&all, read(redundancy)?))
    }

    /// The limits that a purchase breaks, as JSON.
    ///
    /// Parameters
    /// ----------
    /// limits, counts : bytes
    ///     JSON: what it must supply and stay within, and how many of each row.
    fn broken(&self, limits: &[u8], counts: &[u8]) -> PyResult<Vec<u8>> {
        let limits: Limits = read(limits)?;
        let counts: BTreeMap<u32, u64> = read(counts)?;
        let counts: Vec<(u32, u64)> = counts.into_iter().collect();
        written(&limits.broken(&self.rows, &counts))
    }

    /// What a solver is offered of the rows: those that a best purchase may have, as JSON.
    ///
    /// Parameters
    /// ----------
    /// wanted : bytes
    ///     JSON: `limits`, `objectives`, how many `builds` of one kind are told beside; `only` some rows.
    fn offered(&self, wanted: &[u8]) -> PyResult<Vec<u8>> {
        written(&Offered::of(&self.rows, &read(wanted)?))
    }
}

fn of_columns(rows: &search::Rows, name: &str) -> Option<Values> {
    Some(match rows.columns.values(name)? {
        Numbers::U32(column) => located(column, "u4"),
        Numbers::U64(column) => located(column, "u8"),
        Numbers::I64(column) => located(column, "i8"),
        Numbers::F64(column) => located(column, "f8"),
        Numbers::Bool(column) => located(column, "b1"),
    })
}

fn of_resources(rows: &search::Rows, name: &str) -> Option<Values> {
    let resources = &rows.resources;
    Some(match name {
        "offsets" => located(&resources.offsets, "u4"),
        "resource" => located(&resources.resource, "u4"),
        "amount" => located(&resources.amount, "i8"),
        _ => return None,
    })
}

/// What a search found: rows, and what it takes to lay a purchase of them out.
#[pyclass(frozen, module = "planopt._native")]
pub(crate) struct Found {
    found: search::Found,
}

impl Found {
    pub(crate) fn found(&self) -> &search::Found {
        &self.found
    }

    /// It, and what is told of it at once as JSON: what was looked at, and what a solver is offered
    /// where that is wanted.
    pub(crate) fn told(found: search::Found, wanted: Option<&Wanted>) -> PyResult<Told> {
        let told = written(&Summed {
            summary: &found.summary,
            offered: wanted.map(|wanted| Offered::of(&found.rows, wanted)),
        })?;
        Ok((Self { found }, told))
    }
}

#[pymethods]
impl Found {
    fn __len__(&self) -> usize {
        self.found.rows.len()
    }

    /// What can be bought.
    #[getter]
    fn rows(&self) -> Rows {
        Rows {
            rows: Arc::clone(&self.found.rows),
        }
    }

    /// Every row with its names, as columns in JSON.
    fn listed(&self) -> PyResult<Vec<u8>> {
        written(&self.found.listed())
    }
}

/// What is bought of some rows, and what is told beside.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wanted {
    limits: Limits,
    objectives: Vec<Objective>,
    /// Builds of one kind of row that are told beside it.
    builds: usize,
    /// Rows that are offered, whatever replaces them; by default all that nothing does.
    only: Option<Vec<usize>>,
}

/// What a solver is offered for each objective, and what lies beside.
#[derive(Serialize)]
struct Offered {
    offers: BTreeMap<Objective, Offer>,
    builds: Vec<search::Build>,
    /// Price of the cheapest purchase of one of the builds that a search names, if any does alone.
    least_micro_usd: Option<i128>,
}

impl Offered {
    fn of(rows: &search::Rows, wanted: &Wanted) -> Self {
        let Wanted {
            limits,
            objectives,
            builds: most,
            only,
        } = wanted;
        let builds = &rows.columns.is_build;
        // Where no search names builds, each row may be one.
        let any = builds.iter().any(|is_build| *is_build);
        let offer = |objective: &Objective| {
            let offer = rows.offer(limits, *objective, only.as_deref());
            (*objective, offer)
        };
        let least = rows.best_build(limits).map(|alone| {
            let price = rows.columns.price_micro_usd[alone.row as usize];
            i128::from(price) * i128::from(alone.count)
        });
        Self {
            offers: objectives.iter().map(offer).collect(),
            builds: rows.builds(|row| builds[row] || !any, limits, *most),
            least_micro_usd: least,
        }
    }
}

/// What a search found, and what is told of it.
pub(crate) type Told = (Found, Vec<u8>);

/// What is told of what a search found.
#[derive(Serialize)]
struct Summed<'f> {
    summary: &'f search::Summary,
    offered: Option<Offered>,
}

/// Lays purchases out: models on hardware, bills with the sources of prices, totals, intervals.
///
/// Parameters
/// ----------
/// asked : list of tuple of Found and bytes
///     What was bought from, and JSON: `purchases`, `limits`, `has_errors`.
///
/// Returns
/// -------
/// list of bytes
///     JSON: the builds.
#[pyfunction]
#[expect(
    clippy::needless_pass_by_value,
    reason = "arguments of Python are handed over by value"
)]
pub(crate) fn lay_out(
    py: Python<'_>,
    asked: Vec<(PyRef<'_, Found>, Vec<u8>)>,
) -> PyResult<Vec<Vec<u8>>> {
    let laid = asked
        .iter()
        .map(|(found, json)| answer(py, request::lay_out(&found.found, &read(json)?)));
    laid.collect()
}
