//! Recording a ring: every message becomes an excerpt of a journal with the same number and type.
//!
//! Where: a program of its own beside the plant (`nanotape journal record`), or a thread.
//! Protocol: a journal holds the messages of one ring ([`origin`]). The recorder continues after
//! the last excerpt, and leaves out the numbers that it has lost, so that readers of the journal
//! learn them as a gap. Failure: a ring that is removed, replaced or truncated ends the recording,
//! after what it had until then. A full disk does not: the recorder waits for room, and the ring
//! keeps what it can meanwhile.

mod error;
mod origin;

use std::{
    ops::ControlFlow,
    path::{Path, PathBuf},
    time::Duration,
};

pub use error::{OriginMismatch, RecorderError};
use nanotape_clock::{Clock, Timeline};
use nanotape_journal::{Appender, JournalError};
use nanotape_ring::{Rejoin, RingError, RingSource, Start, StartError, Subscribe as _};
use nanotape_tape::{
    Deadline, Follow, Gap, Item, Message, ShutdownFlag, Source as _, Step, WriterState,
};
use origin::Origin;

/// How long to wait for room on the disk before the next attempt.
const RETRY: Duration = Duration::from_millis(100);

/// How to record.
#[derive(Clone, Debug, Default)]
pub struct RecorderOptions {
    /// How long to wait for the ring, or for the next writer of a ring whose writer is gone.
    pub wait: Duration,
    /// Whether to continue with the writer that takes the ring over.
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

/// What the recorder has to report while it runs.
#[derive(Debug)]
#[non_exhaustive]
pub enum RecorderEvent<'a> {
    /// Messages were lost.
    Lost(Gap),
    /// The disk is full; the recorder waits for room.
    NoRoom(&'a JournalError),
    /// There is room again.
    RoomAgain,
    /// The writer is gone, and the recording ends.
    WriterGone(WriterState),
}

/// What a recorder has done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct RecorderSummary {
    /// The number of the first message that it was to record.
    pub first_sequence: u64,
    /// The number that the journal's next excerpt has.
    pub next_sequence: u64,
    /// Messages that it has recorded.
    pub recorded: u64,
    /// Messages that it has lost.
    pub lost: u64,
}

/// The journal's side.
#[derive(Debug)]
struct Keeper {
    appender: Appender,
    /// Times of excerpts: they do not go back, and follow the kernel's clock over a long day.
    timeline: Timeline,
    shutdown: ShutdownFlag,
    first: u64,
    recorded: u64,
    lost: u64,
}

impl Recorder {
    /// Joins the ring at the message after the journal's last excerpt, as soon as there is a ring.
    /// `None` if a shutdown was requested before: then the journal is closed.
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
        let origin = Origin { journal: &journal, mode: *mode, ring, reader: source.reader() };
        let first = appender.next_sequence();
        origin.check(first)?;
        // From message 1 for an empty journal: what the ring has overwritten is lost, and counted.
        source.seek(Start::Sequence(first)).map_err(|error| match error {
            RingError::Start(StartError::NotYet { next, .. }) => RecorderError::OtherRing {
                ring: ring.to_owned(),
                journal,
                why: OriginMismatch::Behind { ring_next: next, journal_next: first },
            },
            error => RecorderError::of_ring(ring, error),
        })?;
        // What is lost is lost for good here: as little as can be.
        source.reader_mut().set_rejoin(Rejoin::Oldest);
        let follow = Follow::new(source).shutdown(shutdown).deadline(deadline);
        let timeline = Timeline::recalibrating(Clock::calibrate());
        let shutdown = shutdown.clone();
        let keeper = Keeper { appender, timeline, shutdown, first, recorded: 0, lost: 0 };
        let through_restarts = *through_restarts;
        Ok(Some(Self { ring: ring.to_owned(), follow, keeper, through_restarts }))
    }

    /// Records until the writer is gone, or a shutdown is requested. Events go to `report`.
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

    /// What was recorded so far.
    pub fn summary(&self) -> RecorderSummary {
        let Keeper { appender, first, recorded, lost, .. } = &self.keeper;
        RecorderSummary {
            first_sequence: *first,
            next_sequence: appender.next_sequence(),
            recorded: *recorded,
            lost: *lost,
        }
    }

    /// Closes the journal: what its sync policy promises is on the disk.
    pub fn close(self) -> Result<(), RecorderError> {
        Ok(self.keeper.appender.close()?)
    }
}

impl Keeper {
    fn keep(
        &mut self,
        item: Item<'_>,
        report: &mut impl FnMut(RecorderEvent<'_>),
    ) -> Result<(), JournalError> {
        match item {
            Item::Message(message) => {
                self.appender.skip_to(message.sequence)?;
                self.append(&message, report)?;
                self.recorded += 1;
            }
            Item::Gap(gap) => {
                self.lost += gap.count();
                report(RecorderEvent::Lost(gap));
            }
            // A ring uses each number once.
            Item::Reused(_) => {}
        }
        Ok(())
    }

    /// Appends, and waits for room if there is none.
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
