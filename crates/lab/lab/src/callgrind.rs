//! Instructions counted by valgrind: a second measure that other processes cannot disturb.
//!
//! Where: [`counted_region`] encloses the measured part of a program. [`count_instructions`] runs
//! in another process. It runs that program under valgrind's simulated processor and reads the
//! count between the region's start and end.
//! Bounds: valgrind is about fifty times slower than the processor; a run is ended after its limit.
//! Failure: [`CallgrindError`], with the message of valgrind.
//!
//! Meaning: instructions of the calling thread, outside of the kernel, on valgrind's simulated
//! processor. Libraries that select code by processor might select differently there. The same
//! program with the same arguments gives the same number, except where it depends on something that
//! differs between runs: hash maps with random keys, addresses, time, threads. The region itself
//! costs a few instructions, which a count of an empty region shows.

mod error;
mod region;
mod totals;

use std::{
    ffi::{OsStr, OsString},
    fs,
    io::ErrorKind,
    path::PathBuf,
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::Duration,
};

pub use self::{
    error::CallgrindError,
    region::{COUNTED_REGION, counted_region},
};
use crate::{perf_program::private_directory::PrivateDirectory, placement::unplaced};

/// The approximate time limit of a program under valgrind, by default.
pub const DEFAULT_LIMIT: Duration = Duration::from_secs(600);

/// Time between two checks whether it has ended.
const CHECK_EVERY: Duration = Duration::from_millis(10);

/// The most bytes of valgrind's message to keep, from its end.
const MOST_OF_A_MESSAGE: usize = 4_000;

/// What to count.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Request {
    /// The program that contains the region.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Additional variables of its environment.
    pub variables: Vec<(OsString, OsString)>,
    /// The function whose instructions are counted, as valgrind writes names, with `*` and `?`. It
    /// must not call itself, or another one that matches: every entry turns counting on or off.
    pub region: String,
    /// The time after which it is ended.
    pub limit: Duration,
}

/// The result of a count.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Instructions {
    /// Instructions inside the region, in all of its calls.
    pub count: u64,
    /// `valgrind-3.19.0`.
    pub valgrind: String,
    /// The whole command, for the report.
    pub command: String,
}

impl Request {
    /// A request to count in [`counted_region`].
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            arguments: Vec::new(),
            variables: Vec::new(),
            region: COUNTED_REGION.to_owned(),
            limit: DEFAULT_LIMIT,
        }
    }
}

/// The version of valgrind on the path.
pub fn valgrind_version() -> Result<String, CallgrindError> {
    let command = "valgrind --version";
    let output = Command::new("valgrind")
        .arg("--version")
        .stdin(Stdio::null())
        .output()
        .map_err(|source| start_error(command, source))?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if !output.status.success() || text.is_empty() {
        return Err(CallgrindError::Failed {
            command: command.to_owned(),
            status: output.status.to_string(),
            said: said(&output.stderr),
        });
    }
    Ok(text)
}

/// Runs the program under valgrind and counts the instructions of its region.
pub fn count_instructions(request: &Request) -> Result<Instructions, CallgrindError> {
    let valgrind = valgrind_version()?;
    let directory = PrivateDirectory::create()
        .map_err(|(path, source)| CallgrindError::Directory { path, source })?;
    let counts = directory.path().join("counts");
    let messages = directory.path().join("said");
    let mut command = Command::new("valgrind");
    command
        .args(["--tool=callgrind", "--collect-atstart=no", "--combine-dumps=yes"])
        .arg(joined("--toggle-collect=", request.region.as_ref()))
        .arg(joined("--callgrind-out-file=", counts.as_ref()))
        .arg(&request.program)
        .args(&request.arguments)
        .envs(request.variables.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(
            fs::File::create_new(&messages)
                .map_err(|source| CallgrindError::Directory { path: messages.clone(), source })?,
        );
    let line = line_of(&command);
    // Not with a measuring thread's placement: a long real-time run would block others.
    let child = unplaced(|| command.spawn())
        .unwrap_or_else(|| Err(std::io::Error::other("cannot start a thread")))
        .map_err(|source| start_error(&line, source))?;
    let status = wait(child, &line, request.limit)?;
    if !status.success() {
        return Err(CallgrindError::Failed {
            command: line,
            status: status.to_string(),
            said: said(&fs::read(&messages).unwrap_or_default()),
        });
    }
    let text = fs::read_to_string(&counts)
        .map_err(|source| CallgrindError::Read { path: counts.clone(), source })?;
    match totals::instructions(&text) {
        Some(0) => {
            Err(CallgrindError::NothingCounted { region: request.region.clone(), command: line })
        }
        Some(count) => Ok(Instructions { count, valgrind, command: line }),
        None => Err(CallgrindError::Totals { command: line }),
    }
}

fn wait(mut child: Child, command: &str, limit: Duration) -> Result<ExitStatus, CallgrindError> {
    let checks = limit.as_millis() / CHECK_EVERY.as_millis();
    for _ in 0..=checks {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(status),
            Ok(None) => thread::sleep(CHECK_EVERY),
            Err(source) => return Err(CallgrindError::Wait { source }),
        }
    }
    let _ = child.kill();
    let _ = child.wait();
    Err(CallgrindError::TooLong { command: command.to_owned(), limit })
}

fn start_error(command: &str, source: std::io::Error) -> CallgrindError {
    match source.kind() {
        ErrorKind::NotFound | ErrorKind::PermissionDenied => CallgrindError::Missing,
        _ => CallgrindError::Start { command: command.to_owned(), source },
    }
}

fn joined(option: &str, value: &OsStr) -> OsString {
    let mut joined = OsString::from(option);
    joined.push(value);
    joined
}

fn line_of(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// The end of a message, which contains the reason.
fn said(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim();
    let start = text.char_indices().rev().nth(MOST_OF_A_MESSAGE).map_or(0, |(at, _)| at);
    match text.get(start..) {
        Some(text) if !text.is_empty() => text.to_owned(),
        _ => "nothing".to_owned(),
    }
}
