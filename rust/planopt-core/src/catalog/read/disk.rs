//! The file system.
#![expect(
    clippy::disallowed_methods,
    reason = "they are disallowed everywhere but here"
)]

use std::io;
use std::path::{Path, PathBuf};

/// What no entry of a catalog and no configuration of a model comes near.
const LARGEST_BYTES: u64 = 64 << 20;

/// All of a file. What is none, such as a pipe or a device, might never end.
pub(super) fn text(file: &Path) -> io::Result<String> {
    let known = std::fs::metadata(file)?;
    if !known.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    if known.len() > LARGEST_BYTES {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    std::fs::read_to_string(file)
}

/// The beginning of a file, up to so many bytes.
pub(super) fn open(file: &Path, most: u64) -> io::Result<impl io::Read> {
    if !std::fs::metadata(file)?.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    let file = io::BufReader::new(std::fs::File::open(file)?);
    Ok(io::Read::take(file, most))
}

pub(super) fn exists(path: &Path) -> bool {
    path.exists()
}

/// What a folder has in it.
pub(super) fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder)?;
    entries.map(|entry| Ok(entry?.path())).collect()
}
