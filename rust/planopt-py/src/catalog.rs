//! A catalog, and the questions that are asked of it.

use planopt_core::request::space;
use planopt_core::{catalog, hardware, plan, request, search};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use planopt_core::catalog::Kind;
use planopt_core::course::Course;
use planopt_core::diagnostic::Diagnostic;
use planopt_core::document::BomLine;

use pyo3::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::errors::input_error;
use crate::found::{Found, Rows, Told, Wanted};
use crate::interrupt::{LONGEST_SECONDS, beside_each_other, watched};
use crate::json::{answer, question, read, written};
use crate::table::Table;

/// What long work counts.
const CANDIDATES: &str = "candidates";
const SIMULATIONS: &str = "simulations";
/// Accelerators in hosts.
const SYSTEMS: &str = "systems";

/// A question that is searched for: its parts, what is wanted of it, and its seconds.
type ToSearch = (Vec<Vec<u8>>, Option<Vec<u8>>, f64);

/// A question that is settled: its parts, what is asked of it, its seconds, a guess, and a solver.
type ToSettle<'p> = (Vec<Vec<u8>>, Vec<u8>, f64, PyRef<'p, Found>, Py<PyAny>);

/// The parts of a question.
fn parts_of(py: Python<'_>, parts: &[Vec<u8>]) -> PyResult<Vec<request::SearchServing>> {
    parts.iter().map(|part| question(py, part)).collect()
}

/// What a solver buys of rows.
fn bought(
    py: Python<'_>,
    solver: &Py<PyAny>,
    rows: Arc<search::Rows>,
) -> PyResult<Option<search::Bought>> {
    let bought: Option<(BTreeMap<usize, u64>, f64, f64)> =
        solver.call1(py, (Rows::of(rows),))?.extract(py)?;
    Ok(bought.map(|(counts, value, bound)| search::Bought {
        counts,
        value,
        bound,
    }))
}

/// What can be bought or evaluated, and the assumptions it is judged with.
#[pyclass(frozen, module = "planopt._native")]
pub(crate) struct Catalog {
    data: Arc<catalog::Catalog>,
    /// Told how far long work is.
    watcher: Option<Arc<Py<PyAny>>>,
    /// What searches have found of layouts.
    kept: Arc<search::Kept>,
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
    /// Returns
    /// -------
    /// (Catalog, bytes)
    ///     The catalog, and as JSON what is assumed of money over time.
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
    ) -> PyResult<(Self, Vec<u8>)> {
        let root = Path::new(root);
        let loaded = py.detach(move || catalog::Catalog::load(root, &overlays, assumptions));
        let data = loaded.map_err(|problems| input_error(py, &problems))?;
        let catalog = Self {
            data: Arc::new(data),
            watcher: None,
            kept: Arc::default(),
        };
        catalog.with_its_cost()
    }

    /// The same catalog, whose long work is told of.
    ///
    /// Parameters
    /// ----------
    /// watcher : callable
    ///     Told some times a second what is counted, how many of it are done, of how many (0 where nobody
    ///     knows), and by what share the best that is known may be beaten, or none.
    fn watched(&self, watcher: Py<PyAny>) -> Self {
        Self {
            data: Arc::clone(&self.data),
            watcher: Some(Arc::new(watcher)),
            kept: Arc::clone(&self.kept),
        }
    }

    /// The same catalog with some of the assumptions of cost in place of its own, and all of them as
    /// JSON.
    ///
    /// Parameters
    /// ----------
    /// cost : bytes
    ///     JSON: `years`, `duty`, `electricity_usd_per_kwh`, `pue` and `carbon_kg_per_kwh`, those that
    ///     differ.
    fn with_cost(&self, py: Python<'_>, cost: &[u8]) -> PyResult<(Self, Vec<u8>)> {
        let given: catalog::CostChoice = question(py, cost)?;
        self.like(self.data.with_cost(given)).with_its_cost()
    }

    /// The same catalog with another price in place of its own.
    ///
    /// Parameters
    /// ----------
    /// price : bytes
    ///     JSON: `id` of a part or an offer, `usd`, and the `terms` of an offer.
    ///
    /// Raises
    /// ------
    /// `InputError`
    ///     There is no such part; or every problem of the files of offers, if it is about one of
    ///     them.
    fn at_price(&self, py: Python<'_>, price: &[u8]) -> PyResult<Self> {
        let choice: catalog::PriceChoice = question(py, price)?;
        let priced = self.data.at_prices(&[choice]);
        priced
            .map(|catalog| self.like(catalog))
            .map_err(|problems| input_error(py, &problems))
    }

    /// The same catalog, as it was read, with its parts paid for otherwise.
    ///
    /// Parameters
    /// ----------
    /// pricing : bytes
    ///     JSON: `condition` of accelerators, `prices` by id, `discount` by vendor, `vat`.
    ///
    /// Raises
    /// ------
    /// `InputError`
    ///     As of `at_price`.
    fn paid(&self, py: Python<'_>, pricing: &[u8]) -> PyResult<Self> {
        let pricing: catalog::Pricing = question(py, pricing)?;
        let paid = self.data.paid(&pricing);
        paid.map(|catalog| self.like(catalog))
            .map_err(|problems| input_error(py, &problems))
    }

    /// Every price of what can be bought, with its range and where it comes from.
    fn price_tags(&self) -> PyResult<Vec<u8>> {
        written(&self.data.price_tags())
    }

    /// The same of an hour of what can be rented.
    fn rent_tags(&self, py: Python<'_>) -> PyResult<Vec<u8>> {
        answer(py, self.data.rent_tags())
    }

    /// The same catalog with one accelerator more: an id and a power limit, `rtx-4090@350W`.
    ///
    /// Raises
    /// ------
    /// `InputError`
    ///     There is no such accelerator, or it cannot be limited so.
    fn with_power_limit(&self, py: Python<'_>, name: &str) -> PyResult<Self> {
        self.data
            .with_power_limit(name)
            .map(|catalog| self.like(catalog))
            .map_err(|problem| input_error(py, &[problem]))
    }

    /// The same catalog with each accelerator at lower limits of its power beside it.
    fn with_lower_power(&self) -> Self {
        self.like(self.data.with_lower_power())
    }

    /// Entities of a kind: id and name.
    fn list(&self, py: Python<'_>, kind: &str) -> PyResult<Vec<u8>> {
        let kind = Kind::from_name(kind).map_err(|problem| input_error(py, &[problem]))?;
        answer(py, self.data.list(kind))
    }

    /// Whole files of entities and of what they name, as JSON by kind and id, of those that there are.
    ///
    /// Parameters
    /// ----------
    /// names : list of (str, str)
    ///     Kind and id of each; of an offer the provider.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "arguments of Python are handed over by value"
    )]
    fn tables(&self, py: Python<'_>, names: Vec<(String, String)>) -> PyResult<Vec<u8>> {
        let named = |(kind, id)| {
            let kind: Result<Kind, Diagnostic> = Kind::from_name(kind);
            Ok((kind.map_err(|problem| input_error(py, &[problem]))?, id))
        };
        let names = names.iter().map(|(kind, id)| (kind.as_str(), id.clone()));
        let names: Vec<_> = names.map(named).collect::<PyResult<_>>()?;
        answer(py, self.data.tables(names))
    }

    /// Id of the host that an offer is like inside; none where there is none.
    fn host_inside(&self, offer: &str) -> Option<String> {
        hardware::host_inside(&self.data, offer).map(|host| host.id.clone())
    }

    /// One entity with its figures and their sources.
    fn show(&self, py: Python<'_>, kind: &str, id: &str) -> PyResult<Vec<u8>> {
        let kind = Kind::from_name(kind).map_err(|problem| input_error(py, &[problem]))?;
        answer(py, self.data.describe(kind, id))
    }

    /// A model in short: parameters, width, heads, layers, context, format.
    fn model(&self, py: Python<'_>, request: &[u8]) -> PyResult<Vec<u8>> {
        let request: request::ModelRequest = question(py, request)?;
        answer(py, request::describe_model(&self.data, &request))
    }

    /// A model by id or path, in the shape of a model file.
    fn architecture(&self, py: Python<'_>, model: &str) -> PyResult<Vec<u8>> {
        answer(py, catalog::describe_architecture(&self.data, model))
    }

    /// Tokens of prompt and output of a workload.
    fn workload(&self, py: Python<'_>, id: &str) -> PyResult<Vec<u8>> {
        let workload = self
            .data
            .workload(id)
            .map_err(|problem| input_error(py, &[problem.field("--workload")]))?;
        written(workload)
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
    fn fleet(&self, py: Python<'_>, file: PathBuf) -> PyResult<Vec<u8>> {
        answer(py, py.detach(|| request::read_fleet(&file, &self.data)))
    }

    /// The questions that options ask in some other words, as JSON: names looked up, what is left open
    /// assumed.
    ///
    /// Parameters
    /// ----------
    /// command : str
    ///     Such as ``solve``.
    /// given : bytes
    ///     JSON: what was given, by the arguments of the API.
    /// edits : list of bytes
    ///     JSON: what of it is changed, or left out where it is empty; nothing, to ask as it was given.
    ///
    /// Raises
    /// ------
    /// `InputError`
    ///     With everything that is wrong with the first that cannot be asked.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "arguments of Python are handed over by value"
    )]
    fn read_questions(
        &self,
        py: Python<'_>,
        command: &str,
        given: &[u8],
        edits: Vec<Vec<u8>>,
    ) -> PyResult<Vec<Vec<u8>>> {
        let asked = |edit: &Vec<u8>| {
            let (given, edit) = (read(given)?, read(edit)?);
            let question = request::read_question(command, given, edit, &self.data);
            answer(py, question)
        };
        edits.iter().map(asked).collect()
    }

    /// Evaluates one serving configuration, whether or not it works.
    fn evaluate_serving(&self, py: Python<'_>, request: &[u8]) -> PyResult<Vec<u8>> {
        self.respond(py, request, request::evaluate_serving)
    }

    /// Evaluates one configuration of a training run, whether or not it works.
    fn evaluate_training(&self, py: Python<'_>, request: &[u8]) -> PyResult<Vec<u8>> {
        self.respond(py, request, request::evaluate_training)
    }

    /// Evaluates one configuration over several kinds of accelerator.
    fn evaluate_mixed(&self, py: Python<'_>, request: &[u8]) -> PyResult<Vec<u8>> {
        self.respond(py, request, request::evaluate_mixed)
    }

    /// The best set of islands for a run.
    fn train_islands(&self, py: Python<'_>, request: &[u8]) -> PyResult<Vec<u8>> {
        let request: request::TrainIslands = question(py, request)?;
        let work = |course: &Course| request::train_islands(&self.data, &request, course);
        answer(py, self.long(py, "sets", None, work)?)
    }

    /// The chains of neighbours that serve a model.
    fn serve_neighbours(&self, py: Python<'_>, request: &[u8]) -> PyResult<Vec<u8>> {
        let request: request::ServeNeighbours = question(py, request)?;
        let work = |course: &Course| request::serve_neighbours(&self.data, &request, &course.over);
        answer(py, self.long(py, "chains", None, work)?)
    }

    /// What chains of unlike cards cost, the cheapest first.
    fn price_chains(&self, py: Python<'_>, request: &[u8]) -> PyResult<Vec<u8>> {
        self.respond(py, request, request::price_chains)
    }

    /// Accelerators that a question would allow and that nothing can be built of.
    fn left_out(&self, py: Python<'_>, request: &[u8]) -> PyResult<Vec<u8>> {
        self.respond(py, request, request::left_out)
    }

    /// Candidates of a space.
    fn space_count(&self, py: Python<'_>, space: &[u8]) -> PyResult<u64> {
        let space: space::SpaceRequest = question(py, space)?;
        let count = py.detach(|| space.count(&self.data));
        count.map_err(|problems| input_error(py, &problems))
    }

    /// Evaluates candidates of a space as fast as this machine can.
    fn bench(&self, py: Python<'_>, space: &[u8], options: &[u8]) -> PyResult<Vec<u8>> {
        let space: space::SpaceRequest = question(py, space)?;
        let options: space::BenchOptions = question(py, options)?;
        let work = |course: &Course| space.bench(&self.data, options, course);
        answer(py, self.long(py, CANDIDATES, None, work)?)
    }

    /// The Pareto front of a part of a space.
    ///
    /// Parameters
    /// ----------
    /// space, options : bytes
    ///     JSON: which candidates, and how they are gone through.
    fn front(&self, py: Python<'_>, space: &[u8], options: &[u8]) -> PyResult<Vec<u8>> {
        let space: space::SpaceRequest = question(py, space)?;
        let options: space::FrontOptions = question(py, options)?;
        let work = |course: &Course| space.front(&self.data, options, course);
        answer(py, self.long(py, CANDIDATES, None, work)?)
    }

    /// Every metric of the candidates of a space from `start` to `end` that work.
    fn metrics(&self, py: Python<'_>, space: &[u8], start: u64, end: u64) -> PyResult<Table> {
        let space: space::SpaceRequest = question(py, space)?;
        let work = |course: &Course| space.metrics(&self.data, start, end, &course.over);
        let found = self.long(py, CANDIDATES, None, work)?;
        found
            .map(Table::new)
            .map_err(|problems| input_error(py, &problems))
    }

    /// Finds the clusters that train a model, until what was found must do; tells of them what is
    /// `wanted`, as `search` does.
    fn search_training(
        &self,
        py: Python<'_>,
        request: &[u8],
        wanted: Option<&[u8]>,
        seconds: f64,
    ) -> PyResult<Told> {
        let request: request::SearchTraining = question(py, request)?;
        let wanted: Option<Wanted> = wanted.map(read).transpose()?;
        let search = |course: &Course| request::search_training(&self.data, &request, course);
        let found = self.long(py, SYSTEMS, Some(seconds), search)?;
        let found = found.map_err(|problems| input_error(py, &problems))?;
        Found::told(found, wanted.as_ref())
    }

    /// Finds what meets the goal of each of some questions.
    ///
    /// Parameters
    /// ----------
    /// questions : list of (list of bytes, bytes or None, float)
    ///     JSON: the parts of each question, and what a solver is to be offered, as of `Rows.offered`;
    ///     seconds until what was found must do.
    ///
    /// Returns
    /// -------
    /// list of (Found, bytes)
    ///     What was found, with JSON: the `summary` of what was looked at, and what is `offered`.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "arguments of Python are handed over by value"
    )]
    fn search(&self, py: Python<'_>, questions: Vec<ToSearch>) -> PyResult<Vec<Told>> {
        let (mut asked, mut seconds) = (Vec::new(), Vec::new());
        for (parts, wanted, within) in &questions {
            let wanted: Option<Wanted> = wanted.as_deref().map(read).transpose()?;
            asked.push((parts_of(py, parts)?, wanted));
            seconds.push(*within);
        }
        let found = self.long_each(py, SYSTEMS, &seconds, |courses| {
            let each = asked.iter().zip(courses);
            each.map(|((parts, _), course)| {
                request::search_serving(&self.data, parts, &self.kept, course)
            })
            .collect::<Result<Vec<_>, _>>()
        })?;
        let found = found.map_err(|problems| input_error(py, &problems))?;
        let told = found.into_iter().zip(&asked);
        told.map(|(found, (_, wanted))| Found::told(found, wanted.as_ref()))
            .collect()
    }

    /// Finds for each of some questions, at once, the best purchase that holds its promises when it is
    /// simulated, proves it, and lays it out.
    ///
    /// Parameters
    /// ----------
    /// questions : list of (list of bytes, bytes, float, Found, callable)
    ///     JSON of each part of a question, as for a search; JSON: `limits`, `objective`, `guess`,
    ///     `is_brief` and what `lay_out` is told; seconds until the best that is known must do; what an
    ///     estimate found, of whose rows `guess` names those that it would buy; and a solver, which is
    ///     called with `Rows` and tells how many of each are the best purchase, what that is worth, the
    ///     less the better, and what none is below; or none.
    ///
    /// Returns
    /// -------
    /// list of bytes
    ///     JSON: what is bought, laid out, and what is proven.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "arguments of Python are handed over by value"
    )]
    fn settle(&self, py: Python<'_>, questions: Vec<ToSettle<'_>>) -> PyResult<Vec<Vec<u8>>> {
        let (mut asked, mut seconds) = (Vec::new(), Vec::new());
        for (parts, requested, within, guess, solver) in &questions {
            let requested: request::SettleServing = read(requested)?;
            asked.push(((parts_of(py, parts)?, requested), guess.found(), solver));
            seconds.push(*within);
        }
        let failed = Mutex::new(None);
        let settled = self.long_each(py, SIMULATIONS, &seconds, |courses| {
            beside_each_other(asked.iter().zip(courses), |(one, course)| {
                let ((parts, requested), guess, solver) = one;
                let mut solve = |rows| {
                    let bought = Python::attach(|py| bought(py, solver, rows));
                    bought.unwrap_or_else(|error| {
                        courses.iter().for_each(Course::stop);
                        *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                        None
                    })
                };
                let (data, kept) = (&self.data, &self.kept);
                request::settle_serving(data, parts, requested, guess, &mut solve, kept, course)
            })
        })?;
        if let Some(error) = failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(error);
        }
        let each = settled.into_iter();
        each.map(|one| answer(py, one)).collect()
    }

    /// Gathers every unit of a question, whatever beats or replaces it, at rates that nothing refuses.
    ///
    /// Parameters
    /// ----------
    /// parts : list of bytes
    ///     JSON of each part of a question, as for a search of `every` unit.
    /// requested : bytes
    ///     JSON: `limits`, `objective` and the `refused` rates that a proof rests on.
    ///
    /// Returns
    /// -------
    /// tuple of (Found, bytes) and list of int
    ///     The units, as of `search`, and places of the rates that no run of now refuses.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "arguments of Python are handed over by value"
    )]
    fn columns(
        &self,
        py: Python<'_>,
        parts: Vec<Vec<u8>>,
        requested: &[u8],
    ) -> PyResult<(Told, Vec<usize>)> {
        let parts = parts_of(py, &parts)?;
        let requested: request::ColumnsServing = read(requested)?;
        let gathered = self.long(py, SIMULATIONS, None, |course| {
            request::columns_serving(&self.data, &parts, &requested, course)
        })?;
        let (found, unconfirmed) = gathered.map_err(|problems| input_error(py, &problems))?;
        Ok((Found::told(found, None)?, unconfirmed))
    }

    /// Lines of a bill of materials with where each price comes from, as JSON.
    fn sourced(&self, lines: &[u8]) -> PyResult<Vec<u8>> {
        let mut lines: Vec<BomLine> = read(lines)?;
        plan::sourced(&self.data, &mut lines);
        written(&lines)
    }

    /// How far predictions of a model on an accelerator were from what was measured, as JSON.
    ///
    /// Parameters
    /// ----------
    /// request : bytes
    ///     JSON: `model`, `accelerator`, `any_engine` and `metrics`; or `predicted` figures of
    ///     serving, for what they are expected to lie in.
    fn errors(&self, py: Python<'_>, request: &[u8]) -> PyResult<Vec<u8>> {
        let request: request::ErrorsRequest = read(request)?;
        let answer = request::errors_of(&self.data, &request);
        written(&answer.map_err(|problems| input_error(py, &problems))?)
    }

    /// Finds the best two pools, in so many seconds: replicas that read prompts, and others that answer
    /// them.
    fn search_pools(&self, py: Python<'_>, request: &[u8], seconds: f64) -> PyResult<Vec<u8>> {
        let request: request::SearchPools = question(py, request)?;
        let search = |course: &Course| request::find_pools(&self.data, &request, &course.over);
        answer(py, self.long(py, SYSTEMS, Some(seconds), search)?)
    }

    /// Simulates a load on one configuration.
    fn simulate_serving(&self, py: Python<'_>, request: &[u8]) -> PyResult<Vec<u8>> {
        self.searched(py, request, request::simulate_serving)
    }

    /// How many of the times that steps may be longer keep all promises of some loads.
    ///
    /// Parameters
    /// ----------
    /// request : bytes
    ///     JSON: the `runs`, each as of `simulate_serving`; whose steps are longer, the `accelerator`,
    ///     and how many times, `slower`, the shortest first; what `seconds` it may take, after which it
    ///     is None.
    fn held_to(&self, py: Python<'_>, request: &[u8]) -> PyResult<Option<usize>> {
        let request: request::HeldTo = question(py, request)?;
        let held = self.long(py, SIMULATIONS, Some(request.seconds), |course| {
            request::held_to(&self.data, &request, &course.over)
        })?;
        held.map_err(|problems| input_error(py, &problems))
    }

    /// Estimates a load on one configuration by the closed form.
    fn estimate_serving(&self, py: Python<'_>, request: &[u8]) -> PyResult<Vec<u8>> {
        self.respond(py, request, request::estimate_serving)
    }
}

impl Catalog {
    /// It, and its assumptions of cost.
    fn with_its_cost(self) -> PyResult<(Self, Vec<u8>)> {
        let cost = written(&self.data.assumptions.entity.cost)?;
        Ok((self, cost))
    }

    /// Another catalog, with the same watcher: its names stand for the same silicon, whatever that costs.
    fn like(&self, catalog: catalog::Catalog) -> Self {
        Self {
            data: Arc::new(catalog),
            watcher: self.watcher.clone(),
            kept: Arc::clone(&self.kept),
        }
    }

    /// Does what may take long: Ctrl-C ends it, some seconds are its time where they are given, and the
    /// watcher is told how many of `what` are done.
    fn long<T: Send>(
        &self,
        py: Python<'_>,
        what: &str,
        seconds: Option<f64>,
        work: impl FnOnce(&Course) -> T + Send,
    ) -> PyResult<T> {
        let seconds = seconds.unwrap_or(LONGEST_SECONDS);
        self.long_each(py, what, &[seconds], |courses| work(&courses[0]))
    }

    /// The same of several, each with its own time.
    fn long_each<T: Send>(
        &self,
        py: Python<'_>,
        what: &str,
        seconds: &[f64],
        work: impl FnOnce(&[Course]) -> T + Send,
    ) -> PyResult<T> {
        watched(py, seconds, work, |courses| {
            if let Some(watcher) = &self.watcher {
                let far = courses.iter().map(Course::so_far);
                let (done, of) = far.fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1));
                let gap = courses.first().and_then(Course::gap);
                watcher.call1(py, (what, done, of, gap))?;
            }
            Ok(())
        })
    }

    /// Answers a short question without holding the interpreter's lock.
    fn respond<Q: DeserializeOwned + Sync, A: Serialize + Send>(
        &self,
        py: Python<'_>,
        request: &[u8],
        ask: fn(&catalog::Catalog, &Q) -> Result<A, Vec<Diagnostic>>,
    ) -> PyResult<Vec<u8>> {
        let request: Q = question(py, request)?;
        answer(py, py.detach(|| ask(&self.data, &request)))
    }

    /// Answers a question that may take long: Ctrl-C ends it.
    fn searched<Q: DeserializeOwned + Sync, A: Serialize + Send>(
        &self,
        py: Python<'_>,
        request: &[u8],
        ask: fn(&catalog::Catalog, &Q, &AtomicBool) -> Result<A, Vec<Diagnostic>>,
    ) -> PyResult<Vec<u8>> {
        let request: Q = question(py, request)?;
        let found = self.long(py, SIMULATIONS, None, |course| {
            ask(&self.data, &request, &course.over)
        })?;
        answer(py, found)
    }
}
