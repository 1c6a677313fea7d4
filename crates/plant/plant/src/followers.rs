//! Named followers: readers of a ring in other processes that a plant waits for.
//!
//! Where: [`PlantRun`](crate::PlantRun) waits for them before its first record, and the
//! [gate](crate::gate) of the publisher afterwards. A follower is a
//! `Subscription` or a `Recorder` with a name.
//! Layout: `docs/formats/follower.md`: each follower owns a region beside the ring, in which it
//! shows its position.
//! Protocol: a follower joins the ring of a living writer, then creates its region. The plant finds
//! the regions in the folder of the ring. It publishes its first record when enough followers have
//! joined, and waits when the slowest one is half a ring behind. A thread checks every [`CHECK`]
//! whether a follower ended or another one joined.
//!
//! Why nothing is lost, and nothing waits for ever:
//! - *A follower starts first.* It waits for a living writer. *The plant starts first:* it waits.
//! - *A follower joins later.* The plant waits for it from the next check on. It does not count for
//!   the result of the run, which promises only something to those that joined before it.
//! - *A follower is frozen.* The plant waits. It shows on its board for whom, and ends on request.
//! - *A follower is killed, or ends.* The kernel releases the lock of its region. The plant reports
//!   it, goes on without it, and the result of the run is that it did not read everything.
//! - *One of the same name joins again.* The plant waits for it again. If it begins at or before
//!   the message at which the previous one ended, and the ring still has that, nothing is missing.
//! - *The plant ends.* It closes the ring, and waits until every follower has read the last record
//!   or ended. A follower of that writer does not count for the next plant.
//! - *The plant is killed.* Followers drain the ring, as every reader does.
//!
//! Failure: a region is untrusted: its numbers decide only how long the plant waits and what is
//! reported. A region of another user than the ring's is ignored.
//! Cost: the publisher loads one word of each follower when it has published half a ring since it
//! last did so. A follower stores two words a poll.

mod held;
#[cfg(test)]
mod tests;

use std::{
    fmt, io,
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use nanotape_board::FollowerReader;
use nanotape_tape::ShutdownFlag;

use crate::config::MIN_CAPACITY_BYTES;
use held::Roster;

/// Time between two checks of the followers.
const CHECK: Duration = Duration::from_millis(20);

/// Most followers that a plant waits for.
pub const MOST_FOLLOWERS: usize = 64;

/// Receives the lines that a plant reports to its operator, from its threads. Copies share the
/// receiver.
#[derive(Clone)]
pub struct Report(Arc<dyn Fn(Reported<'_>) + Send + Sync>);

/// A line that a plant reports to its operator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reported<'a> {
    /// What the plant waits for, the followers that joined, and the usual course of a live session.
    Note(&'a str),
    /// Something is wrong: a follower or the recorder failed.
    Problem(&'a str),
}

impl<'a> Reported<'a> {
    /// A line of a live source.
    pub(crate) fn of(line: &'a nanotape_live::NewsLine) -> Self {
        match line.is_problem {
            true => Self::Problem(&line.text),
            false => Self::Note(&line.text),
        }
    }
}

impl Report {
    /// Lines go to this function.
    pub fn new(report: impl Fn(Reported<'_>) + Send + Sync + 'static) -> Self {
        Self(Arc::new(report))
    }

    /// Reports a line.
    pub fn pass(&self, line: Reported<'_>) {
        (self.0)(line);
    }

    /// Reports something that happened.
    pub fn note(&self, line: &str) {
        (self.0)(Reported::Note(line));
    }

    /// Reports something that is wrong.
    pub fn problem(&self, line: &str) {
        (self.0)(Reported::Problem(line));
    }
}

/// Lines go nowhere.
impl Default for Report {
    fn default() -> Self {
        Self::new(|_| ())
    }
}

impl fmt::Debug for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Report")
    }
}

/// The ring of a plant that waits for followers.
#[derive(Clone, Debug)]
pub(crate) struct HeldRing {
    pub(crate) path: PathBuf,
    /// Creation time of its region.
    pub(crate) created_ns: u64,
    /// The number of the plant among the writers of the ring.
    pub(crate) epoch: u64,
    /// The first record of the plant.
    pub(crate) first_sequence: u64,
}

/// What the named followers have read of a plant's run.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct FollowersSummary {
    /// The followers, by name.
    pub followers: Vec<FollowerSummary>,
    /// How long the plant waited for them after its first record.
    pub waited_ns: u64,
}

/// What one follower has read of a plant's run.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct FollowerSummary {
    /// Its name.
    pub name: String,
    /// How it is.
    pub state: FollowerState,
    /// Messages of the run that it read.
    pub read: u64,
    /// Messages of the run that it did not read, since it first joined.
    pub missing: u64,
    /// Whether it had joined before the first record, so that the run promised it every message.
    pub was_promised: bool,
    /// Whether it read every message of the run, or still can.
    pub is_whole: bool,
}

/// How a follower is at the end of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FollowerState {
    /// It read the last message.
    Finished,
    /// It is alive, and has not read everything yet.
    Following,
    /// It ended before the last message.
    Ended,
    /// It was killed, or crashed, before the last message.
    Killed,
}

impl FollowerState {
    /// The name that is printed.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::Following => "following",
            Self::Ended => "ended",
            Self::Killed => "killed",
        }
    }
}

impl FollowersSummary {
    /// Whether every follower that was promised every message has read them, or still can.
    pub fn is_whole(&self) -> bool {
        self.followers.iter().all(|follower| follower.is_whole || !follower.was_promised)
    }
}

/// Why a plant cannot wait for named followers.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WaitForError {
    /// The input is a live session.
    #[error(
        "a live session waits for no one, so it cannot wait for named followers: leave --wait-for out, or \
         keep the session with --keep DIR and run it again with --input DIR"
    )]
    Live,
    /// Too many followers.
    #[error("cannot wait for {wanted} named followers: use at most {MOST_FOLLOWERS}")]
    TooMany {
        /// The configured number.
        wanted: usize,
    },
    /// The ring is too small.
    #[error(
        "a ring of {capacity_bytes} bytes is too small to wait for named followers: use at least \
         {MIN_CAPACITY_BYTES}"
    )]
    SmallRing {
        /// Bytes of the ring.
        capacity_bytes: u64,
    },
    /// Not all followers have joined in time.
    #[error(
        "{joined} of {wanted} named followers joined within {} s; start each one first, as in nanotape tap \
         {ring} --name NAME --wait 60, or raise --wait-for-limit (0s: no limit)",
        limit.as_secs_f64()
    )]
    NotJoined {
        /// The name of the ring.
        ring: String,
        /// How many had joined.
        joined: usize,
        /// How many are waited for.
        wanted: usize,
        /// How long the plant waited.
        limit: Duration,
    },
    /// The thread that checks the followers cannot be started.
    #[error("cannot start the thread that checks the followers: {0}")]
    Thread(io::Error),
    /// A stop was requested before all followers had joined.
    #[error("stopped on request before all named followers had joined: {joined} of {wanted}")]
    Stopped {
        /// How many had joined.
        joined: usize,
        /// How many are waited for.
        wanted: usize,
    },
}

/// The followers of a plant, and the thread that checks them.
#[derive(Debug)]
pub(crate) struct Followers {
    shared: Arc<Shared>,
    /// `None` while the thread has it.
    roster: Option<Roster>,
    thread: Option<JoinHandle<Roster>>,
}

/// Shared by the thread and the publisher.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    /// Changes with the readers.
    version: AtomicU64,
    /// The living followers.
    readers: Mutex<Vec<FollowerReader>>,
    /// Whether the plant publishes its last record: a follower that ends now has read it, or is
    /// reported at the end.
    is_ending: AtomicBool,
    /// Whether the thread must end.
    is_over: AtomicBool,
}

impl Shared {
    /// The readers, if they have changed since this version.
    pub(crate) fn newer(&self, version: &mut u64) -> Option<Vec<FollowerReader>> {
        let current = self.version.load(Ordering::Acquire);
        if current == *version {
            return None;
        }
        *version = current;
        Some(self.readers.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }

    fn replace(&self, readers: Vec<FollowerReader>) {
        *self.readers.lock().unwrap_or_else(PoisonError::into_inner) = readers;
        self.version.fetch_add(1, Ordering::Release);
    }
}

impl Followers {
    pub(crate) fn new(ring: HeldRing, report: Report) -> Self {
        let shared = Arc::<Shared>::default();
        let roster = Roster::new(ring, report, Arc::clone(&shared));
        Self { shared, roster: Some(roster), thread: None }
    }

    /// For the publisher.
    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Finds the followers that have joined, before the first record; returns their names.
    pub(crate) fn find_joined(&mut self) -> Vec<String> {
        self.roster.as_mut().map(Roster::before_the_run).unwrap_or_default()
    }

    /// All have joined: checks them from now on.
    pub(crate) fn begin(&mut self) -> io::Result<()> {
        let Some(mut roster) = self.roster.take() else { return Ok(()) };
        roster.begin();
        let shared = Arc::clone(&self.shared);
        let thread = thread::Builder::new().name("followers".to_owned()).spawn(move || {
            while !shared.is_over.load(Ordering::Relaxed) {
                roster.check();
                thread::park_timeout(CHECK);
            }
            roster
        })?;
        self.thread = Some(thread);
        Ok(())
    }

    /// Announces that the plant is about to publish its last record.
    pub(crate) fn ending(&self) {
        self.shared.is_ending.store(true, Ordering::Release);
    }

    /// Waits until every follower has read the message before `end` or has ended, or until a stop
    /// is requested. `None` if the run has not begun.
    pub(crate) fn finish(
        mut self,
        end: u64,
        waited_ns: u64,
        stop: &ShutdownFlag,
    ) -> Option<FollowersSummary> {
        self.ending();
        let mut roster = self.end_thread()?;
        while roster.is_reading(end) && !stop.is_requested() {
            thread::sleep(Duration::from_millis(1));
        }
        Some(FollowersSummary { followers: roster.summary(end), waited_ns })
    }

    fn end_thread(&mut self) -> Option<Roster> {
        self.shared.is_over.store(true, Ordering::Relaxed);
        let thread = self.thread.take()?;
        thread.thread().unpark();
        // It does not panic; if it did, the panic was reported, and the followers are unknown.
        thread.join().ok()
    }
}

impl Drop for Followers {
    fn drop(&mut self) {
        let _ = self.end_thread();
    }
}
