//! Keeps the messages of any source in a journal, under their numbers and with their times.
//!
//! Where: the recorder of a ring, and whatever else follows a stream onto a disk. A [`KeeperHook`]
//! stores what belongs beside the journal, and reports.
//! Protocol: a keeper continues after the last excerpt. Numbers that the source lost are skipped
//! before the next message, so that readers of the journal see a gap. Numbers that the source gives
//! again are given back: their excerpts are set aside, and never mix with the next ones. A message
//! without a time gets that of the poll that read it: the clock is read once a poll.
//! Failure: while the disk is full, the keeper waits for room and attempts the same again. A
//! journal that is removed, replaced or renamed ends the keeping. So does a hook that fails.
//! Cost: two loads a poll and those of the appender a message; no allocation, no lock.

use std::{fmt, ops::ControlFlow, path::PathBuf, time::Duration};

use nanotape_clock::{Clock, Timeline};
use nanotape_tape::{Follow, Gap, Item, Message, Progress, Reused, ShutdownFlag, Source, Step};

use crate::{Appender, JournalError};

/// How long to wait for room on the disk before the next attempt.
const RETRY: Duration = Duration::from_millis(100);

/// Keeps a source in a journal.
pub struct Keeper<S: Source> {
    follow: Follow<S>,
    appender: Appender,
    /// Times of messages without one: they never decrease, and follow the kernel's clock over a
    /// long day.
    timeline: Timeline,
    /// The time of this poll's excerpts, once the clock was read.
    now_ns: Option<u64>,
    shutdown: ShutdownFlag,
    first: u64,
    kept: u64,
    lost: u64,
}

/// What else happens with the messages that a keeper stores.
pub trait KeeperHook<S> {
    /// Why the keeping ends.
    type Error: From<KeeperError>;

    /// Whether the disk is full: then the keeper waits, and attempts it again.
    fn is_full(error: &Self::Error) -> bool;

    /// A poll of the source begins.
    #[inline]
    fn begin_poll(&mut self, source: &S) {
        let _ = source;
    }

    /// An item was read.
    #[inline]
    fn read(&mut self, item: &Item<'_>) {
        let _ = item;
    }

    /// Called before a message is appended, to store what must be on the disk before it. Called
    /// again after an error of a full disk.
    #[inline]
    fn before(&mut self, message: &Message<'_>) -> Result<(), Self::Error> {
        let _ = message;
        Ok(())
    }

    /// The item is in the journal.
    #[inline]
    fn appended(&mut self) {}

    /// The journal was synced after it, as its policy requires.
    #[inline]
    fn synced(&mut self) {}

    /// The source lost messages.
    fn lost(&mut self, gap: &Gap) {
        let _ = gap;
    }

    /// The source gives numbers again, and the journal has given them back.
    fn reused(&mut self, reused: &Reused) {
        let _ = reused;
    }

    /// The disk is full, and the keeper waits for room.
    fn no_room(&mut self, error: &Self::Error) {
        let _ = error;
    }

    /// The disk has room again.
    fn room_again(&mut self) {}
}

/// Why a journal cannot keep a message.
#[derive(Debug, thiserror::Error)]
pub enum KeeperError {
    /// The journal cannot be written.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The folder of the journal was renamed.
    #[error(
        "{}: the folder of the journal was renamed to {}; everything up to message {last} is there",
        journal.display(),
        now_at.display()
    )]
    Moved {
        /// The path at which it was opened.
        journal: PathBuf,
        /// Its path now.
        now_at: PathBuf,
        /// The last message that was kept.
        last: u64,
    },
}

impl<S: Source<Error: fmt::Debug> + fmt::Debug> fmt::Debug for Keeper<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { follow, appender, .. } = self;
        let mut shown = f.debug_struct("Keeper");
        shown.field("follow", follow).field("appender", appender).finish_non_exhaustive()
    }
}

impl<S: Source> Keeper<S> {
    /// Keeps what `follow` reads, whose next number is that of the appender.
    pub fn new(follow: Follow<S>, appender: Appender, shutdown: &ShutdownFlag) -> Self {
        Self {
            follow,
            first: appender.next_sequence(),
            appender,
            timeline: Timeline::recalibrating(Clock::calibrate()),
            now_ns: None,
            shutdown: shutdown.clone(),
            kept: 0,
            lost: 0,
        }
    }

    /// Keeps the messages of one step of the follower. The outer error is that of the journal or
    /// the hook, the inner one that of the source.
    pub fn step<H: KeeperHook<S>>(
        &mut self,
        hook: &mut H,
    ) -> Result<Result<Step, S::Error>, H::Error> {
        let Self { follow, appender, timeline, now_ns, shutdown, kept, lost, .. } = self;
        *now_ns = None;
        let mut writing = Writing { appender, timeline, now_ns, shutdown, kept, lost };
        let mut outcome = Ok(());
        let step = follow.step_by(|source| {
            hook.begin_poll(source);
            outcome = check(writing.appender).map_err(H::Error::from);
            if outcome.is_err() {
                return Ok(Progress::Stopped);
            }
            source.poll(|item| {
                hook.read(&item);
                outcome = writing.keep(item, hook);
                if outcome.is_ok() {
                    hook.appended();
                    outcome = writing.sync(hook);
                }
                if outcome.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            })
        });
        outcome?;
        Ok(step)
    }

    /// The follower.
    pub fn follow(&self) -> &Follow<S> {
        &self.follow
    }

    /// The follower, to change what it follows.
    pub fn follow_mut(&mut self) -> &mut Follow<S> {
        &mut self.follow
    }

    /// The journal.
    pub fn appender(&self) -> &Appender {
        &self.appender
    }

    /// Returns the error of a journal that is no longer in its place, if a thread found that. Two
    /// loads.
    #[inline]
    pub fn check(&self) -> Result<(), KeeperError> {
        check(&self.appender)
    }

    /// The time of this poll: the first call reads the clock.
    #[inline]
    pub fn now_ns(&mut self) -> u64 {
        *self.now_ns.get_or_insert_with(|| self.timeline.now_ns())
    }

    /// The number of the first message to keep.
    pub fn first_sequence(&self) -> u64 {
        self.first
    }

    /// Number of kept messages.
    pub fn kept(&self) -> u64 {
        self.kept
    }

    /// Number of lost messages.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Counts messages that were kept as lost, such as those of a journal that was removed.
    pub fn count_as_lost(&mut self, messages: u64) {
        let messages = messages.min(self.kept);
        self.kept -= messages;
        self.lost += messages;
    }

    /// Closes the journal, synced as its policy requires.
    pub fn close(self) -> Result<(), JournalError> {
        self.appender.close()
    }
}

/// The side of the journal, while the follower is borrowed.
struct Writing<'a> {
    appender: &'a mut Appender,
    timeline: &'a mut Timeline,
    now_ns: &'a mut Option<u64>,
    shutdown: &'a ShutdownFlag,
    kept: &'a mut u64,
    lost: &'a mut u64,
}

impl Writing<'_> {
    #[inline(always)]
    fn keep<S, H: KeeperHook<S>>(&mut self, item: Item<'_>, hook: &mut H) -> Result<(), H::Error> {
        match item {
            Item::Message(message) => self.append(&message, hook),
            Item::Gap(gap) => {
                *self.lost += gap.count();
                hook.lost(&gap);
                Ok(())
            }
            Item::Reused(reused) => self.give_back(&reused, hook),
        }
    }

    #[inline(always)]
    fn append<S, H: KeeperHook<S>>(
        &mut self,
        message: &Message<'_>,
        hook: &mut H,
    ) -> Result<(), H::Error> {
        if let Err(error) = hook.before(message) {
            self.retry(error, hook, |_, hook| hook.before(message))?;
        }
        let Message { sequence, type_id, payload, .. } = *message;
        if sequence != self.appender.next_sequence() {
            self.appender.skip_to(sequence).map_err(KeeperError::from)?;
        }
        let ts_ns = self.ts_ns(message);
        if let Err(error) = self.appender.append_unsynced(type_id, ts_ns, payload) {
            self.retry(KeeperError::from(error).into(), hook, |writing, _: &mut H| {
                *writing.now_ns = None;
                let ts_ns = writing.ts_ns(message);
                let appended = writing.appender.append_unsynced(type_id, ts_ns, payload);
                Ok(appended.map(drop).map_err(KeeperError::from)?)
            })?;
        }
        *self.kept += 1;
        Ok(())
    }

    #[cold]
    fn give_back<S, H: KeeperHook<S>>(
        &mut self,
        reused: &Reused,
        hook: &mut H,
    ) -> Result<(), H::Error> {
        if reused.from < self.appender.next_sequence() {
            self.appender.rewind_to(reused.from).map_err(KeeperError::from)?;
        }
        hook.reused(reused);
        Ok(())
    }

    /// Syncs the journal if its policy requires that now.
    #[inline(always)]
    fn sync<S, H: KeeperHook<S>>(&mut self, hook: &mut H) -> Result<(), H::Error> {
        if self.appender.sync_if_due().map_err(KeeperError::from)? {
            hook.synced();
        }
        Ok(())
    }

    /// If the disk is full, waits for room and attempts it again.
    #[cold]
    fn retry<S, H: KeeperHook<S>>(
        &mut self,
        mut error: H::Error,
        hook: &mut H,
        attempt: impl Fn(&mut Self, &mut H) -> Result<(), H::Error>,
    ) -> Result<(), H::Error> {
        let mut is_reported = false;
        loop {
            if !H::is_full(&error) || self.shutdown.is_requested() {
                return Err(error);
            }
            if !is_reported {
                hook.no_room(&error);
                is_reported = true;
            }
            self.shutdown.sleep(RETRY);
            check(self.appender)?;
            match attempt(self, hook) {
                Ok(()) => break,
                Err(again) => error = again,
            }
        }
        hook.room_again();
        Ok(())
    }

    /// The time of a message: its own, or that of this poll.
    #[inline]
    fn ts_ns(&mut self, message: &Message<'_>) -> u64 {
        match message.ts {
            Some(ts) => ts.unix_ns(),
            None => *self.now_ns.get_or_insert_with(|| self.timeline.now_ns()),
        }
    }
}

#[inline]
fn check(appender: &Appender) -> Result<(), KeeperError> {
    appender.check()?;
    match appender.moved_to() {
        None => Ok(()),
        Some(now_at) => Err(KeeperError::Moved {
            journal: appender.path(),
            now_at,
            last: appender.next_sequence() - 1,
        }),
    }
}
