//! Which files of a catalog count.

use super::entry::Entry;
use super::fields::Fields;
use super::kind::Kind;
use super::read::{id_of, read_file, toml_files};
use crate::diagnostic::{Diagnostic, Problems, code};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The files of a kind by the id they describe.
pub(crate) type Files = BTreeMap<String, PathBuf>;

/// Where the files that count are.
pub(crate) struct Folders<'a> {
    pub(crate) root: &'a Path,
    pub(crate) overlays: &'a [PathBuf],
    /// The folder in `root` that stands for all of its hardware; empty for `root` itself.
    pub(crate) hardware: &'a str,
}

impl Folders<'_> {
    /// The entities of a kind; problems of their files go to `problems`.
    pub(crate) fn read<T: Send>(
        &self,
        kind: Kind,
        read: fn(&mut Fields<'_>) -> T,
        problems: &mut Problems,
    ) -> BTreeMap<String, Entry<T>> {
        let files = problems.keep(self.files(kind)).unwrap_or_default();
        let entries: Vec<_> = files
            .into_par_iter()
            .map(|(id, file)| (id, read_file(&file, read)))
            .collect();
        entries
            .into_iter()
            .filter_map(|(id, entry)| problems.keep(entry).map(|entry| (id, entry)))
            .collect()
    }

    /// The files of a kind: those of an overlay in place of what is below them.
    pub(crate) fn files(&self, kind: Kind) -> Result<Files, Vec<Diagnostic>> {
        let special = !self.hardware.is_empty();
        let hidden = special && !matches!(kind, Kind::Model | Kind::Workload);
        let mut files = files_of(self.root, kind, !hidden, self.hardware)?;
        for overlay in self.overlays {
            files.extend(files_of(overlay, kind, true, self.hardware)?);
        }
        Ok(files)
    }
}

/// The files of a kind in one catalog: its general ones, if they are wanted, and those of its
/// folder `hardware`, if that has a name.
fn files_of(
    catalog: &Path,
    kind: Kind,
    general: bool,
    hardware: &str,
) -> Result<Files, Vec<Diagnostic>> {
    let mut folders = Vec::new();
    if general {
        folders.push(catalog.join(kind.folder()));
    }
    if !hardware.is_empty() {
        folders.push(catalog.join(hardware).join(kind.folder()));
    }
    let mut files = Files::new();
    let mut problems = Problems::default();
    for folder in folders {
        for file in toml_files(&folder)? {
            let id = id_of(&file);
            if let Some(other) = files.insert(id.clone(), file.clone()) {
                problems.push(duplicate(&id, &file, &other));
            }
        }
    }
    problems.unless_any(files)
}

fn duplicate(id: &str, file: &Path, other: &Path) -> Diagnostic {
    let message = format!("`{id}` is described by `{}` as well", other.display());
    Diagnostic::new(code::WRONG_ID, message)
        .in_file(file)
        .field("id")
        .value(id)
        .accepted("an id that no other file of the same catalog has")
        .help("rename one of the two files and its id")
}
