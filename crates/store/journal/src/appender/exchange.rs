//! The state that the appender shares with its threads.
//!
//! Protocol: the appender locks the state only at a roll. No thread holds that lock while it waits
//! for the disk: the thread that creates a segment sets a flag instead. A sync holds a second lock.
//! Three words need no lock: the appender's progress, the words in memory ahead of it, and the
//! alarm of a thread.

use std::{
    collections::VecDeque,
    io,
    path::PathBuf,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use nanotape_shm::Word;

use super::{
    prepare::{Plan, Prepared, prepare},
    sync::Syncer,
};
use crate::{
    ErrorKind, JournalError,
    disk::{Disk, Whereabouts},
    names,
    progress::Progress,
};

/// The state that the appender shares with its threads.
#[derive(Debug)]
pub(crate) struct Exchange<D: Disk> {
    state: Mutex<State<D>>,
    /// Signaled when a segment was created or its creation failed.
    made: Condvar,
    /// The progress of syncs. Locked during a sync.
    syncer: Mutex<Syncer>,
    /// The word up to which the active segment is committed. Stored by the appender.
    pub(crate) progress: Progress,
    /// Words after `progress` that are in memory. Stored by the pretoucher.
    ahead: Line,
    /// Not 0: the next append returns an error of a thread. Stored with the state locked.
    alarm: Line,
    /// Not 0: the folder of the journal has another path. Stored with the state locked.
    moved: Line,
    /// Not 0: the threads must end.
    stop: Word,
}

/// A word on its own cache line.
#[derive(Debug)]
#[repr(align(128))]
struct Line(Word);

#[derive(Debug)]
pub(crate) struct State<D: Disk> {
    /// Segments that are ready to become active, in order.
    pub(crate) prepared: VecDeque<Prepared<D::Writable>>,
    /// The number of the next segment to prepare.
    pub(crate) next_number: u64,
    /// Whether a thread is creating that segment now.
    is_preparing: bool,
    /// The error of the last attempt to create a segment.
    refused: Option<ErrorKind>,
    /// Whether the pretoucher must retry now.
    pub(crate) is_wanted: bool,
    /// The active segment: its number and file.
    pub(crate) active: Option<(u64, Arc<D::Writable>)>,
    /// Closed segments that still need work.
    pub(crate) retired: VecDeque<Retired<D>>,
    /// A thread ended, or its data is damaged. Each append returns this error.
    failure: Option<JournalError>,
    /// Errors of threads; each is returned by one append.
    warnings: VecDeque<JournalError>,
    /// The path that the folder of the journal has now, if it was renamed.
    moved_to: Option<PathBuf>,
}

/// A segment that has just been closed.
#[derive(Debug)]
pub(crate) struct Retired<D: Disk> {
    pub(crate) number: u64,
    /// Bytes up to and including the end mark.
    pub(crate) bytes: u64,
    /// Its mapping, which a thread other than the appender's unmaps.
    pub(crate) file: Arc<D::Writable>,
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
            failure: None,
            warnings: VecDeque::new(),
            moved_to: None,
        };
        let line = || Line(Word::new(0));
        Self {
            state: Mutex::new(state),
            made: Condvar::new(),
            syncer: Mutex::default(),
            progress: Progress::new(),
            ahead: line(),
            alarm: line(),
            moved: line(),
            stop: Word::new(0),
        }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State<D>> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// The syncer, locked: one thread syncs at a time.
    pub(crate) fn lock_syncer(&self) -> MutexGuard<'_, Syncer> {
        self.syncer.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Gives the unused ends of closed segments back to the disk.
    pub(crate) fn give_back_ends(&self, disk: &D) {
        loop {
            let Some(Retired { number, bytes, file }) = self.lock().retired.pop_front() else {
                return;
            };
            drop(file);
            // A failure costs only space, until the segment is compressed or removed.
            let _ = disk.shrink(&names::segment(number), bytes);
        }
    }

    /// The next segment: already prepared, being prepared by another thread, or created now.
    pub(crate) fn take_prepared(
        &self,
        disk: &D,
        plan: &Plan,
    ) -> Result<Prepared<D::Writable>, JournalError> {
        let number = {
            let is_to_wait = |state: &mut State<D>| state.prepared.is_empty() && state.is_preparing;
            let waited = self.made.wait_while(self.lock(), is_to_wait);
            let mut state = waited.unwrap_or_else(|poisoned| poisoned.into_inner());
            if let Some(error) = &state.failure {
                return Err(error.clone());
            }
            if let Some(prepared) = state.prepared.pop_front() {
                return Ok(prepared);
            }
            state.is_preparing = true;
            state.next_number
        };
        let making = Making { exchange: self, is_watched: false };
        let prepared = prepare(disk, plan, number)?;
        let mut state = self.lock();
        (state.next_number, state.refused) = (number + 1, None);
        drop(state);
        drop(making);
        Ok(prepared)
    }

    /// Waits until a segment is prepared or a thread has ended, for at most `patience`. The error
    /// has the number of the missing segment.
    pub(crate) fn wait_until_prepared(&self, patience: Duration) -> Result<(), (u64, ErrorKind)> {
        let is_there = |state: &State<D>| !state.prepared.is_empty() || state.failure.is_some();
        let is_to_wait = |state: &mut State<D>| !is_there(state) && state.refused.is_none();
        let waited = self.made.wait_timeout_while(self.lock(), patience, is_to_wait);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        // If a thread has ended, the append returns its error.
        if is_there(&state) {
            return Ok(());
        }
        // The segment is retried soon; until then `refused` keeps the reason.
        state.is_wanted = true;
        let problem = state.refused.clone().unwrap_or(ErrorKind::NotReady { waited: patience });
        Err((state.next_number, problem))
    }

    /// Creates a segment if fewer than `wanted` are prepared and no other thread creates one;
    /// returns whether more are needed. For threads that this has started.
    pub(crate) fn prepare_ahead(
        &self,
        disk: &D,
        plan: &Plan,
        wanted: usize,
    ) -> Result<bool, JournalError> {
        let number = {
            let mut state = self.lock();
            if state.prepared.len() >= wanted || state.is_preparing {
                return Ok(false);
            }
            (state.is_preparing, state.is_wanted) = (true, false);
            state.next_number
        };
        let making = Making { exchange: self, is_watched: true };
        let made = prepare(disk, plan, number);
        let mut state = self.lock();
        state.refused = made.as_ref().err().map(|error| error.kind().clone());
        state.prepared.push_back(made?);
        state.next_number += 1;
        let is_more = state.prepared.len() < wanted;
        drop(state);
        drop(making);
        Ok(is_more)
    }

    /// Whether no segment is prepared, and no thread creates one.
    pub(crate) fn is_segment_due(&self) -> bool {
        let state = self.lock();
        state.prepared.is_empty() && !state.is_preparing
    }

    pub(crate) fn bytes_ahead(&self) -> u64 {
        self.ahead.0.as_read_only().load() * 8
    }

    pub(crate) fn set_words_ahead(&self, words: usize) {
        self.ahead.0.store(words as u64);
    }

    #[inline(always)]
    pub(crate) fn has_alarm(&self) -> bool {
        self.alarm.0.as_read_only().load() != 0
    }

    /// Returns the error of the alarm, and clears the alarm unless the error is permanent.
    pub(crate) fn take_alarm(&self) -> Option<JournalError> {
        let mut state = self.lock();
        if state.failure.is_some() {
            return state.failure.clone();
        }
        let error = state.warnings.pop_front();
        if state.warnings.is_empty() {
            self.alarm.0.store(0);
        }
        error
    }

    /// Makes the next append return this error, unless one of the same kind is pending.
    pub(crate) fn warn(&self, error: JournalError) {
        let mut state = self.lock();
        let is_same = |other: &JournalError| {
            std::mem::discriminant(other.kind()) == std::mem::discriminant(error.kind())
        };
        if !state.warnings.iter().any(is_same) {
            state.warnings.push_back(error);
        }
        self.alarm.0.store(1);
    }

    /// Makes each later append return this error.
    pub(crate) fn fail(&self, error: JournalError) {
        let mut state = self.lock();
        state.failure.get_or_insert(error);
        self.alarm.0.store(1);
    }

    /// Checks that the active segment still has its name and the folder its path. Makes system
    /// calls, so threads call it rarely.
    pub(crate) fn watch_place(&self, disk: &D) {
        let Some((number, file)) = self.lock().active.clone() else { return };
        let name = names::segment(number);
        match disk.whereabouts(&name, &file) {
            Whereabouts::InPlace => {}
            Whereabouts::Moved(path) => {
                self.lock().moved_to = Some(path);
                self.moved.0.store(1);
            }
            // A segment that was closed meanwhile may be pruned: before that, it is not the active
            // one any more.
            Whereabouts::Gone if self.active_number() != Some(number) => {}
            Whereabouts::Gone => self.fail(JournalError::new(disk.path(&name), ErrorKind::Gone)),
        }
    }

    fn active_number(&self) -> Option<u64> {
        self.lock().active.as_ref().map(|(number, _)| *number)
    }

    /// The path that the folder of the journal has now, if it was renamed.
    pub(crate) fn moved_to(&self) -> Option<PathBuf> {
        let is_moved = self.moved.0.as_read_only().load() != 0;
        if is_moved { self.lock().moved_to.clone() } else { None }
    }

    /// Ends the creation of a segment, whether it succeeded or failed.
    fn end_making(&self, mut state: MutexGuard<'_, State<D>>) {
        state.is_preparing = false;
        drop(state);
        self.made.notify_one();
    }

    /// The error that each append returns, if there is one.
    pub(crate) fn failure(&self) -> Option<JournalError> {
        self.lock().failure.clone()
    }

    pub(crate) fn stop(&self) {
        self.stop.store(1);
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.as_read_only().load() != 0
    }

    /// Starts a thread of the appender. If it panics, each later append returns an error.
    pub(crate) fn start(
        self: &Arc<Self>,
        name: &'static str,
        disk: &D,
        run: impl FnOnce() + Send + 'static,
    ) -> io::Result<std::thread::JoinHandle<()>> {
        let watch = Watch { exchange: Arc::clone(self), folder: disk.path(""), name };
        std::thread::Builder::new().name(name.to_owned()).spawn(move || {
            let _watch = watch;
            run();
        })
    }
}

/// Held while the next segment is created. Other threads can try once it is dropped.
struct Making<'a, D: Disk> {
    exchange: &'a Exchange<D>,
    /// Whether its thread has a [`Watch`], which ends the creation if the thread panics, after it
    /// reported the panic.
    is_watched: bool,
}

impl<D: Disk> Drop for Making<'_, D> {
    fn drop(&mut self) {
        if !(self.is_watched && std::thread::panicking()) {
            self.exchange.end_making(self.exchange.lock());
        }
    }
}

/// Dropped when a thread ends.
struct Watch<D: Disk> {
    exchange: Arc<Exchange<D>>,
    folder: PathBuf,
    name: &'static str,
}

impl<D: Disk> Drop for Watch<D> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let problem = ErrorKind::ThreadEnded { name: self.name };
            self.exchange.fail(JournalError::new(&self.folder, problem));
            // If the appender waits for a segment of this thread, it finds the failure.
            self.exchange.end_making(self.exchange.lock());
        }
    }
}
