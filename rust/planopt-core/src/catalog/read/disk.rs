//! The file system.
#![expect(
    clippy::disallowed_methods,
    reason = "they are disallowed everywhere but here"
)]

use std::io;
use std::path::{Path, PathBuf};

pub(super) fn text(file: &Path) -> io::Result<String> {
    std::fs::read_to_string(file)
}

pub(super) fn exists(path: &Path) -> bool {
    path.exists()
}

/// What a folder has in it.
pub(super) fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder)?;
    entries.map(|entry| Ok(entry?.path())).collect()
}
