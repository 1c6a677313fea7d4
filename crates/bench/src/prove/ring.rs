//! `nanotape ring prove`: one writer and many readers, and every message accounted for.

use std::{
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use anyhow::bail;
use clap::{Args, ValueEnum};
use nanotape_console::{
    interrupt,
    output::{Format, OutputArguments},
    progress::Progress,
    rows::Column,
    status::Status,
    values::{bytes, period, seconds},
};
use nanotape_ring::{RingError, RingMonitor, slots, stream};
use nanotape_tape::ShutdownFlag;
use rustix::process::Signal;
use serde_json::{Value, json};

use super::{
    Crew, Proof, RingJob, TICK, Timetable,
    contents::MAX_LENGTH,
    ring_worker::{Part, WAYS},
};
use crate::error::Error;

/// The arguments of `nanotape ring prove`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape ring prove                         a minute, one writer, four readers
  nanotape ring prove --seconds 600 --kill-writer-every 1 --freeze-reader-every 2
  nanotape ring prove --kind slots --capacity 64KiB --readers 8 --format json

One process publishes as fast as it can: messages of 0 to 1,024 bytes, one by one, in place and in
batches. Reader processes read, each from the first message to the last. Bytes and length of a
message follow from its sequence number and its writer, so a torn message or one of another writer
is detected. A killed writer (SIGKILL) is replaced by another that takes the ring over; a frozen
reader (SIGSTOP) resumes after half of its interval. At the end, messages read and messages lost
must add up to the messages published, for every reader.

Exit status: 0 every message is accounted for; 1 a message is not accounted for, torn or repeated;
2 the processes cannot be started.")]
pub struct RingProveCommand {
    /// How long to publish
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds)]
    seconds: Duration,

    /// Reader processes
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=1000))]
    readers: u16,

    /// Size of the ring
    #[arg(long, value_name = "BYTES", default_value = "8MiB", value_parser = bytes)]
    capacity: usize,

    /// Kill the writer about every SECONDS, and start another
    #[arg(long, value_name = "SECONDS", value_parser = period)]
    kill_writer_every: Option<Duration>,

    /// Freeze a reader about every SECONDS
    #[arg(long, value_name = "SECONDS", value_parser = period)]
    freeze_reader_every: Option<Duration>,

    /// Kind of ring
    #[arg(long, value_enum, default_value = "stream")]
    kind: Kind,

    /// Seed for the messages and for the times at which processes are killed
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    #[command(flatten)]
    output: OutputArguments,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Kind {
    /// One stream of messages of any length
    Stream,
    /// One slot of fixed size per message
    Slots,
}

/// How long readers may take for what is in the ring when the writer is done.
const LONGEST_END: Duration = Duration::from_secs(60);

impl RingProveCommand {
    /// Lets processes loose, and prints what became of their messages.
    pub fn run(&self) -> anyhow::Result<Status> {
        let format = self.output.format_or(Format::Text)?;
        let interrupt = interrupt::install()?;
        let output = self.output.open()?;
        let memory = Path::new("/dev/shm");
        let folder = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        let ring = Region(folder.join(format!("nanotape-prove-{}", std::process::id())));
        let outcome = Run::start(self, &ring.0)?.go(&interrupt)?;
        drop(ring);
        let is_good = outcome.is_good();
        outcome.proof(self).print(output, format)?;
        Ok(if is_good { Status::Good } else { Status::Bad })
    }
}

/// Workers at work: the writer first, then the readers.
struct Run<'a> {
    command: &'a RingProveCommand,
    path: &'a Path,
    crew: Crew,
    times: Timetable,
    freezes: u64,
}

const WRITER: usize = 0;

impl<'a> Run<'a> {
    fn start(command: &'a RingProveCommand, path: &'a Path) -> anyhow::Result<Self> {
        let job = |part| RingJob { path: path.to_owned(), seed: command.seed, part };
        let mut crew = Crew::new(RingJob::WORK)?;
        crew.start("writer".to_owned(), &job(writer_part(command)?))?;
        // Readers begin with the first message of a ring that is there.
        crew.wait_until_ready(WRITER)?;
        for number in 0..usize::from(command.readers) {
            crew.start(format!("reader {number}"), &job(Part::Reader { number }))?;
        }
        Ok(Self { command, path, crew, times: Timetable::new(command.seed), freezes: 0 })
    }

    fn readers(&self) -> std::ops::Range<usize> {
        1..self.crew.members.len()
    }

    fn go(mut self, interrupt: &ShutdownFlag) -> anyhow::Result<Outcome> {
        let progress = Progress::with_steps("seconds", self.command.seconds.as_secs());
        let (kill, freeze) = (self.command.kill_writer_every, self.command.freeze_reader_every);
        let (mut kill_due, mut freeze_due) = (self.times.due(kill), self.times.due(freeze));
        let mut frozen: Option<(usize, Duration)> = None;
        while self.times.elapsed() < self.command.seconds && !interrupt.is_requested() {
            thread::sleep(TICK);
            progress.set(self.times.elapsed().as_secs());
            for member in 0..self.crew.members.len() {
                self.crew.must_run(member, false)?;
            }
            let now = self.times.elapsed();
            if now >= kill_due {
                self.crew.replace(WRITER)?;
                kill_due = self.times.due(kill);
            }
            if let Some((reader, _)) = frozen.filter(|(_, until)| now >= *until) {
                self.crew.signal(reader, Signal::CONT)?;
                (frozen, freeze_due) = (None, self.times.due(freeze));
            }
            if frozen.is_none() && now >= freeze_due {
                let reader = 1 + self.times.pick(self.readers().len());
                self.crew.signal(reader, Signal::STOP)?;
                self.freezes += 1;
                frozen = Some((reader, now + freeze.unwrap_or_default() / 2));
            }
        }
        if let Some((reader, _)) = frozen {
            self.crew.signal(reader, Signal::CONT)?;
        }
        let seconds = self.times.elapsed().as_secs_f64();
        self.crew.stop();
        drop(progress);
        self.conclude(seconds)
    }

    /// Whether these have all ended, after as long as they may take.
    fn wait(&mut self, members: std::ops::Range<usize>) -> anyhow::Result<()> {
        let began = self.times.elapsed();
        while self.times.elapsed() - began < LONGEST_END {
            let mut all = true;
            for member in members.clone() {
                all &= self.crew.has_ended(member)?;
            }
            if all {
                break;
            }
            thread::sleep(TICK);
        }
        Ok(())
    }

    fn conclude(mut self, seconds: f64) -> anyhow::Result<Outcome> {
        self.wait(WRITER..WRITER + 1)?;
        let Some(counted) = self.crew.counted(WRITER)? else {
            bail!("the writer failed at its end")
        };
        let published = counted["published"].as_u64().unwrap_or(0);
        let seen = RingMonitor::open(self.path).and_then(|monitor| monitor.look());
        let seen = seen.map_err(|error| Error::from(error).judged())?;
        if seen.next_sequence != published + 1 {
            bail!(
                "the writer published {published} messages, but the ring counts {}",
                seen.next_sequence - 1
            );
        }
        // The last message stays: every reader comes to it, or is stuck.
        self.wait(self.readers())?;
        let readers = self.readers().map(|reader| self.crew.counted(reader));
        let readers = readers.collect::<anyhow::Result<_>>()?;
        let kills = self.crew.members[WRITER].kills;
        Ok(Outcome { seconds, published, kills, freezes: self.freezes, readers })
    }
}

/// The region that the workers share, gone with this value. The workers must be gone before.
#[derive(Debug)]
struct Region(PathBuf);

impl Drop for Region {
    fn drop(&mut self) {
        // Where no writer came so far as to make it there is none.
        let _ = nanotape_shm::remove(&self.0);
    }
}

/// The writer's job: a slot ring has as many slots as fit into the size, and a power of two.
fn writer_part(command: &RingProveCommand) -> anyhow::Result<Part> {
    const SLOT_BYTES: usize = slots::slot_bytes(MAX_LENGTH);
    let capacity_bytes = command.capacity;
    match command.kind {
        Kind::Stream => {
            let range = stream::MIN_CAPACITY_BYTES..=stream::MAX_CAPACITY_BYTES;
            if !range.contains(&capacity_bytes) || !capacity_bytes.is_power_of_two() {
                bail!("{}", RingError::Capacity { capacity_bytes });
            }
            Ok(Part::StreamWriter { capacity_bytes })
        }
        Kind::Slots => {
            let fit = capacity_bytes / SLOT_BYTES;
            if fit < slots::MIN_SLOTS {
                let least = slots::MIN_SLOTS * SLOT_BYTES;
                bail!(
                    "--capacity {capacity_bytes}: too small, {} slots need {least} bytes",
                    slots::MIN_SLOTS
                );
            }
            Ok(Part::SlotsWriter { slots: 1 << fit.ilog2() })
        }
    }
}

/// How it went.
struct Outcome {
    seconds: f64,
    published: u64,
    kills: u64,
    freezes: u64,
    /// What each reader counted; nothing of one that failed or never came to the end.
    readers: Vec<Option<Value>>,
}

/// What each reader counts, as it is called in its answer and in tables.
const COUNTS: [&str; 5] = ["read", "lost", "laps", "torn", "repeated"];

impl Outcome {
    fn count(reader: &Option<Value>, name: &str) -> u64 {
        reader.as_ref().and_then(|reader| reader[name].as_u64()).unwrap_or(0)
    }

    fn unaccounted(&self, reader: &Option<Value>) -> u64 {
        let accounted = Self::count(reader, "read") + Self::count(reader, "lost");
        self.published.abs_diff(accounted)
    }

    fn is_good(&self) -> bool {
        self.readers.iter().all(|reader| {
            let wrong = Self::count(reader, "torn") + Self::count(reader, "repeated");
            reader.is_some() && wrong == 0 && self.unaccounted(reader) == 0
        })
    }

    fn rate(&self) -> f64 {
        self.published as f64 / self.seconds.max(1e-9)
    }

    fn proof(&self, command: &RingProveCommand) -> Proof {
        let readers = self.readers.iter().enumerate();
        let records = readers.clone().map(|(number, reader)| {
            let mut row = json!({
                "reader": number,
                "way": WAYS[number % WAYS.len()],
                "unaccounted": self.unaccounted(reader),
                "ended": reader.is_some(),
            });
            for name in COUNTS {
                row[name] = Self::count(reader, name).into();
            }
            row
        });
        let record = json!({
            "kind": if command.kind == Kind::Stream { "stream" } else { "slots" },
            "seed": command.seed,
            "capacity_bytes": command.capacity,
            "duration_s": self.seconds,
            "published": self.published,
            "rate_per_second": self.rate().round(),
            "kills": self.kills,
            "freezes": self.freezes,
            "good": self.is_good(),
            "readers": records.collect::<Vec<_>>(),
        });
        let verdict = match self.is_good() {
            true => "every reader accounted for every message",
            false => "NOT every message is accounted for",
        };
        let text = format!(
            "{} messages in {:.1} s, {:.0} a second; the writer was killed {} times, a reader \
             frozen {} times\n{verdict}\n",
            self.published,
            self.seconds,
            self.rate(),
            self.kills,
            self.freezes
        );
        let mut columns = vec![Column::number("reader", 6), Column::word("way", 8)];
        columns.extend(COUNTS.map(|name| Column::number(name, 12)));
        columns.push(Column::number("unaccounted", 11));
        columns.push(Column::word("end", 0));
        let rows = readers.map(|(number, reader)| {
            let mut row = vec![number.to_string(), WAYS[number % WAYS.len()].to_owned()];
            row.extend(COUNTS.map(|name| Self::count(reader, name).to_string()));
            row.push(self.unaccounted(reader).to_string());
            row.push(if reader.is_some() { "good" } else { "failed" }.to_owned());
            row
        });
        Proof { text, columns, rows: rows.collect(), record }
    }
}
