//! A lock on a file, independent of its name.
//!
//! Where: an appender locks each segment that it writes or will write. The region `appender` states
//! which process appends, but it is a separate file: if it is removed, another process can create
//! and lock a new one.
//! Protocol: `flock` on a separate open file. The kernel releases it when that is closed, however
//! the process ends. A child of `fork` that does not call `exec` keeps it, as it keeps the region's
//! lock.

use std::{
    fs::{File, TryLockError},
    io,
};

/// Held as long as the value lives.
#[derive(Debug, Default)]
pub struct FileLock(Option<File>);

impl FileLock {
    /// Locks a file; `None` if another open file has it locked. On a file system without locks, no
    /// file counts as locked.
    pub fn of(file: File) -> io::Result<Option<Self>> {
        match file.try_lock() {
            Ok(()) => Ok(Some(Self(Some(file)))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {
                Ok(Some(Self(None)))
            }
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Whether it excludes other processes: false on a disk without locks.
    pub(crate) fn is_held(&self) -> bool {
        self.0.is_some()
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        if let Some(file) = &self.0 {
            // A child that another thread is starting also has the open file, until it calls
            // `exec`.
            let _ = file.unlock();
        }
    }
}
