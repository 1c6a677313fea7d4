//! Mirrors a ring or a journal: the same messages under the same numbers, on another ring of this
//! machine.
//!
//! Where: a separate process (`nanotape ring mirror`) or a thread, for readers on another memory
//! node or in another container. They pull lines from the mirror, and only the mirror pulls lines
//! from the source.
//! Protocol: a mirror continues after the last message of its ring. Numbers that it cannot have are
//! skipped, so that its readers see them as a gap and read them from a journal. The ring has the
//! creation time of its source, so a journal of the source completes the mirror too. The writer of
//! the ring is alive, closed or dead as that of the source. A [board](board) beside it is a copy of
//! the plant's own.
//! If a source gives numbers again, or another ring takes its name, the ring of the mirror is
//! replaced by an empty one: to its readers it is another stream, as the source is to its own.
//! Failure: a target with other messages is refused. If the target is removed or replaced, or the
//! source is, and no restart is to be followed, the mirror ends.
//! Cost: a copy of each payload, and no allocation, lock or system call a message.

mod board;
mod error;
mod origin;
mod target;

use std::{
    ops::ControlFlow,
    path::{Path, PathBuf},
    time::Duration,
};

use board::MirroredBoard;
pub use error::{MirrorError, MirrorMismatch};
use nanotape_board::Watch;
use nanotape_clock::{Clock, Timeline, UtcNanos};
use nanotape_ring::{Capacity, Start};
use nanotape_shm::{RegionOptions, Residency};
use nanotape_tape::{
    Deadline, Follow, Gap, Item, Message, Progress, Reused, ShutdownFlag, Source as _, Step,
    Tape as _, WaitStrategy, WriterState,
};
use origin::Origin;
use target::Target;

/// Time between two heartbeats of a mirror without messages.
const HEARTBEAT_NS: u64 = 100_000_000;

/// Idle polls between two readings of the clock.
const IDLE_POLLS: u32 = 64;

/// Options of a mirror.
#[derive(Clone, Debug)]
pub struct MirrorOptions {
    /// Where a mirror begins that has no message yet.
    pub start: Start,
    /// The size of its ring. `None`: that of the existing ring, or else that of the source; a
    /// journal gets [`Mirror::JOURNAL_CAPACITY`].
    pub capacity: Option<Capacity>,
    /// The file and the memory of the ring. The creation time is set by the mirror.
    pub region: RegionOptions,
    /// Whether to replace a target that has other messages than the source.
    pub replaces: bool,
    /// How long to wait for the source, or for the next writer of one whose writer exited.
    pub wait: Duration,
    /// Whether to continue with the next writer of the source, and with the next ring of its name.
    pub through_restarts: bool,
    /// How to wait for messages. `None`: as other followers, which spin first and then sleep.
    pub strategy: Option<WaitStrategy>,
    /// Ends the mirror.
    pub shutdown: ShutdownFlag,
}

/// Events that a mirror reports.
#[derive(Debug)]
#[non_exhaustive]
pub enum MirrorEvent<'a> {
    /// The source no longer has these messages.
    Lost(Gap),
    /// The source gives these numbers again: the mirror has begun an empty ring.
    Reused(Reused),
    /// The ring of the source was removed or replaced; the mirror waits for the next one.
    SourceGone(&'a MirrorError),
    /// Another ring has the name of the source: the mirror has begun an empty ring.
    NextSource,
    /// The writer of the source exited.
    WriterGone(WriterState),
}

/// The result of a mirror.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct MirrorSummary {
    /// The number of the first message to mirror.
    pub first_sequence: u64,
    /// The number of the next message of the ring.
    pub next_sequence: u64,
    /// Number of mirrored messages.
    pub mirrored: u64,
    /// Number of lost messages.
    pub lost: u64,
}

/// A mirror of a ring or a journal.
#[derive(Debug)]
pub struct Mirror {
    source_path: PathBuf,
    follow: Follow<Origin>,
    copier: Copying,
    options: MirrorOptions,
}

/// The side of the ring that is written.
#[derive(Debug)]
struct Copying {
    target_path: PathBuf,
    capacity: Capacity,
    region: RegionOptions,
    /// `None` while the source has no writer, and the next one is waited for.
    held: Option<Held>,
    board: MirroredBoard,
    timeline: Timeline,
    /// The time of this poll's messages, once the clock was read.
    now_ns: Option<u64>,
    heartbeat_ns: u64,
    idle_polls: u32,
    next_sequence: u64,
    first_sequence: u64,
    mirrored: u64,
    lost: u64,
    reused: Option<Reused>,
}

/// A ring that this process owns.
#[derive(Debug)]
struct Held {
    ring: Target,
    /// Checks the file of the ring, and copies the counters of the board.
    watch: Watch,
}

impl Mirror {
    /// The size of the mirror of a journal: as the ring of a plant.
    pub const JOURNAL_CAPACITY: Capacity = Capacity::Stream { capacity_bytes: 32 << 20 };

    /// Opens the source, as soon as it exists, and continues or begins the ring at `target`.
    /// Returns `None` if a shutdown was requested before. The source is a ring, or a journal if it
    /// is a folder.
    pub fn open(
        source: &Path,
        target: &Path,
        options: MirrorOptions,
    ) -> Result<Option<Self>, MirrorError> {
        let deadline = Deadline::after(options.wait);
        let open = || Origin::open(source);
        let Some(mut origin) = deadline.open(&options.shutdown, MirrorError::is_pending, open)?
        else {
            return Ok(None);
        };
        let identity = origin.identity()?;
        let existing = target::Existing::of(target, source)?;
        let continued = match existing {
            Some(existing) => match existing.mismatch(&mut origin, identity)? {
                None => Some(existing),
                Some(_) if options.replaces => None,
                Some(why) => return Err(MirrorError::other_stream(target, source, why)),
            },
            None => None,
        };
        let start = match &continued {
            Some(existing) if existing.has_begun() => Start::Sequence(existing.next_sequence),
            _ => options.start,
        };
        origin.seek(start)?;
        let capacity = options.capacity.or(continued.as_ref().map(|existing| existing.capacity));
        let capacity = capacity.or(origin.capacity()).unwrap_or(Self::JOURNAL_CAPACITY);
        let region = RegionOptions { created_ns: identity, ..options.region.clone() };
        let next_sequence = origin.next_sequence();
        let mut copier = Copying {
            target_path: target.to_owned(),
            capacity,
            region,
            held: None,
            board: MirroredBoard::new(source, target, &options.region, &origin),
            timeline: Timeline::recalibrating(Clock::calibrate()),
            now_ns: None,
            heartbeat_ns: 0,
            idle_polls: 0,
            next_sequence,
            first_sequence: next_sequence,
            mirrored: 0,
            lost: 0,
            reused: None,
        };
        copier.hold(continued.is_none())?;
        let follow = Self::follow(origin, &options).deadline(deadline);
        Ok(Some(Self { source_path: source.to_owned(), follow, copier, options }))
    }

    fn follow(origin: Origin, options: &MirrorOptions) -> Follow<Origin> {
        let follow = Follow::new(origin).shutdown(&options.shutdown);
        match options.strategy {
            Some(strategy) => follow.strategy(strategy),
            None => follow,
        }
    }

    /// Mirrors until the writer of the source exits, or a shutdown is requested. Events go to
    /// `report`. After an error the ring has a dead writer: its readers must not take it for whole.
    pub fn run(&mut self, mut report: impl FnMut(MirrorEvent<'_>)) -> Result<(), MirrorError> {
        let outcome = self.run_until(&mut report);
        if outcome.is_err() {
            self.copier.release(WriterState::Dead);
        }
        outcome
    }

    fn run_until(&mut self, report: &mut impl FnMut(MirrorEvent<'_>)) -> Result<(), MirrorError> {
        loop {
            match self.step(report)? {
                Ok(Step::Gone(state)) => {
                    self.copier.release(state);
                    report(MirrorEvent::WriterGone(state));
                    if !self.options.through_restarts {
                        return Ok(());
                    }
                }
                Ok(Step::Shutdown) => {
                    self.copier.release(WriterState::Closed);
                    return Ok(());
                }
                Ok(_) => {}
                Err(error) => {
                    let is_gone = error.is_lost_ring();
                    let last = self.copier.next_sequence.saturating_sub(1);
                    let error = error.at(&self.source_path, last);
                    if !is_gone || !self.options.through_restarts {
                        return Err(error);
                    }
                    self.copier.release(WriterState::Closed);
                    report(MirrorEvent::SourceGone(&error));
                    if !self.follow_next_ring()? {
                        return Ok(());
                    }
                    report(MirrorEvent::NextSource);
                }
            }
            if let Some(reused) = self.copier.reused.take() {
                self.copier.begin_again(reused.from)?;
                report(MirrorEvent::Reused(reused));
            }
        }
    }

    /// Copies the messages of one poll.
    fn step(
        &mut self,
        report: &mut impl FnMut(MirrorEvent<'_>),
    ) -> Result<Result<Step, MirrorError>, MirrorError> {
        let Self { follow, copier, .. } = self;
        copier.now_ns = None;
        let is_first = copier.mirrored == 0;
        let mut outcome = Ok(());
        let step = follow.step_by(|origin| {
            outcome = copier.check();
            if outcome.is_err() {
                return Ok(Progress::Stopped);
            }
            let polled = origin.poll(|item| match copier.take(item, report) {
                Ok(flow) => flow,
                Err(error) => {
                    outcome = Err(error);
                    ControlFlow::Break(())
                }
            });
            if matches!(polled, Ok(Progress::Nothing)) {
                copier.idle();
            }
            polled
        });
        outcome?;
        if matches!(step, Ok(Step::Read)) {
            copier.board.show(&mut copier.timeline);
        }
        if is_first && copier.mirrored > 0 && !self.options.through_restarts {
            // The source has a writer, or had one. The mirror ends with it, also if the next one
            // takes the source over before this process notices.
            let epoch = follow.tape().writer().epoch;
            follow.set_only_writer(epoch);
        }
        Ok(step)
    }

    /// Waits for the next ring of the name, and begins an empty one. Returns `false` after a
    /// shutdown.
    fn follow_next_ring(&mut self) -> Result<bool, MirrorError> {
        let forever = Deadline::after(Duration::MAX);
        let open = || Origin::open(&self.source_path);
        let opened = forever.open(&self.options.shutdown, MirrorError::is_pending, open)?;
        let Some(mut origin) = opened else { return Ok(false) };
        let copier = &mut self.copier;
        copier.region.created_ns = origin.identity()?;
        origin.seek(Start::Oldest)?;
        copier.board =
            MirroredBoard::new(&self.source_path, &copier.target_path, &copier.region, &origin);
        copier.begin_again(origin.next_sequence())?;
        self.follow = Self::follow(origin, &self.options);
        Ok(true)
    }

    /// The result so far.
    pub fn summary(&self) -> MirrorSummary {
        let Copying { first_sequence, next_sequence, mirrored, lost, .. } = self.copier;
        MirrorSummary { first_sequence, next_sequence, mirrored, lost }
    }

    /// The memory of the ring.
    pub fn residency(&self) -> Residency {
        self.copier.held.as_ref().map(|held| held.ring.region().residency()).unwrap_or_default()
    }

    /// The number of the mirror among the writers of its ring.
    pub fn writer_epoch(&self) -> Option<u64> {
        self.copier.held.as_ref().map(|held| held.ring.region().epoch())
    }
}

impl Copying {
    /// Becomes the writer of the ring; of an empty one if `replaces`.
    fn hold(&mut self, replaces: bool) -> Result<(), MirrorError> {
        let Self { target_path, capacity, region, .. } = self;
        let of_target = |error| MirrorError::of_ring(target_path, error);
        let mut ring =
            Target::create(target_path, *capacity, region, replaces).map_err(of_target)?;
        let shared = ring.region().share();
        let watch = Watch::calling(vec![shared], self.board.copying())
            .map_err(|error| MirrorError::Thread { error })?;
        let sequence = self.next_sequence;
        ring.skip_to(sequence)
            .map_err(|error| MirrorError::publish(target_path, sequence, error))?;
        ring.heartbeat(self.timeline.now_ns());
        self.board.enter(ring.region().epoch());
        self.held = Some(Held { ring, watch });
        Ok(())
    }

    /// Begins an empty ring at this number. Readers of the current one find it replaced.
    fn begin_again(&mut self, sequence: u64) -> Result<(), MirrorError> {
        self.release(WriterState::Closed);
        self.board.begin_again();
        self.next_sequence = sequence;
        self.hold(true)
    }

    /// Ends as the writer of the source did.
    fn release(&mut self, state: WriterState) {
        let Some(Held { ring, watch }) = self.held.take() else { return };
        // Its thread copies counters.
        drop(watch);
        self.board.release(state);
        if state == WriterState::Dead {
            ring.abandon();
        }
    }

    /// Whether the ring is still there. One load.
    #[inline]
    fn check(&self) -> Result<(), MirrorError> {
        match self.held.as_ref().and_then(|held| held.watch.loss()) {
            Some(loss) => Err(MirrorError::TargetGone { error: loss.clone() }),
            None => Ok(()),
        }
    }

    #[inline]
    fn take(
        &mut self,
        item: Item<'_>,
        report: &mut impl FnMut(MirrorEvent<'_>),
    ) -> Result<ControlFlow<()>, MirrorError> {
        if self.held.is_none() {
            // A writer has taken the source over.
            self.hold(false)?;
        }
        match item {
            Item::Message(message) => self.copy(&message)?,
            Item::Gap(gap) => {
                self.lost += gap.count();
                self.board.lose(&gap);
                self.skip_to(gap.to + 1)?;
                report(MirrorEvent::Lost(gap));
            }
            Item::Reused(reused) => {
                self.reused = Some(reused);
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    #[inline]
    fn copy(&mut self, message: &Message<'_>) -> Result<(), MirrorError> {
        let Message { sequence, type_id, payload, .. } = *message;
        let now_ns = match message.ts {
            Some(ts) => ts.unix_ns(),
            None => *self.now_ns.get_or_insert_with(|| self.timeline.now_ns()),
        };
        self.board.before(sequence, type_id, payload)?;
        let Some(held) = &mut self.held else { return Ok(()) };
        held.ring
            .append_at(sequence, type_id, UtcNanos::of_unix_ns(now_ns), payload)
            .map_err(|error| MirrorError::publish(&self.target_path, sequence, error))?;
        self.next_sequence = sequence + 1;
        self.mirrored += 1;
        Ok(())
    }

    fn skip_to(&mut self, sequence: u64) -> Result<(), MirrorError> {
        let Some(held) = &mut self.held else { return Ok(()) };
        held.ring
            .skip_to(sequence)
            .map_err(|error| MirrorError::publish(&self.target_path, sequence, error))?;
        self.next_sequence = sequence;
        Ok(())
    }

    /// After a poll without messages: shows now and then that the mirror is alive.
    fn idle(&mut self) {
        self.idle_polls = self.idle_polls.wrapping_add(1);
        if !self.idle_polls.is_multiple_of(IDLE_POLLS) {
            return;
        }
        let now_ns = self.timeline.now_ns();
        if let Some(held) = &mut self.held
            && now_ns.saturating_sub(self.heartbeat_ns) >= HEARTBEAT_NS
        {
            held.ring.heartbeat(now_ns);
            self.heartbeat_ns = now_ns;
        }
    }
}
