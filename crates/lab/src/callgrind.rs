//! Instructions counted by valgrind: a second opinion that no neighbour can disturb.
//!
//! Where: [`counted_region`] around the measured part of a program, and [`count_instructions`] in
//! another process, which runs that program under valgrind's simulated processor and reads what
//! was counted between the region's start and end.
//! Bounds: valgrind is some fifty times slower than the processor; a run is ended after its limit.
//! Failure: [`CallgrindError`], with what valgrind itself said.
//!
//! What the number is: instructions of the calling thread, outside of the kernel, on a processor
//! that valgrind makes up. Libraries that choose their code by processor may choose differently
//! there. The same program with the same arguments gives the same number, except where it depends
//! on something that differs between runs: hash maps with random keys, addresses, time, threads.
//! The region itself costs a few instructions, which a count of an empty region shows.

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

/// How long a program may run under valgrind, about, if nothing else is asked for.
pub const DEFAULT_LIMIT: Duration = Duration::from_secs(600);

/// Between two looks at whether it has ended.
const LOOK_AGAIN_AFTER: Duration = Duration::from_millis(10);

/// How much of what valgrind says is kept, from its end.
const MOST_OF_A_MESSAGE: usize = 4_000;

/// What shall be counted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Request {
    /// The program that has the region.
    pub program: PathBuf,
    /// What it is started with.
    pub arguments: Vec<OsString>,
    /// Variables of its environment, besides those of this process.
    pub variables: Vec<(OsString, OsString)>,
    /// The function inside of which is counted, as valgrind writes names, with `*` and `?`. It must
    /// not call itself, or another one that matches: every entry turns counting on or off.
    pub region: String,
    /// When it is ended.
    pub limit: Duration,
}

/// What was counted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Instructions {
    /// Instructions inside the region, all of its calls together.
    pub count: u64,
    /// `valgrind-3.19.0`.
    pub valgrind: String,
    /// The whole command, for the report.
    pub command: String,
}

impl Request {
    /// Counts in [`counted_region`].
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
    // Not in the place of a measuring thread: a long run with real-time priority would stop others.
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
    let looks = limit.as_millis() / LOOK_AGAIN_AFTER.as_millis();
    for _ in 0..=looks {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(status),
            Ok(None) => thread::sleep(LOOK_AGAIN_AFTER),
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

/// The end of a message, where the reason is.
fn said(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim();
    let start = text.char_indices().rev().nth(MOST_OF_A_MESSAGE).map_or(0, |(at, _)| at);
    match text.get(start..) {
        Some(text) if !text.is_empty() => text.to_owned(),
        _ => "nothing".to_owned(),
    }
}
