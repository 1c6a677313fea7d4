//! Creates a segment: complete and on disk before it has its name. In memory, a pruned segment
//! becomes the next one if no process has it open: its pages are there already.

use std::{io, sync::Arc};

use nanotape_clock::UtcNanos;
use rustix::io::Errno;

use crate::{
    Cause, ErrorKind, JournalError,
    disk::{Disk, FileLock, Preallocation, WritableFile as _},
    names,
    segment::{
        header::Header,
        layout::{Layout, at},
    },
};

/// The settings that all new segments of an appender share.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Plan {
    pub(crate) journal: u64,
    pub(crate) layout: Layout,
    pub(crate) cycle_ns: u64,
    pub(crate) space: Preallocation,
}

/// A segment that is ready to become the active one.
#[derive(Debug)]
pub(crate) struct Prepared<F> {
    pub(crate) file: Arc<F>,
    pub(crate) header: Header,
    /// The lock of its file: see `segment_locks.rs`.
    pub(crate) lock: FileLock,
}

/// Creates a segment.
pub(crate) fn prepare<D: Disk>(
    disk: &D,
    plan: &Plan,
    number: u64,
) -> Result<Prepared<D::Writable>, JournalError> {
    let Plan { journal, layout, cycle_ns, .. } = *plan;
    let header = Header { journal, number, layout, cycle_ns, created_ns: now_ns() };
    prepare_as(disk, plan, header, None)
}

/// Creates a segment with this header, from a file of zeros that exists already if there is one.
pub(crate) fn prepare_as<D: Disk>(
    disk: &D,
    plan: &Plan,
    header: Header,
    blank: Option<D::Writable>,
) -> Result<Prepared<D::Writable>, JournalError> {
    let number = header.number;
    let (part, name) = (names::part(number), names::segment(number));
    let prepared = make(disk, plan, header, &part, blank).map_err(|error| {
        let _ = disk.remove(&part);
        refused(disk, &name, plan.layout.segment_bytes(), &error)
    })?;
    let named = disk.rename(&part, &name).and_then(|()| disk.sync_names());
    if named.is_err() {
        // The file has one of the two names. If it has its final name, the next attempt replaces
        // it.
        let _ = disk.remove(&part);
    }
    named.map_err(JournalError::system(disk.path(&name), "name"))?;
    Ok(prepared)
}

fn make<D: Disk>(
    disk: &D,
    plan: &Plan,
    header: Header,
    part: &str,
    blank: Option<D::Writable>,
) -> io::Result<Prepared<D::Writable>> {
    let bytes = plan.layout.segment_bytes();
    // Another process may have removed it as a file that was never finished.
    let blank = blank.filter(|_| disk.rename(&names::ahead(), part).is_ok());
    let reused = || names::spares().find_map(|spare| disk.reuse(&spare, part, bytes));
    let file = match blank.or_else(reused) {
        Some(file) => file,
        None => create(disk, plan, part)?,
    };
    let lock = disk.lock_file(part)?.ok_or(io::ErrorKind::ResourceBusy)?;
    header.store(file.words());
    file.sync(0..at::INDEX)?;
    Ok(Prepared { file: Arc::new(file), header, lock })
}

fn create<D: Disk>(disk: &D, plan: &Plan, part: &str) -> io::Result<D::Writable> {
    let bytes = plan.layout.segment_bytes();
    match disk.create(part, bytes, plan.space) {
        // A failed attempt left this file and could not remove it.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            disk.remove(part)?;
            disk.create(part, bytes, plan.space)
        }
        outcome => outcome,
    }
}

/// The error of a segment that could not be created.
pub(crate) fn refused<D: Disk>(
    disk: &D,
    name: &str,
    needed_bytes: u64,
    error: &io::Error,
) -> JournalError {
    let problem = match Cause::from(error) {
        Cause::Errno(Errno::NOSPC) => {
            ErrorKind::NoSpace { needed_bytes, free_bytes: disk.free_bytes() }
        }
        Cause::Errno(Errno::DQUOT) => ErrorKind::Quota { needed_bytes },
        _ => ErrorKind::system("make", error),
    };
    JournalError::new(disk.path(name), problem)
}

/// Nanoseconds since the UNIX epoch.
pub(crate) fn now_ns() -> u64 {
    UtcNanos::now().unix_ns()
}
