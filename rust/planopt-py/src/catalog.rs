//! A catalog, and the questions that are asked of it.

use planopt_core::request::space;
use planopt_core::{bulk, catalog, request};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use planopt_core::catalog::Kind;
use planopt_core::diagnostic::Diagnostic;

use pyo3::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::errors::input_error;
use crate::given::{question, value};
use crate::interrupt::{interruptible, watched};
use crate::table::Table;

/// What can be bought or evaluated, and the assumptions it is judged with.
#[pyclass(frozen, module = "planopt._native")]
pub(crate) struct Catalog {
    catalog: catalog::Catalog,
}

#[pymethods]
impl Catalog {
    /// Reads a catalog with its overlays.
    ///
    /// Parameters
    /// ----------
    /// root : str
    ///     Folder of the bundled catalogs.
    /// overlays : list of str
    ///     Folders of the user, the last one winning.
    /// assumptions : str
    ///     Name, or path of a TOML file.
    ///
    /// Raises
    /// ------
    /// `InputError`
    ///     With every problem of every file.
    #[staticmethod]
    fn load(
        py: Python<'_>,
        root: &str,
        overlays: Vec<PathBuf>,
        assumptions: &str,
    ) -> PyResult<Self> {
        let root = Path::new(root);
        let loaded = py.detach(move || catalog::Catalog::load(root, &overlays, assumptions));
        loaded
            .map(|catalog| Self { catalog })
            .map_err(|problems| input_error(py, &problems))
    }

    /// The same catalog with some of the assumptions of cost in place of its own.
    ///
    /// Parameters
    /// ----------
    /// cost : mapping
    ///     `years`, `duty`, `electricity_usd_per_kwh`, `pue` and `carbon_kg_per_kwh`, those that
    ///     differ.
    fn with_cost(&self, cost: &Bound<'_, PyAny>) -> PyResult<Self> {
        let given: catalog::CostChoice = question(cost)?;
        let mut catalog = self.catalog.clone();
        given.put_into(&mut catalog.assumptions.entity.cost);
        Ok(Self { catalog })
    }

    /// The same catalog with one price in place of its own.
    ///
    /// Parameters
    /// ----------
    /// price : mapping
    ///     `id` of a part or an offer, `usd`, and the `terms` of an offer.
    ///
    /// Raises
    /// ------
    /// `InputError`
    ///     There is no such part; or every problem of the files of offers, if it is about one of
    ///     them.
    fn at_price(&self, py: Python<'_>, price: &Bound<'_, PyAny>) -> PyResult<Self> {
        let choice: catalog::PriceChoice = question(price)?;
        self.catalog
            .at_price(&choice)
            .map(|catalog| Self { catalog })
            .map_err(|problems| input_error(py, &problems))
    }

    /// The same catalog with accelerators bought in some condition.
    ///
    /// Parameters
    /// ----------
    /// condition : {"new", "used", "any"}
    ///     New ones as far as they are on sale, used ones, or whichever is cheaper.
    fn bought(&self, condition: &Bound<'_, PyAny>) -> PyResult<Self> {
        let catalog = self.catalog.bought(value("condition", condition)?);
        Ok(Self { catalog })
    }

    /// Every price of what can be bought, with its range and where it comes from.
    fn price_tags<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(pythonize::pythonize(py, &self.catalog.price_tags())?)
    }

    /// The same of an hour of what can be rented.
    fn rent_tags<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        answer(py, self.catalog.rent_tags())
    }

    /// The same catalog with one accelerator more: an id and a power limit, `rtx-4090@350W`.
    ///
    /// Raises
    /// ------
    /// `InputError`
    ///     There is no such accelerator, or it cannot be limited so.
    fn with_power_limit(&self, py: Python<'_>, name: &str) -> PyResult<Self> {
        self.catalog
            .with_power_limit(name)
            .map(|catalog| Self { catalog })
            .map_err(|problem| input_error(py, &[problem]))
    }

    /// Entities of a kind: id and name.
    fn list<'py>(&self, py: Python<'py>, kind: &str) -> PyResult<Bound<'py, PyAny>> {
        let kind = Kind::from_name(kind).map_err(|problem| input_error(py, &[problem]))?;
        answer(py, self.catalog.list(kind))
    }

    /// One entity with its figures and their sources.
    fn show<'py>(&self, py: Python<'py>, kind: &str, id: &str) -> PyResult<Bound<'py, PyAny>> {
        let kind = Kind::from_name(kind).map_err(|problem| input_error(py, &[problem]))?;
        answer(py, self.catalog.describe(kind, id))
    }

    /// A model in short: parameters, width, heads, layers, context, format.
    fn model<'py>(
        &self,
        py: Python<'py>,
        request: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let request: request::ModelRequest = question(request)?;
        answer(py, request::describe_model(&self.catalog, &request))
    }

    /// A model by id or path, in the shape of a model file.
    fn architecture<'py>(&self, py: Python<'py>, model: &str) -> PyResult<Bound<'py, PyAny>> {
        answer(py, catalog::describe_architecture(&self.catalog, model))
    }

    /// Tokens of prompt and output of a workload.
    fn workload<'py>(&self, py: Python<'py>, id: &str) -> PyResult<Bound<'py, PyAny>> {
        let workload = self
            .catalog
            .workload(id)
            .map_err(|problem| input_error(py, &[problem.field("--workload")]))?;
        Ok(pythonize::pythonize(py, workload)?)
    }

    /// The question that the file of a fleet asks.
    ///
    /// Parameters
    /// ----------
    /// file : str
    ///     Such as ``fleet.toml``.
    ///
    /// Raises
    /// ------
    /// `InputError`
    ///     With everything that is wrong with it.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "a path handed over by Python is made for this call"
    )]
    fn fleet<'py>(&self, py: Python<'py>, file: PathBuf) -> PyResult<Bound<'py, PyAny>> {
        answer(py, py.detach(|| request::read_fleet(&file, &self.catalog)))
    }

    /// The assumptions' values of money over time.
    fn cost_assumptions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(pythonize::pythonize(
            py,
            &self.catalog.assumptions.entity.cost,
        )?)
    }

    /// Evaluates one serving configuration, whether or not it works.
    fn evaluate_serving<'py>(&self, request: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.asked(request, request::evaluate_serving)
    }

    /// Evaluates one configuration of a training run, whether or not it works.
    fn evaluate_training<'py>(&self, request: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.asked(request, request::evaluate_training)
    }

    /// Evaluates one configuration over several kinds of accelerator.
    fn evaluate_mixed<'py>(&self, request: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.asked(request, request::evaluate_mixed)
    }

    /// Candidates of a space.
    fn space_count(&self, py: Python<'_>, space: &Bound<'_, PyAny>) -> PyResult<u64> {
        let space: space::SpaceRequest = question(space)?;
        let count = py.detach(|| space.count(&self.catalog));
        count.map_err(|problems| input_error(py, &problems))
    }

    /// Evaluates candidates of a space as fast as this machine can.
    fn bench<'py>(
        &self,
        py: Python<'py>,
        space: &Bound<'py, PyAny>,
        options: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let space: space::SpaceRequest = question(space)?;
        let options: space::BenchOptions = question(options)?;
        let found = interruptible(py, |stop| space.bench(&self.catalog, options, stop))?;
        answer(py, found)
    }

    /// The Pareto front of a part of a space.
    ///
    /// Parameters
    /// ----------
    /// space, options : mapping
    ///     Which candidates, and how they are gone through.
    /// progress : callable, optional
    ///     Told some times a second how many candidates are done, and of how many.
    #[pyo3(signature = (space, options, progress=None))]
    fn front<'py>(
        &self,
        py: Python<'py>,
        space: &Bound<'py, PyAny>,
        options: &Bound<'py, PyAny>,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let space: space::SpaceRequest = question(space)?;
        let options: space::FrontOptions = question(options)?;
        let course = bulk::Course::default();
        let work = |stop: &AtomicBool| space.front(&self.catalog, options, stop, &course);
        let found = watched(py, work, || match (progress, course.so_far()) {
            (Some(tell), Some((done, of))) => tell.call1((done, of)).map(|_| ()),
            _ => Ok(()),
        })?;
        answer(py, found)
    }

    /// Every figure of the candidates of a space from `start` to `end` that work.
    fn figures(
        &self,
        py: Python<'_>,
        space: &Bound<'_, PyAny>,
        start: &Bound<'_, PyAny>,
        end: &Bound<'_, PyAny>,
    ) -> PyResult<Table> {
        let space: space::SpaceRequest = question(space)?;
        let (start, end) = (value("start", start)?, value("end", end)?);
        let found = interruptible(py, |stop| space.figures(&self.catalog, start, end, stop))?;
        found
            .map(Table::new)
            .map_err(|problems| input_error(py, &problems))
    }

    /// Finds the clusters that train a model.
    fn search_training<'py>(&self, request: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.searched(request, request::search_training)
    }

    /// Finds the units that meet a goal.
    fn search_serving<'py>(&self, request: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.searched(request, request::search_serving)
    }

    /// Finds the best two pools: replicas that read prompts, and others that answer them.
    fn search_pools<'py>(&self, request: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.searched(request, request::find_pools)
    }

    /// Simulates a load on one configuration.
    fn simulate_serving<'py>(&self, request: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.searched(request, request::simulate_serving)
    }

    /// Estimates a load on one configuration by the closed form.
    fn estimate_serving<'py>(&self, request: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.asked(request, request::estimate_serving)
    }

    /// The fastest layout on a purchase that is decided.
    fn fastest_serving<'py>(&self, request: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.asked(request, request::fastest_serving)
    }
}

impl Catalog {
    /// Answers a short question without holding the interpreter's lock.
    fn asked<'py, Q: DeserializeOwned + Sync, A: Serialize + Send>(
        &self,
        request: &Bound<'py, PyAny>,
        ask: fn(&catalog::Catalog, &Q) -> Result<A, Vec<Diagnostic>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = request.py();
        let request: Q = question(request)?;
        answer(py, py.detach(|| ask(&self.catalog, &request)))
    }

    /// Answers a question that may take long: Ctrl-C ends it.
    fn searched<'py, Q: DeserializeOwned + Sync, A: Serialize + Send>(
        &self,
        request: &Bound<'py, PyAny>,
        ask: fn(&catalog::Catalog, &Q, &AtomicBool) -> Result<A, Vec<Diagnostic>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = request.py();
        let request: Q = question(request)?;
        let found = interruptible(py, |stop| ask(&self.catalog, &request, stop))?;
        answer(py, found)
    }
}

fn answer<T: Serialize>(
    py: Python<'_>,
    result: Result<T, Vec<Diagnostic>>,
) -> PyResult<Bound<'_, PyAny>> {
    match result {
        Ok(answer) => Ok(pythonize::pythonize(py, &answer)?),
        Err(problems) => Err(input_error(py, &problems)),
    }
}
