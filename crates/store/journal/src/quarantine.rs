//! The quarantine: recovery and repair move bytes to the folder `cut` and never delete them.
//!
//! The name of a moved file states the segment, the position in it, and the time of the move.

use std::path::{Path, PathBuf};

use nanotape_shm::ReadWord;

use crate::{
    JournalError, appender::prepare::now_ns, companion::QUARANTINE, disk::Disk, names::Kept,
    segment::layout::position_bytes,
};

/// A segment, or part of one, that was moved out of the journal.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Quarantined {
    /// The number of the segment.
    pub segment: u64,
    /// The position in its file, in bytes; 0 for a whole segment.
    pub offset: u64,
    /// Bytes.
    pub bytes: u64,
    /// The file that now contains the bytes.
    pub path: PathBuf,
    /// Its name in the folder of the journal.
    pub(crate) name: String,
}

/// The name for a part that is moved now.
fn name(number: u64, offset: u64) -> String {
    format!("{QUARANTINE}/{number:010}-{offset}-{}", now_ns())
}

/// The number of a segment that was moved here as a whole.
pub(crate) fn whole_segment(path: &Path) -> Option<u64> {
    let mut parts = path.file_name()?.to_str()?.split('-');
    let (number, offset) = (parts.next()?, parts.next()?);
    number.parse().ok().filter(|_| offset == "0")
}

/// Moves a whole segment file out of the journal.
pub(crate) fn whole<D: Disk>(disk: &D, kept: &Kept) -> Result<Quarantined, JournalError> {
    let Kept { number, bytes, .. } = *kept;
    let (from, to) = (kept.name(), name(number, 0));
    let moved = disk.rename(&from, &to).and_then(|()| disk.sync_names());
    moved.map_err(JournalError::system(disk.path(&from), "move"))?;
    Ok(Quarantined { segment: number, offset: 0, bytes, path: disk.path(&to), name: to })
}

/// Writes words of a segment to a file in the quarantine; `word` is the index of the first one.
pub(crate) fn part<D: Disk>(
    disk: &D,
    number: u64,
    word: usize,
    words: &[ReadWord],
) -> Result<Quarantined, JournalError> {
    let offset = position_bytes(word);
    let to = name(number, offset);
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.load().to_ne_bytes()).collect();
    let kept = disk.write(&to, &bytes).and_then(|()| disk.sync_names());
    kept.map_err(JournalError::system(disk.path(&to), "write"))?;
    let path = disk.path(&to);
    Ok(Quarantined { segment: number, offset, bytes: bytes.len() as u64, path, name: to })
}
