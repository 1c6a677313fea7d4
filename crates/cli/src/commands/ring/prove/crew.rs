//! The workers of `ring prove` as their parent has them: started, stopped, killed, and asked.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    path::PathBuf,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use anyhow::{Context as _, bail};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::worker::{Job, ROLE};

/// One process. Dropped, it is killed.
#[derive(Debug)]
pub(super) struct Worker {
    name: String,
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Worker {
    /// Starts this program once more, out of the terminal's process group: Ctrl-C is the parent's.
    pub(super) fn start(name: String, job: &Job) -> anyhow::Result<Self> {
        use std::os::unix::process::CommandExt as _;
        let program = std::env::current_exe().context("cannot find this program")?;
        let mut process = Command::new(program)
            .env(ROLE, job.to_text())
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start the {name}"))?;
        let pipes = (process.stdin.take(), process.stdout.take());
        let (Some(input), Some(output)) = pipes else { bail!("the {name} has no pipes") };
        Ok(Self { name, process, input, output: BufReader::new(output) })
    }

    /// Waits for its first line.
    pub(super) fn wait_until_ready(&mut self) -> anyhow::Result<()> {
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        if line.trim_end() == "ready" {
            return Ok(());
        }
        bail!("the {} did not begin", self.name);
    }

    /// Asks it to end in good order.
    pub(super) fn stop(&mut self) -> anyhow::Result<()> {
        writeln!(self.input, "stop").with_context(|| format!("the {} is gone", self.name))
    }

    pub(super) fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        kill_process(Pid::from_child(&self.process), signal)
            .with_context(|| format!("cannot send a signal to the {}", self.name))
    }

    /// An error if it ended although nobody asked it to.
    pub(super) fn must_run(&mut self) -> anyhow::Result<()> {
        match self.process.try_wait()? {
            None => Ok(()),
            Some(status) => bail!("the {} ended: {status}", self.name),
        }
    }

    /// Whether it has ended.
    pub(super) fn has_ended(&mut self) -> anyhow::Result<bool> {
        Ok(self.process.try_wait()?.is_some())
    }

    /// What it counted, once it has ended; nothing if it did not end well.
    pub(super) fn counted(mut self) -> anyhow::Result<Option<Value>> {
        let status = self.process.wait()?;
        let mut said = String::new();
        self.output.read_to_string(&mut said)?;
        let line = said.lines().last().filter(|_| status.success());
        Ok(line.and_then(|line| serde_json::from_str(line).ok()))
    }

    /// SIGKILL, and waits until nothing is left of it.
    pub(super) fn kill(&mut self) -> anyhow::Result<()> {
        self.process.kill()?;
        self.process.wait()?;
        Ok(())
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // It may have ended, which is what is wanted.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The region that the workers share, gone with this value. The workers must be gone before.
#[derive(Debug)]
pub(super) struct Place(pub(super) PathBuf);

impl Drop for Place {
    fn drop(&mut self) {
        // Where no writer came so far as to make it there is none.
        let _ = nanotape_shm::remove(&self.0);
    }
}
