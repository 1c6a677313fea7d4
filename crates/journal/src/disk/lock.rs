//! A lock on a file, which goes with the file and not with a name.
//!
//! Where: an appender has one on each segment that it writes or will write. The region `appender`
//! says who appends, but it is a file of its own: if it is removed, another process can make and
//! lock a new one. Protocol: `flock` on an open file of its own. The kernel drops it when that is
//! closed, however the process ends. A child of `fork` that does not call `exec` keeps it, as it
//! keeps the region's lock.

use std::{
    fs::{File, TryLockError},
    io,
};

/// Held as long as the value lives.
#[derive(Debug, Default)]
pub struct FileLock(Option<File>);

impl FileLock {
    /// Locks a file; nothing if another open file has it locked. A file system without locks is
    /// taken for one on which nothing is locked.
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

    /// Whether it keeps anybody out: not on a disk without locks.
    pub(crate) fn is_held(&self) -> bool {
        self.0.is_some()
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        if let Some(file) = &self.0 {
            // A child that another thread just starts has the open file too, until it calls `exec`.
            let _ = file.unlock();
        }
    }
}
