//! Files beside the segments of a journal: `runs`, `recorded-from`, snapshots.
//!
//! Failure: whatever has the name of such a file and is none is an error. A pipe would wait for its
//! other end, and a device might never end.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read as _},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

use rustix::fs::OFlags;

/// Opens a file to read it. Beside what is no folder, no file is found.
pub fn open_beside(path: &Path) -> io::Result<File> {
    let flags = OFlags::NONBLOCK.bits();
    let opened = OpenOptions::new().read(true).custom_flags(flags as i32).open(path);
    let file = opened.map_err(|error| match error.kind() {
        io::ErrorKind::NotADirectory => io::ErrorKind::NotFound.into(),
        _ => error,
    })?;
    if !file.metadata()?.is_file() {
        return Err(not_a_file());
    }
    Ok(file)
}

/// Reads a whole file.
pub fn read_beside(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = open_beside(path)?;
    let mut bytes = Vec::with_capacity(usize::try_from(file.metadata()?.len()).unwrap_or(0));
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Something else has the name of a file of the journal.
pub(crate) fn not_a_file() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "not a file: remove it, or move it away")
}
