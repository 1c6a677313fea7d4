//! The quarantine: recovery and repair move bytes to the folder `cut` and never delete them.
//!
//! A name there states the segment, the position in it, and the time of the move.

use std::path::PathBuf;

use nanotape_shm::ReadWord;

use crate::{
    JournalError,
    appender::prepare::now_ns,
    disk::Disk,
    names::{Kept, QUARANTINE},
    segment::layout::position_bytes,
};

/// A part of a segment, or a whole one, that was moved out of the journal.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Quarantined {
    /// The number of the segment.
    pub segment: u64,
    /// Where in it, in bytes from the beginning of its file; 0 for all of it.
    pub offset: u64,
    /// Bytes.
    pub bytes: u64,
    /// The file that they are in now.
    pub path: PathBuf,
}

/// The name of what is taken out now.
fn name(number: u64, offset: u64) -> String {
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

/// Writes words of a segment, the first of which is `word`, to a file of the quarantine.
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
    Ok(Quarantined { segment: number, offset, bytes: bytes.len() as u64, path: disk.path(&to) })
}
