//! The `perf` program, attached to this process for exactly the part that is measured.
//!
//! Where: around a run, for whoever wants perf's own events or a profile. Attach before the thread
//! gets its place; `enable` and `disable` belong around the measured part, outside of what is
//! timed. Protocol: perf starts with its events disabled and listens on one fifo; each command
//! (`enable`, `disable`) is answered by `ack` on another one. Both lie in a private directory,
//! which is removed in the end. An interrupt ends perf, as a key press would.
//! Bounds: perf is waited for [`ANSWER_WITHIN`] at every step.
//! Failure: [`PerfUnavailable`], with what perf itself said where it said something.

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

/// How long perf is waited for, about: it answers in milliseconds, but may have to share.
pub const ANSWER_WITHIN: Duration = Duration::from_secs(10);

/// Between two looks at whether perf has answered.
const LOOK_AGAIN_AFTER: Duration = Duration::from_millis(1);

/// How much of what perf says is kept.
const MOST_OF_A_MESSAGE: usize = 4_000;

/// What perf shall do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Count events: `perf stat`.
    Stat,
    /// Sample where time goes: `perf record`.
    Record {
        /// Where the samples go, usually `perf.data`.
        output: PathBuf,
    },
}

/// What perf found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Findings {
    /// The text of `perf stat`.
    Counts(String),
    /// The file that `perf report -i` reads.
    Samples(PathBuf),
}

/// perf, attached to this process and all of its threads, those to come as well.
#[derive(Debug)]
pub struct PerfProgram {
    mode: Mode,
    command: String,
    /// None once it was waited for.
    child: Option<Child>,
    fifos: Fifos,
    directory: PrivateDirectory,
}

impl PerfProgram {
    /// Starts perf and waits until it listens. With no `events`, perf chooses them itself; on a
    /// machine without hardware counters that may be too many for `perf record`, which then needs
    /// `cpu-clock`.
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
        // The events are disabled already; that this is answered shows that perf is attached.
        perf.command("disable")?;
        Ok(perf)
    }

    /// From here on perf counts or samples.
    pub fn enable(&mut self) -> Result<(), PerfUnavailable> {
        self.command("enable")
    }

    /// Until here; it may be enabled again.
    pub fn disable(&mut self) -> Result<(), PerfUnavailable> {
        self.command("disable")
    }

    /// Ends perf and takes what it found.
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
        for _ in looks() {
            if self.fifos.take_answer()? {
                return Ok(());
            }
            if let Some(status) = self.status()? {
                return Err(self.refused(status));
            }
            thread::sleep(LOOK_AGAIN_AFTER);
        }
        Err(PerfUnavailable::NoAnswer { command, said: self.said() })
    }

    fn interrupt(&mut self) -> Result<ExitStatus, PerfUnavailable> {
        if let Some(child) = &self.child {
            // It may have ended by itself, which the wait below tells.
            let _ = kill_process(Pid::from_child(child), Signal::INT);
        }
        for _ in looks() {
            if let Some(status) = self.status()? {
                self.child = None;
                return Ok(status);
            }
            thread::sleep(LOOK_AGAIN_AFTER);
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
    /// Whoever does not finish gets nothing, and leaves nothing behind.
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn looks() -> impl Iterator<Item = u128> {
    0..ANSWER_WITHIN.as_millis() / LOOK_AGAIN_AFTER.as_millis()
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
