//! What recovery and repair take out of a journal, and where they keep it: nothing is ever deleted.
//!
//! A name in the folder `cut` says which segment it was of, where in it, and when it was taken out.

use std::path::PathBuf;

use crate::{
    JournalError,
    appender::prepare::now_ns,
    disk::Disk,
    names::{CUT, Kept},
    segment::layout::position_bytes,
};

/// Something that was taken out of a segment, or a segment.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Cut {
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
    format!("{CUT}/{number:010}-{offset}-{}", now_ns())
}

/// Moves a whole file of a segment out of the journal.
pub(crate) fn whole<D: Disk>(disk: &D, kept: &Kept) -> Result<Cut, JournalError> {
    let Kept { number, bytes, .. } = *kept;
    let (from, to) = (kept.name(), name(number, 0));
    let moved = disk.rename(&from, &to).and_then(|()| disk.sync_names());
    moved.map_err(JournalError::system(disk.path(&from), "move"))?;
    Ok(Cut { segment: number, offset: 0, bytes, path: disk.path(&to) })
}

/// Writes what is taken out of a segment, from a word on, to a file of its own.
pub(crate) fn part<D: Disk>(
    disk: &D,
    number: u64,
    word: usize,
    bytes: &[u8],
) -> Result<Cut, JournalError> {
    let offset = position_bytes(word);
    let to = name(number, offset);
    let kept = disk.write(&to, bytes).and_then(|()| disk.sync_names());
    kept.map_err(JournalError::system(disk.path(&to), "write"))?;
    Ok(Cut { segment: number, offset, bytes: bytes.len() as u64, path: disk.path(&to) })
}
