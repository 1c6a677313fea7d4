//! Workers of a `prove` command, which are this program started once more, as their parent has them:
//! started, stopped, killed, and asked.

use std::{
    io::{self, BufRead as _, BufReader, Read as _, Write as _},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use anyhow::{Context as _, bail};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::status::Status;

/// One process. Dropped, it is killed.
#[derive(Debug)]
pub(crate) struct Worker {
    name: String,
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Worker {
    /// Starts this program once more, with a job in the environment variable `role`, out of the terminal's process group: Ctrl-C is the parent's.
    pub(crate) fn start(name: String, role: &str, job: &str) -> anyhow::Result<Self> {
        use std::os::unix::process::CommandExt as _;
        let program = std::env::current_exe().context("cannot find this program")?;
        let mut process = Command::new(program)
            .env(role, job)
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
    pub(crate) fn wait_until_ready(&mut self) -> anyhow::Result<()> {
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        if line.trim_end() == "ready" {
            return Ok(());
        }
        bail!("the {} did not begin", self.name);
    }

    /// Asks it to end in good order.
    pub(crate) fn stop(&mut self) -> anyhow::Result<()> {
        writeln!(self.input, "stop").with_context(|| format!("the {} is gone", self.name))
    }

    pub(crate) fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        kill_process(Pid::from_child(&self.process), signal)
            .with_context(|| format!("cannot send a signal to the {}", self.name))
    }

    /// An error if it ended although nobody asked it to.
    pub(crate) fn must_run(&mut self) -> anyhow::Result<()> {
        match self.process.try_wait()? {
            None => Ok(()),
            Some(status) => bail!("the {} ended: {status}", self.name),
        }
    }

    /// An error if it ended in another way than well.
    pub(crate) fn must_not_fail(&mut self) -> anyhow::Result<()> {
        match self.process.try_wait()? {
            Some(status) if !status.success() => bail!("the {} ended: {status}", self.name),
            _ => Ok(()),
        }
    }

    /// Whether it has ended.
    pub(crate) fn has_ended(&mut self) -> anyhow::Result<bool> {
        Ok(self.process.try_wait()?.is_some())
    }

    /// What it counted, once it has ended; nothing if it did not end well.
    pub(crate) fn counted(mut self) -> anyhow::Result<Option<Value>> {
        let status = self.process.wait()?;
        let mut said = String::new();
        self.output.read_to_string(&mut said)?;
        let line = said.lines().last().filter(|_| status.success());
        Ok(line.and_then(|line| serde_json::from_str(line).ok()))
    }

    /// SIGKILL, and waits until nothing is left of it.
    pub(crate) fn kill(&mut self) -> anyhow::Result<()> {
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

/// Whether the parent said `stop`. If it is gone, so is this process: nobody would end it.
pub(crate) fn listen() -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&stop);
    thread::spawn(move || {
        for line in io::stdin().lock().lines() {
            if line.is_ok_and(|line| line == "stop") {
                told.store(true, Ordering::Relaxed);
            }
        }
        if !told.load(Ordering::Relaxed) {
            std::process::exit(Status::Usage as i32);
        }
    });
    stop
}
