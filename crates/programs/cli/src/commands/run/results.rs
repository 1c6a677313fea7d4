//! The results of all plants of a process, written by a thread of its own: a plant does not wait
//! for their reader.
//!
//! Failure: a plant goes on without the reader of its results. An error of the output is returned
//! once, by the next result or at the end. A plant waits a moment for each result to be written, so
//! that an output that cannot be written ends the process at its start.

use std::{
    io::{self, Write as _},
    path::Path,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use nanotape_plant::{Finished, PlantRun};

use super::outcome::{self, Outcome};
use crate::output::{Format, Output};

/// How long a plant waits until its result is written, or cannot be.
const MOMENT: Duration = Duration::from_millis(200);

/// The output of all plants of this process.
#[derive(Debug)]
pub(super) struct Results {
    format: Format,
    has_result: AtomicBool,
    writing: Mutex<Writing>,
    thread: JoinHandle<Option<Output>>,
}

/// The bytes to write, and the errors of those that could not be.
type Writing = (Sender<Vec<u8>>, Receiver<io::Result<()>>);

impl Results {
    pub(super) fn new(output: Output, format: Format) -> io::Result<Self> {
        let (sender, bytes) = channel();
        let (report, written) = channel();
        let thread = thread::Builder::new().name("nanotape-results".to_owned());
        let thread = thread.spawn(move || write_all(output, &bytes, &report))?;
        let writing = Mutex::new((sender, written));
        Ok(Self { format, has_result: AtomicBool::new(false), writing, thread })
    }

    /// Prints where a plant publishes, and which records. `name`: that of the plant, if there are
    /// several.
    pub(super) fn begun(&self, plant: &PlantRun, name: Option<&str>) -> io::Result<()> {
        self.write(|output| outcome::begun(plant, self.format, output, name))
    }

    /// Prints the result of a plant, or of a session of it. `name`: that of the plant, if there are
    /// several.
    pub(super) fn ended(
        &self,
        outcome: Outcome,
        finished: &Finished,
        name: Option<&str>,
    ) -> io::Result<()> {
        self.write(|output| {
            let is_first = !self.has_result.swap(true, Ordering::Relaxed);
            outcome.write(finished, (self.format, is_first), output, name)
        })
    }

    /// Prints that a plant has failed.
    pub(super) fn failed(
        &self,
        ring: &Path,
        error: &anyhow::Error,
        name: Option<&str>,
    ) -> io::Result<()> {
        self.write(|output| outcome::failed((ring, name), error, self.format, output))
    }

    /// The lock keeps the results of several plants in the order of their first rows.
    fn write(&self, print: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> io::Result<()> {
        let (sender, written) = &*self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut bytes = Vec::new();
        print(&mut bytes)?;
        // Without the thread its error was returned before.
        if bytes.is_empty() || sender.send(bytes).is_err() {
            return Ok(());
        }
        match written.recv_timeout(MOMENT) {
            Ok(written) => written,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => Ok(()),
        }
    }

    /// Waits until the reader has taken all results; then the output is complete.
    pub(super) fn finish(self) -> io::Result<()> {
        let (sender, written) = self.writing.into_inner().unwrap_or_else(PoisonError::into_inner);
        drop(sender);
        let output = self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        written.into_iter().collect::<io::Result<()>>()?;
        output.map_or(Ok(()), Output::finish)
    }
}

/// Writes results until one cannot be written: then there is nothing to complete.
fn write_all(
    mut output: Output,
    results: &Receiver<Vec<u8>>,
    report: &Sender<io::Result<()>>,
) -> Option<Output> {
    for bytes in results {
        let written = output.write_all(&bytes).and_then(|()| output.flush());
        let is_over = written.is_err();
        let written = written.or_else(|error| match error.kind() {
            // The reader has exited.
            io::ErrorKind::BrokenPipe => Ok(()),
            _ => Err(error),
        });
        // The other end lives as long as the thread.
        let _ = report.send(written);
        if is_over {
            return None;
        }
    }
    Some(output)
}
