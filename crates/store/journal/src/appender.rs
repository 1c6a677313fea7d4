//! The appender: the one process that writes a journal.
//!
//! Protocol: `docs/formats/journal.md`. An append goes into the active segment. When that segment
//! is full or its cycle is over, the next segment, which the pretoucher has prepared, becomes
//! active.
//! Failure: if there is no room for a segment, the append returns an error and changes nothing, and
//! the next append retries. If the segment or the folder was removed, every append returns an error
//! soon after. An appender that is dropped, killed or panics keeps what it committed.
//! Cost: an append makes no system call, allocates nothing and locks nothing, unless the policy
//! syncs with it; a roll takes one lock that is rarely contended.

mod batch;
mod claim;
mod exchange;
pub(crate) mod prepare;
mod pretoucher;
mod roll;
mod sink;
pub(crate) mod sync;

use std::{io, path::Path, sync::Arc};

pub use batch::Batch;
pub use claim::Claim;
use claim::writer;
use exchange::Exchange;
use nanotape_shm::as_read_only;
use prepare::{Plan, now_ns, prepare};
use pretoucher::Running;
use sync::SyncFailure;

use crate::{
    AppenderOptions, ErrorKind, JournalError, Quarantined, Recovery, RollTimes, SyncPolicy,
    disk::{Disk, FileLock, Folder, Preallocation, WritableFile as _},
    names::{self, Files},
    recovery,
    segment::{
        excerpt::{MAX_LENGTH, MAX_SEQUENCE, excerpt_words},
        header::{Incarnation, hints},
        view::View,
        writer::SegmentWriter,
    },
};

/// The largest step of excerpts between two checks whether sequence numbers run out.
const SEQUENCES_LEFT: u64 = 1 << 32;

/// The one appender of a journal.
///
/// ```
/// # fn main() -> Result<(), nanotape_journal::JournalError> {
/// # let path = std::env::temp_dir().join(format!("nanotape-doc-{}", std::process::id()));
/// use nanotape_journal::{Appender, AppenderOptions, Start, Tail, Tailer};
///
/// let mut appender = Appender::open(&path, &AppenderOptions::default())?;
/// let sequence = appender.append(7, 1_700_000_000_000_000_000, b"first")?;
///
/// let mut tailer = Tailer::open(&path, Start::Oldest)?; // in any process
/// let Tail::Excerpt(excerpt) = tailer.next()? else { panic!() };
/// assert_eq!((excerpt.sequence(), excerpt.type_id()), (sequence, 7));
/// assert_eq!(excerpt.to_vec(), b"first");
/// # appender.close()?;
/// # std::fs::remove_dir_all(path).unwrap();
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Appender<D: Disk = Folder> {
    /// `None` before the first excerpt, and after an end mark that a killed appender left.
    writer: Option<SegmentWriter<D::Writable>>,
    /// Committed excerpts that are not synced yet.
    unsynced: u64,
    /// The number of excerpts after which an append syncs.
    sync_after: u64,
    exchange: Arc<Exchange<D>>,
    /// The next sequence number, and the largest time. Equal to the writer's, if there is one.
    sequence: u64,
    max_ts: u64,
    /// The first sequence number that might not be on disk yet.
    unsynced_from: u64,
    /// Every excerpt with a smaller number is known to be on disk.
    durable: u64,
    plan: Plan,
    policy: SyncPolicy,
    boot: u64,
    incarnation: Incarnation,
    recovery: Recovery,
    disk: D,
    roll_times: RollTimes,
    /// Dropped before the lock, so that the threads never work on a journal that another appender
    /// owns.
    running: Option<Running<D>>,
    /// The lock of the active segment.
    segment_lock: FileLock,
    options: AppenderOptions,
    /// `None` in an appender that gave its journal to another one.
    lock: Option<D::Lock>,
}

impl Appender<Folder> {
    /// Opens a journal to append to it. Creates its folder if it does not exist, but not the parent
    /// folders. Recovers what a killed appender or a loss of power left; see
    /// [`recovery`](Self::recovery). It is an error if another process appends.
    pub fn open(path: &Path, options: &AppenderOptions) -> Result<Self, JournalError> {
        let folder = Folder::new(path, options.mode);
        let folder = if options.large_pages { folder.with_large_pages() } else { folder };
        Self::open_on(folder, options)
    }
}

impl<D: Disk> Appender<D> {
    /// As [`open`](Self::open), on the given disk.
    pub fn open_on(disk: D, options: &AppenderOptions) -> Result<Self, JournalError> {
        let folder = disk.path("");
        options.layout().map_err(|error| JournalError::new(&folder, ErrorKind::Options(error)))?;
        disk.make().map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory => {
                JournalError::new(&folder, ErrorKind::NotAFolder)
            }
            _ => JournalError::system(&folder, "make")(error),
        })?;
        // Its creator might have ended before its name was on disk.
        disk.sync_parent().map_err(JournalError::system(&folder, "sync the name of"))?;
        let files = Files::list(&disk)?;
        if !files.is_empty && !files.is_journal {
            return Err(JournalError::new(folder, ErrorKind::NotAJournal));
        }
        let lock = disk.lock()?;
        if files.is_copy {
            return Err(JournalError::new(folder, ErrorKind::IsACopy));
        }
        Self::resume(disk, options, lock)
    }

    /// Recovers a journal whose lock the caller has, and continues after its last excerpt.
    fn resume(disk: D, options: &AppenderOptions, lock: D::Lock) -> Result<Self, JournalError> {
        let layout = options
            .layout()
            .map_err(|error| JournalError::new(disk.path(""), ErrorKind::Options(error)))?;
        let space = match options.sync {
            SyncPolicy::Never | SyncPolicy::Every(_) => Preallocation::Reserved,
            SyncPolicy::Excerpts(_) | SyncPolicy::Batch => Preallocation::Written,
        };
        let cycle_ns = options.roll_cycle.length_ns();
        let plan_of = |journal| Plan { journal, layout, cycle_ns, space };
        let found = recovery::recover(&disk, plan_of)?;
        check_numbers(&disk, found.sequence)?;
        let (mut spares, mut next_number) = (found.spares, found.next_number);
        let plan = plan_of(found.journal.unwrap_or_else(|| now_ns() | 1));
        // If there is no writable segment, the reason is returned now, and not by the first append.
        if found.writer.is_none() && spares.is_empty() {
            spares.push_back(prepare(&disk, &plan, next_number)?);
            next_number += 1;
        }
        let exchange = Arc::new(Exchange::new(next_number, spares));
        let mut writer = found.writer;
        if let Some(writer) = &mut writer {
            writer.end_cycle_at(options.roll_times.last_ns(writer.place().max_ts));
            exchange.lock().active = Some((writer.number(), Arc::clone(writer.file())));
            exchange.progress.set(writer.place().at);
        }
        let mut running = None;
        if options.has_pretoucher {
            let started = Running::start(&disk, plan, options.sync, options.ahead_bytes, &exchange);
            let refused = JournalError::system(disk.path(""), "start the pretoucher of");
            running = Some(started.map_err(refused)?);
        }
        Ok(Self {
            writer,
            roll_times: options.roll_times.clone(),
            // The count of an earlier appender is not known: assume the most that the policy
            // allows.
            unsynced: match options.sync {
                SyncPolicy::Excerpts(count) => count - 1,
                _ => 0,
            },
            sync_after: options.sync.excerpts(),
            exchange,
            sequence: found.sequence,
            max_ts: found.max_ts,
            unsynced_from: found.sequence,
            durable: 1,
            plan,
            policy: options.sync,
            boot: disk.boot(),
            incarnation: found.incarnation,
            recovery: found.report,
            disk,
            running,
            segment_lock: found.segment_lock,
            options: options.clone(),
            lock: Some(lock),
        })
    }

    /// Appends an excerpt; returns its sequence number. The type is defined by the user. The time
    /// is in nanoseconds since the UNIX epoch. Seeks by time use it, so it should not be before the
    /// times of earlier excerpts.
    ///
    /// An error means that nothing was appended, except for [`ErrorKind::NotOnDisk`].
    #[inline]
    pub fn append(
        &mut self,
        type_id: u16,
        ts_ns: u64,
        payload: &[u8],
    ) -> Result<u64, JournalError> {
        let sequence = self.append_unsynced(type_id, ts_ns, payload)?;
        self.sync_if_due()?;
        Ok(sequence)
    }

    /// The same without the sync that the policy may require after it. The caller does that with
    /// [`sync_if_due`](Self::sync_if_due), such as to know how long each takes.
    #[inline]
    pub fn append_unsynced(
        &mut self,
        type_id: u16,
        ts_ns: u64,
        payload: &[u8],
    ) -> Result<u64, JournalError> {
        if !self.is_ready_for(payload.len(), ts_ns) {
            self.make_room(payload.len(), ts_ns)?;
        }
        let writer = writer(self);
        let sequence = writer.append(type_id, ts_ns, payload);
        let at = writer.place().at;
        self.count(1, at);
        Ok(sequence)
    }

    /// Syncs if the policy requires it after so many excerpts; returns whether it did.
    #[inline]
    pub fn sync_if_due(&mut self) -> Result<bool, JournalError> {
        let is_due = self.unsynced >= self.sync_after;
        if is_due { self.sync().map(|()| true) } else { Ok(false) }
    }

    /// Reserves room for an excerpt with `length` bytes of payload, to be written in place and
    /// committed.
    #[inline]
    pub fn claim(
        &mut self,
        type_id: u16,
        ts_ns: u64,
        length: usize,
    ) -> Result<Claim<'_, D>, JournalError> {
        if !self.is_ready_for(length, ts_ns) {
            self.make_room(length, ts_ns)?;
        }
        Ok(Claim::new(self, type_id, ts_ns, length))
    }

    /// A batch: excerpts that readers see together or not at all. It has room for at least `bytes`
    /// bytes of excerpts, as [`excerpt_bytes`](crate::excerpt_bytes) counts them.
    pub fn batch(&mut self, ts_ns: u64, bytes: usize) -> Result<Batch<'_, D>, JournalError> {
        let words = bytes.div_ceil(8);
        if !self.is_ready(words, ts_ns) {
            self.make_room_for_batch(bytes, ts_ns)?;
        }
        Ok(Batch::new(self))
    }

    /// The sequence number of the next excerpt.
    #[inline]
    pub fn next_sequence(&self) -> u64 {
        self.writer.as_ref().map_or(self.sequence, |writer| writer.place().sequence)
    }

    /// The incarnation of the journal in which the last excerpt was appended, as followers
    /// acknowledge it.
    #[inline]
    pub fn incarnation(&self) -> u64 {
        self.incarnation.id
    }

    /// The number of the last segment that was appended to; 0 before the first one. For callers
    /// that repeat data in each segment.
    #[inline]
    pub fn segment(&self) -> u64 {
        self.writer.as_ref().map_or(0, SegmentWriter::number)
    }

    /// Gives the next excerpt this number; readers report the skipped numbers as missing. For
    /// messages that already have numbers, such as those of a ring.
    pub fn skip_to(&mut self, sequence: u64) -> Result<(), JournalError> {
        let next = self.next_sequence();
        let max = MAX_SEQUENCE - SEQUENCES_LEFT;
        if !(next..=max).contains(&sequence) {
            let problem = ErrorKind::Sequence { sequence, next, max };
            return Err(JournalError::new(self.disk.path(""), problem));
        }
        self.sequence = sequence;
        if let Some(writer) = &mut self.writer {
            writer.skip_to(sequence);
        }
        Ok(())
    }

    /// A number below which every excerpt is known to be on disk: the largest, after a sync of this
    /// appender or its threads. 1 if nothing is known, as with [`SyncPolicy::Never`].
    ///
    /// Cost: after a sync by a thread, a walk through excerpts of one block of the index.
    pub fn durable(&mut self) -> u64 {
        if let Some(writer) = &self.writer {
            let words = as_read_only(writer.file().words());
            let synced = hints::synced(words).min(writer.place().at);
            // Segments before this one are synced before any part of it.
            if synced > 0
                && let Ok(Some(view)) = View::new(words)
            {
                let view = View { is_checked: false, ..view };
                let start = view.by_index(|entry| entry.at <= synced);
                let (place, _) = view.walk(start, |place, _| place.at < synced);
                self.durable = self.durable.max(place.sequence);
            }
        }
        self.durable
    }

    /// The longest payload, in bytes, in new segments.
    pub fn max_length(&self) -> usize {
        self.plan.layout.max_length()
    }

    /// Bytes after the last excerpt that the pretoucher had in memory at its last check. These can
    /// be appended without a page fault. 0 without a pretoucher.
    pub fn bytes_ahead(&self) -> u64 {
        self.exchange.bytes_ahead()
    }

    /// The report of the recovery at opening.
    pub fn recovery(&self) -> &Recovery {
        &self.recovery
    }

    /// The folder of the journal.
    pub fn path(&self) -> std::path::PathBuf {
        self.disk.path("")
    }

    pub(crate) fn disk(&self) -> &D {
        &self.disk
    }

    /// Ends the threads, lets the caller move excerpts from a number on out of the journal, and
    /// recovers it: the next excerpt has that number, in another incarnation. After an error, each
    /// later append returns it.
    pub(crate) fn reopen(
        &mut self,
        sequence: u64,
        set_aside: impl FnOnce(&D) -> Result<Vec<Quarantined>, JournalError>,
    ) -> Result<Vec<Quarantined>, JournalError> {
        let reopened = self.try_reopen(sequence, set_aside);
        if let Err(error) = &reopened {
            self.exchange.fail(error.clone());
        }
        reopened
    }

    fn try_reopen(
        &mut self,
        sequence: u64,
        set_aside: impl FnOnce(&D) -> Result<Vec<Quarantined>, JournalError>,
    ) -> Result<Vec<Quarantined>, JournalError> {
        self.finish()?;
        self.writer = None;
        // The recovery locks the segments again.
        self.segment_lock = FileLock::default();
        let mut taken = set_aside(&self.disk)?;
        let Some(lock) = self.lock.take() else { return Ok(taken) };
        *self = Self::resume(self.disk.clone(), &self.options, lock)?;
        self.skip_to(sequence)?;
        // No excerpt had a number between the last one that stays and this one.
        self.incarnation.from = sequence;
        taken.extend_from_slice(&self.recovery.quarantined);
        Ok(taken)
    }

    /// Returns the error of a journal that was removed while it was written, or of a thread that
    /// ended, as every append does. For callers that append rarely: one load.
    #[inline]
    pub fn check(&self) -> Result<(), JournalError> {
        match self.exchange.has_alarm() {
            true => self.exchange.failure().map_or(Ok(()), Err),
            false => Ok(()),
        }
    }

    /// Checks at once, with system calls, that the journal still has its files and its path. The
    /// pretoucher does that ten times a second.
    pub fn check_place(&self) -> Result<(), JournalError> {
        self.exchange.watch_place(&self.disk);
        self.check()
    }

    /// The path that the folder has now, if it was renamed while this appender had it open. Appends
    /// still reach the journal there. One load.
    #[inline]
    pub fn moved_to(&self) -> Option<std::path::PathBuf> {
        self.exchange.moved_to()
    }

    /// Waits until every committed excerpt is on disk.
    pub fn sync(&mut self) -> Result<(), JournalError> {
        let (number, next) = match &self.writer {
            Some(writer) => (writer.number(), writer.place().sequence),
            // The last segment has ended, and the next one is not active yet.
            None => (self.exchange.lock().next_to_enter(), self.sequence),
        };
        let mut syncer = self.exchange.lock_syncer();
        let synced = match &self.writer {
            Some(writer) => syncer.sync(&self.disk, writer.file(), number, writer.place().at),
            None => syncer.seal_before(&self.disk, number),
        };
        match synced {
            Ok(()) => {
                (self.unsynced, self.unsynced_from, self.durable) = (0, next, next);
                Ok(())
            }
            Err(SyncFailure::System(error)) => {
                let problem = ErrorKind::NotOnDisk {
                    from_sequence: self.unsynced_from,
                    to_sequence: next.saturating_sub(1),
                    cause: (&error).into(),
                };
                Err(JournalError::new(self.disk.path(&names::segment(number)), problem))
            }
            Err(lost) => Err(lost.into_error(&self.disk, number)),
        }
    }

    /// Closes the appender: syncs as the policy requires, ends its threads and removes unused
    /// segments. Dropping does the same, without the error.
    pub fn close(mut self) -> Result<(), JournalError> {
        self.finish()
    }

    /// Whether an excerpt with `length` bytes of payload can be written now.
    #[inline(always)]
    fn is_ready_for(&self, length: usize, ts_ns: u64) -> bool {
        // Segments have room for more than the commit word can state.
        length <= MAX_LENGTH as usize && self.is_ready(excerpt_words(length), ts_ns)
    }

    /// Whether excerpts of `words` words can be written now.
    #[inline(always)]
    fn is_ready(&self, words: usize, ts_ns: u64) -> bool {
        matches!(&self.writer, Some(writer) if writer.has_room(words, ts_ns))
            && !self.exchange.has_alarm()
    }

    /// Updates the counts after a commit, and syncs if that is due; the next excerpt begins at word
    /// `at`.
    #[inline(always)]
    fn committed(&mut self, count: u64, at: usize) -> Result<(), JournalError> {
        self.count(count, at);
        self.sync_if_due().map(drop)
    }

    #[inline(always)]
    fn count(&mut self, count: u64, at: usize) {
        self.exchange.progress.set(at);
        self.unsynced += count;
    }

    fn finish(&mut self) -> Result<(), JournalError> {
        self.running = None;
        self.exchange.watch_place(&self.disk);
        // The excerpts of an earlier appender count too: this one might have appended nothing.
        let is_done = |writer: &SegmentWriter<_>| {
            self.exchange.lock_syncer().is_done(writer.number(), writer.place().at)
                && !self.exchange.has_alarm()
        };
        let outcome = match self.policy {
            SyncPolicy::Never => Ok(()),
            _ if self.writer.as_ref().is_some_and(is_done) => Ok(()),
            _ => self.sync(),
        };
        names::spares().for_each(|spare| self.disk.discard(&spare));
        let spares = std::mem::take(&mut self.exchange.lock().prepared);
        for spare in spares.into_iter().rev() {
            // If it cannot be removed, the next appender finds and uses it.
            let _ = self.disk.remove(&names::segment(spare.header.number));
        }
        outcome.and_then(|()| self.exchange.failure().map_or(Ok(()), Err))
    }
}

impl<D: Disk> Drop for Appender<D> {
    fn drop(&mut self) {
        if self.lock.is_some() {
            let _ = self.finish();
        }
    }
}

/// Checks that numbers are left until the next check.
fn check_numbers<D: Disk>(disk: &D, next: u64) -> Result<(), JournalError> {
    let max = MAX_SEQUENCE - SEQUENCES_LEFT;
    match next > max {
        true => Err(JournalError::new(disk.path(""), ErrorKind::NoNumbers { next, max })),
        false => Ok(()),
    }
}
