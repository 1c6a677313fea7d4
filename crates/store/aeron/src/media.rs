//! The client of a media driver: publications and subscriptions of Aeron.
//!
//! Where: between the state machines of this crate and the C client of Aeron, whose safe wrapper is
//! `rusteron-client`. Only this module and those below it name it.
//! Failure: the client's conductor, a thread of its own, reports errors to a handler. The first one
//! is kept, and is the reason of the next call that fails. Without the handler the C client would
//! end the process.

mod driver;
mod publication;
mod subscription;

use std::{
    ffi::CString,
    io,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
    time::Duration,
};

pub use driver::{DriverPace, MediaDriver};
pub use publication::Publication;
use rusteron_client::{Aeron, AeronContext};
pub use subscription::Subscription;

/// How long a driver may take for an answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Which media driver to use.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DriverChoice {
    /// One that runs, in this folder; `None`: the default of Aeron.
    Running(Option<PathBuf>),
    /// A thread of this process.
    Embedded {
        /// Its folder; `None`: one of its own.
        dir: Option<PathBuf>,
        /// What the thread does while it has no work.
        pace: DriverPace,
    },
}

/// Why Aeron cannot be used, or no longer.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AeronError {
    /// No driver runs in the folder.
    #[error(
        "{}: no Aeron media driver runs in this folder: start one, name another folder with \
         --aeron-dir, or use --embedded-driver",
        dir.display()
    )]
    NoDriver {
        /// The folder.
        dir: PathBuf,
    },
    /// The folder of the driver is no text that Aeron takes.
    #[error("{}: the folder of a media driver must be UTF-8", dir.display())]
    Folder {
        /// The folder.
        dir: PathBuf,
    },
    /// No thread could be started for the driver.
    #[error("cannot start a thread for the media driver: {error}")]
    Thread {
        /// The cause.
        error: Arc<io::Error>,
    },
    /// A call of Aeron failed.
    #[error("Aeron cannot {operation}: {}", one_line(reason))]
    Call {
        /// What was tried.
        operation: &'static str,
        /// The words of Aeron.
        reason: String,
    },
    /// The driver does not answer any more, or has closed the client.
    #[error("{}: the Aeron media driver is lost: {}", dir.display(), one_line(reason))]
    DriverLost {
        /// The folder of the driver.
        dir: PathBuf,
        /// The words of Aeron.
        reason: String,
    },
}

/// A connection to a media driver.
pub struct MediaClient {
    aeron: Aeron,
    failure: Arc<OnceLock<String>>,
    dir: PathBuf,
    /// Outlives the client.
    driver: Option<MediaDriver>,
}

impl MediaClient {
    /// Connects to the driver, after it was started if it is to be embedded.
    pub fn connect(choice: &DriverChoice) -> Result<Self, AeronError> {
        let driver = match choice {
            DriverChoice::Embedded { dir, pace } => {
                Some(MediaDriver::start(dir.as_deref(), *pace)?)
            }
            DriverChoice::Running(_) => None,
        };
        let failed = |operation| move |error| AeronError::of_call(operation, &error);
        let context = AeronContext::new().map_err(failed("make a context"))?;
        let dir = match (choice, &driver) {
            (_, Some(driver)) => Some(driver.dir()),
            (DriverChoice::Running(dir), None) => dir.as_deref(),
            (DriverChoice::Embedded { .. }, None) => None,
        };
        if let Some(dir) = dir {
            context.set_dir(&text_of(dir)?).map_err(failed("use the folder"))?;
        }
        if driver.is_some() {
            // Both are stopped together.
            let most_ms = driver::LONGEST_STOP.as_millis() as u64;
            context.set_driver_timeout_ms(most_ms).map_err(failed("set a timeout"))?;
        }
        let dir = PathBuf::from(context.get_dir());
        if !dir.join("cnc.dat").exists() {
            return Err(AeronError::NoDriver { dir });
        }
        let failure = Arc::new(OnceLock::new());
        let first = Arc::clone(&failure);
        let keep = move |_code: i32, text: &str| _ = first.set(text.to_owned());
        context.set_error_handler(Some(keep)).map_err(failed("set a handler"))?;
        let aeron = Aeron::new(&context).map_err(failed("connect to the media driver"))?;
        aeron.start().map_err(failed("start its client"))?;
        Ok(Self { aeron, failure, dir, driver })
    }

    /// The folder of the driver.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Fails if the driver is lost.
    fn check(&self) -> Result<(), AeronError> {
        let has_ended = self.driver.as_ref().is_some_and(MediaDriver::has_ended);
        if has_ended || self.aeron.is_closed() { Err(self.lost()) } else { Ok(()) }
    }

    /// The reason of a call that failed.
    #[cold]
    fn lost(&self) -> AeronError {
        let of_driver = self.driver.as_ref().and_then(MediaDriver::failure);
        let reason = of_driver.or_else(|| self.failure.get().cloned());
        let reason = reason.unwrap_or_else(|| "the client was closed".to_owned());
        AeronError::DriverLost { dir: self.dir.clone(), reason }
    }
}

impl std::fmt::Debug for MediaClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MediaClient").field("dir", &self.dir).finish_non_exhaustive()
    }
}

impl AeronError {
    #[cold]
    fn of_call(operation: &'static str, error: &rusteron_client::AeronCError) -> Self {
        Self::Call { operation, reason: error.get_last_err_message().to_owned() }
    }
}

/// The words of Aeron in one line: each is followed by the places in its source that it passed.
fn one_line(text: &str) -> &str {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or("no reason was given");
    // The first line has the number of the error, the second one what happened.
    lines.next().map_or(first, |second| second.split_once("] ").map_or(second, |(_, what)| what))
}

fn text_of(dir: &Path) -> Result<CString, AeronError> {
    let text = dir.to_str().and_then(|text| CString::new(text).ok());
    text.ok_or_else(|| AeronError::Folder { dir: dir.to_owned() })
}
