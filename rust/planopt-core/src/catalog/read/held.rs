//! Files where there is no file system: those that were handed over.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

static HELD: Mutex<BTreeMap<PathBuf, String>> = Mutex::new(BTreeMap::new());

/// Takes these files, by their paths, in place of all that were taken before.
pub fn hold(files: BTreeMap<PathBuf, String>) {
    *HELD.lock().unwrap_or_else(PoisonError::into_inner) = files;
}

fn with<T>(look: impl FnOnce(&BTreeMap<PathBuf, String>) -> T) -> T {
    look(&HELD.lock().unwrap_or_else(PoisonError::into_inner))
}

pub(super) fn text(file: &Path) -> io::Result<String> {
    let found = with(|held| held.get(file).cloned());
    found.ok_or_else(|| io::ErrorKind::NotFound.into())
}

/// Files that are handed over are texts.
pub(super) fn open(_: &Path, _: u64) -> io::Result<io::Empty> {
    Err(io::ErrorKind::NotFound.into())
}

pub(super) fn exists(path: &Path) -> bool {
    with(|held| held.keys().any(|file| file.starts_with(path)))
}

/// Files right in a folder.
pub(super) fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let is_in = |file: &&PathBuf| file.parent() == Some(folder);
    Ok(with(|held| held.keys().filter(is_in).cloned().collect()))
}
