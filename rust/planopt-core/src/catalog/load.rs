//! Folders to a catalog: which files count, reading them, and whether they fit together.

use super::assumptions::Assumptions;
use super::entry::Entry;
use super::folders::{Files, Folders};
use super::kind::Kind;
use super::offers::Offers;
use super::read::{is_toml, read_file, require_folder};
use super::{
    Catalog, Network, Residuals, Table, Workload, accelerator, assumption, host, link, model, read,
};
use crate::diagnostic::{Diagnostic, Problems, code, did_you_mean, nearest};
use crate::transformer::Architecture;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

impl Catalog {
    /// Reads the catalog in `root`, with those in `overlays` laid over it in turn, as far as the
    /// assumptions called `assumptions` (or in the TOML file of that path) may see it.
    ///
    /// # Errors
    ///
    /// Every problem of every file that counts, in the order of kinds, ids and lines.
    pub fn load(
        root: &Path,
        overlays: &[PathBuf],
        assumptions: &str,
    ) -> Result<Self, Vec<Diagnostic>> {
        let assumptions = read_assumptions(root, overlays, assumptions)?;
        let folders = Folders {
            root,
            overlays,
            hardware: &assumptions.entity.hardware,
        };
        let mut problems = Problems::default();
        let catalog = Self {
            accelerators: folders.read(Kind::Accelerator, accelerator::read, &mut problems),
            hosts: folders.read(Kind::Host, host::read, &mut problems),
            links: folders.read(Kind::Link, link::read, &mut problems),
            networks: folders.read(Kind::Network, Network::read, &mut problems),
            models: folders.read(Kind::Model, model::read, &mut problems),
            workloads: folders.read(Kind::Workload, Workload::read, &mut problems),
            residuals: Residuals::of(root),
            offers: Offers {
                root: root.to_path_buf(),
                overlays: overlays.to_vec(),
                hardware: assumptions.entity.hardware.clone(),
                read: OnceLock::new(),
            },
            assumptions,
            gross: 1.0,
        };
        // A file with problems is no entity: what refers to it would look wrong as well.
        let mut catalog = problems.unless_any(catalog)?;
        catalog.furnish();
        let mut problems = Problems::default();
        catalog.check_references(&mut problems);
        problems.unless_any(catalog)
    }

    fn check_references(&self, problems: &mut Problems) {
        let links = (Kind::Link, &self.links);
        let accelerators = (Kind::Accelerator, &self.accelerators);
        let networks = (Kind::Network, &self.networks);
        for host in self.hosts.values() {
            check(host, "link", &host.entity.link, links, problems);
            if let Some(included) = &host.entity.includes {
                let (field, id) = ("includes.accelerator", &included.accelerator);
                check(host, field, id, accelerators, problems);
            }
        }
        for host in self.hosts.values() {
            let nics = host.entity.included_nics.iter();
            for id in nics.flat_map(|included| &included.networks) {
                let field = "includes.networks";
                check(host, field, id, networks, problems);
            }
        }
        for network in self.networks.values() {
            check(network, "link", &network.entity.link, links, problems);
        }
        self.check_measured(problems);
    }

    /// Whether what the assumptions have figures of exists.
    fn check_measured(&self, problems: &mut Problems) {
        let assumptions = &self.assumptions;
        for (id, _) in &assumptions.entity.accelerators {
            let field = assumptions.first_field_under(&format!("accelerators.{id}."));
            let accelerators = (Kind::Accelerator, &self.accelerators);
            check(assumptions, &field, id, accelerators, problems);
        }
        let accelerators = || self.accelerators.values().map(|entry| &entry.entity);
        let families: BTreeSet<&str> = accelerators().map(|own| own.family.as_str()).collect();
        let links: BTreeSet<&str> = accelerators()
            .filter_map(|own| own.scale_up.as_ref())
            .map(|link| link.name.as_str())
            .collect();
        let mut check_name = |table: &str, kind: &str, name: &str, known: &BTreeSet<&str>| {
            if !known.contains(name) {
                let field = assumptions.first_field_under(&format!("{table}.{name}."));
                let message = format!("no accelerator of the catalog has the {kind} `{name}`");
                let problem = assumptions.problem(code::UNKNOWN_REFERENCE, &field, message);
                problems.push(problem.one_of(name, known.iter().copied()));
            }
        };
        for (family, _) in &assumptions.entity.families {
            check_name("families", "family", family, &families);
        }
        for (link, _) in &assumptions.entity.links {
            check_name("links", "scale-up link", link, &links);
        }
    }

    /// The model of that id, or in that file: a Hugging Face `config.json`, a GGUF file, a model in
    /// TOML, or a folder with one of the first two.
    ///
    /// # Errors
    ///
    /// E001 with the nearest ids, or everything that is wrong with the file.
    pub fn architecture(&self, name: &str) -> Result<Architecture, Vec<Diagnostic>> {
        let file = self.model_file(name);
        let extension = file.as_deref().and_then(Path::extension);
        match (&file, extension.and_then(std::ffi::OsStr::to_str)) {
            (Some(file), Some("json")) => read::read_config_file(file),
            (Some(file), Some("gguf")) => read::read_gguf_file(file),
            (Some(file), _) => read_model(file).map(|entry| entry.entity),
            (None, _) => {
                self.model(name).cloned().map_err(|problem| {
                    vec![problem.field("--model").help_unless(
                        "a path to a Hugging Face config.json or a GGUF file works too",
                    )]
                })
            }
        }
    }
}

impl Catalog {
    /// The file that a model is read from, where it is no entry of the catalog.
    pub(crate) fn model_file(&self, name: &str) -> Option<PathBuf> {
        let file = read::model_file(Path::new(name))?;
        let is_named = file == Path::new(name);
        (is_named || self.model(name).is_err()).then_some(file)
    }
}

/// The model that a TOML file outside of the catalogs describes.
pub(super) fn read_model(file: &Path) -> Result<Entry<Architecture>, Vec<Diagnostic>> {
    read_file(file, model::read)
}

fn check<T, U>(
    entry: &Entry<T>,
    field: &str,
    id: &str,
    (kind, known): (Kind, &BTreeMap<String, Entry<U>>),
    problems: &mut Problems,
) {
    if !known.contains_key(id) {
        let message = format!("no {} is called `{id}`", kind.name());
        let valid = known.keys().map(String::as_str);
        problems.push(
            entry
                .problem(code::UNKNOWN_REFERENCE, field, message)
                .one_of(id, valid),
        );
    }
}

fn assumption_files(root: &Path, overlays: &[PathBuf]) -> Result<Files, Vec<Diagnostic>> {
    let mut problems = Problems::default();
    for folder in std::iter::once(root).chain(overlays.iter().map(PathBuf::as_path)) {
        problems.keep(require_folder(folder).map_err(Vec::from));
    }
    problems.unless_any(())?;
    Folders {
        root,
        overlays,
        hardware: "",
    }
    .files(Kind::Assumptions)
}

fn read_assumptions(
    root: &Path,
    overlays: &[PathBuf],
    name: &str,
) -> Result<Entry<Assumptions>, Vec<Diagnostic>> {
    let files = assumption_files(root, overlays)?;
    let file = match files.get(name) {
        Some(file) => file.as_path(),
        None if is_toml(Path::new(name)) => Path::new(name),
        None => {
            let kind = Kind::Assumptions.name();
            let known = files.keys().map(String::as_str);
            let mut problem =
                Diagnostic::unknown_name(kind, name, known.clone()).field("--assumptions");
            problem.message = format!("no assumptions are called `{name}`");
            problem.help = did_you_mean(&nearest(name, known))
                .or_else(|| Some("give one of these, or the path of a .toml file".into()));
            return Err(vec![problem]);
        }
    };
    read_file(file, assumption::read)
}
