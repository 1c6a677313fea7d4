//! `nanotape ring prove`: one writer and many readers; every message is accounted for.

use std::{iter::once, path::Path, time::Duration};

use anyhow::bail;
use clap::{Args, ValueEnum};
use nanotape_console::{
    interrupt,
    output::{Format, OutputArguments},
    status::Status,
    values::{bytes, period, seconds},
};
use nanotape_ring::{RingError, RingMonitor, slots, stream};
use nanotape_tape::ShutdownFlag;
use serde_json::{Value, json};

use super::{
    Crew, Proof, RingJob, Site, Timetable,
    contents::MAX_LENGTH,
    number,
    ring_worker::{Part, WAYS},
    turns::Turns,
    word,
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
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = nanotape_console::values::count::<u16>(1..=1000))]
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

impl RingProveCommand {
    /// Runs the proof and prints its result.
    pub fn run(&self) -> anyhow::Result<Status> {
        let format = self.output.format_or(Format::Text)?;
        let interrupt = interrupt::install()?;
        let output = self.output.open()?;
        let memory = Path::new("/dev/shm");
        let folder = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        let ring = Site { path: folder.join(Site::name()), is_kept: false };
        let proof = Run::start(self, &ring.path)?.go(&interrupt)?;
        drop(ring);
        proof.print(output, format)
    }
}

/// The running workers: the writer first, then the readers.
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
        // Readers need an existing ring, from its first message on.
        let writer = once(("writer".to_owned(), job(writer_part(command)?)));
        let reader = |number| (format!("reader {number}"), job(Part::Reader { number }));
        let readers = (0..usize::from(command.readers)).map(reader);
        let crew = Crew::start(RingJob::WORK, writer.chain(readers))?;
        Ok(Self { command, path, crew, times: Timetable::new(command.seed), freezes: 0 })
    }

    fn readers(&self) -> std::ops::Range<usize> {
        1..self.crew.members.len()
    }

    fn go(mut self, interrupt: &ShutdownFlag) -> anyhow::Result<Proof> {
        let turns = Turns {
            seconds: self.command.seconds,
            kill_every: self.command.kill_writer_every,
            freeze_every: self.command.freeze_reader_every,
            killed: WRITER..WRITER + 1,
            frozen: self.readers(),
        };
        let taken = turns.take(&mut self.crew, &mut self.times, interrupt, Crew::replace)?;
        self.freezes = taken.freezes;
        self.crew.stop();
        self.conclude(taken.seconds)
    }

    fn conclude(mut self, seconds: f64) -> anyhow::Result<Proof> {
        self.crew.wait(WRITER..WRITER + 1, &self.times)?;
        let published = self.crew.first_counted()?["published"].as_u64().unwrap_or(0);
        let seen = RingMonitor::open(self.path).and_then(|monitor| monitor.sample());
        let seen = seen.map_err(|error| Error::from(error).judged())?;
        if seen.next_sequence != published + 1 {
            bail!(
                "the writer published {published} messages, but the ring counts {}",
                seen.next_sequence - 1
            );
        }
        // The last message is not overwritten: every reader reaches it or is stuck.
        self.crew.wait(self.readers(), &self.times)?;
        let mut readers = Vec::new();
        for (number, member) in self.readers().enumerate() {
            let mut row = json!({ "reader": number, "way": WAYS[number % WAYS.len()] });
            COUNTS.iter().for_each(|(name, _)| row[*name] = 0.into());
            let mut row = self.crew.row(member, row)?;
            let accounted = ["read", "lost"].iter().filter_map(|&name| row[name].as_u64());
            row["unaccounted"] = published.abs_diff(accounted.sum()).into();
            readers.push(row);
        }
        Ok(self.proof(seconds, published, readers))
    }

    fn proof(&self, seconds: f64, published: u64, readers: Vec<Value>) -> Proof {
        let (command, freezes) = (self.command, self.freezes);
        let kills = self.crew.members[WRITER].kills;
        let rate = published as f64 / seconds.max(1e-9);
        let is_good = readers.iter().all(|reader| {
            let wrong = ["torn", "repeated", "unaccounted"];
            reader["ended"] == true && wrong.iter().all(|&name| reader[name] == 0)
        });
        let verdict = match is_good {
            true => "every reader accounted for every message",
            false => "NOT every message is accounted for",
        };
        let text = format!(
            "{published} messages in {seconds:.1} s, {rate:.0} a second; the writer was killed \
             {kills} times, a reader frozen {freezes} times\n{verdict}\n"
        );
        let record = json!({
            "kind": if command.kind == Kind::Stream { "stream" } else { "slots" },
            "seed": command.seed,
            "capacity_bytes": command.capacity,
            "duration_s": seconds,
            "published": published,
            "rate_per_second": rate.round(),
            "kills": kills,
            "freezes": freezes,
            "good": is_good,
            "readers": readers,
        });
        let mut columns = vec![number("reader", 6, "Number of the reader, from 0.")];
        columns.push(word("way", 8, "How it reads.", "way"));
        columns.extend(COUNTS.map(|(name, doc)| number(name, 12, doc)));
        let unaccounted = "Published messages that it neither read nor lost.";
        columns.push(number("unaccounted", 11, unaccounted));
        columns.push(word("end", 0, "good or failed.", "ended"));
        Proof { text, record, rows: "readers", columns }
    }
}

/// The counts of each reader, as named in its answer and in tables.
const COUNTS: [(&str, &str); 5] = [
    ("read", "Messages that it read."),
    ("lost", "Messages that were overwritten before."),
    ("laps", "How often that happened."),
    ("torn", "Messages with other bytes than were published."),
    ("repeated", "Messages that it read again."),
];

/// The writer's job. A slot ring has the largest power of two of slots that fits into the size.
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
