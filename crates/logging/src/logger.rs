//! The logger: many threads, one appender.
//!
//! Where: the layer and the back end encode an excerpt in memory of their thread and hand it in
//! here. Protocol: within the lock the time is taken, room is made, what was not announced in this
//! segment is, and the excerpt is appended: usually a stamp, two comparisons and a copy.
//! Failure: an excerpt that cannot be written is counted. The program is told nothing and goes on.
//! So is one whose segment is not ready for too long: a slow disk costs events, and no call waits
//! for it longer than [`Logger::with_patience`] says.
//! Cost: no allocation and no system call, but when something is announced, and what a roll costs.

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

/// How an appender works that suits a log: segments of 8 MiB, a new one each day, nothing synced.
pub fn log_options() -> AppenderOptions {
    AppenderOptions {
        segment_bytes: 8 << 20,
        roll_cycle: RollCycle::Day,
        ahead_bytes: 4 << 20,
        ..AppenderOptions::default()
    }
}

/// Where a line of a program's own making is logged.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Origin<'a> {
    /// What it is about: usually the module.
    pub target: &'a str,
    /// The file in the source; empty: not known.
    pub file: &'a str,
    /// The line in it; 0: not known.
    pub line: u32,
}

/// Writes what a program logs to a journal. Clones write to the same one.
///
/// The journal is closed when the last clone is dropped. One that is never dropped, or whose
/// program is killed, loses nothing: what a call has returned for is in the journal.
#[derive(Debug)]
pub struct Logger<D: Disk = Folder>(Arc<Shared<D>>);

#[derive(Debug)]
struct Shared<D: Disk> {
    state: Mutex<State<D>>,
    /// The segment that the last excerpt is in, for who prepares something outside of the lock.
    #[cfg(feature = "tracing")]
    segment: AtomicU64,
    #[cfg(feature = "tracing")]
    number: u64,
}

impl Logger<Folder> {
    /// Opens a journal to log to it, and makes it if it is not there, with [`log_options`].
    pub fn open(path: &Path) -> Result<Self, JournalError> {
        Self::open_with(path, &log_options())
    }

    /// The same with options of the caller's.
    pub fn open_with(path: &Path, options: &AppenderOptions) -> Result<Self, JournalError> {
        Ok(Self::new(Appender::open(path, options)?))
    }
}

impl<D: Disk> Logger<D> {
    /// Logs with an appender that is open. The first logger of a process calibrates the clock,
    /// which takes about 51 ms.
    pub fn new(appender: Appender<D>) -> Self {
        #[cfg(feature = "tracing")]
        static NUMBER: AtomicU64 = AtomicU64::new(1);
        let logger = Self(Arc::new(Shared {
            state: Mutex::new(State::new(appender)),
            #[cfg(feature = "tracing")]
            segment: AtomicU64::new(0),
            // Only unique: no order is meant.
            #[cfg(feature = "tracing")]
            number: NUMBER.fetch_add(1, Ordering::Relaxed),
        }));
        logger.flush();
        logger
    }

    /// How long a call that logs waits for the next segment at most, where the disk is too slow to
    /// have made it in time: a second, if this is not called. After that the event is counted as
    /// lost, as are those that follow without waiting, until the segment is there. It holds for all
    /// clones.
    ///
    /// The journal's helper makes segments ahead of need, so a call waits only if a segment is
    /// filled faster than the disk makes one. Without a helper, or with a policy that syncs with
    /// the append, a call waits for the disk however long that takes; so does one that another
    /// thread's [`sync`](Self::sync) is in front of.
    #[must_use]
    pub fn with_patience(self, patience: Duration) -> Self {
        self.lock().patience = patience;
        self
    }

    /// Logs a line that is formatted now.
    pub fn text(&self, level: Level, target: &str, text: fmt::Arguments<'_>) {
        self.text_from(level, &Origin { target, ..Origin::default() }, text);
    }

    /// The same with where it comes from.
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

    /// Writes what is still to be said of lost events. There is nothing else to flush: what a call
    /// has returned for is in the journal.
    pub fn flush(&self) {
        self.lock().flush();
    }

    /// Waits until everything that was logged is on the disk. Calls that log wait meanwhile: a
    /// program that cannot afford that has its journal synced by the helper, with
    /// `SyncPolicy::Every`.
    pub fn sync(&self) -> Result<(), JournalError> {
        self.lock().sync()
    }

    /// How many events were lost since the logger was opened, because the journal could not be
    /// written.
    pub fn lost(&self) -> u64 {
        self.lock().lost()
    }

    /// Distinguishes loggers of a process.
    #[cfg(feature = "tracing")]
    pub(crate) fn number(&self) -> u64 {
        self.0.number
    }

    /// The segment that the last excerpt is in, as far as is known without the lock.
    #[cfg(feature = "tracing")]
    pub(crate) fn segment(&self) -> u64 {
        // A hint: within the lock it is compared with the truth.
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

    /// A thread that panicked with the lock in its hands left a state that is as good as any:
    /// excerpts are whole or not there.
    fn lock(&self) -> MutexGuard<'_, State<D>> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<D: Disk> Clone for Logger<D> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}
