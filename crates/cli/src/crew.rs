//! Workers of a `prove` command, which are this program started once more, as their parent has them:
//! started, stopped, killed, and asked.

use std::{
    io::{self, BufRead as _, BufReader, Read as _, Write as _},
    process::{Child, ChildStdin, ChildStdout, Command, ExitCode, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use anyhow::{Context as _, bail};
use nanotape_clock::{Clock, Stamp};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::{
    contents::mix,
    status::{Status, tell},
};

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
        let (Some(input), Some(output)) = pipes else {
            bail!("cannot connect pipes to the {name}")
        };
        Ok(Self { name, process, input, output: BufReader::new(output) })
    }

    /// Waits for its first line.
    pub(crate) fn wait_until_ready(&mut self) -> anyhow::Result<()> {
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        if line.trim_end() == "ready" {
            return Ok(());
        }
        bail!("the {} did not start", self.name);
    }

    /// Asks it to end in good order.
    pub(crate) fn stop(&mut self) -> anyhow::Result<()> {
        writeln!(self.input, "stop").with_context(|| format!("the {} has exited", self.name))
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

    /// The same, and nothing either if it has not ended yet.
    pub(crate) fn counted_by_now(mut self) -> anyhow::Result<Option<Value>> {
        if self.has_ended()? { self.counted() } else { Ok(None) }
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

/// Between two looks at what is due, or has ended.
pub(crate) const TICK: Duration = Duration::from_millis(5);

/// Waits until all of them have ended, but no longer than this.
pub(crate) fn wait_for_all(workers: &mut [&mut Worker], patience: Duration) -> anyhow::Result<()> {
    let clock = Clock::monotonic();
    let began = clock.stamp();
    while Duration::from_nanos(clock.nanos_between(began, clock.stamp())) < patience {
        let mut all = true;
        for worker in &mut *workers {
            all &= worker.has_ended()?;
        }
        if all {
            break;
        }
        thread::sleep(TICK);
    }
    Ok(())
}

/// Does a job if the environment variable `role` holds one, and says what was counted.
pub(crate) fn work<J>(
    role: &str,
    parse: impl FnOnce(&str) -> Option<J>,
    run: impl FnOnce(&J) -> anyhow::Result<Value>,
) -> Option<ExitCode> {
    let text = std::env::var(role).ok()?;
    let done = match parse(&text) {
        Some(job) => run(&job),
        None => Err(anyhow::anyhow!("{role}: invalid job: {text}")),
    };
    Some(match done {
        Ok(counted) => {
            println!("{counted}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            tell(format_args!("{error:#}"));
            Status::of_error(&error).into()
        }
    })
}

/// When what happens to workers every so often is due: a little sooner or later each time, by a seed.
#[derive(Debug)]
pub(crate) struct Timetable {
    clock: Clock,
    began: Stamp,
    seed: u64,
    /// Random numbers drawn so far.
    drawn: u64,
}

impl Timetable {
    /// Begins now.
    pub(crate) fn new(seed: u64) -> Self {
        let clock = Clock::monotonic();
        let began = clock.stamp();
        Self { clock, began, seed, drawn: 0 }
    }

    pub(crate) fn elapsed(&self) -> Duration {
        Duration::from_nanos(self.clock.nanos_between(self.began, self.clock.stamp()))
    }

    pub(crate) fn draw(&mut self) -> u64 {
        self.drawn += 1;
        mix(!self.seed, self.drawn)
    }

    /// When something that happens every so often is due next: between half and one and a half of it
    /// from now.
    pub(crate) fn due(&mut self, every: Option<Duration>) -> Duration {
        let share = (self.draw() % 1_000) as f64 / 1_000.0;
        every.map_or(Duration::MAX, |every| self.elapsed() + every.mul_f64(0.5 + share))
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
