//! `nanotape ring prove`: processes against each other, and every message accounted for.

pub(super) mod worker;

use std::{
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use anyhow::bail;
use clap::{Args, ValueEnum};
use nanotape_ring::{RingError, RingMonitor, slots, stream};
use rustix::process::Signal;
use serde_json::{Value, json};

use self::worker::{Job, Part, ROLE, WAYS};
use crate::{
    contents::MAX_LENGTH,
    crew::{TICK, Timetable, Worker, wait_for_all},
    input::Progress,
    interrupt::Interrupt,
    output::{Format, OutputArguments},
    regions::of_ring,
    rows::{Column, Rows},
    status::Status,
    values::{bytes, period, seconds},
};

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
pub(super) struct ProveCommand {
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
const PATIENCE: Duration = Duration::from_secs(60);

pub(super) fn run(command: &ProveCommand) -> anyhow::Result<Status> {
    let format = command.output.format_or(Format::Text)?;
    let interrupt = Interrupt::install()?;
    let output = command.output.open()?;
    let folder =
        if Path::new("/dev/shm").is_dir() { "/dev/shm".into() } else { std::env::temp_dir() };
    let place = Place(folder.join(format!("nanotape-prove-{}", std::process::id())));
    let result = Run::start(command, &place.0)?.go(&interrupt)?;
    drop(place);
    result.print(command, output, format)?;
    Ok(if result.is_good() { Status::Good } else { Status::Bad })
}

/// Workers at work.
struct Run<'a> {
    command: &'a ProveCommand,
    path: &'a Path,
    writer: Worker,
    writer_job: Job,
    readers: Vec<Worker>,
    times: Timetable,
    kills: u64,
    freezes: u64,
}

impl<'a> Run<'a> {
    fn start(command: &'a ProveCommand, path: &'a Path) -> anyhow::Result<Self> {
        let job = |part| Job { path: path.to_owned(), seed: command.seed, part };
        let writer_job = job(writer_part(command)?);
        let mut writer = Worker::start("writer".to_owned(), ROLE, &writer_job.to_text())?;
        // Readers begin with the first message of a ring that is there.
        writer.wait_until_ready()?;
        let readers = (0..usize::from(command.readers))
            .map(|number| (format!("reader {number}"), job(Part::Reader { number }).to_text()))
            .map(|(name, job)| Worker::start(name, ROLE, &job));
        let readers = readers.collect::<anyhow::Result<_>>()?;
        let times = Timetable::new(command.seed);
        Ok(Self { command, path, writer, writer_job, readers, times, kills: 0, freezes: 0 })
    }

    fn go(mut self, interrupt: &Interrupt) -> anyhow::Result<Outcome> {
        let progress = Progress::with_steps("seconds", self.command.seconds.as_secs());
        let (kill, freeze) = (self.command.kill_writer_every, self.command.freeze_reader_every);
        let (mut kill_due, mut freeze_due) = (self.times.due(kill), self.times.due(freeze));
        let mut frozen: Option<(usize, Duration)> = None;
        while self.times.elapsed() < self.command.seconds && !interrupt.is_asked() {
            thread::sleep(TICK);
            progress.set(self.times.elapsed().as_secs());
            self.writer.must_run()?;
            self.readers.iter_mut().try_for_each(Worker::must_run)?;
            let now = self.times.elapsed();
            if now >= kill_due {
                self.replace_writer()?;
                kill_due = self.times.due(kill);
            }
            if let Some((number, _)) = frozen.filter(|(_, until)| now >= *until) {
                self.readers[number].signal(Signal::CONT)?;
                (frozen, freeze_due) = (None, self.times.due(freeze));
            }
            if frozen.is_none() && now >= freeze_due {
                let number = (self.times.draw() % self.readers.len() as u64) as usize;
                self.readers[number].signal(Signal::STOP)?;
                self.freezes += 1;
                frozen = Some((number, now + freeze.unwrap_or_default() / 2));
            }
        }
        if let Some((number, _)) = frozen {
            self.readers[number].signal(Signal::CONT)?;
        }
        let seconds = self.times.elapsed().as_secs_f64();
        self.writer.stop()?;
        drop(progress);
        self.conclude(seconds)
    }

    /// Kills the writer wherever it is, and starts the next one.
    fn replace_writer(&mut self) -> anyhow::Result<()> {
        // Its lock is gone when nothing is left of it: the next one must not come too early.
        self.writer.kill()?;
        self.writer = Worker::start("writer".to_owned(), ROLE, &self.writer_job.to_text())?;
        self.kills += 1;
        Ok(())
    }

    fn conclude(self, seconds: f64) -> anyhow::Result<Outcome> {
        let Self { writer, mut readers, .. } = self;
        let Some(counted) = writer.counted()? else { bail!("the writer failed at its end") };
        let published = counted["published"].as_u64().unwrap_or(0);
        let failed = |error: RingError| of_ring(self.path, &error);
        let seen =
            RingMonitor::open(self.path).and_then(|observer| observer.look()).map_err(failed)?;
        if seen.next_sequence != published + 1 {
            bail!(
                "the writer published {published} messages, but the ring counts {}",
                seen.next_sequence - 1
            );
        }
        // The last message stays: every reader comes to it, or is stuck.
        wait_for_all(&mut readers.iter_mut().collect::<Vec<_>>(), PATIENCE)?;
        let readers = readers.into_iter().map(Worker::counted_by_now);
        Ok(Outcome {
            seconds,
            published,
            kills: self.kills,
            freezes: self.freezes,
            readers: readers.collect::<anyhow::Result<_>>()?,
        })
    }
}

/// The region that the workers share, gone with this value. The workers must be gone before.
#[derive(Debug)]
struct Place(PathBuf);

impl Drop for Place {
    fn drop(&mut self) {
        // Where no writer came so far as to make it there is none.
        let _ = nanotape_shm::remove(&self.0);
    }
}

/// The writer's job: a slot ring has as many slots as fit into the size, and a power of two.
fn writer_part(command: &ProveCommand) -> anyhow::Result<Part> {
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

    fn print(
        &self,
        command: &ProveCommand,
        mut output: crate::output::Output,
        format: Format,
    ) -> anyhow::Result<()> {
        use std::io::Write as _;
        if format == Format::Json {
            let readers = self.readers.iter().enumerate().map(|(number, reader)| {
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
                "readers": readers.collect::<Vec<_>>(),
            });
            writeln!(output, "{record}")?;
            output.finish()?;
            return Ok(());
        }
        if format == Format::Text {
            writeln!(
                output,
                "{} messages in {:.1} s, {:.0} a second; the writer was killed {} times, a reader \
                 frozen {} times",
                self.published,
                self.seconds,
                self.rate(),
                self.kills,
                self.freezes
            )?;
            let verdict = match self.is_good() {
                true => "every reader accounted for every message",
                false => "NOT every message is accounted for",
            };
            writeln!(output, "{verdict}\n")?;
        }
        let mut columns = vec![Column::number("reader", 6), Column::word("way", 8)];
        columns.extend(COUNTS.map(|name| Column::number(name, 12)));
        columns.push(Column::number("unaccounted", 11));
        columns.push(Column::word("end", 0));
        let mut rows = Rows::new(output, format, columns);
        for (number, reader) in self.readers.iter().enumerate() {
            rows.integer(number as u64);
            rows.text(WAYS[number % WAYS.len()]);
            COUNTS.iter().for_each(|name| rows.integer(Self::count(reader, name)));
            rows.integer(self.unaccounted(reader));
            rows.text(if reader.is_some() { "good" } else { "failed" });
            rows.end_row()?;
        }
        rows.finish()?;
        Ok(())
    }
}
