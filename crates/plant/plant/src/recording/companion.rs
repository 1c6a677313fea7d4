//! A process that works beside a plant: it writes snapshots of the journal, compresses and prunes
//! it, or keeps the newest state of every stock.
//!
//! Protocol: a thread starts the process, when the recorder is ready if it works on the journal,
//! and reads its standard error. If the process fails or is killed, the thread starts it again; it
//! continues where the last one stopped. It ends by itself when the recorder has closed the
//! journal, or the plant its ring, and all work is done.
//! Failure: a line for each failure, up to [`FAILURES`] in a row. The plant never waits for the
//! process, and publishes the same without it. After the end, the process gets as many attempts;
//! if all fail, the plant reports that its work is missing.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use super::{
    Companion, RecorderProcess, RecordingError,
    child::{Backoff, ChildProcess, FAILURES},
};
use crate::followers::Report;

/// Time between two looks at a process that ends.
const POLL: Duration = Duration::from_millis(20);

/// The process, and the thread that runs it.
#[derive(Debug)]
pub struct CompanionProcess {
    shared: Arc<Shared>,
    thread: JoinHandle<bool>,
}

#[derive(Debug)]
struct Shared {
    program: PathBuf,
    companion: Companion,
    report: Report,
    child: ChildProcess,
    /// Whether the recorder has ended.
    is_ending: AtomicBool,
}

impl CompanionProcess {
    /// Starts the companions of a recorder.
    pub(super) fn start_all(process: &RecorderProcess) -> Result<Vec<Self>, RecordingError> {
        let RecorderProcess { program, companions, report, .. } = process;
        let start = |companion| Self::start(program, companion, report.clone());
        companions.iter().map(start).collect()
    }

    /// Starts a process of this program. `report` receives the lines that it prints on standard
    /// error, and those about its restarts.
    pub fn start(
        program: &Path,
        companion: &Companion,
        report: Report,
    ) -> Result<Self, RecordingError> {
        let shared = Arc::new(Shared {
            program: program.to_owned(),
            companion: companion.clone(),
            report,
            child: ChildProcess::default(),
            is_ending: AtomicBool::new(false),
        });
        let thread = thread::Builder::new().name(companion.name.to_owned()).spawn({
            let shared = Arc::clone(&shared);
            move || shared.supervise()
        });
        Ok(Self { shared, thread: thread.map_err(RecordingError::Thread)? })
    }

    /// Waits for its end, after that of the recorder or of the plant. If what it reads has not been
    /// closed, the process would wait for the next writer, and is ended. Returns whether work is
    /// missing that the plant must report.
    pub fn finish(self, is_closed: bool) -> bool {
        self.shared.is_ending.store(true, Ordering::Relaxed);
        if !is_closed {
            self.shared.child.abandon();
        }
        // It panics only if a lock is poisoned, by a panic that was reported.
        self.thread.join().unwrap_or(true)
    }

    /// The same, as long as `goes_on` says that the process works. After that it is killed, and its
    /// work is missing: a process that was stopped by a signal would never end.
    pub fn finish_while(self, mut goes_on: impl FnMut() -> bool) -> bool {
        self.shared.is_ending.store(true, Ordering::Relaxed);
        while !self.thread.is_finished() {
            if !goes_on() {
                self.shared.child.abandon();
                return true;
            }
            thread::sleep(POLL);
        }
        self.finish(true)
    }
}

impl Shared {
    /// Runs the process to its last end. Returns whether it left work that matters; false if it was
    /// abandoned, because nothing is known to be missing then.
    fn supervise(&self) -> bool {
        let (mut failures, mut backoff, mut was_ending) = (0, Backoff::FIRST, false);
        loop {
            let Companion { name, arguments, matters } = &self.companion;
            let ended = self.child.run(&self.program, arguments, |line| self.report(line));
            if ended.is_success() || self.child.is_abandoned() {
                return false;
            }
            let is_ending = self.is_ending.load(Ordering::Relaxed);
            if is_ending && !std::mem::replace(&mut was_ending, true) {
                (failures, backoff) = (0, Backoff::FIRST);
            }
            failures += 1;
            if is_ending && failures >= FAILURES {
                self.report(&format!("{name}: {}; the rest is missing", ended.how()));
                return *matters;
            }
            if failures <= FAILURES {
                self.report(&format!("{name}: {}; started again", ended.how()));
            }
            backoff.wait();
        }
    }

    fn report(&self, line: &str) {
        self.report.problem(line);
    }
}
