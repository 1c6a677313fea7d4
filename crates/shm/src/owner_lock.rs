//! The owner's lock: held by one open file, dropped by the kernel when the last process that has
//! that open file ends, however it ends.
//!
//! Where: the owner of a region takes it before it writes anything and keeps it as long as it owns;
//! readers ask whether it is held, which needs no right to write and disturbs nobody.
//! Protocol: a lock of an open file description (`F_OFD_SETLK`) on the first byte. One of a process
//! (`F_SETLK`) would be lost when any other descriptor of the file is closed; `flock` can be asked
//! about only by taking it. A child of `fork` that does not call `exec` has the open file too, and
//! keeps the lock.
//! Cost: one system call each.

use std::{
    fs::File,
    os::fd::AsRawFd as _,
    sync::atomic::{AtomicBool, Ordering},
};

use libc::c_int;
use rustix::io::Errno;

/// An open file that holds the lock or may ask about it.
///
/// Dropping it lets go by name and does not wait for the kernel to do so when the file is closed: a
/// child that another thread is just starting has the open file too, until it calls `exec`.
#[derive(Debug)]
pub(crate) struct OwnerLock {
    file: File,
    /// Whether this open file holds it: the kernel does not count its own lock as one in the way.
    held: AtomicBool,
}

/// Who has a lock on the byte.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Holder {
    Nobody,
    /// Whoever owns the region.
    Owner,
    /// Somebody who locked it for reading, for which permission to read is enough: no owner, but in
    /// the way of the next one.
    Reader,
}

impl OwnerLock {
    pub(crate) fn of(file: File) -> Self {
        Self { file, held: AtomicBool::new(false) }
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// Takes it, or returns false where another open file holds it. Never waits.
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

    /// Lets go. Copies of this open file stay usable for questions.
    pub(crate) fn release(&self) {
        self.held.store(false, Ordering::Relaxed);
        // Letting go of a byte of an open file has no way to fail but memory for splitting locks,
        // of which there is one; and the kernel lets go when the file is closed.
        let _ = self.control(libc::F_OFD_SETLK, libc::F_UNLCK);
    }

    /// Whether anybody holds it, this open file included.
    pub(crate) fn is_held(&self) -> Result<bool, Errno> {
        Ok(self.holder()? == Holder::Owner)
    }

    /// Who is in the way of taking it.
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
            // The kernel asks for 0 with these commands.
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
