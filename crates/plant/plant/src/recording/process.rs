//! The process of a recorder: started, read, and started again.

use std::{
    sync::{
        Mutex, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use nanotape_board::{RecorderReader, RecorderState};
use nanotape_tape::{Deadline, ShutdownFlag};

use super::{
    Recorded, RecorderProcess,
    child::{Backoff, ChildProcess, Ended, FAILURES, lock},
};

/// How long a line of a recorder that is not ready is kept.
const MOMENT: Duration = Duration::from_millis(250);

/// A recorder, shared by the thread that runs its process and the plant.
#[derive(Debug)]
pub(crate) struct Supervised {
    process: RecorderProcess,
    ring: Recorded,
    /// Requested when the recorder has failed for good, so that the plant stops.
    stop: ShutdownFlag,
    child: ChildProcess,
    /// Lines of a recorder that is not ready yet, kept for a moment. If the recorder ends in this
    /// moment, its last line is the error of the plant.
    held: Mutex<Vec<(Deadline, String)>>,
    /// Whether a recorder is ready, and the plant publishes.
    has_begun: AtomicBool,
    /// Whether the ring is closed, or about to be: a recorder that ends has done its work.
    is_ending: AtomicBool,
    /// Whether the recorder fails again and again, and its lines are not reported any more.
    is_quiet: AtomicBool,
    /// The last line of a recorder that has failed for good.
    failure: OnceLock<String>,
}

/// How a recorder ended.
struct End {
    ended: Ended,
    /// The last line that it printed.
    said: Option<String>,
    /// Whether it recorded something, or was ready to.
    has_progressed: bool,
    was_ready: bool,
}

impl Supervised {
    pub(super) fn new(process: RecorderProcess, ring: Recorded, stop: ShutdownFlag) -> Self {
        Self {
            process,
            ring,
            stop,
            child: ChildProcess::default(),
            held: Mutex::default(),
            has_begun: AtomicBool::new(false),
            is_ending: AtomicBool::new(false),
            is_quiet: AtomicBool::new(false),
            failure: OnceLock::new(),
        }
    }

    /// Runs the recorder until it has done its work, or failed for good.
    pub(super) fn supervise(&self) {
        let (mut failures, mut backoff) = (0, Backoff::FIRST);
        loop {
            let end = self.run();
            let (is_success, is_killed) = (end.ended.is_success(), end.ended.is_killed());
            if self.child.is_abandoned() || is_success && self.is_ending.load(Ordering::Relaxed) {
                return;
            }
            if end.has_progressed || is_killed && end.was_ready {
                (failures, backoff) = (0, Backoff::FIRST);
                self.is_quiet.store(false, Ordering::Relaxed);
            }
            if end.was_ready && self.has_lost_journal() {
                return self.fail(end.said.clone().unwrap_or_else(|| end.ended.how()));
            }
            failures += 1;
            let has_begun = self.has_begun.load(Ordering::Acquire);
            let is_fatal = !has_begun && !is_killed && !is_success;
            let is_limited = self.process.waits || self.is_ending.load(Ordering::Relaxed);
            if is_fatal || failures >= FAILURES && (is_limited || !has_begun) {
                return self.fail(self.failed(&end, failures));
            }
            let what = if failures < FAILURES { "started again" } else { "tried once a second" };
            self.report_line(format!("recorder: {}; {what}", end.ended.how()));
            self.is_quiet.store(failures >= FAILURES, Ordering::Relaxed);
            backoff.wait();
        }
    }

    /// Runs one process to its end.
    fn run(&self) -> End {
        let before = self.progress();
        let mut said = None;
        let RecorderProcess { program, arguments, .. } = &self.process;
        let ended = self.child.run(program, arguments, |line| {
            said = Some(line.to_owned());
            self.report_line(line.to_owned());
        });
        let Some(pid) = ended.pid else {
            return End { ended, said, has_progressed: false, was_ready: false };
        };
        let after = self.progress();
        let was_ready = after.is_some_and(|(owner, _)| owner == pid);
        let sequence = |progress: Option<(u32, u64)>| progress.map_or(0, |(_, sequence)| sequence);
        End { ended, said, has_progressed: sequence(after) > sequence(before), was_ready }
    }

    /// The process that shows its progress, and the next message that it records.
    fn progress(&self) -> Option<(u32, u64)> {
        let seen = self.reader()?.sample();
        Some((seen.owner.pid, seen.next_sequence))
    }

    /// Reports a line, or keeps it until the recorder is ready.
    fn report_line(&self, line: String) {
        if self.is_quiet.load(Ordering::Relaxed) {
            return;
        }
        let mut held = lock(&self.held);
        if self.has_begun.load(Ordering::Relaxed) {
            self.process.report.problem(&line);
        } else {
            held.push((Deadline::after(MOMENT), line));
        }
    }

    /// Reports the lines that were kept for a moment.
    pub(super) fn report_held(&self) {
        let mut held = lock(&self.held);
        let due = held.iter().take_while(|(until, _)| until.is_over()).count();
        held.drain(..due).for_each(|(_, line)| self.process.report.problem(&line));
    }

    /// Reports the lines that were kept.
    fn flush(&self, held: &mut Vec<(Deadline, String)>) {
        held.drain(..).for_each(|(_, line)| self.process.report.problem(&line));
    }

    /// Whether the last recorder ended because its journal was removed, replaced or renamed. The
    /// next one would begin another journal.
    pub(super) fn has_lost_journal(&self) -> bool {
        self.reader().is_some_and(|reader| reader.sample().state == RecorderState::JournalGone)
    }

    fn reader(&self) -> Option<RecorderReader> {
        RecorderReader::of_ring(&self.ring.ring, self.ring.created_ns)
    }

    /// Whether a stop of the plant was requested.
    pub(super) fn is_stop_requested(&self) -> bool {
        self.stop.is_requested()
    }

    /// Reports a line to an operator.
    pub(super) fn report(&self, line: &str) {
        self.process.report.problem(line);
    }

    /// The failure of a recorder that is not started again.
    fn failed(&self, end: &End, failures: u32) -> String {
        let said = end.said.clone().unwrap_or_else(|| end.ended.how());
        if self.has_begun.load(Ordering::Relaxed) {
            return format!(
                "the recorder failed {failures} times in a row without progress: {said}"
            );
        }
        let mut held = lock(&self.held);
        // The last line is the error itself.
        if end.said.is_some() {
            held.pop();
        }
        self.flush(&mut held);
        said
    }

    /// The recorder has failed for good.
    fn fail(&self, failure: String) {
        // Stored by this thread only.
        let _ = self.failure.set(failure);
        if self.process.waits && self.has_begun.load(Ordering::Relaxed) {
            self.stop.request();
        }
    }

    /// The plant publishes from now on.
    pub(super) fn begin(&self) {
        let mut held = lock(&self.held);
        self.has_begun.store(true, Ordering::Release);
        self.flush(&mut held);
    }

    /// The ring is about to be closed.
    pub(super) fn ending(&self) {
        self.is_ending.store(true, Ordering::Relaxed);
    }

    /// Ends the process, and starts no other.
    pub(super) fn abandon(&self) {
        self.child.abandon();
    }

    /// Whether this is the number of the current process.
    pub(super) fn is_process(&self, pid: u32) -> bool {
        self.child.is_process(pid)
    }

    /// The last line of a recorder that has failed for good.
    pub(super) fn failure(&self) -> Option<String> {
        self.failure.get().cloned()
    }

    /// Whether the recorder has failed for good.
    pub(crate) fn has_failed(&self) -> bool {
        self.failure.get().is_some()
    }
}
