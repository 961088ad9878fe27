//! Offers, read when they are first asked for.

use super::accelerator::Accelerator;
use super::declared::Table;
use super::entry::Entry;
use super::folders::Folders;
use super::kind::Kind;
use super::offer;
use super::offer::Provider;
use crate::diagnostic::{Diagnostic, Problems};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::OnceLock;

type Read<T> = Result<BTreeMap<String, Entry<T>>, Vec<Diagnostic>>;

/// The offers of a catalog, which are read when they are first asked for.
#[derive(Clone, Debug)]
pub(super) struct Offers {
    pub(crate) root: PathBuf,
    pub(crate) overlays: Vec<PathBuf>,
    pub(crate) hardware: String,
    pub(crate) read: OnceLock<Read<Provider>>,
}

impl Offers {
    /// The providers by id, whose offers are of `accelerators`.
    pub(super) fn read(
        &self,
        accelerators: &BTreeMap<String, Entry<Accelerator>>,
    ) -> Result<&BTreeMap<String, Entry<Provider>>, Vec<Diagnostic>> {
        let read = self.read.get_or_init(|| {
            let folders = Folders {
                root: &self.root,
                overlays: &self.overlays,
                hardware: &self.hardware,
            };
            let mut problems = Problems::default();
            let providers = folders.read(Kind::Offer, Provider::read, &mut problems);
            let providers = problems.unless_any(providers)?;
            let mut problems = Problems::default();
            for provider in providers.values() {
                for problem in offer::problems(provider, |id| accelerators.contains_key(id)) {
                    problems.push(problem);
                }
            }
            problems.unless_any(providers)
        });
        read.as_ref().map_err(Clone::clone)
    }
}

impl Offers {
    /// Takes providers as read.
    pub(super) fn put(&mut self, providers: BTreeMap<String, Entry<Provider>>) {
        self.read = OnceLock::from(Ok(providers));
    }
}
