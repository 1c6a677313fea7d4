//! A process that a thread of the plant runs: started, read from, and killed if it is not needed.
//!
//! Where: the threads of the recorder and of its companions.
//! Protocol: [`ChildProcess::run`] returns when the process has ended, because its standard error
//! closes then. Another thread can [abandon](ChildProcess::abandon) it at any moment.

use std::{
    ffi::OsString,
    io::{self, BufRead as _, BufReader},
    os::unix::process::{CommandExt as _, ExitStatusExt as _},
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

/// Failures in a row after which the thread gives up, or reports no more of them.
pub(super) const FAILURES: u32 = 5;

/// The current process, if there is one.
#[derive(Debug, Default)]
pub(super) struct ChildProcess {
    child: Mutex<Option<Child>>,
    is_abandoned: AtomicBool,
}

/// How a process ended.
#[derive(Debug)]
pub(super) struct Ended {
    /// Its number; `None` if it could not be started.
    pub(super) pid: Option<u32>,
    pub(super) status: io::Result<ExitStatus>,
}

/// The wait before a restart, which doubles with each one.
#[derive(Debug)]
pub(super) struct Backoff(Duration);

impl ChildProcess {
    /// Runs a process to its end. `on_line` gets each line that it prints on standard error.
    pub(super) fn run(
        &self,
        program: &Path,
        arguments: &[OsString],
        mut on_line: impl FnMut(&str),
    ) -> Ended {
        let spawned = Command::new(program)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            // Not in the foreground group of a terminal, whose Ctrl-C is for the plant.
            .process_group(0)
            .spawn();
        let mut child = match spawned {
            Ok(child) => child,
            Err(error) => return Ended { pid: None, status: Err(error) },
        };
        let (pid, stderr) = (Some(child.id()), child.stderr.take());
        *lock(&self.child) = Some(child);
        // It may have been abandoned before the process was stored.
        if self.is_abandoned() {
            self.kill();
        }
        // The pipe closes when the process ends.
        for line in stderr.into_iter().flat_map(|stderr| BufReader::new(stderr).split(b'\n')) {
            let Ok(line) = line else { break };
            let line = String::from_utf8_lossy(&line);
            on_line(line.strip_prefix("nanotape: ").unwrap_or(&line));
        }
        let child = lock(&self.child).take();
        let status = child.map_or(Err(io::ErrorKind::NotFound.into()), |mut child| child.wait());
        Ended { pid, status }
    }

    /// Kills the process. The next one is killed at its start.
    pub(super) fn abandon(&self) {
        self.is_abandoned.store(true, Ordering::Relaxed);
        self.kill();
    }

    /// Whether no process is needed any more.
    pub(super) fn is_abandoned(&self) -> bool {
        self.is_abandoned.load(Ordering::Relaxed)
    }

    /// Whether this is the number of the current process; true if there is none.
    pub(super) fn is_process(&self, pid: u32) -> bool {
        lock(&self.child).as_ref().is_none_or(|child| child.id() == pid)
    }

    fn kill(&self) {
        if let Some(child) = lock(&self.child).as_mut() {
            // It fails only for a process that was waited for, and that one is not stored.
            let _ = child.kill();
        }
    }
}

impl Ended {
    pub(super) fn is_success(&self) -> bool {
        self.status.as_ref().is_ok_and(ExitStatus::success)
    }

    pub(super) fn is_killed(&self) -> bool {
        self.status.as_ref().is_ok_and(|status| status.signal().is_some())
    }

    /// The end in words.
    pub(super) fn how(&self) -> String {
        match &self.status {
            Err(error) => format!("cannot be started: {error}"),
            Ok(status) => match (status.signal(), status.code()) {
                (Some(signal), _) => format!("killed by signal {signal}"),
                (None, code) => format!("exited with status {}", code.unwrap_or_default()),
            },
        }
    }
}

impl Backoff {
    /// The wait before the first restart, and before every restart after many.
    pub(super) const FIRST: Self = Self(Duration::from_millis(10));
    const LAST: Duration = Duration::from_secs(1);

    /// Waits once.
    pub(super) fn wait(&mut self) {
        thread::sleep(self.0);
        self.0 = (self.0 * 2).min(Self::LAST);
    }
}

/// No operation under these locks leaves a value half changed.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
