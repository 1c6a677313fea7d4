//! The `perf` program, attached to this process for exactly the measured part.
//!
//! Where: around a run, for perf's own events or a profile. Attach before the thread's placement is
//! applied; `enable` and `disable` belong around the measured part, outside of the timed part.
//! Protocol: perf starts with its events disabled and reads commands from one fifo. It answers each
//! command (`enable`, `disable`) with `ack` on another one. Both are in a private directory, which
//! is removed at the end. An interrupt ends perf, as a key press would.
//! Bounds: every step waits at most [`ANSWER_WITHIN`] for perf.
//! Failure: [`PerfUnavailable`], with the message of perf if there is one.

mod error;
mod fifos;
pub(crate) mod private_directory;

use std::{
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};

pub use self::error::PerfUnavailable;
use self::{fifos::Fifos, private_directory::PrivateDirectory};
use crate::placement::unplaced;

/// Approximate limit for perf's answers, which take milliseconds on a free processor.
pub const ANSWER_WITHIN: Duration = Duration::from_secs(10);

/// Time between two checks for an answer of perf.
const CHECK_EVERY: Duration = Duration::from_millis(1);

/// The most bytes of perf's message to keep.
const MOST_OF_A_MESSAGE: usize = 4_000;

/// The mode of perf.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Count events: `perf stat`.
    Stat,
    /// Take samples of the running code: `perf record`.
    Record {
        /// The file for the samples, usually `perf.data`.
        output: PathBuf,
    },
}

/// The findings of perf.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Findings {
    /// The text of `perf stat`.
    Counts(String),
    /// The file that `perf report -i` reads.
    Samples(PathBuf),
}

/// perf, attached to this process and all of its current and future threads.
#[derive(Debug)]
pub struct PerfProgram {
    mode: Mode,
    command: String,
    /// None after it was waited for.
    child: Option<Child>,
    fifos: Fifos,
    directory: PrivateDirectory,
}

impl PerfProgram {
    /// Starts perf and waits until it reads commands. Without `events`, perf selects them itself.
    /// On a machine without hardware counters these can be too many for `perf record`, which then
    /// needs `cpu-clock`.
    pub fn attach(mode: Mode, events: &[&str]) -> Result<Self, PerfUnavailable> {
        Self::attach_by("perf", mode, events)
    }

    fn attach_by(program: &str, mode: Mode, events: &[&str]) -> Result<Self, PerfUnavailable> {
        let directory = PrivateDirectory::create()
            .map_err(|(path, source)| PerfUnavailable::Directory { path, source })?;
        let fifos = Fifos::create(directory.path())?;
        let mut command = Command::new(program);
        command
            .args(arguments(&mode, events, &directory, &fifos))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(create(&directory.path().join("said"))?);
        let line = line_of(&command);
        let child = unplaced(|| command.spawn())
            .unwrap_or_else(|| Err(std::io::Error::other("cannot start a thread")))
            .map_err(|source| match source.kind() {
                ErrorKind::NotFound | ErrorKind::PermissionDenied => PerfUnavailable::Missing,
                _ => PerfUnavailable::Start { command: line.clone(), source },
            })?;
        let mut perf = Self { mode, command: line, child: Some(child), fifos, directory };
        // The events are disabled already; the answer shows that perf is attached.
        perf.command("disable")?;
        Ok(perf)
    }

    /// Starts counting or sampling.
    pub fn enable(&mut self) -> Result<(), PerfUnavailable> {
        self.command("enable")
    }

    /// Stops counting or sampling; it can be enabled again.
    pub fn disable(&mut self) -> Result<(), PerfUnavailable> {
        self.command("disable")
    }

    /// Ends perf and returns its findings.
    pub fn finish(mut self) -> Result<Findings, PerfUnavailable> {
        let status = self.interrupt()?;
        match &self.mode {
            Mode::Stat => {
                let path = self.directory.path().join("counts");
                match fs::read_to_string(&path) {
                    Ok(text) if !text.trim().is_empty() => Ok(Findings::Counts(text)),
                    _ => Err(self.refused(status)),
                }
            }
            Mode::Record { output } => match fs::metadata(output) {
                Ok(file) if file.len() > 0 => Ok(Findings::Samples(output.clone())),
                _ => Err(self.refused(status)),
            },
        }
    }

    fn command(&mut self, command: &'static str) -> Result<(), PerfUnavailable> {
        self.fifos.send(command)?;
        for _ in checks() {
            if self.fifos.take_answer()? {
                return Ok(());
            }
            if let Some(status) = self.status()? {
                return Err(self.refused(status));
            }
            thread::sleep(CHECK_EVERY);
        }
        Err(PerfUnavailable::NoAnswer { command, said: self.said() })
    }

    fn interrupt(&mut self) -> Result<ExitStatus, PerfUnavailable> {
        if let Some(child) = &self.child {
            // It might have ended by itself, which the wait below reports.
            let _ = kill_process(Pid::from_child(child), Signal::INT);
        }
        for _ in checks() {
            if let Some(status) = self.status()? {
                self.child = None;
                return Ok(status);
            }
            thread::sleep(CHECK_EVERY);
        }
        Err(PerfUnavailable::NoAnswer { command: "an interrupt", said: self.said() })
    }

    fn status(&mut self) -> Result<Option<ExitStatus>, PerfUnavailable> {
        let Some(child) = &mut self.child else { return Ok(None) };
        child.try_wait().map_err(|source| PerfUnavailable::Wait { source })
    }

    fn refused(&self, status: ExitStatus) -> PerfUnavailable {
        PerfUnavailable::Refused {
            command: self.command.clone(),
            status: status.to_string(),
            said: self.said(),
        }
    }

    fn said(&self) -> String {
        let bytes = fs::read(self.directory.path().join("said")).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        let text: String = text.trim().chars().take(MOST_OF_A_MESSAGE).collect();
        if text.is_empty() { "nothing".to_owned() } else { text }
    }
}

impl Drop for PerfProgram {
    /// Without `finish` there are no findings, and no files are left.
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn checks() -> impl Iterator<Item = u128> {
    0..ANSWER_WITHIN.as_millis() / CHECK_EVERY.as_millis()
}

fn create(path: &Path) -> Result<fs::File, PerfUnavailable> {
    fs::File::create_new(path)
        .map_err(|source| PerfUnavailable::Directory { path: path.to_owned(), source })
}

fn arguments(
    mode: &Mode,
    events: &[&str],
    directory: &PrivateDirectory,
    fifos: &Fifos,
) -> Vec<std::ffi::OsString> {
    let mut arguments: Vec<std::ffi::OsString> = Vec::new();
    match mode {
        Mode::Stat => {
            arguments.extend(["stat".into(), "-o".into()]);
            arguments.push(directory.path().join("counts").into());
        }
        Mode::Record { output } => {
            arguments.extend(["record".into(), "-g".into(), "-o".into(), output.into()]);
        }
    }
    arguments.extend(["-p".into(), std::process::id().to_string().into()]);
    arguments.extend(["-D".into(), "-1".into(), fifos.control_argument()]);
    for event in events {
        arguments.extend(["-e".into(), event.into()]);
    }
    arguments
}

fn line_of(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_is_named() {
        let error = PerfProgram::attach_by("no-such-perf-program", Mode::Stat, &[]);
        assert!(matches!(error, Err(PerfUnavailable::Missing)), "{error:?}");
    }

    #[test]
    fn a_program_that_ends_at_once_is_not_waited_for() {
        let error = PerfProgram::attach_by("false", Mode::Stat, &[]).expect_err("it ends");
        let PerfUnavailable::Refused { command, status, said } = error else {
            panic!("not refused: {error}")
        };
        assert!(command.starts_with("false stat -o "), "{command}");
        assert!(status.contains('1'), "{status}");
        assert_eq!(said, "nothing");
    }
}
