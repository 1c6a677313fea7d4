//! The helper: a thread that does for the appender what would make it wait.
//!
//! It keeps the next segment ready, brings pages in front of the appender into memory, syncs now and then
//! if that is the policy, gives the unused end of closed segments back, and says that they are closed.
//!
//! Protocol: the appender takes a lock at a roll, and only then, and sleeps there if the next segment is just
//! being made; the helper holds it for some stores, never while it waits for the disk. Else the two share
//! three words: how far the appender is, in which segment, and whether the helper has bad news.
//! Cost: the helper looks every millisecond while the appender goes on, and every 20 ms while it does not.

use std::{
    collections::VecDeque,
    sync::{Arc, Condvar, Mutex, MutexGuard},
    thread::JoinHandle,
    time::Duration,
};

use nanotape_clock::Clock;
use nanotape_shm::Word;

use super::{
    prepare::{Plan, Prepared, prepare},
    sync::Syncer,
};
use crate::{
    ClosedSegment, JournalError, Problem, SyncPolicy,
    disk::{Disk, WritableFile as _},
    edges::PROGRESS,
    error::errno,
    names,
};

/// How long it sleeps while the appender goes on.
const SHORT: Duration = Duration::from_millis(1);

/// How long while it does not.
const LONG: Duration = Duration::from_millis(20);

/// The least it sleeps, however soon the next sync is due.
const LEAST: Duration = Duration::from_micros(50);

/// How many short sleeps without anything new make it sleep long.
const PATIENCE: u32 = 100;

/// How many long sleeps it lets pass between tries to make a segment that could not be made.
const RETRY: u32 = 5;

/// What the appender and the helper share.
#[derive(Debug)]
pub(crate) struct Exchange<D: Disk> {
    state: Mutex<State<D>>,
    /// Told when the helper has made a segment, or could not.
    pub(super) made: Condvar,
    /// The word up to which the active segment is committed. Stored by the appender.
    progress: Line,
    /// Words in front of that which are in memory. Stored by the helper.
    ahead: Line,
    /// Not 0: the helper could not sync. Stored by both.
    alarm: Line,
    /// Not 0: the helper is to end.
    stop: Word,
}

/// A word on a line of its own.
#[derive(Debug)]
#[repr(align(128))]
struct Line(Word);

#[derive(Debug)]
pub(crate) struct State<D: Disk> {
    /// Ready to become active, in order.
    pub(crate) prepared: VecDeque<Prepared<D::Writable>>,
    /// The number that the next one to be prepared has.
    pub(crate) next_number: u64,
    /// Whether the helper is just making that one.
    pub(crate) is_preparing: bool,
    /// Why the helper could not make it when it tried last.
    pub(crate) refused: Option<Problem>,
    /// Whether the helper is to try again now.
    pub(crate) is_wanted: bool,
    /// The active one.
    pub(crate) active: Option<(u64, Arc<D::Writable>)>,
    /// Closed, and not yet looked after.
    pub(crate) retired: VecDeque<Retired<D>>,
    /// Why the helper could not sync.
    pub(crate) sync_error: Option<JournalError>,
}

/// A segment that has just been closed.
#[derive(Debug)]
pub(crate) struct Retired<D: Disk> {
    pub(crate) file: Arc<D::Writable>,
    pub(crate) closed: ClosedSegment,
}

impl<D: Disk> State<D> {
    /// The number of the segment that becomes active next.
    pub(crate) fn next_to_enter(&self) -> u64 {
        self.prepared.front().map_or(self.next_number, |prepared| prepared.header.number)
    }
}

impl<D: Disk> Exchange<D> {
    pub(crate) fn new(next_number: u64, prepared: VecDeque<Prepared<D::Writable>>) -> Self {
        let state = State {
            prepared,
            next_number,
            is_preparing: false,
            refused: None,
            is_wanted: false,
            active: None,
            retired: VecDeque::with_capacity(64),
            sync_error: None,
        };
        let line = || Line(Word::new(0));
        Self {
            state: Mutex::new(state),
            made: Condvar::new(),
            progress: line(),
            ahead: line(),
            alarm: line(),
            stop: Word::new(0),
        }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State<D>> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// The state when the helper is not making a segment, or as soon as it has made the one it is at.
    pub(crate) fn lock_when_made(&self) -> MutexGuard<'_, State<D>> {
        let is_to_wait = |state: &mut State<D>| state.prepared.is_empty() && state.is_preparing;
        let waited = self.made.wait_while(self.lock(), is_to_wait);
        waited.unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    #[inline(always)]
    pub(crate) fn set_progress(&self, at: usize) {
        // SYNC(journal.progress): pairs with the look in `progress`.
        self.progress.0.publish(at as u64, PROGRESS);
    }

    fn progress(&self) -> usize {
        // SYNC(journal.progress): pairs with the store in `set_progress`.
        self.progress.0.as_read_only().observe(PROGRESS) as usize
    }

    pub(crate) fn bytes_ahead(&self) -> u64 {
        self.ahead.0.as_read_only().load() * 8
    }

    #[inline(always)]
    pub(crate) fn has_alarm(&self) -> bool {
        self.alarm.0.as_read_only().load() != 0
    }

    /// What the alarm was about, which is over with this.
    pub(crate) fn take_alarm(&self) -> Option<JournalError> {
        self.alarm.0.store(0);
        self.lock().sync_error.take()
    }
}

/// What is to be called for each closed segment.
pub(crate) type OnRoll = Box<dyn FnMut(&ClosedSegment) + Send>;

/// What the helper works with.
pub(crate) struct Helper<D: Disk> {
    pub(crate) disk: D,
    pub(crate) plan: Plan,
    pub(crate) policy: SyncPolicy,
    /// Words in front of the appender that are to be in memory.
    pub(crate) ahead: usize,
    pub(crate) on_roll: Option<OnRoll>,
    pub(crate) exchange: Arc<Exchange<D>>,
    syncer: Syncer,
    /// The segment and the word before which pages were brought in.
    touched: (u64, usize),
    /// Rounds until the next try to prepare.
    pause: u32,
}

impl<D: Disk> std::fmt::Debug for Helper<D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Helper").field("plan", &self.plan).finish_non_exhaustive()
    }
}

/// The helper at work in its thread; dropping it ends the thread and waits for that.
#[derive(Debug)]
pub(crate) struct Running<D: Disk> {
    exchange: Arc<Exchange<D>>,
    thread: Option<JoinHandle<()>>,
}

impl<D: Disk> Helper<D> {
    pub(crate) fn new(
        disk: D,
        plan: Plan,
        policy: SyncPolicy,
        ahead_bytes: u64,
        exchange: Arc<Exchange<D>>,
    ) -> Self {
        Self {
            disk,
            plan,
            policy,
            ahead: usize::try_from(ahead_bytes / 8).unwrap_or(usize::MAX / 2),
            on_roll: None,
            exchange,
            syncer: Syncer::default(),
            touched: (0, 0),
            pause: 0,
        }
    }

    /// Starts the thread.
    pub(crate) fn start(self) -> std::io::Result<Running<D>> {
        let exchange = Arc::clone(&self.exchange);
        let thread = std::thread::Builder::new().name("journal-helper".into());
        let thread = Some(thread.spawn(move || self.run())?);
        Ok(Running { exchange, thread })
    }

    fn run(mut self) {
        let clock = Clock::monotonic();
        let (mut seen, mut idle, mut synced) = (usize::MAX, 0, clock.stamp());
        while self.exchange.stop.as_read_only().load() == 0 {
            let is_behind = self.keep_prepared();
            self.touch_ahead();
            self.look_after_closed();
            let mut time = if idle < PATIENCE { SHORT } else { LONG };
            if let SyncPolicy::Every(period) = self.policy {
                let since = Duration::from_nanos(clock.nanos_between(synced, clock.stamp()));
                if since >= period {
                    synced = clock.stamp();
                    self.sync();
                }
                time = time.min(period.saturating_sub(since)).max(LEAST);
            }
            let now = self.exchange.progress();
            idle = if now == seen { idle + 1 } else { 0 };
            seen = now;
            if !is_behind {
                std::thread::park_timeout(time);
            }
        }
        self.look_after_closed();
    }

    /// Sees to it that what is in front of the appender, in bytes, is prepared: one segment at least. Makes
    /// one at a time, because other work waits, and says whether there is more to make.
    fn keep_prepared(&mut self) -> bool {
        if self.pause > 0 {
            self.pause -= 1;
            if !self.exchange.lock().is_wanted {
                return false;
            }
        }
        let wanted = 1 + self.ahead / self.plan.layout.words;
        let number = {
            let mut state = self.exchange.lock();
            if state.prepared.len() >= wanted {
                return false;
            }
            (state.is_preparing, state.is_wanted) = (true, false);
            state.next_number
        };
        let made = prepare(&self.disk, &self.plan, number);
        let mut state = self.exchange.lock();
        state.is_preparing = false;
        self.exchange.made.notify_one();
        state.refused = made.as_ref().err().map(|error| error.problem().clone());
        match made {
            Ok(prepared) => {
                state.prepared.push_back(prepared);
                state.next_number += 1;
                state.prepared.len() < wanted
            }
            // The appender says why, if it comes to need it.
            Err(_) => {
                self.pause = RETRY * (LONG.as_millis() / SHORT.as_millis()) as u32;
                false
            }
        }
    }

    /// Brings in the pages in front of the appender, also those of the next segments.
    fn touch_ahead(&mut self) {
        let (mut files, mut at) = {
            let state = self.exchange.lock();
            let Some(active) = &state.active else { return };
            let mut files = vec![(active.0, Arc::clone(&active.1))];
            files.extend(state.prepared.iter().map(|p| (p.header.number, Arc::clone(&p.file))));
            (files.into_iter(), self.exchange.progress())
        };
        let mut left = self.ahead;
        while let Some((number, file)) = files.next()
            && left > 0
        {
            let end = (at + left).min(file.words().len());
            let from = match self.touched {
                (touched, to) if touched == number => to.max(at),
                (touched, _) if touched > number => end,
                _ => at,
            };
            // In pieces, so that a roll does not wait for the kernel's lock on the memory map.
            const PIECE: usize = 1 << 17;
            let mut piece = from;
            while piece < end {
                file.touch(piece..(piece + PIECE).min(end));
                piece += PIECE;
            }
            if (number, end) > self.touched {
                self.touched = (number, end);
            }
            left -= (end - at).min(left);
            at = 0;
        }
        self.exchange.ahead.0.store((self.ahead - left) as u64);
    }

    fn look_after_closed(&mut self) {
        loop {
            let Some(Retired { file, closed }) = self.exchange.lock().retired.pop_front() else {
                return;
            };
            drop(file);
            close(&self.disk, &closed, self.on_roll.as_mut());
        }
    }

    fn sync(&mut self) {
        let Some((number, file)) = self.exchange.lock().active.clone() else { return };
        let at = self.exchange.progress();
        // What it said may be of the segment behind this one by now.
        let is_still = self.exchange.lock().active.as_ref().is_some_and(|now| now.0 == number);
        if !is_still || self.syncer.is_done(number, at) {
            return;
        }
        if let Err(error) = self.syncer.sync(&self.disk, &file, number, at) {
            let path = self.disk.path(&names::segment(number));
            let errno = errno(&error);
            let error = JournalError::new(path, Problem::System { operation: "sync", errno });
            self.exchange.lock().sync_error = Some(error);
            self.exchange.alarm.0.store(1);
        }
    }
}

/// What is done with a segment that is closed: its unused end goes back to the disk.
pub(crate) fn close<D: Disk>(disk: &D, closed: &ClosedSegment, on_roll: Option<&mut OnRoll>) {
    // If that fails, only room is lost, until it is compressed or removed.
    let _ = disk.shrink(&names::segment(closed.number), closed.bytes);
    if let Some(on_roll) = on_roll {
        on_roll(closed);
    }
}

impl<D: Disk> Drop for Running<D> {
    fn drop(&mut self) {
        self.exchange.stop.store(1);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}
