//! The owner's lock: held by one open file. The kernel releases it when the last process with that
//! open file ends, in any way.
//!
//! Where: the owner of a region takes it before any write and keeps it while it owns the region.
//! Readers query it, which needs no write permission and has no effect on others.
//! Protocol: a lock of an open file description (`F_OFD_SETLK`) on the first byte. A lock of a
//! process (`F_SETLK`) would be lost when any other descriptor of the file is closed; `flock` has
//! no query other than taking the lock. A child of `fork` that does not call `exec` shares the open
//! file, and keeps the lock.
//! Cost: one system call each.

use std::{
    fs::File,
    os::fd::AsRawFd as _,
    sync::atomic::{AtomicBool, Ordering},
};

use libc::c_int;
use rustix::io::Errno;

/// An open file that holds the lock or can query it.
///
/// Dropping it releases the lock explicitly. Closing the file would not be enough: a child that
/// another thread is just starting shares the open file, until it calls `exec`.
#[derive(Debug)]
pub(crate) struct OwnerLock {
    file: File,
    /// Whether this open file holds the lock, since a query of the kernel does not report its own
    /// lock.
    held: AtomicBool,
}

/// The holder of a lock on the byte.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Holder {
    Nobody,
    /// The owner of the region.
    Owner,
    /// A process that locked it for reading, which needs only read permission: it is not an owner,
    /// but it blocks the next one.
    Reader,
}

impl OwnerLock {
    pub(crate) fn of(file: File) -> Self {
        Self { file, held: AtomicBool::new(false) }
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// Takes the lock, or returns false if another open file holds it. Never waits.
    pub(crate) fn try_take(&self) -> Result<bool, Errno> {
        match self.control(libc::F_OFD_SETLK, libc::F_WRLCK) {
            Ok(_) => {
                self.held.store(true, Ordering::Relaxed);
                Ok(true)
            }
            Err(Errno::AGAIN | Errno::ACCESS) => Ok(false),
            Err(errno) => Err(errno),
        }
    }

    /// Releases the lock. Copies of this open file can still query it.
    pub(crate) fn release(&self) {
        self.held.store(false, Ordering::Relaxed);
        // Unlocking can only fail for lack of memory to split locks, and there is only one lock.
        // The kernel also releases it when the file is closed.
        let _ = self.control(libc::F_OFD_SETLK, libc::F_UNLCK);
    }

    /// Whether an owner holds it, including this open file.
    pub(crate) fn is_held(&self) -> Result<bool, Errno> {
        Ok(self.holder()? == Holder::Owner)
    }

    /// The holder that prevents taking it.
    pub(crate) fn holder(&self) -> Result<Holder, Errno> {
        if self.held.load(Ordering::Relaxed) {
            return Ok(Holder::Owner);
        }
        Ok(match self.control(libc::F_OFD_GETLK, libc::F_WRLCK)? {
            libc::F_UNLCK => Holder::Nobody,
            libc::F_RDLCK => Holder::Reader,
            _ => Holder::Owner,
        })
    }

    /// Returns the type of lock that the kernel wrote back.
    fn control(&self, command: c_int, kind: c_int) -> Result<c_int, Errno> {
        let mut lock = libc::flock {
            l_type: kind as _,
            l_whence: libc::SEEK_SET as _,
            l_start: 0,
            l_len: 1,
            // The kernel requires 0 with these commands.
            l_pid: 0,
        };
        // SAFETY: the descriptor is open as long as `self.file` is; these commands take a pointer
        // to a lock, and this one is valid and not aliased for the call.
        let outcome = unsafe { libc::fcntl(self.file.as_raw_fd(), command, &raw mut lock) };
        if outcome == -1 {
            let error = std::io::Error::last_os_error();
            return Err(Errno::from_io_error(&error).unwrap_or(Errno::IO));
        }
        Ok(c_int::from(lock.l_type))
    }
}

impl Drop for OwnerLock {
    fn drop(&mut self) {
        if self.held.load(Ordering::Relaxed) {
            self.release();
        }
    }
}
