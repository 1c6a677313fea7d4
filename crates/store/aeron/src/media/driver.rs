//! A media driver in a thread of this process.
//!
//! Bounds: all of its work is in one thread, which sleeps while there is none, unless a
//! [`DriverPace`] is chosen. Its buffers are
//! files in its folder, in shared memory by default, of 16 MiB a term.
//! Failure: a folder in which another driver runs is refused. A driver that was killed counts as
//! running for ten seconds; the start waits for that.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, OnceLock,
        mpsc::{self, Sender},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use nanotape_tape::{Deadline, ShutdownFlag};
use rusteron_media_driver::{
    AeronCError, AeronDriver, AeronDriverContext, bindings::aeron_threading_mode_t,
};

use super::{AeronError, PATIENCE, text_of};

/// Bytes of a term of a stream, of which each stream has three.
const TERM_BYTES: usize = 16 << 20;

/// The longest time that the process can be stopped, such as by a debugger, and then goes on. By
/// default a client ends after ten seconds. Buffers of a dead client of this driver stay as long.
pub(super) const LONGEST_STOP: Duration = Duration::from_secs(60);

/// What its thread does while there is nothing to send or to receive.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum DriverPace {
    /// It sleeps, up to a millisecond.
    #[default]
    Sleep,
    /// It gives its processor to other threads.
    Yield,
    /// It polls without a pause, on a processor of its own.
    Spin,
}

/// A media driver that ends with the value.
#[derive(Debug)]
pub struct MediaDriver {
    dir: PathBuf,
    stop: ShutdownFlag,
    failure: Arc<OnceLock<String>>,
    thread: Option<JoinHandle<()>>,
}

impl MediaDriver {
    /// Starts a driver in this folder; `None`: one of its own, in shared memory.
    pub fn start(dir: Option<&Path>, pace: DriverPace) -> Result<Self, AeronError> {
        let own = || PathBuf::from(format!("/dev/shm/aeron-nanotape-{}", std::process::id()));
        let dir = dir.map_or_else(own, Path::to_owned);
        let (stop, failure) = (ShutdownFlag::new(), Arc::new(OnceLock::new()));
        // A driver that was killed is not alive, which Aeron finds out after some time.
        let deadline = Deadline::after(PATIENCE + PATIENCE / 4);
        loop {
            let (started, start) = mpsc::channel();
            let failure_of_task = Arc::clone(&failure);
            let task =
                Task { dir: dir.clone(), pace, stop: stop.clone(), failure: failure_of_task };
            let thread = thread::Builder::new().name("aeron".to_owned());
            let thread = thread.spawn(move || task.run(&started));
            let thread = thread.map_err(|error| AeronError::Thread { error: Arc::new(error) })?;
            match start.recv() {
                Ok(Ok(())) => return Ok(Self { dir, stop, failure, thread: Some(thread) }),
                Ok(Err(AeronError::Call { reason, .. }))
                    if reason.contains("ctive media driver") && !deadline.is_over() =>
                {
                    stop.sleep(PATIENCE / 50);
                }
                Ok(Err(error)) => return Err(error),
                Err(_) => {
                    let reason = "its thread has ended".to_owned();
                    return Err(AeronError::Call { operation: "start a media driver", reason });
                }
            }
        }
    }

    /// Its folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Whether it has ended.
    pub(super) fn has_ended(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Why it has ended by itself.
    pub(super) fn failure(&self) -> Option<String> {
        self.failure.get().cloned()
    }
}

impl Drop for MediaDriver {
    fn drop(&mut self) {
        self.stop.request();
        if let Some(thread) = self.thread.take() {
            // A panic was reported when it happened.
            let _ = thread.join();
        }
    }
}

/// What the thread has.
struct Task {
    dir: PathBuf,
    pace: DriverPace,
    stop: ShutdownFlag,
    failure: Arc<OnceLock<String>>,
}

impl Task {
    fn run(self, started: &Sender<Result<(), AeronError>>) {
        let (driver, outcome) = match self.start() {
            Ok(driver) => (Some(driver), Ok(())),
            Err(error) => (None, Err(error)),
        };
        // The other side waits for it.
        let _ = started.send(outcome);
        let Some(driver) = driver else { return };
        while !self.stop.is_requested() {
            match driver.main_do_work() {
                Ok(work) => driver.main_idle_strategy(work),
                Err(error) => {
                    let _ = self.failure.set(error.get_last_err_message().to_owned());
                    return;
                }
            }
        }
    }

    fn start(&self) -> Result<AeronDriver, AeronError> {
        let dir = text_of(&self.dir)?;
        let make = || -> Result<AeronDriver, AeronCError> {
            let context = AeronDriverContext::new()?;
            context.set_dir(&dir)?;
            context.set_dir_warn_if_exists(false)?;
            context.set_threading_mode(aeron_threading_mode_t::AERON_THREADING_MODE_SHARED)?;
            context.set_shared_idle_strategy(match self.pace {
                DriverPace::Sleep => c"backoff",
                DriverPace::Yield => c"yield",
                DriverPace::Spin => c"noop",
            })?;
            context.set_term_buffer_length(TERM_BYTES)?;
            context.set_ipc_term_buffer_length(TERM_BYTES)?;
            let longest_ns = LONGEST_STOP.as_nanos() as u64;
            context.set_client_liveness_timeout_ns(longest_ns)?;
            // Aeron requires that this is longer.
            context.set_publication_unblock_timeout_ns(longest_ns * 3 / 2)?;
            let driver = AeronDriver::new(&context)?;
            driver.start(true)?;
            // Not before: a context that is refused because another driver runs in the folder would
            // remove the folder of that driver.
            context.set_dir_delete_on_shutdown(true)?;
            Ok(driver)
        };
        make().map_err(|error| AeronError::Call {
            operation: "start a media driver",
            reason: error.get_last_err_message().to_owned(),
        })
    }
}
