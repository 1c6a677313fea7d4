//! The process that takes one reading: this program, started once more.
//!
//! Protocol: the environment variable [`ROLE`] holds the job and the only argument is the file; the
//! answer is one line of JSON on standard output and exit status 0. Otherwise the reason is on
//! standard error, and the exit status 1 if it is the file's fault.

use std::{
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
};

use nanotape_lab::text::in_full;
use serde_json::Value;

use super::{error::DayFileError, job::Job, variants::Kind};

/// The environment variable that makes a process take a reading.
pub(super) const ROLE: &str = "NANOTAPE_DAY_ROLE";

/// Takes a reading if the environment says so. A program that measures day files calls this before
/// it looks at its command line.
pub fn role() -> Option<ExitCode> {
    let role = std::env::var(ROLE).ok()?;
    let path = std::env::args_os().nth(1).map(PathBuf::from).unwrap_or_default();
    let told = Job::parse(&role, path).and_then(|job| {
        // What a plant starts would inherit its place: it takes it later, by itself.
        let _placement = (job.variant.kind != Kind::Plant).then(|| job.place());
        (job.variant.take)(&job)
    });
    Some(match told {
        Ok(value) => {
            println!("{value}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{}", in_full(&error));
            ExitCode::from(if error.is_finding() { 1 } else { 2 })
        }
    })
}

/// The most bytes that move a process's stack.
pub(super) const MOST_PADDING: usize = 4096;

/// Takes a reading in a process of its own, and waits for it. `padding` bytes in its environment move
/// its stack, so that no variant has a favourable place in every round: the names in the jobs alone
/// would move it by different amounts.
pub(super) fn start(program: &Path, job: &Job, padding: usize) -> Result<Value, DayFileError> {
    let variant = job.variant.name;
    let output = Command::new(program)
        .env(ROLE, job.to_text())
        .env("NANOTAPE_DAY_PADDING", "x".repeat(padding))
        .arg(&job.settings.path)
        .stdin(Stdio::null())
        .output()
        .map_err(|source| DayFileError::Start { variant, source })?;
    let ended = |said: &[u8]| DayFileError::Worker {
        variant,
        status: output.status.to_string(),
        said: String::from_utf8_lossy(said).trim().replace('\n', " "),
    };
    match output.status.code() {
        Some(0) => serde_json::from_slice(&output.stdout).map_err(|_| ended(&output.stdout)),
        // The file was good when it was surveyed.
        Some(1) => Err(DayFileError::Bad {
            path: job.settings.path.clone(),
            reason: format!("it changed: {}", String::from_utf8_lossy(&output.stderr).trim()),
        }),
        _ => Err(ended(&output.stderr)),
    }
}
