//! A process that works on a plant's journal while it is recorded: it writes snapshots, or
//! compresses and prunes.
//!
//! Protocol: a thread starts the process when the recorder is ready, and reads its standard error.
//! If the process fails or is killed, the thread starts it again; it continues where the last one
//! stopped. It ends by itself when the recorder has closed the journal and all work is done.
//! Failure: a line for each failure, up to [`FAILURES`] in a row. The plant never waits for the
//! process, and records the same without it. After the end of the recorder, the process gets as
//! many attempts; if all fail, the plant reports at its end that snapshots are missing.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
};

use super::{
    Companion, RecorderProcess, RecordingError,
    child::{Backoff, ChildProcess, FAILURES},
};
use crate::followers::Report;

/// The name of the process that writes snapshots.
const SNAPSHOTS: &str = "snapshots";

/// The process, and the thread that runs it.
#[derive(Debug)]
pub(super) struct CompanionProcess {
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
        process.companions.iter().map(|companion| Self::start(process, companion)).collect()
    }

    fn start(process: &RecorderProcess, companion: &Companion) -> Result<Self, RecordingError> {
        let shared = Arc::new(Shared {
            program: process.program.clone(),
            companion: companion.clone(),
            report: process.report.clone(),
            child: ChildProcess::default(),
            is_ending: AtomicBool::new(false),
        });
        let thread = thread::Builder::new().name(companion.name.to_owned()).spawn({
            let shared = Arc::clone(&shared);
            move || shared.supervise()
        });
        Ok(Self { shared, thread: thread.map_err(RecordingError::Thread)? })
    }

    /// Waits for its end, after that of the recorder. If the recorder has not closed the journal,
    /// the process would wait for the next one, and is ended. Returns whether snapshots are
    /// missing.
    pub(super) fn finish(self, is_closed: bool) -> bool {
        self.shared.is_ending.store(true, Ordering::Relaxed);
        if !is_closed {
            self.shared.child.abandon();
        }
        // It panics only if a lock is poisoned, by a panic that was reported.
        self.thread.join().unwrap_or(true)
    }
}

impl Shared {
    /// Runs the process to its last end. Returns whether it left snapshots missing; false if it was
    /// abandoned, because nothing is known to be missing then.
    fn supervise(&self) -> bool {
        let (mut failures, mut backoff, mut was_ending) = (0, Backoff::FIRST, false);
        loop {
            let Companion { name, arguments } = &self.companion;
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
                return *name == SNAPSHOTS;
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
