//! `nanotape ring prove` and `nanotape journal prove`: processes against each other while some of
//! them are killed or frozen, and everything that was written accounted for.
//!
//! Protocol: workers are started as for a benchmark, and report that they are ready. The first one
//! writes until it is told [`STOP`]; then all of them end, and answer with what they counted.

mod contents;
mod journal;
mod journal_worker;
mod ring;
mod ring_worker;
mod watch;

use std::{
    io::{self, BufRead as _, Write as _},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use anyhow::bail;
use nanotape_clock::{Clock, Stamp};
use nanotape_console::{
    output::{Format, Output},
    rows::{Column, Rows},
};
use rustix::process::Signal;
use serde::Serialize;
use serde_json::Value;

use self::contents::mix;
pub use self::{journal::JournalProveCommand, ring::RingProveCommand};
pub(crate) use self::{journal_worker::JournalJob, ring_worker::RingJob};
use crate::engine::{End, Launch, Program, Workers, end_with_parent};

/// Ends the first worker.
const STOP: &str = "stop";

/// Between two checks of what is due, or has ended.
const TICK: Duration = Duration::from_millis(5);

/// The workers of a proof. A worker that is killed is replaced by another with the same job.
struct Crew {
    program: Program,
    workers: Workers,
    members: Vec<Member>,
}

struct Member {
    name: String,
    job: Value,
    /// Its number among all workers that were ever started.
    number: usize,
    kills: u64,
}

impl Crew {
    /// Nothing is started yet; `work` is what the workers do.
    fn new(work: &'static str) -> anyhow::Result<Self> {
        let program = Program::this(work)?;
        Ok(Self { program, workers: Workers::new(), members: Vec::new() })
    }

    /// Starts one more.
    fn start(&mut self, name: String, job: &impl Serialize) -> anyhow::Result<()> {
        let job = serde_json::to_value(job)?;
        let number = self.launch(&job)?;
        self.members.push(Member { name, job, number, kills: 0 });
        Ok(())
    }

    fn launch(&mut self, job: &Value) -> anyhow::Result<usize> {
        // Ctrl-C is for this process only: workers end in good order.
        let launch = Launch { program: &self.program, job, padding: 0, is_detached: true };
        Ok(self.workers.start(&launch)?)
    }

    fn wait_until_ready(&mut self, member: usize) -> anyhow::Result<()> {
        let Member { name, number, .. } = &self.members[member];
        match self.workers.wait_until_ready(*number)? {
            true => Ok(()),
            false => bail!("the {name} did not start"),
        }
    }

    /// Kills a worker wherever it is, and starts the next one.
    fn replace(&mut self, member: usize) -> anyhow::Result<()> {
        // Its locks are gone when nothing is left of it: the next one must not come too early.
        self.workers.kill(self.members[member].number)?;
        let job = self.members[member].job.clone();
        self.members[member].number = self.launch(&job)?;
        self.members[member].kills += 1;
        Ok(())
    }

    fn signal(&self, member: usize, signal: Signal) -> anyhow::Result<()> {
        Ok(self.workers.signal(self.members[member].number, signal)?)
    }

    /// Asks the first worker to end.
    fn stop(&mut self) {
        self.workers.tell(self.members[0].number, STOP);
    }

    /// How a worker ended, if it has.
    fn end(&mut self, member: usize) -> anyhow::Result<Option<&End>> {
        self.workers.update()?;
        Ok(self.workers.end(self.members[member].number))
    }

    fn has_ended(&mut self, member: usize) -> anyhow::Result<bool> {
        Ok(self.end(member)?.is_some())
    }

    /// An error if a worker has ended, or, where it `may_end`, if it has failed.
    fn must_run(&mut self, member: usize, may_end: bool) -> anyhow::Result<()> {
        let status = self.end(member)?.map(|end| end.status);
        match status.filter(|status| !may_end || !status.success()) {
            Some(status) => bail!("the {} ended: {status}", self.members[member].name),
            None => Ok(()),
        }
    }

    /// What a worker counted, if it has ended well.
    fn counted(&mut self, member: usize) -> anyhow::Result<Option<Value>> {
        Ok(self.end(member)?.and_then(End::answer))
    }
}

/// In a worker: whether it was told to end.
fn listen() -> anyhow::Result<Arc<AtomicBool>> {
    end_with_parent()?;
    let stop = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&stop);
    thread::spawn(move || {
        for line in io::stdin().lock().lines() {
            if line.is_ok_and(|line| line == STOP) {
                told.store(true, Ordering::Relaxed);
            }
        }
    });
    Ok(stop)
}

/// When periodic events are due: a little sooner or later each time, by a seed.
#[derive(Debug)]
struct Timetable {
    clock: Clock,
    began: Stamp,
    seed: u64,
    /// Random numbers drawn so far.
    drawn: u64,
}

impl Timetable {
    /// Begins now.
    fn new(seed: u64) -> Self {
        let clock = Clock::monotonic();
        Self { began: clock.stamp(), clock, seed, drawn: 0 }
    }

    fn elapsed(&self) -> Duration {
        Duration::from_nanos(self.clock.nanos_between(self.began, self.clock.stamp()))
    }

    fn draw(&mut self) -> u64 {
        self.drawn += 1;
        mix(!self.seed, self.drawn)
    }

    /// One of so many, at random.
    fn pick(&mut self, count: usize) -> usize {
        (self.draw() % count as u64) as usize
    }

    /// When a periodic event is due next: between half and one and a half of its period from now.
    fn due(&mut self, every: Option<Duration>) -> Duration {
        let share = (self.draw() % 1_000) as f64 / 1_000.0;
        every.map_or(Duration::MAX, |every| self.elapsed() + every.mul_f64(0.5 + share))
    }
}

/// What a proof found: the lines of the text in front of its table, the table, and all of it as
/// JSON.
struct Proof {
    text: String,
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
    record: Value,
}

impl Proof {
    fn print(self, mut output: Output, format: Format) -> anyhow::Result<()> {
        if format == Format::Json {
            writeln!(output, "{}", self.record)?;
            return Ok(output.finish()?);
        }
        if format == Format::Text {
            writeln!(output, "{}", self.text)?;
        }
        let mut rows = Rows::new(output, format, self.columns);
        for row in &self.rows {
            row.iter().for_each(|cell| rows.text(cell));
            rows.end_row()?;
        }
        Ok(rows.finish()?)
    }
}
