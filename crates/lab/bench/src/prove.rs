//! `nanotape ring prove`, `journal prove` and `latest prove`: writers and readers in processes,
//! some of which are killed or frozen; every message, and every change of a map, is accounted for.
//!
//! Protocol: workers are started as for a benchmark, and report that they are ready. The first one
//! writes until it receives [`STOP`]. Then all of them end, and answer with their counts.

mod contents;
mod journal;
mod journal_worker;
mod latest;
mod latest_worker;
mod ring;
mod ring_worker;
mod turns;
mod watch;

use std::{
    io::{self, BufRead as _, Write as _},
    ops::Range,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use anyhow::{Context as _, bail};
use nanotape_clock::{Clock, Stamp};
use nanotape_console::{
    output::{Format, Output},
    rows::{Column, Kind, Rows},
    status::Status,
};
use nanotape_lab::Rng;
use rustix::process::Signal;
use serde::Serialize;
use serde_json::Value;

pub use self::{journal::JournalProveCommand, latest::LatestProveCommand, ring::RingProveCommand};
pub(crate) use self::{journal_worker::JournalJob, latest_worker::LatestJob, ring_worker::RingJob};
use crate::engine::{End, Launch, Program, Workers, end_with_parent, table::extend};

/// The line that ends the first worker.
const STOP: &str = "stop";

/// Time between two checks of due events and ended workers.
const TICK: Duration = Duration::from_millis(5);

/// Limit of the time that workers take to end, after they were requested to.
const LONGEST_END: Duration = Duration::from_secs(60);

/// The workers of a proof. A killed worker is replaced by another one with the same job.
struct Crew {
    program: Program,
    workers: Workers,
    members: Vec<Member>,
}

struct Member {
    name: String,
    job: Value,
    /// Its number among all workers started so far.
    number: usize,
    kills: u64,
}

impl Crew {
    /// Starts named workers with the work `work`. The others start when the first one is ready.
    fn start<J: Serialize>(
        work: &'static str,
        jobs: impl Iterator<Item = (String, J)>,
    ) -> anyhow::Result<Self> {
        let program = Program::this(work)?;
        let mut crew = Self { program, workers: Workers::new(), members: Vec::new() };
        for (name, job) in jobs {
            let job = serde_json::to_value(job)?;
            let number = crew.launch(&job)?;
            crew.members.push(Member { name, job, number, kills: 0 });
            if crew.members.len() == 1 {
                crew.wait_until_ready(0)?;
            }
        }
        Ok(crew)
    }

    fn launch(&mut self, job: &Value) -> anyhow::Result<usize> {
        // Ctrl-C must reach this process only, so that workers end in order.
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

    /// Kills a worker at any point of its work, and starts the next one.
    fn replace(&mut self, member: usize) -> anyhow::Result<()> {
        self.kill(member)?;
        self.start_again(member)
    }

    /// Kills a worker. Its locks exist until it is gone; the next one must start after that.
    fn kill(&mut self, member: usize) -> anyhow::Result<()> {
        Ok(self.workers.kill(self.members[member].number)?)
    }

    fn start_again(&mut self, member: usize) -> anyhow::Result<()> {
        let job = self.members[member].job.clone();
        self.members[member].number = self.launch(&job)?;
        self.members[member].kills += 1;
        Ok(())
    }

    fn signal(&self, member: usize, signal: Signal) -> anyhow::Result<()> {
        Ok(self.workers.signal(self.members[member].number, signal)?)
    }

    /// Requests the end of the first worker.
    fn stop(&mut self) {
        self.stop_member(0);
    }

    /// Requests the end of a worker.
    fn stop_member(&mut self, member: usize) {
        self.workers.send(self.members[member].number, STOP);
    }

    /// How a worker ended; None while it runs.
    fn end(&mut self, member: usize) -> anyhow::Result<Option<&End>> {
        self.workers.update()?;
        Ok(self.workers.end(self.members[member].number))
    }

    fn has_ended(&mut self, member: usize) -> anyhow::Result<bool> {
        Ok(self.end(member)?.is_some())
    }

    /// Waits until these workers have ended, for [`LONGEST_END`] at most.
    fn wait(&mut self, members: Range<usize>, times: &Timetable) -> anyhow::Result<()> {
        let latest = times.elapsed() + LONGEST_END;
        for member in members {
            while !self.has_ended(member)? && times.elapsed() < latest {
                thread::sleep(TICK);
            }
        }
        Ok(())
    }

    /// Returns an error if a worker has failed, or has ended although `may_end` is false.
    fn must_run(&mut self, member: usize, may_end: bool) -> anyhow::Result<()> {
        let status = self.end(member)?.map(|end| end.status);
        match status.filter(|status| !may_end || !status.success()) {
            Some(status) => bail!("the {} ended: {status}", self.members[member].name),
            None => Ok(()),
        }
    }

    /// The counts of the first worker.
    fn first_counted(&mut self) -> anyhow::Result<Value> {
        let counted = self.end(0)?.and_then(End::answer);
        counted.with_context(|| format!("the {} failed at its end", self.members[0].name))
    }

    /// The row of a worker: its counts, or the given numbers if it failed.
    fn row(&mut self, member: usize, mut row: Value) -> anyhow::Result<Value> {
        let counted = self.end(member)?.and_then(End::answer);
        row["ended"] = counted.is_some().into();
        extend(&mut row, counted.unwrap_or_default());
        Ok(row)
    }
}

/// The meeting point of the workers: a region or a folder, removed on drop unless it is kept. The
/// workers must have ended before that.
struct Site {
    path: PathBuf,
    is_kept: bool,
}

impl Site {
    fn name() -> String {
        format!("nanotape-prove-{}", std::process::id())
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        if !self.is_kept && std::fs::remove_dir_all(&self.path).is_err() {
            // The region does not exist if no writer reached its creation.
            let _ = nanotape_shm::remove(&self.path);
        }
    }
}

/// In a worker: a flag that is set when the parent requests the end.
fn listen() -> anyhow::Result<Arc<AtomicBool>> {
    end_with_parent()?;
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    thread::spawn(move || {
        for line in io::stdin().lock().lines() {
            if line.is_ok_and(|line| line == STOP) {
                flag.store(true, Ordering::Relaxed);
            }
        }
    });
    Ok(stop)
}

/// Due times of periodic events, varied at random by a seed.
#[derive(Debug)]
struct Timetable {
    clock: Clock,
    began: Stamp,
    rng: Rng,
}

impl Timetable {
    /// Starts now.
    fn new(seed: u64) -> Self {
        let clock = Clock::monotonic();
        Self { began: clock.stamp(), clock, rng: Rng::new(!seed) }
    }

    fn elapsed(&self) -> Duration {
        Duration::from_nanos(self.clock.nanos_between(self.began, self.clock.stamp()))
    }

    /// Next due time of a periodic event: between half and one and a half periods from now.
    fn due(&mut self, every: Option<Duration>) -> Duration {
        let share = self.rng.below(1_000) as f64 / 1_000.0;
        every.map_or(Duration::MAX, |every| self.elapsed() + every.mul_f64(0.5 + share))
    }
}

/// The result of a proof: the text in front of its table, and the whole as JSON. The table shows a
/// part of the JSON.
struct Proof {
    text: String,
    record: Value,
    /// The member of the record that contains the rows.
    rows: &'static str,
    columns: Vec<Shown>,
}

/// A column, and the member of a row that it shows.
type Shown = (Column, &'static str);

/// A column of numbers, named after the member of a row that it shows.
fn number(name: &'static str, width: usize, doc: &'static str) -> Shown {
    (Column::new(name, Kind::U64, width, doc), name)
}

/// A column of words about a member of a row.
fn word(name: &'static str, width: usize, doc: &'static str, of: &'static str) -> Shown {
    (Column::new(name, Kind::Text, width, doc), of)
}

impl Proof {
    fn print(self, mut output: Output, format: Format) -> anyhow::Result<Status> {
        let status = if self.record["good"] == true { Status::Good } else { Status::Bad };
        if format == Format::Json {
            writeln!(output, "{}", self.record)?;
            output.finish()?;
            return Ok(status);
        }
        if format == Format::Text {
            writeln!(output, "{}", self.text)?;
        }
        let (columns, members): (_, Vec<_>) = self.columns.into_iter().unzip();
        let mut rows = Rows::new(output, format, columns);
        for row in self.record[self.rows].as_array().into_iter().flatten() {
            members.iter().for_each(|member| rows.text(cell(member, &row[*member])));
            rows.end_row()?;
        }
        rows.finish()?;
        Ok(status)
    }
}

/// A member of a row as text of a table.
fn cell(member: &str, value: &Value) -> String {
    match (member, value) {
        ("ended", Value::Bool(true)) => "good".to_owned(),
        ("ended", _) => "failed".to_owned(),
        ("checksum_is_right", Value::Bool(true)) => "right".to_owned(),
        ("checksum_is_right", Value::Bool(false)) => "WRONG".to_owned(),
        (_, Value::Null) => String::new(),
        (_, Value::String(text)) => text.clone(),
        _ => value.to_string(),
    }
}
