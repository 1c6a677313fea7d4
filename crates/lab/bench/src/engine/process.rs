//! Worker processes: this program, started again once per worker.
//!
//! Protocol: the environment variable [`WORKER`] holds the name of the work and its job, as JSON. A
//! worker writes the line [`READY`] when it has opened everything, and may then wait for a line on
//! its standard input. Its answer is one line of JSON and exit status 0. Otherwise the reason is on
//! standard error, and the exit status is 1 after a wrong answer, else 2.
//! Bounds: a worker ends when its parent process ends.

use std::{
    io::{self, BufRead as _, BufReader, Read as _, Write as _},
    os::unix::process::CommandExt as _,
    path::PathBuf,
    process::{Child, ChildStdin, Command, ExitStatus, Stdio},
    sync::mpsc::{self, Receiver, Sender},
    thread,
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::error::Error;

/// The environment variable that makes a process a worker.
pub(crate) const WORKER: &str = "NANOTAPE_WORKER";

/// The line that a worker writes when it has opened everything.
pub(crate) const READY: &str = "ready";

/// The line that starts a worker, when all workers are ready.
pub(crate) const GO: &str = "go";

/// Most bytes of padding on a worker's stack. Jobs alone would move stacks by different amounts;
/// with random padding no row has a favourable position in every round.
pub(super) const MOST_PADDING: usize = 4096;

/// Longer than a worker waits for another one.
const GRACE: Duration = Duration::from_secs(90);

/// The program, and the name of the work.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) path: PathBuf,
    pub(crate) work: &'static str,
}

/// The start of one worker.
#[derive(Debug)]
pub(crate) struct Launch<'a> {
    pub(crate) program: &'a Program,
    pub(crate) job: &'a Value,
    /// Bytes of padding on its stack.
    pub(crate) padding: usize,
    /// Whether it is in a process group of its own, which Ctrl-C does not reach. It then also
    /// inherits standard error.
    pub(crate) is_detached: bool,
}

impl Program {
    /// This program, for the given work.
    pub(crate) fn this(work: &'static str) -> Result<Self, Error> {
        let path = std::env::current_exe().map_err(Error::system("find this program"))?;
        Ok(Self { path, work })
    }

    /// The value of [`WORKER`] for a job.
    pub(crate) fn variable(&self, job: &Value) -> String {
        json!({ "work": self.work, "job": job }).to_string()
    }
}

/// Started workers, in the order of their start. Workers still running are killed on drop.
#[derive(Debug)]
pub(crate) struct Workers {
    processes: Vec<Process>,
    sender: Sender<(usize, Event)>,
    events: Receiver<(usize, Event)>,
}

#[derive(Debug)]
struct Process {
    child: Child,
    input: ChildStdin,
    is_ready: bool,
    end: Option<End>,
}

/// How a worker ended.
#[derive(Debug)]
pub(crate) struct End {
    pub(crate) status: ExitStatus,
    pub(crate) output: String,
    pub(crate) errors: String,
}

#[derive(Debug)]
enum Event {
    Ready,
    End { output: String, errors: String },
}

impl Workers {
    pub(crate) fn new() -> Self {
        let (sender, events) = mpsc::channel();
        Self { processes: Vec::new(), sender, events }
    }

    /// Starts a worker; returns its number, from 0.
    pub(crate) fn start(&mut self, launch: &Launch<'_>) -> Result<usize, Error> {
        let failed = || Error::system("start a process");
        let mut command = Command::new(&launch.program.path);
        command
            .env(WORKER, launch.program.variable(launch.job))
            .env("NANOTAPE_PADDING", "x".repeat(launch.padding))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        if launch.is_detached {
            command.process_group(0);
        } else {
            command.stderr(Stdio::piped());
        }
        let mut child = command.spawn().map_err(failed())?;
        let (Some(input), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(failed()(io::ErrorKind::BrokenPipe.into()));
        };
        let stderr = child.stderr.take();
        let number = self.processes.len();
        self.processes.push(Process { child, input, is_ready: false, end: None });
        let sender = self.sender.clone();
        // The thread is blocked in a read, so it takes no processor from the measurement.
        let listen = move || {
            let mut stdout = BufReader::new(stdout);
            let (mut output, mut errors) = (String::new(), String::new());
            // Unreadable bytes are no answer. After another worker failed there is no receiver.
            let _ = stdout.read_line(&mut output);
            if output.trim() == READY {
                output.clear();
                let _ = sender.send((number, Event::Ready));
            }
            let _ = stdout.read_to_string(&mut output);
            let _ = stderr.map(|mut stderr| stderr.read_to_string(&mut errors));
            let _ = sender.send((number, Event::End { output, errors }));
        };
        thread::Builder::new().spawn(listen).map_err(failed())?;
        Ok(number)
    }

    /// Waits until a worker is ready or ends, and returns its number; None after `limit`.
    pub(crate) fn next(&mut self, limit: Duration) -> Result<Option<usize>, Error> {
        let Ok((number, event)) = self.events.recv_timeout(limit) else { return Ok(None) };
        let process = &mut self.processes[number];
        match event {
            Event::Ready => process.is_ready = true,
            Event::End { output, errors } => {
                let status = process.child.wait().map_err(Error::system("wait for a process"))?;
                process.end = Some(End { status, output, errors });
            }
        }
        Ok(Some(number))
    }

    /// Records all events so far.
    pub(crate) fn update(&mut self) -> Result<(), Error> {
        while self.next(Duration::ZERO)?.is_some() {}
        Ok(())
    }

    /// Waits until a worker is ready; false if it has ended instead.
    pub(crate) fn wait_until_ready(&mut self, number: usize) -> Result<bool, Error> {
        while !self.processes[number].is_ready && self.end(number).is_none() {
            self.next(GRACE)?;
        }
        Ok(self.processes[number].is_ready)
    }

    /// How a worker ended, if it has ended.
    pub(crate) fn end(&self, number: usize) -> Option<&End> {
        self.processes[number].end.as_ref()
    }

    /// Sends a line to a worker. A worker that has ended does not read it.
    pub(crate) fn send(&mut self, number: usize, line: &str) {
        let _ = writeln!(self.processes[number].input, "{line}");
    }

    pub(crate) fn signal(&self, number: usize, signal: Signal) -> Result<(), Error> {
        let sent = kill_process(Pid::from_child(&self.processes[number].child), signal);
        sent.map_err(|errno| Error::system("send a signal to a process")(errno.into()))
    }

    /// Sends SIGKILL and waits until the process is gone.
    pub(crate) fn kill(&mut self, number: usize) -> Result<(), Error> {
        let child = &mut self.processes[number].child;
        let killed = child.kill().and_then(|()| child.wait());
        killed.map(|_| ()).map_err(Error::system("kill a process"))
    }

    /// Starts the processes of a row, waits until all are ready, calls `on_open`, lets them go, and
    /// waits for all answers.
    pub(crate) fn answers<T: DeserializeOwned>(
        row: &'static str,
        launches: &[Launch<'_>],
        work: Duration,
        on_open: impl FnOnce(),
    ) -> Result<Vec<T>, Error> {
        let mut workers = Self::new();
        for launch in launches {
            workers.start(launch)?;
        }
        let mut on_open = Some(on_open);
        let mut left = launches.len();
        while left > 0 {
            let Some(number) = workers.next(GRACE + work)? else {
                let (status, output) = ("no answer".to_owned(), "nothing in time".to_owned());
                return Err(Error::Worker { row, status, output });
            };
            if let Some(end) = workers.end(number) {
                end.check(row)?;
                left -= 1;
            }
            if workers.processes.iter().all(|process| process.is_ready)
                && let Some(on_open) = on_open.take()
            {
                on_open();
                (0..launches.len()).for_each(|number| workers.send(number, GO));
            }
        }
        let ends = workers.processes.iter().filter_map(|process| process.end.as_ref());
        ends.map(|end| end.parse(row)).collect()
    }
}

impl End {
    fn check(&self, row: &'static str) -> Result<(), Error> {
        let errors = self.errors.trim();
        let output = errors.strip_prefix("nanotape: ").unwrap_or(errors).replace('\n', " ");
        match self.status.code() {
            Some(0) => Ok(()),
            Some(1) => Err(Error::found(row, output)),
            _ => Err(Error::Worker { row, status: self.status.to_string(), output }),
        }
    }

    fn parse<T: DeserializeOwned>(&self, row: &'static str) -> Result<T, Error> {
        serde_json::from_str(&self.output).map_err(|error| Error::Worker {
            row,
            status: format!("an answer that cannot be read ({error})"),
            output: self.output.trim().to_owned(),
        })
    }

    /// The answer of a worker that succeeded.
    pub(crate) fn answer(&self) -> Option<Value> {
        let line = self.output.lines().last().filter(|_| self.status.success());
        line.and_then(|line| serde_json::from_str(line).ok())
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        for process in &mut self.processes {
            // A process that has already ended refuses the signal, which is fine.
            let _ = process.child.kill();
            let _ = process.child.wait();
        }
    }
}
