//! The process that writes snapshots of a plant's journal while it is recorded.
//!
//! Protocol: a thread starts the process when the recorder is ready, and reads its standard error.
//! If the process fails or is killed, the thread starts it again; it continues after its last
//! snapshot. It ends by itself when the recorder has closed the journal and everything was read.
//! Failure: a line for each failure, up to [`FAILURES`] in a row. The plant never waits for the
//! process, and records the same without it. After the end of the recorder, the process gets as
//! many attempts.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
};

use super::{
    RecorderProcess, RecordingError,
    child::{Backoff, ChildProcess, FAILURES},
};

/// The process, and the thread that runs it.
#[derive(Debug)]
pub(super) struct SnapshotProcess {
    shared: Arc<Shared>,
    thread: JoinHandle<()>,
}

#[derive(Debug)]
struct Shared {
    process: RecorderProcess,
    child: ChildProcess,
    /// Whether the recorder has ended.
    is_ending: AtomicBool,
}

impl SnapshotProcess {
    /// Starts the process, if there is to be one.
    pub(super) fn start(process: &RecorderProcess) -> Result<Option<Self>, RecordingError> {
        if process.snapshots.is_empty() {
            return Ok(None);
        }
        let shared = Arc::new(Shared {
            process: process.clone(),
            child: ChildProcess::default(),
            is_ending: AtomicBool::new(false),
        });
        let thread = thread::Builder::new().name("snapshots".to_owned()).spawn({
            let shared = Arc::clone(&shared);
            move || shared.supervise()
        });
        Ok(Some(Self { shared, thread: thread.map_err(RecordingError::Thread)? }))
    }

    /// Waits for its end, after that of the recorder. If the recorder has not closed the journal,
    /// the process would wait for the next one, and is ended.
    pub(super) fn finish(self, is_closed: bool) {
        self.shared.is_ending.store(true, Ordering::Relaxed);
        if !is_closed {
            self.shared.child.abandon();
        }
        // It panics only if a lock is poisoned, by a panic that was reported.
        let _ = self.thread.join();
    }
}

impl Shared {
    fn supervise(&self) {
        let (mut failures, mut backoff, mut was_ending) = (0, Backoff::FIRST, false);
        loop {
            let RecorderProcess { program, snapshots, .. } = &self.process;
            let ended = self.child.run(program, snapshots, |line| self.report(line));
            if ended.is_success() || self.child.is_abandoned() {
                return;
            }
            let is_ending = self.is_ending.load(Ordering::Relaxed);
            if is_ending && !std::mem::replace(&mut was_ending, true) {
                (failures, backoff) = (0, Backoff::FIRST);
            }
            failures += 1;
            if is_ending && failures >= FAILURES {
                return self.report(&format!("snapshots: {}; the rest is missing", ended.how()));
            }
            if failures <= FAILURES {
                self.report(&format!("snapshots: {}; started again", ended.how()));
            }
            backoff.wait();
        }
    }

    fn report(&self, line: &str) {
        (self.process.report)(line);
    }
}
