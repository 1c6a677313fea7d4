//! `nanotape latest prove`: writers and readers of one map; every change is accounted for.

use std::{path::Path, time::Duration};

use clap::Args;
use nanotape_console::{
    interrupt,
    output::{Format, OutputArguments},
    status::Status,
    values::{period, seconds},
};
use nanotape_latest::{LatestReader, LatestWriter};
use nanotape_shm::RegionOptions;
use nanotape_tape::ShutdownFlag;
use serde_json::{Value, json};

use super::{
    Crew, LatestJob, Proof, Site, Timetable,
    latest_worker::{Counted, Part, sum},
    number,
    turns::Turns,
    word,
};
use crate::error::failed;

/// The arguments of `nanotape latest prove`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape latest prove                         a minute, four writers, two readers
  nanotape latest prove --seconds 600 --kill-writer-every 1 --freeze-writer-every 1
  nanotape latest prove --keys 10 --writers 8 --format json

Each writer process adds one to its word in the value of a random key, as fast as it can, and inserts
and removes other keys in between. So the words of a value add up to its version, which each reader
checks of every copy. A killed writer (SIGKILL) is known to one addition, and is replaced by another;
a frozen one (SIGSTOP) resumes after half of its interval. At the end, the sum of all values must be
what the writers counted, and every count within the map must be right.

Exit status: 0 every change is accounted for; 1 one is lost, or a value is torn; 2 the processes
cannot be started.")]
pub struct LatestProveCommand {
    /// How long to change the map
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds)]
    seconds: Duration,

    /// Writer processes
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = nanotape_console::values::count::<u16>(1..=200))]
    writers: u16,

    /// Reader processes
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = nanotape_console::values::count::<u16>(0..=200))]
    readers: u16,

    /// Keys that the writers change
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = nanotape_console::values::count::<u32>(1..=100_000_000))]
    keys: u32,

    /// Kill a writer about every SECONDS, and start another
    #[arg(long, value_name = "SECONDS", value_parser = period)]
    kill_writer_every: Option<Duration>,

    /// Freeze a writer about every SECONDS
    #[arg(long, value_name = "SECONDS", value_parser = period)]
    freeze_writer_every: Option<Duration>,

    /// Seed for the keys and for the times at which processes are killed
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    #[command(flatten)]
    output: OutputArguments,
}

impl LatestProveCommand {
    /// Runs the proof and prints its result.
    pub fn run(&self) -> anyhow::Result<Status> {
        let format = self.output.format_or(Format::Text)?;
        let interrupt = interrupt::install()?;
        let output = self.output.open()?;
        let memory = Path::new("/dev/shm");
        let folder = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        let site = Site { path: folder.join(Site::name()), is_kept: false };
        std::fs::create_dir(&site.path)?;
        let proof = Run::start(self, &site.path)?.go(&interrupt)?;
        drop(site);
        proof.print(output, format)
    }
}

/// The running workers: the one that creates the map, then the writers, then the readers.
struct Run<'a> {
    command: &'a LatestProveCommand,
    crew: Crew,
    times: Timetable,
    sums: Sums,
    freezes: u64,
}

/// What is in the map, beside what each writer counted.
struct Sums {
    job: LatestJob,
    reader: LatestReader,
    /// Additions of each writer that were not what it counted when it was killed.
    unaccounted: Vec<u64>,
}

impl Sums {
    /// Compares what a writer that is gone has counted with the sum of its words.
    fn account(&mut self, number: usize) -> anyhow::Result<u64> {
        let Counted { begun, done } = Counted::read(&self.job.folder, number)?;
        let found = sum(&self.reader, number).map_err(failed)?;
        self.unaccounted[number] += done.saturating_sub(found) + found.saturating_sub(begun);
        Ok(found)
    }
}

impl<'a> Run<'a> {
    fn start(command: &'a LatestProveCommand, folder: &Path) -> anyhow::Result<Self> {
        let job = |part| LatestJob {
            folder: folder.to_owned(),
            seed: command.seed,
            keys: u64::from(command.keys),
            writers: u32::from(command.writers),
            part,
        };
        let first = ("creator".to_owned(), job(Part::First));
        let writer = |number| (format!("writer {number}"), job(Part::Writer { number }));
        let reader = |number| (format!("reader {number}"), job(Part::Reader));
        let writers = (0..usize::from(command.writers)).map(writer);
        let all = std::iter::once(first).chain(writers).chain((0..command.readers).map(reader));
        let crew = Crew::start(LatestJob::WORK, all)?;
        let job = job(Part::First);
        let reader = LatestReader::open(&job.map()).map_err(failed)?;
        let unaccounted = vec![0; usize::from(command.writers)];
        let times = Timetable::new(command.seed);
        let sums = Sums { job, reader, unaccounted };
        Ok(Self { command, crew, times, sums, freezes: 0 })
    }

    fn writers(&self) -> std::ops::Range<usize> {
        1..1 + usize::from(self.command.writers)
    }

    fn go(mut self, interrupt: &ShutdownFlag) -> anyhow::Result<Proof> {
        let turns = Turns {
            seconds: self.command.seconds,
            kill_every: self.command.kill_writer_every,
            freeze_every: self.command.freeze_writer_every,
            killed: self.writers(),
            frozen: self.writers(),
        };
        let Self { crew, times, sums, .. } = &mut self;
        let taken = turns.take(crew, times, interrupt, |crew, writer| {
            crew.kill(writer)?;
            let _ = sums.account(writer - 1)?;
            crew.start_again(writer)
        })?;
        self.freezes = taken.freezes;
        self.conclude(taken.seconds)
    }

    fn conclude(mut self, seconds: f64) -> anyhow::Result<Proof> {
        (0..self.crew.members.len()).for_each(|member| self.crew.stop_member(member));
        self.crew.wait(0..self.crew.members.len(), &self.times)?;
        // The next writers finish what those with their numbers have left.
        let spec = self.sums.job.spec();
        let again = || LatestWriter::join(&self.sums.job.map(), spec, &RegionOptions::default());
        let others: Result<Vec<_>, _> = (0..spec.writers).map(|_| again()).collect();
        drop(others.map_err(failed)?);
        let found = self.sums.reader.verify().map_err(failed)?;
        let mut rows = Vec::new();
        let mut added = 0;
        for member in 1..self.crew.members.len() {
            let mut row = json!({ "process": self.crew.members[member].name });
            for (name, _) in COUNTS {
                row[name] = 0.into();
            }
            row["kills"] = self.crew.members[member].kills.into();
            let mut row = self.crew.row(member, row)?;
            if self.writers().contains(&member) {
                let sum = self.sums.account(member - 1)?;
                added += sum;
                row["added"] = sum.into();
                row["unaccounted"] = self.sums.unaccounted[member - 1].into();
            }
            rows.push(row);
        }
        Ok(self.proof(seconds, added, found.is_clean(), format!("{found:?}"), rows))
    }

    fn proof(
        &self,
        seconds: f64,
        added: u64,
        is_clean: bool,
        found: String,
        rows: Vec<Value>,
    ) -> Proof {
        let (command, freezes) = (self.command, self.freezes);
        let kills: u64 = self.writers().map(|writer| self.crew.members[writer].kills).sum();
        let recovered = self.sums.reader.recovered();
        let is_good = is_clean
            && rows.iter().all(|row| {
                let wrong = ["torn", "older", "lost", "unaccounted"];
                row["ended"] == true && wrong.iter().all(|&name| row[name] == 0)
            });
        let verdict = match (is_good, is_clean) {
            (true, _) => "every change is accounted for".to_owned(),
            (false, true) => "NOT every change is accounted for".to_owned(),
            (false, false) => format!("the map is DAMAGED: {found}"),
        };
        let rate = added as f64 / seconds.max(1e-9);
        let text = format!(
            "{added} additions in {seconds:.1} s, {rate:.0} a second; {kills} writers were killed, \
             {freezes} frozen; {recovered} locks of dead writers were opened by others\n{verdict}\n"
        );
        let record = json!({
            "seed": command.seed,
            "keys": command.keys,
            "duration_s": seconds,
            "added": added,
            "rate_per_second": rate.round(),
            "kills": kills,
            "freezes": freezes,
            "recovered": recovered,
            "good": is_good,
            "processes": rows,
        });
        let mut columns = vec![word("process", 10, "The part of the process.", "process")];
        columns.extend(COUNTS.map(|(name, doc)| number(name, 10, doc)));
        columns.push(word("end", 0, "good or failed.", "ended"));
        Proof { text, record, rows: "processes", columns }
    }
}

/// The counts of each process, as named in its answer and in tables.
const COUNTS: [(&str, &str); 7] = [
    ("added", "Additions of a writer, by the sum of its words."),
    ("reads", "Values that a reader copied."),
    ("kills", "How often the writer was killed."),
    ("torn", "Values whose words do not add up to their version."),
    ("older", "Values older than one that the reader had before."),
    ("lost", "Keys that were not found, although they are never removed."),
    ("unaccounted", "Additions that are in the map or in the writer's count, and not in both."),
];
