//! Statuses and the last error of a thread: no error and no panic leaves the library in any other
//! way.

use std::{
    any::Any,
    cell::RefCell,
    ffi::{CString, c_char},
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    sync::{
        Mutex, MutexGuard, TryLockError,
        atomic::{AtomicBool, Ordering},
    },
};

use nanotape_journal::{ErrorKind, JournalError};
use nanotape_latest::LatestError;
use nanotape_ring::{ReadError, RingError, StartError};
use nanotape_shm::{Refusal, RegionError};
use nanotape_tap::SubscribeError;

use crate::NT_ABI;

/// The result of a function. `nt_last_error` has a line about each one that is not NT_STATUS_OK.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(i32)]
pub enum Status {
    /// The function did what it says.
    Ok = 0,
    /// An argument is NULL or wrong, the handle is in use by another thread, or `nt_init` was not
    /// called: an error of the calling program.
    WrongArgument = 1,
    /// There is no such ring, journal, map, record, key or name. What a plant writes may come
    /// later.
    NotFound = 2,
    /// The file of a ring or a map was removed, replaced or truncated: open it again.
    Gone = 3,
    /// One record is not valid, and was left out: its number is in the line. The items before it
    /// came before, and reading goes on after it.
    BadRecord = 4,
    /// The memory or the file is damaged, or of a version that this library cannot read.
    Damaged = 5,
    /// A system call failed, such as for a missing permission.
    Failed = 6,
    /// The header and the library are of different versions.
    OtherAbi = 7,
    /// A mistake in nanotape. Please report it with the line of `nt_last_error`.
    Bug = 8,
}

/// What a function fails with.
#[derive(Debug)]
pub(crate) struct Error {
    pub(crate) status: Status,
    pub(crate) line: String,
}

impl Error {
    pub(crate) fn new(status: Status, line: impl ToString) -> Self {
        Self { status, line: line.to_string() }
    }

    pub(crate) fn wrong(line: impl ToString) -> Self {
        Self::new(Status::WrongArgument, line)
    }

    /// An argument that is NULL.
    pub(crate) fn null(argument: &str) -> Self {
        Self::wrong(format!("{argument} is NULL"))
    }
}

fn of_refusal(refusal: &Refusal, is_bad_data: bool) -> Status {
    match refusal {
        refusal if refusal.is_pending() => Status::NotFound,
        Refusal::Removed | Refusal::Replaced | Refusal::Truncated { .. } => Status::Gone,
        _ => damaged_if(is_bad_data),
    }
}

fn damaged_if(is_bad_data: bool) -> Status {
    if is_bad_data { Status::Damaged } else { Status::Failed }
}

fn of_region(error: &RegionError) -> Status {
    of_refusal(error.refusal(), error.is_bad_data())
}

impl From<RegionError> for Error {
    fn from(error: RegionError) -> Self {
        Self::new(of_region(&error), error)
    }
}

impl Error {
    pub(crate) fn of_ring(path: &Path, error: &RingError) -> Self {
        let status = of_ring(error);
        match error {
            // The line has the path.
            RingError::Region(error) => Self::new(status, error),
            error => Self::new(status, format!("{}: {error}", path.display())),
        }
    }

    pub(crate) fn of_map(path: &Path, error: &LatestError) -> Self {
        match error {
            LatestError::Region(error) => Self::new(of_region(error), error),
            error => {
                let is_other = matches!(error, LatestError::Values { .. });
                let other = if is_other { Status::WrongArgument } else { Status::Failed };
                let status = if error.is_bad_data() { Status::Damaged } else { other };
                Self::new(status, format!("{}: {error}", path.display()))
            }
        }
    }
}

fn of_ring(error: &RingError) -> Status {
    match error {
        RingError::Region(error) => of_region(error),
        RingError::Read(ReadError::Truncated { .. }) => Status::Gone,
        RingError::Start(StartError::NotYet { .. }) => Status::NotFound,
        RingError::Start(StartError::Zero | StartError::NoTimes) => Status::WrongArgument,
        error => damaged_if(error.is_bad_data()),
    }
}

impl From<JournalError> for Error {
    fn from(error: JournalError) -> Self {
        Self::new(of_journal(&error), error)
    }
}

fn of_journal(error: &JournalError) -> Status {
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotYet { .. } => Status::NotFound,
        ErrorKind::Region(error) => of_region(error),
        _ => damaged_if(error.is_bad_data()),
    }
}

impl From<SubscribeError> for Error {
    fn from(error: SubscribeError) -> Self {
        let status = match &error {
            SubscribeError::Region(error) => of_region(error),
            SubscribeError::Ring { error, .. } => of_ring(error),
            SubscribeError::Read { error: ReadError::Truncated { .. }, .. } => Status::Gone,
            SubscribeError::Journal(error) => of_journal(error),
            SubscribeError::Record { .. } => Status::BadRecord,
            error => damaged_if(error.is_bad_data()),
        };
        Self::new(status, error)
    }
}

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

/// The line about the last function of this thread that failed, or "".
pub(crate) fn last_line() -> *const c_char {
    LAST.try_with(|last| last.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}

fn keep(line: &str) {
    // Names can have any bytes; a line has no end within it.
    let line = CString::new(line.replace(char::is_control, "?")).unwrap_or_default();
    let _ = LAST.try_with(|last| last.replace(line));
}

/// Runs what a function does, and makes its result a status.
pub(crate) fn answer(what: impl FnOnce() -> Result<(), Error>) -> Status {
    match catch_unwind(AssertUnwindSafe(what)) {
        Ok(Ok(())) => Status::Ok,
        Ok(Err(error)) => {
            keep(&error.line);
            error.status
        }
        Err(panic) => {
            keep(&format!("a mistake in nanotape: {}", text_of(panic.as_ref())));
            Status::Bug
        }
    }
}

fn text_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("no text")
}

static IS_BEGUN: AtomicBool = AtomicBool::new(false);

/// Compares the version of the header with that of the library, and makes truncated files errors.
pub(crate) fn begin(abi: u32) -> Result<(), Error> {
    if abi != NT_ABI {
        let line = format!(
            "the header nanotape.h has ABI {abi}, the library {NT_ABI}: compile the program with the \
             header of the library"
        );
        return Err(Error::new(Status::OtherAbi, line));
    }
    nanotape_shm::guard_against_truncation()
        .map_err(|error| Error::new(Status::Failed, format!("sigaction: {error}")))?;
    IS_BEGUN.store(true, Ordering::Relaxed);
    Ok(())
}

/// Refuses to open anything before `nt_init` has succeeded.
pub(crate) fn require_begun() -> Result<(), Error> {
    match IS_BEGUN.load(Ordering::Relaxed) {
        true => Ok(()),
        false => Err(Error::wrong("call nt_init(NT_ABI) first")),
    }
}

/// What a handle has, for one thread.
pub(crate) fn enter<T>(handle: &Mutex<T>) -> Result<MutexGuard<'_, T>, Error> {
    handle.try_lock().map_err(|error| match error {
        TryLockError::WouldBlock => Error::wrong("the handle is in use by another thread"),
        TryLockError::Poisoned(_) => {
            Error::new(Status::Bug, "the handle failed by a mistake in nanotape: close it")
        }
    })
}

#[cfg(test)]
mod tests {
    use std::ffi::CStr;

    use super::*;

    /// As a caller in C reads it.
    fn line() -> String {
        LAST.with_borrow(|last| CStr::to_string_lossy(last).into_owned())
    }

    #[test]
    fn a_panic_is_a_status_and_its_handle_is_refused() {
        let handle = Mutex::new(0);
        let status = answer(|| {
            let _held = enter(&handle)?;
            panic!("number {}\0", 7)
        });
        assert_eq!((status, line()), (Status::Bug, "a mistake in nanotape: number 7?".to_owned()));
        assert_eq!(answer(|| enter(&handle).map(drop)), Status::Bug);
        assert!(line().contains("close it"), "{}", line());
    }

    #[test]
    fn a_handle_that_another_thread_uses_is_refused() {
        let handle = Mutex::new(0);
        let _held = enter(&handle).unwrap();
        std::thread::scope(|scope| {
            let other = scope.spawn(|| (answer(|| enter(&handle).map(drop)), line()));
            let (status, line) = other.join().unwrap();
            assert_eq!(status, Status::WrongArgument);
            assert_eq!(line, "the handle is in use by another thread");
        });
        assert_eq!(line(), "", "each thread has its own line");
    }
}
