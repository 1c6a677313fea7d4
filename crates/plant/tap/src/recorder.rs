//! Records a ring: every message becomes an excerpt of a journal with the same number and type.
//!
//! Where: a separate process (`nanotape journal record`), or a thread.
//! Protocol: a journal holds the messages of one ring ([`origin`]). The recorder continues after
//! the last excerpt, and skips the numbers that it lost, so that readers of the journal see them as
//! a gap.
//! [Its region](RecorderReader) shows how far it is. It reads the clock once a poll, so all
//! excerpts of a poll have one time.
//! Failure: if a ring is removed, replaced or truncated, the recording ends after its last
//! messages. If the journal is removed, replaced or renamed, the recording ends, and what is not in
//! it any more counts as lost. If the disk is full, the recorder waits for room; meanwhile the ring
//! keeps as many messages as fit.

mod error;
mod hook;
mod lost_journal;
mod names;
mod origin;
mod spans;
mod standby;

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

pub use error::{NotShown, OriginMismatch, RecorderError};
use hook::RecorderHook;
use names::Names;
use nanotape_board::{
    BoardReader, FollowerStart, NamedFollower, RecorderProgress, RecorderReader, RecorderState,
    follower_path,
};
use nanotape_journal::{Appender, Keeper};
use nanotape_ring::{AnyReader, Rejoin, RingError, RingSource, Start, StartError, Subscribe as _};
use nanotape_shm::Refusal;
use nanotape_tape::{
    Deadline, Follow, Gap, ShutdownFlag, Source as _, Step, Tape as _, WriterState,
};
use origin::Origin;
pub(crate) use origin::{check_origin, recorded_ring};
use spans::RecorderSpans;
pub use standby::open_when_free;

/// The pause of a recorder that has caught up. One that follows closely takes each cache line from
/// the writer's core as soon as it is written, and slows the writer more than one that is a few
/// hundred messages late.
const PAUSE: Duration = Duration::from_micros(50);

/// A poll of fewer bytes has caught up: a quarter of what a poll reads at most.
const SMALL_POLL_BYTES: u64 = 4 << 10;

/// The smallest region of a ring that is not lapped in a pause, even if the pause takes some
/// milliseconds because the processor is busy.
const LEAST_REGION_BYTES: usize = 4 << 20;

/// How long a recorder that must show its progress waits for the previous recorder's end.
const HAND_OVER: Duration = Duration::from_secs(10);

/// Options of a recorder.
#[derive(Clone, Debug, Default)]
pub struct RecorderOptions {
    /// How long to wait for the ring, or for the next writer of a ring whose writer exited.
    pub wait: Duration,
    /// Whether to continue with the next writer of the ring.
    pub through_restarts: bool,
    /// The permission bits of the file that names the ring.
    pub mode: u32,
    /// The name of a follower that the plant waits for; it records a living writer, and ends with
    /// it. `None`: no plant waits for the recorder, unless it started it.
    pub name: Option<String>,
    /// Whether it is an error if the progress cannot be shown, because another recorder of the ring
    /// shows its own. Otherwise the recorder reports that and records.
    pub must_show: bool,
    /// Ends the recording.
    pub shutdown: ShutdownFlag,
}

/// A ring that is recorded.
#[derive(Debug)]
pub struct Recorder {
    ring: PathBuf,
    keeper: Keeper<RingSource>,
    names: Names,
    through_restarts: bool,
    /// The progress, or why it is not shown.
    progress: Result<RecorderProgress, NotShown>,
    /// Shows the position to the plant, if the recorder has a name.
    named: Option<NamedFollower>,
    spans: Option<RecorderSpans>,
}

/// Events that the recorder reports.
#[derive(Debug)]
#[non_exhaustive]
pub enum RecorderEvent<'a> {
    /// Messages were lost.
    Lost(Gap),
    /// The disk is full; the recorder waits for room.
    NoRoom(&'a RecorderError),
    /// The disk has room again.
    RoomAgain,
    /// The writer exited, and the recording ends. `Alive`: another one has taken the ring over.
    WriterGone(WriterState),
    /// The progress of this recorder is not shown.
    NotShown(&'a NotShown),
}

/// The result of a recording.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct RecorderSummary {
    /// The number of the first message to record.
    pub first_sequence: u64,
    /// The number of the journal's next excerpt.
    pub next_sequence: u64,
    /// Number of recorded messages.
    pub recorded: u64,
    /// Number of lost messages.
    pub lost: u64,
}

impl Recorder {
    /// Joins the ring at the message after the journal's last excerpt, as soon as the ring exists.
    /// Returns `None` and closes the journal if a shutdown was requested before.
    pub fn open(
        ring: &Path,
        appender: Appender,
        options: &RecorderOptions,
    ) -> Result<Option<Self>, RecorderError> {
        let RecorderOptions { wait, through_restarts, mode, name, must_show, shutdown } = options;
        let deadline = Deadline::after(*wait);
        if let Some(name) = name {
            follower_path(ring, name)?;
        }
        let Some(mut source) = open_source(ring, name.is_some(), &deadline, shutdown)? else {
            appender.close()?;
            return Ok(None);
        };
        let journal = appender.path();
        let names = Names::new(ring, &journal, *mode);
        let origin = Origin { journal: &journal, mode: *mode, ring, reader: source.reader() };
        let first = appender.next_sequence();
        origin.check(first)?;
        // From message 1 for an empty journal: messages that the ring has overwritten count as
        // lost.
        source.seek(Start::Sequence(first)).map_err(|error| match error {
            RingError::Start(StartError::NotYet { next, .. }) => RecorderError::OtherRing {
                ring: ring.to_owned(),
                journal: journal.clone(),
                why: OriginMismatch::Behind { ring_next: next, journal_next: first },
            },
            error => RecorderError::of_ring(ring, error),
        })?;
        // Rejoins at the oldest message to lose as few as possible: a loss here is permanent.
        source.reader_mut().set_rejoin(Rejoin::Oldest);
        let created_ns = source.reader().region().created_ns();
        let is_written = source.writer().state == WriterState::Alive;
        let own = || match other_journal(ring, created_ns, &journal) {
            _ if name.is_some() => Err(NotShown::Follower),
            // Its recorder is about to be started again, and the plant may wait for it.
            Some(other) if is_written && !must_show => Err(NotShown::Dead { journal: other }),
            _ => Ok(RecorderProgress::own(ring, created_ns, &journal, first)?),
        };
        let hand_over = Deadline::after(if *must_show { HAND_OVER } else { Duration::ZERO });
        let progress = match hand_over.open(shutdown, has_owner, own) {
            Err(error) if *must_show => return Err(RecorderError::NotShown(error)),
            Ok(None) => {
                appender.close()?;
                return Ok(None);
            }
            Ok(Some(progress)) => Ok(progress),
            Err(error) => Err(error),
        };
        let (named, follow) = match name {
            None => (None, Follow::new(source).shutdown(shutdown).deadline(deadline)),
            Some(name) => {
                let reader = source.reader();
                let epoch = reader.region().epoch();
                let start = FollowerStart {
                    ring,
                    ring_created_ns: created_ns,
                    writer_epoch: (!through_restarts).then_some(epoch),
                    next_sequence: reader.next_sequence(),
                    position_bytes: reader.position_bytes(),
                };
                let named = NamedFollower::begin(name, &start)?;
                let mut follow = Follow::new(source).shutdown(shutdown);
                if !through_restarts {
                    follow.set_only_writer(epoch);
                }
                (Some(named), follow)
            }
        };
        let keeper = Keeper::new(follow, appender, shutdown);
        let (ring, through_restarts) = (ring.to_owned(), *through_restarts);
        let spans = RecorderSpans::start(&ring);
        let mut recorder = Self { ring, keeper, names, through_restarts, progress, named, spans };
        recorder.show(0);
        if let Ok(progress) = &recorder.progress {
            progress.set_state(RecorderState::Recording);
        }
        Ok(Some(recorder))
    }

    /// Records until the writer exits, or a shutdown is requested. Events go to `report`.
    pub fn run(&mut self, report: impl FnMut(RecorderEvent<'_>)) -> Result<(), RecorderError> {
        let outcome = self.record(report);
        self.account_for_journal(outcome)
    }

    fn record(&mut self, mut report: impl FnMut(RecorderEvent<'_>)) -> Result<(), RecorderError> {
        match &self.progress {
            Ok(_) | Err(NotShown::Follower) => {}
            Err(error) => report(RecorderEvent::NotShown(error)),
        }
        loop {
            let step = self.step(&mut report)?;
            match step {
                Ok(Step::Gone(state)) if !self.through_restarts => {
                    report(RecorderEvent::WriterGone(state));
                    return Ok(());
                }
                Ok(Step::Shutdown) => return Ok(()),
                Ok(_) => {}
                Err(RingError::Region(error)) => {
                    let last = self.keeper.appender().next_sequence() - 1;
                    return Err(RecorderError::Lost {
                        ring: self.ring.clone(),
                        error: Box::new(error),
                        last,
                    });
                }
                Err(error) => return Err(RecorderError::of_ring(&self.ring, error)),
            }
        }
    }

    /// Records the messages of one poll, and shows the progress.
    fn step(
        &mut self,
        report: &mut impl FnMut(RecorderEvent<'_>),
    ) -> Result<Result<Step, RingError>, RecorderError> {
        let Self { keeper, names, progress, named, spans, .. } = self;
        let before = keeper.kept();
        let position_bytes = keeper.follow().tape().reader().position_bytes();
        let progress = progress.as_mut().ok();
        let mut hook = RecorderHook { names, progress, named, spans, report };
        let step = keeper.step(&mut hook)?;
        if matches!(step, Ok(Step::Read)) {
            // The ring has a writer, or had one. The recording ends with it, also if the next one
            // takes the ring over before this process notices.
            if before == 0 && !self.through_restarts {
                let epoch = self.reader().region().epoch();
                self.keeper.follow_mut().set_only_writer(epoch);
            }
            self.show(self.keeper.kept() - before);
            self.pause_after(position_bytes);
        }
        Ok(step)
    }

    /// Pauses if the poll that began at this position has caught up.
    fn pause_after(&self, position_bytes: u64) {
        let reader = self.reader();
        let read_bytes = reader.position_bytes().saturating_sub(position_bytes);
        let is_large = size_of_val(reader.region().words()) >= LEAST_REGION_BYTES;
        if is_large && read_bytes < SMALL_POLL_BYTES {
            std::thread::sleep(PAUSE);
        }
    }

    fn reader(&self) -> &AnyReader {
        self.keeper.follow().tape().reader()
    }

    /// Shows that `recorded` messages more are recorded.
    fn show(&mut self, recorded: u64) {
        let reader = self.reader();
        let (next, position) = (reader.next_sequence(), reader.position_bytes());
        if let Ok(progress) = &mut self.progress {
            let now_ns = self.keeper.now_ns();
            progress.polled(recorded, next, position, now_ns);
        }
        if let Some(named) = &self.named {
            named.show(next, position);
        }
        self.spans.iter_mut().for_each(RecorderSpans::shown);
    }

    /// The result so far.
    pub fn summary(&self) -> RecorderSummary {
        RecorderSummary {
            first_sequence: self.keeper.first_sequence(),
            next_sequence: self.keeper.appender().next_sequence(),
            recorded: self.keeper.kept(),
            lost: self.keeper.lost(),
        }
    }

    /// Closes the journal, synced as its sync policy requires.
    pub fn close(self) -> Result<(), RecorderError> {
        Ok(self.keeper.close()?)
    }
}

/// Opens the ring; that of a living writer only, if the recorder follows one. `None` if a shutdown
/// was requested before.
fn open_source(
    ring: &Path,
    needs_writer: bool,
    deadline: &Deadline,
    shutdown: &ShutdownFlag,
) -> Result<Option<RingSource>, RecorderError> {
    let open = || {
        let source = RingSource::open(ring, Start::Newest).map_err(|error| {
            if error.is_pending() {
                return RecorderError::NoRing { ring: ring.to_owned() };
            }
            RecorderError::of_ring(ring, error)
        })?;
        if needs_writer && !has_writer(ring, &source) {
            return Err(RecorderError::NoWriter { ring: ring.to_owned() });
        }
        Ok(source)
    };
    let is_pending = |error: &RecorderError| {
        matches!(error, RecorderError::NoRing { .. } | RecorderError::NoWriter { .. })
    };
    deadline.open(shutdown, is_pending, open)
}

/// Whether the ring has a writer that lives, and that has its number.
fn has_writer(ring: &Path, source: &RingSource) -> bool {
    match BoardReader::open(ring) {
        Ok(board) => board.is_of_writer(source.reader().region()),
        // Not of a plant. A plant that has just created its ring has its number.
        Err(_) => source.writer().state == WriterState::Alive,
    }
}

/// Whether another recorder shows its progress.
fn has_owner(error: &NotShown) -> bool {
    let NotShown::Region(error) = error else { return false };
    matches!(error.refusal(), Refusal::OwnerAlive { .. } | Refusal::BeingCreated)
}

/// The journal of a recorder of this ring that died, if it is another one.
fn other_journal(ring: &Path, created_ns: u64, journal: &Path) -> Option<PathBuf> {
    let seen = RecorderReader::open(ring).ok()?.sample();
    let is_dead = seen.state == RecorderState::Dead && seen.ring_created_ns == created_ns;
    let is_same = std::path::absolute(journal).is_ok_and(|journal| journal == seen.journal);
    (is_dead && !is_same).then_some(seen.journal)
}
