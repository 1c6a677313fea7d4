//! The locks of a region's file: that of its owner, and one for each writer where many write. The
//! kernel releases a lock when the last process with its open file ends, in any way.
//!
//! Where: the owner of a region takes it before any write and keeps it while it owns the region.
//! Writers of a region without an owner share that lock, so that none of them is its owner, and
//! each has a byte of its own. Readers query the locks, which needs no write permission and has no
//! effect on others.
//! Protocol: a lock of an open file description (`F_OFD_SETLK`) on the first byte. A lock of a
//! process (`F_SETLK`) would be lost when any other descriptor of the file is closed; `flock` has
//! no query other than taking the lock. A child of `fork` that does not call `exec` shares the open
//! file, and keeps the lock.
//! Cost: one system call each.

use std::{
    fs::File,
    ops::RangeInclusive,
    os::fd::AsRawFd as _,
    sync::atomic::{AtomicBool, Ordering},
};

use libc::c_int;
use rustix::io::Errno;

/// The byte of the owner. That of writer `k` of a region with many writers is byte `k`.
const OWNER_BYTE: u32 = 0;

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
    /// Whether it holds the lock together with others.
    shared: AtomicBool,
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
        Self { file, held: AtomicBool::new(false), shared: AtomicBool::new(false) }
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// Takes the lock, or returns false if another open file holds it. Never waits.
    pub(crate) fn try_take(&self) -> Result<bool, Errno> {
        let taken = try_lock(&self.file, libc::F_WRLCK, OWNER_BYTE)?;
        self.held.fetch_or(taken, Ordering::Relaxed);
        Ok(taken)
    }

    /// Takes the lock together with other open files, or makes it one that it holds alone; returns
    /// false if another one holds it alone. Never waits.
    pub(crate) fn try_share(&self) -> Result<bool, Errno> {
        let shared = try_lock(&self.file, libc::F_RDLCK, OWNER_BYTE)?;
        if shared {
            self.held.store(false, Ordering::Relaxed);
            self.shared.store(true, Ordering::Relaxed);
        }
        Ok(shared)
    }

    /// Releases the lock. Copies of this open file can still query it.
    pub(crate) fn release(&self) {
        self.held.store(false, Ordering::Relaxed);
        self.shared.store(false, Ordering::Relaxed);
        unlock(&self.file, OWNER_BYTE);
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
        holder(&self.file, OWNER_BYTE)
    }
}

impl Drop for OwnerLock {
    fn drop(&mut self) {
        if self.held.load(Ordering::Relaxed) || self.shared.load(Ordering::Relaxed) {
            self.release();
        }
    }
}

/// The lock of a writer of a region that many write: of the byte with the number of the writer, by
/// an open file of its own.
#[derive(Debug)]
pub(crate) struct WriterLock {
    file: File,
    byte: u32,
}

impl WriterLock {
    /// Takes the first byte of these that no other open file has, through another open file of the
    /// same inode; `None` if there is none.
    pub(crate) fn first_free(
        region: &File,
        bytes: RangeInclusive<u32>,
    ) -> Result<Option<Self>, Errno> {
        // An open file of its own, also if the path names another file by now.
        let path = format!("/proc/self/fd/{}", region.as_raw_fd());
        let opened = File::options().read(true).write(true).open(path);
        let file = opened.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
        for byte in bytes {
            if try_lock(&file, libc::F_WRLCK, byte)? {
                return Ok(Some(Self { file, byte }));
            }
        }
        Ok(None)
    }

    pub(crate) fn number(&self) -> u32 {
        self.byte
    }

    /// Whether another open file than `region` holds the byte of this writer.
    pub(crate) fn is_held(region: &File, number: u32) -> Result<bool, Errno> {
        Ok(holder(region, number)? == Holder::Owner)
    }
}

impl Drop for WriterLock {
    fn drop(&mut self) {
        unlock(&self.file, self.byte);
    }
}

/// Takes a lock of a byte, or returns false if another open file is in the way.
fn try_lock(file: &File, kind: c_int, byte: u32) -> Result<bool, Errno> {
    match control(file, libc::F_OFD_SETLK, kind, byte) {
        Ok(_) => Ok(true),
        Err(Errno::AGAIN | Errno::ACCESS) => Ok(false),
        Err(errno) => Err(errno),
    }
}

fn unlock(file: &File, byte: u32) {
    // Unlocking can only fail for lack of memory to split locks, and no lock is longer than a byte.
    // The kernel also releases it when the file is closed.
    let _ = control(file, libc::F_OFD_SETLK, libc::F_UNLCK, byte);
}

/// The holder that prevents taking the lock of a byte.
fn holder(file: &File, byte: u32) -> Result<Holder, Errno> {
    Ok(match control(file, libc::F_OFD_GETLK, libc::F_WRLCK, byte)? {
        libc::F_UNLCK => Holder::Nobody,
        libc::F_RDLCK => Holder::Reader,
        _ => Holder::Owner,
    })
}

/// Returns the type of lock that the kernel wrote back.
fn control(file: &File, command: c_int, kind: c_int, byte: u32) -> Result<c_int, Errno> {
    let mut lock = libc::flock {
        l_type: kind as _,
        l_whence: libc::SEEK_SET as _,
        l_start: libc::off_t::from(byte),
        l_len: 1,
        // The kernel requires 0 with these commands.
        l_pid: 0,
    };
    // SAFETY: the descriptor is open as long as `file` is; these commands take a pointer to a lock,
    // and this one is valid and not aliased for the call.
    let outcome = unsafe { libc::fcntl(file.as_raw_fd(), command, &raw mut lock) };
    if outcome == -1 {
        let error = std::io::Error::last_os_error();
        return Err(Errno::from_io_error(&error).unwrap_or(Errno::IO));
    }
    Ok(c_int::from(lock.l_type))
}
