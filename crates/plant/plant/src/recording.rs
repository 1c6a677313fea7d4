//! The recorder of a plant: a process of its own that the plant starts, restarts and waits for.
//!
//! Where: [`PlantRun`](crate::PlantRun) starts it after it took the ring over and before it
//! publishes. The [gate](crate::gate) is the part that the publisher polls.
//! Protocol: a thread starts the process and reads its standard error. If the process is killed or
//! fails, the thread starts it again, after 10 ms, doubled up to 1 s. The process ends by itself
//! after the last message of a ring whose writer is gone. The plant sends it nothing. It finds all
//! that it needs in the ring, the journal's lock and its
//! [region](nanotape_board::RecorderReader), so it ends in the same way if the plant is killed.
//!
//! Why nothing is lost, case by case:
//! - *The plant starts.* It publishes its first record after a recorder of this journal shows that
//!   it has recorded everything before that record. If no recorder can be started, the plant ends
//!   before its first record.
//! - *The recorder dies.* The next one continues after the journal's last excerpt. The plant waits
//!   when it is half a ring ahead of the position in the region. The position stays while no
//!   recorder owns the region. So the ring still has all messages that are not recorded.
//! - *The recorder dies between an excerpt and the position.* The position is too low: the plant
//!   waits too early, for as long as no recorder runs.
//! - *The plant is killed.* The recorder finds the ring without a writer, drains it and ends.
//! - *The next plant starts at once*, on the same ring and journal. The recorder of the previous
//!   plant has the lock of the journal. It drains the ring and ends with its writer; it may record
//!   some messages of the new plant before that. Until then the new recorder waits for the lock,
//!   and the new plant takes the position from the old one. Both recorders number excerpts like the
//!   ring, so the second continues where the first ends.
//! - *The next plant has another journal.* The old recorder still owns the region. The new recorder
//!   waits for its end, and the plant for the new recorder.
//! - *Another recorder has the journal's lock and stays*, such as `nanotape journal record
//!   --through-restarts`. The plant accepts it: the region names the same ring and journal. The
//!   plant's own recorder waits for the lock, ready to continue. When everything is recorded, the
//!   plant ends it.
//! - *Another recorder of the ring has another journal.* It records without the region, also while
//!   the plant's recorder is dead. So the position is always that of this journal.
//! - *Snapshots are written* by one more process, which reads the journal and nothing else. Another
//!   one compresses and prunes, and touches only segments that are closed.
//! - *The disk is full.* The recorder waits for room, and the plant for the recorder. A plant that
//!   is stopped on request, or does not wait for its recorder, leaves it waiting: it records the
//!   rest of the ring when there is room. The plant ends with the numbers that are not recorded.
//! - *Ctrl-C* goes to all processes of a terminal's foreground group. The recorder is in a group of
//!   its own, so only the plant gets it. A recorder that gets a SIGTERM of its own dies, and is
//!   started again.
//!
//! Failure: a recorder that fails before the plant has published is [`RecordingError::Failed`] at
//! once. After that, the fifth failure in a row without progress ends a plant that waits for its
//! recorder. A plant that does not wait goes on, and its recorder is tried again once a second.
//! Cost: one load of a word in shared memory once in [`CHECK_EVERY`](crate::CHECK_EVERY) messages.

mod child;
mod companion;
mod process;

use std::{
    ffi::OsString,
    io,
    path::{Path, PathBuf},
    sync::Arc,
    thread::{self, JoinHandle},
    time::Duration,
};

use nanotape_board::{RecorderReader, RecorderStat, RecorderState};
use nanotape_journal::{ErrorKind, JournalError, Tailer};
use nanotape_shm::{OwnerState, Refusal, RegionError};
use nanotape_tape::{Deadline, ShutdownFlag, Start};

pub use companion::CompanionProcess;
pub(crate) use process::Supervised;

use crate::{config::MIN_CAPACITY_BYTES, followers::Report};

/// Time between two checks of a recorder that starts or ends.
const POLL: Duration = Duration::from_millis(1);

/// How long the disk is full before a plant that has ended says so, or leaves its recorder.
const FULL: Duration = Duration::from_secs(1);

/// How to start the recorder of a plant.
#[derive(Clone, Debug)]
pub struct RecorderProcess {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Processes that work on the journal while it is recorded.
    pub companions: Vec<Companion>,
    /// The folder of the journal.
    pub journal: PathBuf,
    /// Whether the plant waits when the recorder is half a ring behind.
    pub waits: bool,
    /// Receives the lines that the recorder prints on standard error, and those about its restarts.
    pub report: Report,
}

/// A process beside a plant, of the same program: it is started again if it fails, and ends by
/// itself when the recorder has closed the journal, or the plant its ring.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Companion {
    /// Its name in reports.
    pub name: &'static str,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Whether the plant reports at its end if a part of its work is missing.
    pub matters: bool,
}

/// What was recorded of a plant's run.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct RecordingSummary {
    /// The folder of the journal.
    pub journal: PathBuf,
    /// Messages recorded.
    pub recorded: u64,
    /// Messages that were overwritten before they were recorded.
    pub lost: u64,
    /// How long the plant waited for the recorder.
    pub waited_ns: u64,
    /// Whether snapshots were to be written, and the last ones are missing.
    pub lacks_snapshots: bool,
}

/// Why a plant is not recorded, or not to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordingError {
    /// The ring is too small for a plant that waits for its recorder.
    #[error(
        "a ring of {capacity_bytes} bytes is too small to wait for a recorder: use at least {min}, \
         or --no-wait"
    )]
    SmallRing {
        /// Bytes of the ring.
        capacity_bytes: u64,
        /// The smallest ring.
        min: u64,
    },
    /// The thread that starts the recorder cannot be started.
    #[error("cannot start the thread that starts the recorder: {0}")]
    Thread(io::Error),
    /// The recorder failed, or cannot record: the last line that it printed, or the cause.
    #[error("{0}")]
    Failed(String),
    /// The journal was removed, replaced or renamed while it was recorded: the last line that the
    /// recorder printed.
    #[error("{0}; nothing is recorded since")]
    JournalGone(String),
    /// The ring is about to be replaced by an empty one, and the journal has messages.
    #[error(
        "{}: not the ring that {} was recorded from: a replaced ring begins again with message 1, but the \
         next excerpt of the journal is {journal_next}; record it into a new journal",
        ring.display(),
        journal.display()
    )]
    Replaced {
        /// The ring.
        ring: PathBuf,
        /// The folder of the journal.
        journal: PathBuf,
        /// The journal's next number.
        journal_next: u64,
    },
    /// A stop was requested before the recorder was ready.
    #[error("stopped on request before the recorder was ready")]
    Stopped,
    /// What the recorder shows of its progress cannot be read at the end.
    #[error(
        "{progress}, so it is not known how many messages were lost; the journal has messages up to \
         {}, and the last one of this run is {last_sequence}; `nanotape journal verify {}` counts the \
         missing ones",
        next_sequence.saturating_sub(1),
        journal.display()
    )]
    ProgressLost {
        /// Why.
        progress: Box<RegionError>,
        /// The folder of the journal.
        journal: PathBuf,
        /// The next message of the journal.
        next_sequence: u64,
        /// The last message of the plant.
        last_sequence: u64,
    },
    /// The disk is full, and the plant ended without waiting for room.
    #[error(
        "{}: the disk is full, so messages from {next_sequence} to {last_sequence} are not in the \
         journal; its recorder, process {recorder}, goes on waiting, and records them when there is \
         room: `nanotape stat {}` shows it",
        journal.display(),
        ring.display()
    )]
    NoRoom {
        /// The folder of the journal.
        journal: PathBuf,
        /// The first message that is not recorded.
        next_sequence: u64,
        /// The last message of the plant.
        last_sequence: u64,
        /// The process of the recorder.
        recorder: u32,
        /// The ring that it records.
        ring: PathBuf,
    },
    /// The recorder ended before the last message.
    #[error(
        "the recorder ended before the last message: messages from {next_sequence} to {last_sequence} \
         are not in the journal"
    )]
    Incomplete {
        /// The first message that is not recorded.
        next_sequence: u64,
        /// The last message of the plant.
        last_sequence: u64,
    },
}

/// The ring of a plant that is recorded.
#[derive(Clone, Debug)]
pub(crate) struct Recorded {
    pub(crate) ring: PathBuf,
    /// Creation time of its region.
    pub(crate) created_ns: u64,
    pub(crate) capacity_bytes: u64,
    /// The number of the first message of the plant.
    pub(crate) first_sequence: u64,
}

/// A running recorder.
#[derive(Debug)]
pub(crate) struct Recording {
    ring: Recorded,
    journal: PathBuf,
    waits: bool,
    supervised: Arc<Supervised>,
    thread: Option<JoinHandle<()>>,
    companions: Vec<CompanionProcess>,
    reader: RecorderReader,
    /// The counters before the first message of the plant.
    before: RecorderStat,
}

/// The recorder of a ring, in another process.
#[derive(Debug)]
pub(crate) struct RecorderHold {
    pub(crate) ring: PathBuf,
    pub(crate) reader: RecorderReader,
}

impl Recording {
    /// Checks, before a ring is replaced, that the new one can be recorded.
    pub(crate) fn check_replaced(
        process: &RecorderProcess,
        ring: &Path,
        capacity_bytes: u64,
    ) -> Result<(), RecordingError> {
        Self::check_size(process, capacity_bytes)?;
        let failed = |error: JournalError| RecordingError::Failed(error.to_string());
        let journal_next = match Tailer::open(&process.journal, Start::Newest) {
            Ok(tailer) => tailer.next_sequence(),
            Err(error) if *error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(failed(error)),
        };
        match journal_next {
            1 => Ok(()),
            journal_next => Err(RecordingError::Replaced {
                ring: ring.to_owned(),
                journal: process.journal.clone(),
                journal_next,
            }),
        }
    }

    fn check_size(process: &RecorderProcess, capacity_bytes: u64) -> Result<(), RecordingError> {
        let min = MIN_CAPACITY_BYTES;
        if process.waits && capacity_bytes < min {
            return Err(RecordingError::SmallRing { capacity_bytes, min });
        }
        Ok(())
    }

    /// Starts the recorder, and waits until it has recorded everything that the ring has.
    pub(crate) fn start(
        process: &RecorderProcess,
        ring: Recorded,
        stop: &ShutdownFlag,
    ) -> Result<Self, RecordingError> {
        Self::check_size(process, ring.capacity_bytes)?;
        let journal = std::path::absolute(&process.journal);
        let journal = journal.unwrap_or_else(|_| process.journal.clone());
        let supervised = Arc::new(Supervised::new(process.clone(), ring.clone(), stop.clone()));
        let thread = thread::Builder::new().name("recorder".to_owned()).spawn({
            let supervised = Arc::clone(&supervised);
            move || supervised.supervise()
        });
        let thread = Some(thread.map_err(RecordingError::Thread)?);
        loop {
            if let Some(said) = supervised.failure() {
                return Err(RecordingError::Failed(said));
            }
            if stop.is_requested() {
                supervised.abandon();
                return Err(RecordingError::Stopped);
            }
            if let Some((reader, before)) = ready(&ring, &journal) {
                supervised.begin();
                let (waits, companions) = (process.waits, CompanionProcess::start_all(process)?);
                return Ok(Self {
                    ring,
                    journal,
                    waits,
                    supervised,
                    thread,
                    companions,
                    reader,
                    before,
                });
            }
            supervised.report_held();
            thread::sleep(POLL);
        }
    }

    /// What the publisher waits for; `None` if the plant does not wait.
    pub(crate) fn hold(&self) -> Option<RecorderHold> {
        let reader = self.reader.clone();
        self.waits.then(|| RecorderHold { ring: self.ring.ring.clone(), reader })
    }

    /// Whether the recorder has failed for good, and requested the end of the plant.
    pub(crate) fn has_ended_plant(&self) -> bool {
        self.waits && self.supervised.has_failed()
    }

    /// The folder of the journal.
    pub(crate) fn journal(&self) -> &Path {
        &self.journal
    }

    /// Announces that the plant is about to close the ring: from now on the recorder may end.
    pub(crate) fn ending(&self) {
        self.supervised.ending();
    }

    /// Waits for the end of the recorder, after the ring was closed. `end` is the number after the
    /// last message. After a requested stop it does not wait for room on the disk.
    pub(crate) fn finish(
        mut self,
        end: u64,
        waited_ns: u64,
    ) -> Result<RecordingSummary, RecordingError> {
        let mut is_closed = true;
        let mut full: Option<Deadline> = None;
        let mut is_reported = false;
        while !self.thread.as_ref().is_none_or(JoinHandle::is_finished) {
            // Another recorder has recorded everything, and ours still waits for the journal.
            let seen = self.sample();
            let is_of_other = !self.supervised.is_process(seen.owner.pid);
            if seen.next_sequence >= end && seen.owner.state == OwnerState::Alive && is_of_other {
                self.supervised.abandon();
                is_closed = false;
            }
            if seen.state != RecorderState::WaitingForRoom {
                full = None;
            } else if full.get_or_insert_with(|| Deadline::after(FULL)).is_over() {
                if self.supervised.is_stop_requested() || !self.waits {
                    self.companions.drain(..).for_each(|companion| _ = companion.finish(false));
                    return Err(self.no_room(&seen, end));
                }
                if !std::mem::replace(&mut is_reported, true) {
                    self.supervised.report(&format!(
                        "all is published, but the disk of {} is full, and the recorder has recorded up \
                         to {} of {}; the plant waits for room, or for Ctrl-C",
                        self.journal.display(),
                        seen.next_sequence.saturating_sub(1),
                        end - 1
                    ));
                }
            }
            thread::sleep(POLL);
        }
        let is_closed = is_closed && !self.supervised.has_failed();
        let finish = |companion: CompanionProcess| companion.finish(is_closed);
        let lacks_snapshots =
            self.companions.drain(..).map(finish).fold(false, |lacks, end| lacks | end);
        if let Some(thread) = self.thread.take() {
            // It panics only if a lock is poisoned, by a panic that was reported.
            let _ = thread.join();
        }
        if let Some(said) = self.supervised.failure() {
            return Err(match self.supervised.has_lost_journal() {
                true => RecordingError::JournalGone(said),
                false => RecordingError::Failed(said),
            });
        }
        let seen = self.sample();
        if let Err(progress) = self.reader.region().check()
            && matches!(progress.refusal(), Refusal::Truncated { .. })
        {
            // The words of a truncated file are not those of the recorder.
            let (journal, next_sequence) = (self.journal.clone(), self.stored_next());
            let last_sequence = end - 1;
            return Err(RecordingError::ProgressLost {
                progress: Box::new(progress),
                journal,
                next_sequence,
                last_sequence,
            });
        }
        if seen.next_sequence < end {
            let (next_sequence, last_sequence) = (seen.next_sequence, end - 1);
            return Err(RecordingError::Incomplete { next_sequence, last_sequence });
        }
        Ok(RecordingSummary {
            journal: self.journal.clone(),
            recorded: seen.recorded.saturating_sub(self.before.recorded),
            lost: seen.lost.saturating_sub(self.before.lost),
            waited_ns,
            lacks_snapshots,
        })
    }

    /// The number after the last message in the journal; 0 if it cannot be read.
    fn stored_next(&self) -> u64 {
        Tailer::open(&self.journal, Start::Newest).map_or(0, |tailer| tailer.next_sequence())
    }

    fn no_room(&self, seen: &RecorderStat, end: u64) -> RecordingError {
        RecordingError::NoRoom {
            journal: self.journal.clone(),
            // The recorder shows its progress after a poll, and waits in the middle of one.
            next_sequence: seen.next_sequence.max(self.stored_next()),
            last_sequence: end - 1,
            recorder: seen.owner.pid,
            ring: self.ring.ring.clone(),
        }
    }

    /// The progress of the current recorder.
    fn sample(&mut self) -> RecorderStat {
        reopen(&self.ring.ring, &mut self.reader);
        self.reader.sample()
    }
}

impl Drop for Recording {
    /// A recorder of a plant that is dropped ends by itself, as if the plant had been killed.
    fn drop(&mut self) {
        self.supervised.ending();
    }
}

/// The recorder that is recording this ring into this journal, once it has recorded everything
/// before the plant's first message.
fn ready(ring: &Recorded, journal: &Path) -> Option<(RecorderReader, RecorderStat)> {
    let reader = RecorderReader::of_ring(&ring.ring, ring.created_ns)?;
    let seen = reader.sample();
    let is_alive = matches!(seen.state, RecorderState::Recording | RecorderState::WaitingForRoom);
    let is_ready = is_alive && seen.journal == journal && seen.next_sequence >= ring.first_sequence;
    is_ready.then_some((reader, seen))
}

/// Opens the region of a ring's recorder again if its file was replaced, for the same ring.
pub(crate) fn reopen(ring: &Path, reader: &mut RecorderReader) {
    if reader.region().check().is_err()
        && let Some(current) = RecorderReader::of_ring(ring, reader.ring_created_ns())
    {
        *reader = current;
    }
}
