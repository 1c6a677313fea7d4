//! Records a ring: every message becomes an excerpt of a journal with the same number and type.
//!
//! Where: a separate process (`nanotape journal record`), or a thread.
//! Protocol: a journal holds the messages of one ring ([`origin`]). The recorder continues after
//! the last excerpt, and skips the numbers that it lost, so that readers of the journal see them as
//! a gap.
//! Failure: if a ring is removed, replaced or truncated, the recording ends after its last
//! messages. If the disk is full, the recorder waits for room; meanwhile the ring keeps as many
//! messages as fit.

mod error;
mod names;
mod origin;

use std::{
    ops::ControlFlow,
    path::{Path, PathBuf},
    time::Duration,
};

pub use error::{OriginMismatch, RecorderError};
use names::Names;
use nanotape_clock::{Clock, Timeline};
use nanotape_journal::{Appender, JournalError};
use nanotape_ring::{Rejoin, RingError, RingSource, Start, StartError, Subscribe as _};
use nanotape_tape::{
    Deadline, Follow, Gap, Item, Message, ShutdownFlag, Source as _, Step, WriterState,
};
use origin::Origin;

/// How long to wait for room on the disk before the next attempt.
const RETRY: Duration = Duration::from_millis(100);

/// Options of a recorder.
#[derive(Clone, Debug, Default)]
pub struct RecorderOptions {
    /// How long to wait for the ring, or for the next writer of a ring whose writer exited.
    pub wait: Duration,
    /// Whether to continue with the next writer of the ring.
    pub through_restarts: bool,
    /// The permission bits of the file that names the ring.
    pub mode: u32,
    /// Ends the recording.
    pub shutdown: ShutdownFlag,
}

/// A ring that is recorded.
#[derive(Debug)]
pub struct Recorder {
    ring: PathBuf,
    follow: Follow<RingSource>,
    keeper: Keeper,
    through_restarts: bool,
}

/// Events that the recorder reports.
#[derive(Debug)]
#[non_exhaustive]
pub enum RecorderEvent<'a> {
    /// Messages were lost.
    Lost(Gap),
    /// The disk is full; the recorder waits for room.
    NoRoom(&'a JournalError),
    /// The disk has room again.
    RoomAgain,
    /// The writer exited, and the recording ends.
    WriterGone(WriterState),
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

/// The journal's side.
#[derive(Debug)]
struct Keeper {
    appender: Appender,
    /// Times of excerpts: they never decrease, and follow the kernel's clock over a long day.
    timeline: Timeline,
    shutdown: ShutdownFlag,
    names: Names,
    first: u64,
    recorded: u64,
    lost: u64,
}

impl Recorder {
    /// Joins the ring at the message after the journal's last excerpt, as soon as the ring exists.
    /// Returns `None` and closes the journal if a shutdown was requested before.
    pub fn open(
        ring: &Path,
        appender: Appender,
        options: &RecorderOptions,
    ) -> Result<Option<Self>, RecorderError> {
        let RecorderOptions { wait, through_restarts, mode, shutdown } = options;
        let deadline = Deadline::after(*wait);
        let open = || RingSource::open(ring, Start::Newest);
        let opened = deadline.open(shutdown, RingError::is_pending, open).map_err(|error| {
            if error.is_pending() {
                return RecorderError::NoRing { ring: ring.to_owned() };
            }
            RecorderError::of_ring(ring, error)
        });
        let Some(mut source) = opened? else {
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
                journal,
                why: OriginMismatch::Behind { ring_next: next, journal_next: first },
            },
            error => RecorderError::of_ring(ring, error),
        })?;
        // Rejoins at the oldest message to lose as few as possible: a loss here is permanent.
        source.reader_mut().set_rejoin(Rejoin::Oldest);
        let follow = Follow::new(source).shutdown(shutdown).deadline(deadline);
        let timeline = Timeline::recalibrating(Clock::calibrate());
        let shutdown = shutdown.clone();
        let keeper = Keeper { appender, timeline, shutdown, names, first, recorded: 0, lost: 0 };
        let through_restarts = *through_restarts;
        Ok(Some(Self { ring: ring.to_owned(), follow, keeper, through_restarts }))
    }

    /// Records until the writer exits, or a shutdown is requested. Events go to `report`.
    pub fn run(&mut self, mut report: impl FnMut(RecorderEvent<'_>)) -> Result<(), RecorderError> {
        let Self { ring, follow, keeper, through_restarts } = self;
        loop {
            let mut kept = Ok(());
            let step = follow.step(|item| {
                kept = keeper.keep(item, &mut report);
                if kept.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            });
            kept?;
            match step {
                Ok(Step::Gone(state)) if !*through_restarts => {
                    report(RecorderEvent::WriterGone(state));
                    return Ok(());
                }
                Ok(Step::Shutdown) => return Ok(()),
                Ok(_) => {}
                Err(RingError::Region(error)) => {
                    let last = keeper.appender.next_sequence() - 1;
                    return Err(RecorderError::Lost {
                        ring: ring.clone(),
                        error: Box::new(error),
                        last,
                    });
                }
                Err(error) => return Err(RecorderError::of_ring(ring, error)),
            }
        }
    }

    /// The result so far.
    pub fn summary(&self) -> RecorderSummary {
        let Keeper { appender, first, recorded, lost, .. } = &self.keeper;
        RecorderSummary {
            first_sequence: *first,
            next_sequence: appender.next_sequence(),
            recorded: *recorded,
            lost: *lost,
        }
    }

    /// Closes the journal, synced as its sync policy requires.
    pub fn close(self) -> Result<(), RecorderError> {
        Ok(self.keeper.appender.close()?)
    }
}

impl Keeper {
    fn keep(
        &mut self,
        item: Item<'_>,
        report: &mut impl FnMut(RecorderEvent<'_>),
    ) -> Result<(), RecorderError> {
        match item {
            Item::Message(message) => {
                self.names.before(&message)?;
                self.appender.skip_to(message.sequence)?;
                self.append(&message, report)?;
                self.recorded += 1;
            }
            Item::Gap(gap) => {
                self.lost += gap.count();
                self.names.lose(&gap);
                report(RecorderEvent::Lost(gap));
            }
            // A ring uses each number once.
            Item::Reused(_) => {}
        }
        Ok(())
    }

    /// Appends; if the disk is full, waits for room.
    fn append(
        &mut self,
        message: &Message<'_>,
        report: &mut impl FnMut(RecorderEvent<'_>),
    ) -> Result<(), JournalError> {
        let mut is_reported = false;
        loop {
            let now_ns = self.timeline.now_ns();
            let appended = self.appender.append(message.type_id, now_ns, message.payload);
            let Err(error) = appended else {
                if is_reported {
                    report(RecorderEvent::RoomAgain);
                }
                return Ok(());
            };
            if !error.is_full() || self.shutdown.is_requested() {
                return Err(error);
            }
            if !is_reported {
                report(RecorderEvent::NoRoom(&error));
                is_reported = true;
            }
            self.shutdown.sleep(RETRY);
        }
    }
}
