//! A guard for processes that must survive the truncation of a mapped region: instead of SIGBUS,
//! reads return zeros and set a flag.
//!
//! Where: programs that read regions of other processes may install it, once, with
//! [`guard_against_truncation`]. Without it the kernel sends SIGBUS to a process that reads a
//! truncated page, which ends the process.
//! Protocol: a table of fixed size has an entry for every mapping of a region. The handler finds
//! the entry of the faulting address, maps zeros from its page to the end of the mapping, sets the
//! flag and returns; the load is then repeated and returns zero. Any other SIGBUS goes to the
//! previous handler.
//! Bounds: [`MOST_MAPPINGS`] at a time; further ones are unguarded.
//! Failure: words that are read after the loss are meaningless. Readers call `is_lost` or `check`.

use std::{
    mem::MaybeUninit,
    ptr::null_mut,
    sync::{
        Mutex, OnceLock,
        atomic::{AtomicBool, AtomicUsize, Ordering, fence},
    },
};

use libc::{c_int, c_void, sigaction, siginfo_t};
use rustix::{
    io::Errno,
    mm::{MapFlags, ProtFlags, mmap_anonymous},
};

/// Limit of guarded mappings: open regions and segments of journals of this process. An appender
/// whose pretoucher is not scheduled for a while has a hundred closed segments mapped.
pub const MOST_MAPPINGS: usize = 1024;

static TABLE: [Entry; MOST_MAPPINGS] = [const { Entry::empty() }; MOST_MAPPINGS];

/// The previous handler, for other SIGBUS signals.
static BEFORE: OnceLock<sigaction> = OnceLock::new();

/// The entry of one mapping, or a free one.
#[derive(Debug)]
struct Entry {
    /// Whether a mapping uses it. Changed by [`Registration`].
    taken: AtomicBool,
    /// Address of its first byte; 0 while `bytes` is invalid.
    start: AtomicUsize,
    bytes: AtomicUsize,
    is_writable: AtomicBool,
    /// Set by the handler.
    lost: AtomicBool,
}

/// The entry of one mapping; freed when dropped, which must happen before the mapping is removed.
#[derive(Debug)]
pub(crate) struct Registration(Option<&'static Entry>);

impl Registration {
    /// Adds a mapping; if the table is full it stays unguarded.
    pub(crate) fn new(start: usize, bytes: usize, is_writable: bool) -> Self {
        let is_free = |entry: &&Entry| {
            !entry.taken.load(Ordering::Relaxed) && !entry.taken.swap(true, Ordering::Acquire)
        };
        let entry = TABLE.iter().find(is_free);
        if let Some(entry) = entry {
            entry.lost.store(false, Ordering::Relaxed);
            entry.is_writable.store(is_writable, Ordering::Relaxed);
            entry.bytes.store(bytes, Ordering::Relaxed);
            // SYNC(bus_guard.entry): pairs with the load in `covers`.
            entry.start.store(start, Ordering::Release);
        }
        Self(entry)
    }

    /// Whether a part of the mapping was truncated and is zeros now.
    #[inline]
    pub(crate) fn is_lost(&self) -> bool {
        self.0.is_some_and(|entry| entry.lost.load(Ordering::Relaxed))
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        if let Some(entry) = self.0 {
            entry.start.store(0, Ordering::Relaxed);
            // SYNC(bus_guard.reuse): pairs with the fence in `covers`: a handler that sees the next
            // mapping's `bytes` also sees that `start` is no longer the old one.
            fence(Ordering::Release);
            entry.taken.store(false, Ordering::Release);
        }
    }
}

impl Entry {
    const fn empty() -> Self {
        Self {
            taken: AtomicBool::new(false),
            start: AtomicUsize::new(0),
            bytes: AtomicUsize::new(0),
            is_writable: AtomicBool::new(false),
            lost: AtomicBool::new(false),
        }
    }

    /// First address and end of the mapping, if it contains the address. Called in a signal
    /// handler.
    ///
    /// The faulting thread borrows its mapping, so that entry does not change. Entries that other
    /// threads change meanwhile must not mislead this function.
    fn covers(&self, address: usize) -> Option<(usize, usize)> {
        // SYNC(bus_guard.entry): pairs with the store in `new`.
        let start = self.start.load(Ordering::Acquire);
        let bytes = self.bytes.load(Ordering::Relaxed);
        // SYNC(bus_guard.reuse): pairs with the fence in `drop`.
        fence(Ordering::Acquire);
        let is_stable = start != 0 && self.start.load(Ordering::Relaxed) == start;
        let end = start.checked_add(bytes)?;
        (is_stable && (start..end).contains(&address)).then_some((start, end))
    }
}

/// From now on a region that is truncated while it is mapped reads as zeros after its new end, and
/// is flagged as lost, instead of ending this process with SIGBUS. Applies permanently to the whole
/// process; later calls have no effect. Other SIGBUS signals go to the previous handler.
pub fn guard_against_truncation() -> Result<(), Errno> {
    static IS_INSTALLED: Mutex<bool> = Mutex::new(false);
    let mut is_installed = IS_INSTALLED.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if *is_installed {
        return Ok(());
    }
    // Stores the old handler first: the new one needs it from the first moment.
    let mut before = MaybeUninit::<sigaction>::uninit();
    // SAFETY: a query only; the pointer is to memory for one result.
    let outcome = unsafe { libc::sigaction(libc::SIGBUS, null_mut(), before.as_mut_ptr()) };
    answered(outcome)?;
    // SAFETY: the call succeeded, and so initialised all of it.
    let before = unsafe { before.assume_init() };
    let _ = BEFORE.set(before);
    // SAFETY: the struct is integers and an optional function pointer, for all of which zero is
    // valid: no flags, no blocked signals.
    let mut ours: sigaction = unsafe { std::mem::zeroed() };
    ours.sa_sigaction = on_bus_error as *const () as usize;
    ours.sa_flags = libc::SA_SIGINFO | (before.sa_flags & libc::SA_ONSTACK);
    // SAFETY: the handler has the three arguments of SA_SIGINFO, and does only what is allowed in a
    // handler, as its comment states.
    answered(unsafe { libc::sigaction(libc::SIGBUS, &raw const ours, null_mut()) })?;
    *is_installed = true;
    Ok(())
}

fn answered(outcome: c_int) -> Result<(), Errno> {
    if outcome == 0 {
        return Ok(());
    }
    let error = std::io::Error::last_os_error();
    Err(Errno::from_io_error(&error).unwrap_or(Errno::IO))
}

/// The handler: loads, stores and system calls that preserve `errno`; no allocation, no lock.
extern "C" fn on_bus_error(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes a valid siginfo, unshared while the handler runs.
    let about = unsafe { &*info };
    // An address after the end of the file: not a memory error, not a `kill`.
    if about.si_code == libc::BUS_ADRERR {
        // SAFETY: a SIGBUS with this code has the address that faulted.
        let address = unsafe { about.si_addr() }.addr();
        if replace_with_zeros(address) {
            return;
        }
    }
    pass_on(signal, info, context);
}

/// Whether the address is in a mapping of a region, and now readable.
fn replace_with_zeros(address: usize) -> bool {
    let covering = TABLE.iter().find_map(|entry| Some((entry, entry.covers(address)?)));
    let Some((entry, (start, end))) = covering else { return false };
    let mut protection = ProtFlags::READ;
    if entry.is_writable.load(Ordering::Relaxed) {
        protection |= ProtFlags::WRITE;
    }
    entry.lost.store(true, Ordering::Relaxed);
    // The kernel knows its page size, and refuses an address that is not a multiple of it.
    for page_bytes in [4 << 10, 16 << 10, 64 << 10, 2 << 20, 32 << 20, 512 << 20, 1 << 30] {
        let from = (address & !(page_bytes - 1)).max(start);
        let flags = MapFlags::PRIVATE | MapFlags::FIXED | MapFlags::NORESERVE;
        let hint = std::ptr::with_exposed_provenance_mut(from);
        // SAFETY: the range lies within a mapping of this crate that the faulting thread is using,
        // so it cannot be unmapped now. Zeros replace its pages: words can hold any value, and are
        // only ever read and written with atomic accesses.
        if unsafe { mmap_anonymous(hint, end - from, protection, flags) }.is_ok() {
            return true;
        }
    }
    false
}

/// Handles a SIGBUS as without the guard.
fn pass_on(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    let Some(before) = BEFORE.get() else { return };
    let handler = before.sa_sigaction;
    if handler == libc::SIG_DFL || handler == libc::SIG_IGN {
        // SAFETY: the struct came from the same call. An ignored fault would repeat forever; the
        // kernel ends the process in that case too.
        unsafe { libc::sigaction(signal, before, null_mut()) };
        // SAFETY: sends a signal to this thread; it arrives when the handler returns.
        unsafe { libc::raise(signal) };
    } else if before.sa_flags & libc::SA_SIGINFO != 0 {
        // SAFETY: a handler that was installed with this flag is a function of this type.
        let handler = unsafe {
            std::mem::transmute::<usize, extern "C" fn(c_int, *mut siginfo_t, *mut c_void)>(handler)
        };
        handler(signal, info, context);
    } else {
        // SAFETY: a handler that was installed without the flag is a function of this type.
        let handler = unsafe { std::mem::transmute::<usize, extern "C" fn(c_int)>(handler) };
        handler(signal);
    }
}
