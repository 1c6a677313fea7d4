//! The process that writes snapshots of a plant's journal while it is recorded.
//!
//! Protocol: a thread starts the process when the recorder is ready, and reads its standard error.
//! If the process fails or is killed, the thread starts it again; it continues after its last
//! snapshot. It ends by itself when the recorder has closed the journal and everything was read.
//! Failure: a line for each failure, up to [`FAILURES`] in a row. The plant never waits for the
//! process, and records the same without it. After the end of the recorder, the process gets as
//! many attempts.

use std::{
    io::{BufRead as _, BufReader},
    os::unix::process::CommandExt as _,
    process::{Child, Command, ExitStatus, Stdio},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
};

use super::{
    RecorderProcess, RecordingError,
    process::{FAILURES, FIRST_BACKOFF, LAST_BACKOFF, how, lock},
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
    child: Mutex<Option<Child>>,
    /// Whether the recorder has ended.
    is_ending: AtomicBool,
    is_abandoned: AtomicBool,
}

impl SnapshotProcess {
    /// Starts the process, if there is to be one.
    pub(super) fn start(process: &RecorderProcess) -> Result<Option<Self>, RecordingError> {
        if process.snapshots.is_empty() {
            return Ok(None);
        }
        let shared = Arc::new(Shared {
            process: process.clone(),
            child: Mutex::default(),
            is_ending: AtomicBool::new(false),
            is_abandoned: AtomicBool::new(false),
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
            self.shared.is_abandoned.store(true, Ordering::Relaxed);
            self.shared.kill();
        }
        // It panics only if a lock is poisoned, by a panic that was reported.
        let _ = self.thread.join();
    }
}

impl Shared {
    fn supervise(&self) {
        let (mut failures, mut backoff, mut was_ending) = (0, FIRST_BACKOFF, false);
        loop {
            let status = self.run();
            let is_success = status.as_ref().is_ok_and(ExitStatus::success);
            if is_success || self.is_abandoned.load(Ordering::Relaxed) {
                return;
            }
            let is_ending = self.is_ending.load(Ordering::Relaxed);
            if is_ending && !std::mem::replace(&mut was_ending, true) {
                (failures, backoff) = (0, FIRST_BACKOFF);
            }
            failures += 1;
            if is_ending && failures >= FAILURES {
                return self.report(&format!("snapshots: {}; the rest is missing", how(&status)));
            }
            if failures <= FAILURES {
                self.report(&format!("snapshots: {}; started again", how(&status)));
            }
            thread::sleep(backoff);
            backoff = (backoff * 2).min(LAST_BACKOFF);
        }
    }

    /// Runs one process to its end.
    fn run(&self) -> std::io::Result<ExitStatus> {
        let mut child = Command::new(&self.process.program)
            .args(&self.process.snapshots)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            // Ctrl-C is for the plant.
            .process_group(0)
            .spawn()?;
        let stderr = child.stderr.take();
        *lock(&self.child) = Some(child);
        // It may have been abandoned before the process was stored.
        if self.is_abandoned.load(Ordering::Relaxed) {
            self.kill();
        }
        for line in stderr.into_iter().flat_map(|stderr| BufReader::new(stderr).split(b'\n')) {
            let Ok(line) = line else { break };
            let line = String::from_utf8_lossy(&line);
            self.report(line.strip_prefix("nanotape: ").unwrap_or(&line));
        }
        let child = lock(&self.child).take();
        child.map_or(Err(std::io::ErrorKind::NotFound.into()), |mut child| child.wait())
    }

    fn report(&self, line: &str) {
        (self.process.report)(line);
    }

    fn kill(&self) {
        if let Some(child) = lock(&self.child).as_mut() {
            // It fails only for a process that was waited for, and that one is not stored.
            let _ = child.kill();
        }
    }
}
