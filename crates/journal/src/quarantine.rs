//! The quarantine: recovery and repair move bytes to the folder `cut` and never delete them.
//!
//! A name there states the segment, the position in it, and the time of the move.

use std::path::PathBuf;

use crate::{
    JournalError,
    appender::prepare::now_ns,
    disk::Disk,
    names::{Kept, QUARANTINE},
    segment::layout::position_bytes,
};

/// Something that was taken out of a segment, or a segment.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Quarantined {
    /// The segment.
    pub segment: u64,
    /// Where in it, in bytes from the beginning of its file; 0 for all of it.
    pub offset: u64,
    /// Bytes.
    pub bytes: u64,
    /// The file that they are in now.
    pub path: PathBuf,
}

/// The name of what is taken out now.
pub(crate) fn name(number: u64, offset: u64) -> String {
    format!("{QUARANTINE}/{number:010}-{offset}-{}", now_ns())
}

/// Moves a whole file of a segment out of the journal.
pub(crate) fn whole<D: Disk>(disk: &D, kept: &Kept) -> Result<Quarantined, JournalError> {
    let Kept { number, bytes, .. } = *kept;
    let (from, to) = (kept.name(), name(number, 0));
    let moved = disk.rename(&from, &to).and_then(|()| disk.sync_names());
    moved.map_err(JournalError::system(disk.path(&from), "move"))?;
    Ok(Quarantined { segment: number, offset: 0, bytes, path: disk.path(&to) })
}

/// Writes what is taken out of a segment, from a word on, to a file of its own.
pub(crate) fn part<D: Disk>(
    disk: &D,
    number: u64,
    word: usize,
    bytes: &[u8],
) -> Result<Quarantined, JournalError> {
    let offset = position_bytes(word);
    let to = name(number, offset);
    let kept = disk.write(&to, bytes).and_then(|()| disk.sync_names());
    kept.map_err(JournalError::system(disk.path(&to), "write"))?;
    Ok(Quarantined { segment: number, offset, bytes: bytes.len() as u64, path: disk.path(&to) })
}
