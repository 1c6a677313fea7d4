//! Keeps the books of a journal while it is read, and writes snapshots of them.
//!
//! Where: a process of its own (`nanotape journal snapshot`), beside the recorder.
//! Protocol: it starts from the last valid snapshot, or from the first record. A snapshot is due
//! when the journal has grown by a multiple of the size that the snapshot would have now, so that
//! snapshots take at most a share of the journal's bytes. It is taken before the first record of a
//! new message, because the records of one message belong together, and after the stop of a run.
//! Bounds: one snapshot in memory, and the books.
//! Failure: one process at a time writes snapshots, by an exclusive lock of the file `lock`. A
//! killed process leaves at most a part without a name, which the next one overwrites or ignores.

use std::{
    fs::{self, File, TryLockError},
    ops::ControlFlow,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use nanotape_book::OrderStore as _;
use nanotape_journal::{
    Folder, JournalError, SNAPSHOTS, Start, Tailer, TailerSource, excerpt_bytes,
};
use nanotape_records::{BadRecord, Notice, Record, RecordBuffer};
use nanotape_tape::{Follow, Item, Message, ShutdownFlag, Step, Tape as _, WriterState};

use crate::{
    RunsError,
    rebuild::Rebuild,
    snapshot::{ORDER_BYTES, SnapshotError, Snapshots, Written},
};

/// The file in the folder of the snapshots that their writer locks.
const LOCK: &str = "lock";

/// Options of a snapshotter.
#[derive(Clone, Debug)]
pub struct SnapshotterOptions {
    /// The share of the journal's bytes that snapshots take at most, in percent.
    pub share_percent: u32,
    /// How much a journal grows before a snapshot is due, whatever the share.
    pub least_bytes: u64,
    /// Whether to wait for new records until the recorder closes the journal.
    pub follows: bool,
    /// Whether to continue with the next recorder.
    pub through_restarts: bool,
    /// The permission bits of the files.
    pub mode: u32,
    /// Ends the work.
    pub shutdown: ShutdownFlag,
}

impl Default for SnapshotterOptions {
    fn default() -> Self {
        Self {
            share_percent: 14,
            least_bytes: 4 << 20,
            follows: false,
            through_restarts: false,
            mode: 0o600,
            shutdown: ShutdownFlag::new(),
        }
    }
}

/// Writes the snapshots of a journal.
#[derive(Debug)]
pub struct Snapshotter {
    follow: Follow<TailerSource>,
    keeper: Keeper,
    buffer: RecordBuffer,
    options: SnapshotterOptions,
}

/// Why snapshots cannot be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SnapshotterError {
    /// The journal cannot be read.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// A snapshot cannot be read or written.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// The runs of the journal cannot be read.
    #[error(transparent)]
    Runs(#[from] RunsError),
    /// A message is not a record.
    #[error("{}: {error}", journal.display())]
    Record {
        /// The journal.
        journal: PathBuf,
        /// The problem.
        error: BadRecord,
    },
    /// The journal is no longer in the folder in which this process has locked the snapshots.
    #[error(
        "{}: the journal was removed, replaced or renamed while snapshots of it were written",
        journal.display()
    )]
    Moved {
        /// The journal.
        journal: PathBuf,
    },
    /// Another process writes snapshots of the journal.
    #[error(
        "{}: another process is writing snapshots of this journal; wait for its end, or end it",
        journal.display()
    )]
    Locked {
        /// The journal.
        journal: PathBuf,
    },
}

/// The books, and when the next snapshot is due.
#[derive(Debug)]
struct Keeper {
    journal: PathBuf,
    lock: File,
    rebuild: Rebuild,
    share_percent: u64,
    mode: u32,
    /// Bytes of the journal since the last snapshot.
    grown_bytes: u64,
    least_bytes: u64,
    /// The growth at which the size of the next snapshot is estimated again.
    check_bytes: u64,
    last: Option<Last>,
    /// The message of the last record; `None` if the next record begins another one.
    message: Option<u32>,
}

/// The size of the last snapshot.
#[derive(Clone, Copy, Debug)]
struct Last {
    bytes: u64,
    orders: usize,
}

impl Snapshotter {
    /// Opens a journal, and the last snapshot to continue from.
    pub fn open(journal: &Path, options: &SnapshotterOptions) -> Result<Self, SnapshotterError> {
        // An error about the journal comes before anything is created.
        let mut tailer = Tailer::open(journal, Start::Oldest)?;
        tailer.set_stops_at_end(!options.follows);
        let lock = lock(journal, options.mode)?;
        let snapshots = Snapshots::list(journal)?;
        let mut keeper = Keeper {
            journal: journal.to_owned(),
            lock,
            rebuild: Rebuild::new(journal),
            share_percent: u64::from(options.share_percent.clamp(1, 100)),
            mode: options.mode,
            grown_bytes: 0,
            least_bytes: options.least_bytes,
            check_bytes: options.least_bytes,
            last: None,
            message: None,
        };
        if let Some(last) = snapshots.last_in(0..u64::MAX) {
            tailer.seek(Start::Sequence(last.moment().sequence + 1))?;
            keeper.rebuild.start_at(last.state()?);
            keeper.written(last.bytes());
        }
        let follow = Follow::new(TailerSource::new(tailer)).shutdown(&options.shutdown);
        let buffer = RecordBuffer::default();
        Ok(Self { follow, keeper, buffer, options: options.clone() })
    }

    /// The sequence number of the next record.
    pub fn next_sequence(&self) -> u64 {
        self.follow.tape().next_sequence()
    }

    /// The sequence number after the current last record.
    pub fn end(&self) -> Result<u64, SnapshotterError> {
        Ok(self.follow.tape().end()?)
    }

    /// Reads to the end, and calls `report` for each snapshot that was written. `progress` is
    /// called for each read.
    pub fn run(
        &mut self,
        mut report: impl FnMut(&Written),
        mut progress: impl FnMut(&Self),
    ) -> Result<(), SnapshotterError> {
        loop {
            let mut outcome = Ok(());
            let Self { follow, keeper, buffer, .. } = self;
            let step = follow.step(|item| {
                outcome = keeper.take(&item, buffer, &mut report);
                if outcome.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            });
            outcome?;
            let is_over = match step? {
                Step::Idle => !self.options.follows,
                Step::Gone(WriterState::Closed) => !self.options.through_restarts,
                Step::Shutdown | Step::Complete => true,
                // A recorder that was killed is started again.
                Step::Gone(_) | Step::Quiet | Step::Read | Step::Stopped => false,
            };
            progress(self);
            if is_over {
                return Ok(());
            }
        }
    }
}

impl Keeper {
    fn take(
        &mut self,
        item: &Item<'_>,
        buffer: &mut RecordBuffer,
        report: &mut impl FnMut(&Written),
    ) -> Result<(), SnapshotterError> {
        if let Some((message, record)) = self.rebuild.next(item, buffer)? {
            return self.record(&message, record.as_ref(), report);
        }
        self.message = None;
        Ok(())
    }

    #[inline]
    fn record(
        &mut self,
        message: &Message<'_>,
        record: Option<&Record<'_>>,
        report: &mut impl FnMut(&Written),
    ) -> Result<(), SnapshotterError> {
        let number = record.and_then(number_of);
        let is_first = number.is_none() || number != self.message;
        if is_first && self.grown_bytes >= self.check_bytes && self.is_due() {
            self.write(report)?;
        }
        self.message = number;
        if let Some(Record::Notice(Notice::Start(_))) = record {
            // So each run of the same records has its snapshots at the same positions.
            (self.grown_bytes, self.check_bytes, self.last) = (0, self.least_bytes, None);
        }
        self.rebuild.take(message, record);
        self.grown_bytes += excerpt_bytes(message.payload.len()) as u64;
        match record {
            Some(Record::Notice(Notice::Stop(_))) => self.write(report),
            _ => Ok(()),
        }
    }

    #[cold]
    fn write(&mut self, report: &mut impl FnMut(&Written)) -> Result<(), SnapshotterError> {
        // A snapshot has orders: books of levels are read from the start of their run.
        if let Some(state) = self.rebuild.state().filter(|state| !state.books.has_levels()) {
            self.check_place()?;
            let written = state.write_snapshot(&self.journal, self.rebuild.mark(), self.mode)?;
            report(&written);
            self.written(written.bytes);
        }
        Ok(())
    }

    /// Checks that the folder at the path of the journal is the one that this process has locked.
    fn check_place(&self) -> Result<(), SnapshotterError> {
        let named = fs::metadata(self.journal.join(SNAPSHOTS).join(LOCK));
        let is_same = named.and_then(|named| {
            let own = self.lock.metadata()?;
            Ok((named.dev(), named.ino()) == (own.dev(), own.ino()))
        });
        match is_same {
            Ok(true) => Ok(()),
            _ => Err(SnapshotterError::Moved { journal: self.journal.clone() }),
        }
    }

    /// Whether the journal has grown enough for a snapshot of the live orders.
    #[cold]
    fn is_due(&mut self) -> bool {
        let Some(Last { bytes, orders }) = self.last else { return true };
        let (less, more) =
            (orders.saturating_sub(self.orders()), self.orders().saturating_sub(orders));
        let now_bytes = bytes.saturating_sub(bytes_of(less)).saturating_add(bytes_of(more));
        let due_bytes = now_bytes.saturating_mul(100) / self.share_percent;
        self.check_bytes = due_bytes.min(self.grown_bytes + self.least_bytes);
        self.grown_bytes >= due_bytes
    }

    fn written(&mut self, bytes: u64) {
        (self.grown_bytes, self.check_bytes) = (0, self.least_bytes);
        self.last = Some(Last { bytes, orders: self.orders() });
    }

    /// Number of live orders.
    fn orders(&self) -> usize {
        self.rebuild.state().map_or(0, |state| state.all_books().orders().len())
    }
}

/// The bytes that orders take in a snapshot.
fn bytes_of(orders: usize) -> u64 {
    (orders * ORDER_BYTES) as u64
}

/// The number of a record's message, which groups the records of one message. A record without it
/// is a message of its own.
#[inline]
fn number_of(record: &Record<'_>) -> Option<u32> {
    match record {
        Record::Mbo(order) => Some(order.sequence),
        Record::Bbo(bbo) => Some(bbo.sequence),
        Record::Trade(trade) => Some(trade.sequence),
        _ => None,
    }
}

/// Takes the exclusive lock of the snapshots of a journal.
fn lock(journal: &Path, mode: u32) -> Result<File, SnapshotterError> {
    let (files, folder) = (Folder::new(journal, mode), journal.join(SNAPSHOTS));
    files.folder(SNAPSHOTS).map_err(SnapshotError::system("create", &folder))?;
    let path = folder.join(LOCK);
    let file = files.append_to(&format!("{SNAPSHOTS}/{LOCK}"));
    let file = file.map_err(SnapshotError::system("open", &path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            Err(SnapshotterError::Locked { journal: journal.to_owned() })
        }
        Err(TryLockError::Error(error)) => Err(SnapshotError::system("lock", &path)(error).into()),
    }
}
