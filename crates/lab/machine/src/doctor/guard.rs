//! The guardian of a fix: a process that restores the values if the one that tries it is gone.
//!
//! ```text
//!   doctor try            guardian, this program again
//!     writes the state file, with the values of before
//!     starts it  ------->   reads the state file, says `ready`
//!     applies, measures     waits for its standard input
//!     says `done`  ----->   ends
//!     or is killed  ---->   end of input: restores, removes the state file, ends
//! ```
//!
//! If the guardian is killed too, the state file stays, and `nanotape lab doctor restore` uses it.
//! A process group of its own keeps Ctrl-C from the guardian.

use std::{
    fs::{self, File},
    io::{self, BufRead as _, BufReader, Write as _},
    os::unix::{fs::OpenOptionsExt as _, process::CommandExt as _},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, ExitCode, Stdio},
};

use serde_json::{Value, json};

use super::fix::{Change, Fix, restore};

/// The environment variable that makes a process the guardian: the path of the state file.
const ROLE: &str = "NANOTAPE_DOCTOR_GUARDIAN";

const READY: &str = "ready";
const DONE: &str = "done";

/// Where the state file is, if no other path is chosen.
pub const STATE_FILE: &str = "/run/nanotape-doctor-try.json";

/// A guardian at work. Dropping it without [`finish`](Self::finish) makes it restore.
#[derive(Debug)]
pub(super) struct Guardian {
    process: Child,
    input: Option<ChildStdin>,
    state: PathBuf,
}

/// Runs as the guardian if the environment says so. A program that tries fixes calls this before it
/// parses its command line.
pub fn guardian() -> Option<ExitCode> {
    let state = PathBuf::from(std::env::var_os(ROLE)?);
    println!("{READY}");
    if io::stdout().flush().is_err() {
        return Some(ExitCode::FAILURE);
    }
    let mut line = String::new();
    // An error is the end of the input, too.
    let _ = io::stdin().read_line(&mut line);
    if line.trim() == DONE {
        return Some(ExitCode::SUCCESS);
    }
    Some(match restore_from(&state) {
        Ok(unrestored) if unrestored.is_empty() => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    })
}

impl Guardian {
    /// Writes the state file, and starts the guardian.
    pub(super) fn start(fix: &Fix, check: &str, state: &Path) -> Result<Self, String> {
        let changes: Vec<Value> = fix.changes().iter().map(Change::to_json).collect();
        let text = json!({ "check": check, "pid": std::process::id(), "changes": changes });
        let failed =
            |what: &str, error: io::Error| format!("cannot {what} {}: {error}", state.display());
        let mut options = File::options();
        let created = options.write(true).create_new(true).mode(0o600).open(state);
        let mut file = created.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => format!(
                "{} exists: a fix is being tried, or was left; `nanotape lab doctor restore` \
                 restores it",
                state.display()
            ),
            io::ErrorKind::PermissionDenied => failed("make", error) + "; a trial needs root",
            _ => failed("make", error),
        })?;
        let started = file
            .write_all(text.to_string().as_bytes())
            .map_err(|error| failed("write", error))
            .and_then(|()| Self::start_process(state));
        if started.is_err() {
            let _ = fs::remove_file(state);
        }
        started
    }

    fn start_process(state: &Path) -> Result<Self, String> {
        let failed = |error: io::Error| format!("cannot start the process that restores: {error}");
        let program = std::env::current_exe().map_err(failed)?;
        let mut process = Command::new(program)
            .env(ROLE, state)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(failed)?;
        let input = process.stdin.take();
        let output =
            process.stdout.take().ok_or_else(|| failed(io::ErrorKind::BrokenPipe.into()))?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line).map_err(failed)?;
        if line.trim() != READY {
            return Err("the process that restores did not begin".to_owned());
        }
        Ok(Self { process, input, state: state.to_owned() })
    }

    /// Ends it after the values were restored.
    pub(super) fn finish(mut self) -> Result<(), String> {
        if let Some(mut input) = self.input.take() {
            // A guardian that is gone has nothing to do any more.
            let _ = writeln!(input, "{DONE}");
        }
        let _ = self.process.wait();
        fs::remove_file(&self.state)
            .map_err(|error| format!("cannot remove {}: {error}", self.state.display()))
    }
}

/// Restores what a state file says, and removes it; what could not be restored, a sentence each.
pub fn restore_from(state: &Path) -> Result<Vec<String>, String> {
    let changes = changes_in(state)?;
    let unrestored = restore(&changes);
    fs::remove_file(state)
        .map_err(|error| format!("cannot remove {}: {error}", state.display()))?;
    Ok(unrestored)
}

/// The check whose fix was left, if there is a state file of a process that is gone.
pub fn left_over(state: &Path) -> Option<String> {
    let value: Value = serde_json::from_str(&fs::read_to_string(state).ok()?).ok()?;
    let pid = value["pid"].as_u64()?;
    let is_alive = Path::new(&format!("/proc/{pid}")).exists();
    (!is_alive).then(|| value["check"].as_str().unwrap_or("unknown").to_owned())
}

fn changes_in(state: &Path) -> Result<Vec<Change>, String> {
    let path = state.display();
    let text = fs::read_to_string(state).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => format!("there is no {path}: nothing was left to restore"),
        _ => format!("cannot read {path}: {error}"),
    })?;
    let value: Value = serde_json::from_str(&text)
        .map_err(|error| format!("{path} is not JSON (column {})", error.column()))?;
    let changes = value["changes"].as_array().ok_or(format!("{path} has no list of changes"))?;
    let known = changes.iter().map(Change::from_json).collect::<Option<Vec<_>>>();
    known.ok_or(format!("{path} has a change that is no setting of the kernel"))
}
