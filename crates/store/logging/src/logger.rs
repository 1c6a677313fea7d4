//! The logger: many threads, one appender.
//!
//! Where: the layer and the back end encode an excerpt in memory of their thread and pass it to the
//! logger. Protocol: under the lock, the logger takes the time, makes room, writes announcements
//! that this segment lacks, and appends the excerpt: usually a stamp, two comparisons and a copy.
//! Failure: an excerpt that cannot be written is counted, and the program continues without an
//! error. The same holds if its segment is not ready in time: no call waits longer than
//! [`Logger::with_patience`].
//! Cost: no allocation and no system call, except for announcements and rolls.

mod state;

#[cfg(feature = "tracing")]
use std::sync::atomic::{AtomicU64, Ordering};
use std::{
    fmt,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use nanotape_journal::{Appender, AppenderOptions, Disk, Folder, JournalError, RollCycle};
use state::State;
pub(crate) use state::{Entry, Outcome};

use crate::{
    encode::{put_formatted, put_name},
    layout::{Level, MAX_PAYLOAD_BYTES, TEXT, TEXT_IS_CUT},
    thread::with_local,
};

/// Options of an appender for logs: segments of 8 MiB, a new one each day, no sync.
pub fn log_options() -> AppenderOptions {
    AppenderOptions {
        segment_bytes: 8 << 20,
        roll_cycle: RollCycle::Day,
        ahead_bytes: 4 << 20,
        ..AppenderOptions::default()
    }
}

/// Where a line of text comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Origin<'a> {
    /// Its subject: usually the module.
    pub target: &'a str,
    /// The file in the source; empty: unknown.
    pub file: &'a str,
    /// The line in it; 0: unknown.
    pub line: u32,
}

/// Writes a program's log to a journal. Clones write to the same journal.
///
/// Dropping the last clone closes the journal. A logger that is never dropped, or whose program is
/// killed, loses nothing: every call that returned is in the journal.
#[derive(Debug)]
pub struct Logger<D: Disk = Folder>(Arc<Shared<D>>);

#[derive(Debug)]
struct Shared<D: Disk> {
    state: Mutex<State<D>>,
    /// The segment of the last excerpt, for a thread that prepares an excerpt outside of the lock.
    #[cfg(feature = "tracing")]
    segment: AtomicU64,
    #[cfg(feature = "tracing")]
    number: u64,
}

impl Logger<Folder> {
    /// Opens a journal to log to it, with [`log_options`]; creates it if necessary.
    pub fn open(path: &Path) -> Result<Self, JournalError> {
        Self::open_with(path, &log_options())
    }

    /// [`Logger::open`] with other options.
    pub fn open_with(path: &Path, options: &AppenderOptions) -> Result<Self, JournalError> {
        Ok(Self::new(Appender::open(path, options)?))
    }
}

impl<D: Disk> Logger<D> {
    /// Logs with an open appender. The first logger of a process calibrates the clock, which takes
    /// about 51 ms.
    pub fn new(appender: Appender<D>) -> Self {
        #[cfg(feature = "tracing")]
        static NUMBER: AtomicU64 = AtomicU64::new(1);
        let logger = Self(Arc::new(Shared {
            state: Mutex::new(State::new(appender)),
            #[cfg(feature = "tracing")]
            segment: AtomicU64::new(0),
            // Only uniqueness matters, not order.
            #[cfg(feature = "tracing")]
            number: NUMBER.fetch_add(1, Ordering::Relaxed),
        }));
        logger.flush();
        logger
    }

    /// Sets how long a logging call waits for the next segment if the disk is slow; one second by
    /// default. After that, the event is counted as lost. Later events are lost without waiting
    /// until the segment is ready. The setting holds for all clones.
    ///
    /// The journal's pretoucher makes segments ahead of need, so a call waits only if a segment
    /// fills faster than the disk makes one. Without a pretoucher, or with a policy that syncs with
    /// the append, a call waits for the disk without limit. It also waits while another thread is
    /// in [`sync`](Self::sync).
    #[must_use]
    pub fn with_patience(self, patience: Duration) -> Self {
        self.lock().patience = patience;
        self
    }

    /// Logs a line that is formatted now.
    pub fn text(&self, level: Level, target: &str, text: fmt::Arguments<'_>) {
        self.text_from(level, &Origin { target, ..Origin::default() }, text);
    }

    /// [`Logger::text`] with its origin.
    pub fn text_from(&self, level: Level, origin: &Origin<'_>, text: fmt::Arguments<'_>) {
        with_local(|local| {
            local.with_buffer(|payload| {
                payload.extend_from_slice(&[level as u8, 0, 0, 0]);
                payload.extend_from_slice(&local.label.number.to_le_bytes());
                payload.extend_from_slice(&origin.line.to_le_bytes());
                payload.extend_from_slice(&[0; 4]);
                put_name(payload, origin.target);
                put_name(payload, origin.file);
                if put_formatted(payload, MAX_PAYLOAD_BYTES, text) {
                    payload[1] |= TEXT_IS_CUT;
                }
                self.write(&Entry::new(TEXT, payload, &local.label));
            });
        });
    }

    /// Writes the report of lost events that is still due. Nothing else needs flushing: every call
    /// that returned is in the journal.
    pub fn flush(&self) {
        self.lock().flush();
    }

    /// Waits until the whole log is on the disk. Calls that log wait meanwhile. To avoid that, let
    /// the pretoucher sync with `SyncPolicy::Every`.
    pub fn sync(&self) -> Result<(), JournalError> {
        self.lock().sync()
    }

    /// Events lost since the logger was opened, because the journal could not be written.
    pub fn lost(&self) -> u64 {
        self.lock().lost()
    }

    /// Identifies this logger in its process.
    #[cfg(feature = "tracing")]
    pub(crate) fn number(&self) -> u64 {
        self.0.number
    }

    /// The segment of the last excerpt, read without the lock.
    #[cfg(feature = "tracing")]
    pub(crate) fn segment(&self) -> u64 {
        // This is a hint: it is checked again under the lock.
        self.0.segment.load(Ordering::Relaxed)
    }

    #[inline]
    pub(crate) fn write(&self, entry: &Entry<'_>) -> Outcome {
        let outcome = self.lock().write(entry);
        #[cfg(feature = "tracing")]
        if let Outcome::Moved(segment) = outcome {
            self.0.segment.store(segment, Ordering::Relaxed);
        }
        outcome
    }

    /// A thread that panicked with the lock held leaves a usable state: excerpts are whole or
    /// absent.
    fn lock(&self) -> MutexGuard<'_, State<D>> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<D: Disk> Clone for Logger<D> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}
