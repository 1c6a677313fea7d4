//! Lines on standard error, written by a thread of its own where a reader that does not read must
//! not stop the work.
//!
//! Bounds: 1,024 lines wait. Further ones are counted, and one line reports how many.
//! Failure: without a thread each line is written by its caller. At the end, lines that are not
//! read are given up after 2 s.

use std::{
    io::{self, Write as _},
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc::{Receiver, SyncSender, TrySendError, sync_channel},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use nanotape_tape::Deadline;

use crate::{
    log::{LogLevel, line_of},
    progress,
};

/// Lines that wait for their reader.
const MOST_LINES: usize = 1_024;

/// How long the end waits for a reader that reads nothing.
const PATIENCE: Duration = Duration::from_secs(2);

/// The time between two checks at the end.
const PAUSE: Duration = Duration::from_millis(1);

/// Where lines wait, while a thread writes them.
static WAITING: Mutex<Option<SyncSender<String>>> = Mutex::new(None);

/// Lines that had no room since the last report of them.
static OMITTED: AtomicU64 = AtomicU64::new(0);

/// Lines that the thread has written.
static WRITTEN: AtomicU64 = AtomicU64::new(0);

/// Whether the thread waits for a reader for good: a further line would wait too.
static IS_STUCK: AtomicBool = AtomicBool::new(false);

/// While it lives, lines on standard error are written by a thread. Dropped, it waits for them.
#[derive(Debug)]
pub struct Background(Option<JoinHandle<()>>);

/// Lets a thread write all lines from now on.
pub fn in_background() -> Background {
    let (sender, lines) = sync_channel(MOST_LINES);
    let thread = thread::Builder::new().name("nanotape-lines".to_owned());
    let thread = thread.spawn(move || write_all(&lines)).ok();
    if thread.is_some() {
        *waiting() = Some(sender);
    }
    Background(thread)
}

/// Writes a line, or lets the thread do so.
pub(crate) fn write(line: String) {
    let not_sent = match &*waiting() {
        Some(sender) => sender.try_send(line),
        None => Err(TrySendError::Disconnected(line)),
    };
    match not_sent {
        Ok(()) => {}
        Err(TrySendError::Full(_)) => drop(OMITTED.fetch_add(1, Ordering::Relaxed)),
        Err(TrySendError::Disconnected(line)) => {
            if !IS_STUCK.load(Ordering::Relaxed) {
                print(&line);
            }
        }
    }
}

fn write_all(lines: &Receiver<String>) {
    for line in lines {
        print(&line);
        let omitted = OMITTED.swap(0, Ordering::Relaxed);
        if omitted > 0 {
            let line = format!("lines omitted because standard error was not read: {omitted}");
            print(&line_of(LogLevel::Warning, &line));
        }
        WRITTEN.fetch_add(1, Ordering::Relaxed);
    }
}

/// One write, since several programs may write there. Errors are ignored: the reader may have
/// exited.
fn print(line: &str) {
    progress::above(|| {
        let _ = io::stderr().write_all(line.as_bytes());
    });
}

impl Drop for Background {
    fn drop(&mut self) {
        // The thread ends with the last line.
        *waiting() = None;
        let Some(thread) = self.0.take() else { return };
        let mut before = WRITTEN.load(Ordering::Relaxed);
        let mut deadline = Deadline::after(PATIENCE);
        while !thread.is_finished() {
            let written = WRITTEN.load(Ordering::Relaxed);
            if written != before {
                (before, deadline) = (written, Deadline::after(PATIENCE));
            }
            if deadline.is_over() {
                return IS_STUCK.store(true, Ordering::Relaxed);
            }
            thread::sleep(PAUSE);
        }
    }
}

fn waiting() -> MutexGuard<'static, Option<SyncSender<String>>> {
    WAITING.lock().unwrap_or_else(PoisonError::into_inner)
}
