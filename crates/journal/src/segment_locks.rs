//! Locks on the segments themselves keep a second appender out.
//!
//! The region `appender` has the owner. If that file is removed another process can make and own a
//! new one. But an appender also locks each segment that it writes or has prepared, from before it
//! has its name until the next one is active. A second appender locks all segments from the last
//! active one on before it changes anything, so it finds one that is locked.

use std::{collections::BTreeMap, io, time::Duration};

use crate::{
    JournalError, Problem,
    disk::{Disk, FileLock},
    names::Files,
};

/// Attempts while the folder changes, or a file is locked.
const ATTEMPTS: usize = 16;

/// How long to wait for a lock: a process that is killed gives up its locks one after the other,
/// and that of the region may be the first.
const PAUSE: Duration = Duration::from_millis(5);

/// Locks, by the names of files.
pub(crate) type Locks = BTreeMap<String, FileLock>;

/// The names of the segments from a number on, and of those that are being made.
fn names(files: &Files, first: u64) -> Vec<String> {
    let segments = files.segments.range(first..).filter(|(_, kept)| !kept.is_packed);
    segments.map(|(_, kept)| kept.name()).chain(files.parts.iter().cloned()).collect()
}

/// Locks the files of a journal from segment `first` on; an error if one is locked. Nothing if
/// another process made or removed some meanwhile: then the caller lists them again.
pub(crate) fn lock<D: Disk>(
    disk: &D,
    files: &Files,
    first: u64,
) -> Result<Option<Locks>, JournalError> {
    let names_before = names(files, first);
    let mut locks = Locks::default();
    for name in &names_before {
        let Some(lock) = try_lock(disk, name)? else { return Ok(None) };
        locks.insert(name.clone(), lock);
    }
    // A segment that another appender made since is the one that it goes on in.
    let is_sure =
        !locks.values().any(FileLock::is_held) || names(&Files::list(disk)?, first) == names_before;
    Ok(is_sure.then_some(locks))
}

/// Returns an error if a process has a segment of the journal locked. One at a time is locked here:
/// there may be more than a process may open.
pub(crate) fn check<D: Disk>(disk: &D) -> Result<(), JournalError> {
    retry(disk, || {
        let before = names(&Files::list(disk)?, 0);
        for name in &before {
            if try_lock(disk, name)?.is_none() {
                return Ok(None);
            }
        }
        Ok((names(&Files::list(disk)?, 0) == before).then_some(()))
    })
}

/// Locks a file; nothing if it is not there.
fn try_lock<D: Disk>(disk: &D, name: &str) -> Result<Option<FileLock>, JournalError> {
    match disk.lock_file(name) {
        Ok(Some(lock)) => Ok(Some(lock)),
        Ok(None) => Err(JournalError::new(disk.path(name), Problem::Locked)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(JournalError::system(disk.path(name), "lock")(error)),
    }
}

/// Does something again as long as others change the folder meanwhile, or have something locked.
pub(crate) fn retry<D: Disk, T>(
    disk: &D,
    mut attempt: impl FnMut() -> Result<Option<T>, JournalError>,
) -> Result<T, JournalError> {
    let mut locked = None;
    for _ in 0..ATTEMPTS {
        match attempt() {
            Ok(Some(done)) => return Ok(done),
            Err(error) if matches!(error.problem(), Problem::Locked) => {
                locked = Some(error);
                std::thread::sleep(PAUSE);
            }
            outcome => drop(outcome?),
        }
    }
    Err(locked.unwrap_or_else(|| JournalError::new(disk.path(""), Problem::Locked)))
}
