//! Whether a file is open only once: then its content can become that of another file.
//!
//! Where: JOURNAL makes the next segment of a pruned one that no reader has open or mapped.
//! Protocol: the kernel grants a write lease (`F_SETLEASE`) only if no other open file refers to
//! the inode, in any process. A mapping keeps its open file, so it counts too. The lease is
//! returned at once. The caller renames the file first, so that no process opens it afterwards; a
//! process that looked up the old name before that checks the name again after it has opened the
//! file.
//! Failure: an error if the file system has no leases, or if the file belongs to another user.
//! Cost: three system calls.

use std::{fs::File, io, os::fd::AsRawFd as _};

use libc::c_int;

/// Selects the signal of a broken lease, in `asm-generic/fcntl.h` of Linux.
const F_SETSIG: c_int = 10;

/// Whether this open file is the only one of its inode, for reading and writing, in all processes.
pub fn is_open_once(file: &File) -> io::Result<bool> {
    // A process that opens the file during the lease waits until it is returned, and the kernel
    // sends a signal. SIGURG is ignored by default; the usual SIGIO would end this process.
    control(file, F_SETSIG, libc::SIGURG)?;
    match control(file, libc::F_SETLEASE, libc::F_WRLCK) {
        Ok(()) => control(file, libc::F_SETLEASE, libc::F_UNLCK).map(|()| true),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
        Err(error) => Err(error),
    }
}

fn control(file: &File, command: c_int, argument: c_int) -> io::Result<()> {
    // SAFETY: the descriptor is open as long as `file` is; these commands take a number, and access
    // no memory of this process.
    let outcome = unsafe { libc::fcntl(file.as_raw_fd(), command, argument) };
    if outcome == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ReadableWords;

    #[test]
    fn another_open_file_or_a_mapping_of_it_counts() {
        let path = format!("/dev/shm/nanotape-lone-{}", std::process::id());
        let new = || File::options().read(true).write(true).create_new(true).open(&path);
        let file = new().unwrap();
        file.set_len(8192).unwrap();
        assert!(is_open_once(&file).unwrap());
        assert!(is_open_once(&file).unwrap(), "the lease was returned");
        let reader = File::open(&path).unwrap();
        assert!(!is_open_once(&file).unwrap());
        let mapped = ReadableWords::map(&reader, 1024).unwrap();
        drop(reader);
        std::fs::remove_file(&path).unwrap();
        assert!(!is_open_once(&file).unwrap(), "a mapping, and no name");
        drop(mapped);
        assert!(is_open_once(&file).unwrap());
        let writer = file.try_clone().unwrap();
        assert!(is_open_once(&file).unwrap(), "a copy of the descriptor is the same open file");
        drop(writer);
    }
}
