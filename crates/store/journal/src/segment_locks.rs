//! Locks on the segments themselves exclude a second appender.
//!
//! The region `appender` states its owner. If that file is removed, another process can create and
//! own a new one. So an appender also locks each segment that it writes or has prepared, from
//! before it has its name until the next one is active. A second appender locks all segments from
//! the last active one on before it changes anything, so it finds a locked one.

use std::{collections::BTreeMap, io, time::Duration};

use crate::{
    ErrorKind, JournalError,
    disk::{Disk, FileLock},
    names::Files,
};

/// Attempts while the folder changes or a file is locked.
const ATTEMPTS: usize = 16;

/// The wait for a lock: a killed process releases its locks one by one, and the lock of the region
/// might be the first.
const PAUSE: Duration = Duration::from_millis(5);

/// Locks, by the names of their files.
pub(crate) type Locks = BTreeMap<String, FileLock>;

/// The names of the segments from `first` on, and of those that are being created.
fn names(files: &Files, first: u64) -> Vec<String> {
    let segments = files.segments.range(first..).filter(|(_, kept)| !kept.is_packed);
    segments.map(|(_, kept)| kept.name()).chain(files.parts.iter().cloned()).collect()
}

/// Locks the files of a journal from segment `first` on; an error if one is locked. `None` if
/// another process created or removed some meanwhile: then the caller lists them again.
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
    // Another appender would continue in a segment that it created meanwhile.
    let is_sure =
        !locks.values().any(FileLock::is_held) || names(&Files::list(disk)?, first) == names_before;
    Ok(is_sure.then_some(locks))
}

/// Returns an error if a process has a segment of the journal locked. Locks one at a time, because
/// there might be more segments than a process can open.
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

/// Locks a file; `None` if it does not exist.
fn try_lock<D: Disk>(disk: &D, name: &str) -> Result<Option<FileLock>, JournalError> {
    match disk.lock_file(name) {
        Ok(Some(lock)) => Ok(Some(lock)),
        Ok(None) => Err(JournalError::new(disk.path(name), ErrorKind::Locked)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(JournalError::system(disk.path(name), "lock")(error)),
    }
}

/// Retries while other processes change the folder or hold a lock.
pub(crate) fn retry<D: Disk, T>(
    disk: &D,
    mut attempt: impl FnMut() -> Result<Option<T>, JournalError>,
) -> Result<T, JournalError> {
    let mut locked = None;
    for _ in 0..ATTEMPTS {
        match attempt() {
            Ok(Some(done)) => return Ok(done),
            Err(error) if matches!(error.kind(), ErrorKind::Locked) => {
                locked = Some(error);
                std::thread::sleep(PAUSE);
            }
            outcome => drop(outcome?),
        }
    }
    Err(locked.unwrap_or_else(|| JournalError::new(disk.path(""), ErrorKind::Locked)))
}
