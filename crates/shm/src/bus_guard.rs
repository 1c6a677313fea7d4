//! A guard for processes that must survive the truncation of a mapped region: SIGBUS becomes zeros
//! and a flag.
//!
//! Where: programs that read regions of others may install it, once, with
//! [`guard_against_truncation`]. Without it a process that reads a page that was cut off its file
//! ends with SIGBUS, which is the kernel's way to say so.
//! Protocol: every mapping of a region is in a table of fixed size. The handler looks the faulting
//! address up there, maps zeros from its page to the end of the mapping, says so in the table and
//! returns; the load is then made again and gives zero. Any other SIGBUS goes to the handler that
//! was there before.
//! Bounds: [`MOST_MAPPINGS`] at a time; one more is not guarded.
//! Failure: what is read after the loss means nothing. Readers ask `is_lost` or `check`.

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

/// Mappings that are guarded at a time: regions, and segments of journals, that are open in this
/// process. An appender whose helper has no processor for a while has a hundred closed segments
/// mapped.
pub const MOST_MAPPINGS: usize = 1024;

static TABLE: [Entry; MOST_MAPPINGS] = [const { Entry::empty() }; MOST_MAPPINGS];

/// Who is asked about a SIGBUS that is not ours.
static BEFORE: OnceLock<sigaction> = OnceLock::new();

/// One mapping, or none.
#[derive(Debug)]
struct Entry {
    /// Whether a mapping has it. Changed by `register` and `drop`.
    taken: AtomicBool,
    /// Address of its first byte; 0 while `bytes` may not be believed.
    start: AtomicUsize,
    bytes: AtomicUsize,
    is_writable: AtomicBool,
    /// Set by the handler.
    lost: AtomicBool,
}

/// The entry of one mapping; given back when dropped, which must be before the mapping is undone.
#[derive(Debug)]
pub(crate) struct Registration(Option<&'static Entry>);

impl Registration {
    /// Enters a mapping; where the table is full it stays unguarded.
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

    /// Whether a part of the mapping was cut off and is zeros now.
    #[inline]
    pub(crate) fn is_lost(&self) -> bool {
        self.0.is_some_and(|entry| entry.lost.load(Ordering::Relaxed))
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        if let Some(entry) = self.0 {
            entry.start.store(0, Ordering::Relaxed);
            // SYNC(bus_guard.reuse): pairs with the fence in `covers`: who sees what the next
            // mapping stores in `bytes` sees that `start` is not the old one's.
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

    /// First address and end of the mapping, if the address is in it. Called in a signal handler.
    ///
    /// The mapping that faulted is borrowed by the thread that faulted, so that its own entry
    /// stands still; this must only not be misled by entries that other threads change meanwhile.
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

/// From now on a region that is cut while it is mapped reads as zeros behind the cut, and says that
/// it is lost, instead of ending this process with SIGBUS. Belongs to the whole process, for good;
/// a call after the first changes nothing. A handler that was there is asked about everything else.
pub fn guard_against_truncation() -> Result<(), Errno> {
    static IS_INSTALLED: Mutex<bool> = Mutex::new(false);
    let mut is_installed = IS_INSTALLED.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if *is_installed {
        return Ok(());
    }
    // The old handler is stored before ours is there: ours must find it from the first moment.
    let mut before = MaybeUninit::<sigaction>::uninit();
    // SAFETY: asks only; the pointer is to memory for one answer.
    let outcome = unsafe { libc::sigaction(libc::SIGBUS, null_mut(), before.as_mut_ptr()) };
    answered(outcome)?;
    // SAFETY: the call succeeded, and so wrote all of it.
    let before = unsafe { before.assume_init() };
    let _ = BEFORE.set(before);
    // SAFETY: the struct is integers and an optional function pointer, for all of which zero is a
    // value: no flags, nothing blocked.
    let mut ours: sigaction = unsafe { std::mem::zeroed() };
    ours.sa_sigaction = on_bus_error as *const () as usize;
    ours.sa_flags = libc::SA_SIGINFO | (before.sa_flags & libc::SA_ONSTACK);
    // SAFETY: the handler has the three arguments that SA_SIGINFO promises, and does only what a
    // handler may: see it.
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

/// The handler: loads, stores and system calls that leave `errno` alone; no allocation, no lock.
extern "C" fn on_bus_error(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes a siginfo that is valid, and nobody else's, while the handler runs.
    let about = unsafe { &*info };
    // An address that the file does not reach: not a broken memory module, not a `kill`.
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
    // The kernel knows the size of its pages here, and says no to an address that is not on one.
    for page_bytes in [4 << 10, 16 << 10, 64 << 10, 2 << 20, 32 << 20, 512 << 20, 1 << 30] {
        let from = (address & !(page_bytes - 1)).max(start);
        let flags = MapFlags::PRIVATE | MapFlags::FIXED | MapFlags::NORESERVE;
        let hint = std::ptr::with_exposed_provenance_mut(from);
        // SAFETY: the range lies within a mapping of this crate that the faulting thread is using,
        // so that nobody unmaps it now. Its pages are replaced by zeros: words hold any value, and
        // are only ever read and written with atomic accesses.
        if unsafe { mmap_anonymous(hint, end - from, protection, flags) }.is_ok() {
            return true;
        }
    }
    false
}

/// Does with a SIGBUS what would have been done without the guard.
fn pass_on(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    let Some(before) = BEFORE.get() else { return };
    let handler = before.sa_sigaction;
    if handler == libc::SIG_DFL || handler == libc::SIG_IGN {
        // SAFETY: the struct came from the same call. A fault that is ignored would repeat forever;
        // the kernel ends the process in that case too.
        unsafe { libc::sigaction(signal, before, null_mut()) };
        // SAFETY: sends a signal to this thread; it arrives when the handler returns.
        unsafe { libc::raise(signal) };
    } else if before.sa_flags & libc::SA_SIGINFO != 0 {
        // SAFETY: whoever installed it with this flag gave a function of this type.
        let handler = unsafe {
            std::mem::transmute::<usize, extern "C" fn(c_int, *mut siginfo_t, *mut c_void)>(handler)
        };
        handler(signal, info, context);
    } else {
        // SAFETY: whoever installed it without the flag gave a function of this type.
        let handler = unsafe { std::mem::transmute::<usize, extern "C" fn(c_int)>(handler) };
        handler(signal);
    }
}
