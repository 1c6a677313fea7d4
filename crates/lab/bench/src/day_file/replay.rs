//! `nanotape lab bench replay`: a plant that is recorded, and its journal read again.
//!
//! ```text
//! plant, on one processor == ring ==> a tap or the recorder, on another == journal
//! the journal of a day, recorded once ==> a tailer, a subscriber that heals, books at a moment
//! ```
//!
//! Every book at a moment is compared with the book that the day file has then. A wrong one is a
//! finding and ends the run.
//! To add a row, add a line to `rows.rs`.

mod book_at;
mod kept;
mod moments;
mod read;
mod recorder;
mod rows;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use clap::Args;
use nanotape_console::{progress::Progress, records::Columns, values::grouped};
use serde::{Deserialize, Serialize};

pub(crate) use self::recorder::RecorderJob;
use self::{
    kept::Kept,
    rows::{FIGURES, PLANT, RECORDER, ROWS, TAP, Work},
};
use super::{
    Day,
    plant_variants::USUAL,
    publish,
    reading::{compare, heading},
};
use crate::{
    engine::{
        Base, Benchmark, Figures, Folder, Reading, Requested, RequestedCpus, Row, Run, Wanted,
        Worker, columns, command::slowest, goals, is_memory,
    },
    error::Error,
    journal::segment_bytes,
};

/// The plant on its journal: which day, and where it is recorded.
#[derive(Args, Clone, Debug, Serialize, Deserialize)]
#[command(after_help = "\
Examples:
  nanotape lab bench replay day.itch50                             the table
  nanotape lab bench replay day.itch50 --rounds 9 -o replay.json   more rounds, as one JSON list
  nanotape lab bench replay day.itch50 --only plant,plant-tap,plant-recorder
  nanotape lab bench replay day.itch50 --only book-at --moments 1000
  nanotape lab bench replay day.itch50 --folder /var/tmp           journals on a disk
  nanotape lab bench replay --list                                 the names

`plant` publishes the records of the day on a ring, without a reader; `plant-tap` beside a process
that polls the ring; `plant-recorder` beside a process that records the ring into a journal, for
which the plant waits when it is half a ring behind. Times are per message, in processor time of the
plant (`wall`: elapsed time, waits included); `adds` compares with `plant` within a round.

The other rows read a journal that is recorded once, with snapshots. `read-back` reads every record
in place and verifies its checksum. `heal` is a subscriber that starts at record 1 in the journal
and continues in the ring. `snapshot` writes the snapshots again. `book-at` opens the journal and
builds the book of one stock at a moment, as `nanotape book JOURNAL --symbol S --at T` does;
`books-at` builds the books of all stocks. The stocks and moments are random and the same in every
run. Each book is compared with the book from the day file, outside of the times.

In each round each row is measured once, in processes of its own and in a random order. Numbers are
medians over rounds; `worst` is that of all rounds. Compare numbers of one run only. Missed goals do
not change the exit status. Journals are removed at the end.

Exit status: 0 success; 1 the file is damaged or empty, a record is missing, or a book from the
journal differs from that of the file; 2 wrong usage, or a file that cannot be read or written.")]
pub(crate) struct Replay {
    #[command(flatten)]
    day: Day,

    /// Random moments of `book-at`; `books-at` has at most 10
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = nanotape_console::values::count::<u32>(1..=10_000))]
    moments: u32,

    /// Folder for journals [default: /dev/shm if it has room, else the folder for temporary files]
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,

    /// Length of a segment of a journal, a multiple of 4096
    #[arg(long = "segment", alias = "segment-bytes", value_name = "BYTES", default_value = "64MiB", value_parser = segment_bytes)]
    segment_bytes: u64,

    /// Run the plant and its tap or recorder on these processors [default: the last two allowed
    /// ones]
    #[arg(long, value_name = "PLANT,READER", value_parser = nanotape_console::values::two_cpus)]
    cpus: Option<(u32, u32)>,

    /// Use the real-time class SCHED_FIFO with this priority for all processes but the recorder
    #[arg(long, value_name = "PRIORITY", value_parser = clap::value_parser!(u8).range(1..=49))]
    realtime: Option<u8>,

    /// The processor of the recorder; None: any.
    #[arg(skip)]
    recorder_cpu: Option<u32>,

    /// The shared journal, if a row reads it.
    #[arg(skip)]
    kept: Option<Kept>,

    /// Keeps the folders of the shared journal until the end of the run.
    #[arg(skip)]
    #[serde(skip)]
    folders: Vec<Arc<Folder>>,
}

/// What a process of a row does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(crate) enum Pass {
    /// A reading of the row.
    #[default]
    Measure,
    /// Records the shared journal.
    Record,
}

impl Replay {
    fn kept(&self) -> Result<&Kept, Error> {
        self.kept.as_ref().ok_or_else(|| Error::found("the journal", "it was not recorded"))
    }

    /// The folder of journals.
    fn folder(&self) -> &Path {
        self.folder.as_deref().unwrap_or(Path::new("/dev/shm"))
    }
}

impl Benchmark for Replay {
    const NAME: &'static str = "replay";
    const ROWS: &'static [Row<Self>] = ROWS;
    const SELECTS_BELOW: bool = false;
    const IS_PAIR: bool = false;
    /// A plant stops when its ring is removed.
    const LEAVES_FOLDER: bool = false;
    const NAME_WIDTH: usize = 18;
    const FIGURES: Figures<Self> = FIGURES;
    const COLUMNS: Columns = columns! {
        "name", "section", "ns_per_message", "ns_per_message_low", "ns_per_message_high",
        "wall_ns_per_message", "adds_ns", "adds_ns_low", "adds_ns_high", "waited_ns_per_message",
        "records_per_second", "records_per_second_low", "records_per_second_high", "ratio",
        "ratio_low", "ratio_high", "ratio_to", "median_ms" = "times/median_ms",
        "worst_ms" = "times/worst_ms", "snapshot_percent" = "journal/snapshot_percent",
    };
    const GOALS: &'static [Wanted] = goals! {
        // Recording costs the plant no more than a tap does.
        RECORDER => "ratio" = "ratio", AtMost 1.0, 1.0 "times {to}" 2;
        "read-back" => "records_per_second" = "records_per_second", AtLeast 20e6,
            1e-6 "million records a second" 1;
        // Faster than the plant publishes.
        "heal" => "ratio" = "ratio", AtLeast 1.0, 1.0 "times {to}" 2;
        "snapshot" => "snapshot_percent" = "journal/snapshot_percent", AtMost 15.0,
            1.0 "% of the journal's bytes" 1;
        "book-at" => "median_ms" = "times/median_ms", AtMost 100.0, 1.0 "ms, median" 1;
        "book-at" => "worst_ms" = "times/worst_ms", AtMost 250.0, 1.0 "ms, worst" 1;
        "books-at" => "worst_ms" = "times/worst_ms", AtMost 1_500.0, 1.0 "ms, worst" 1;
    };

    type Work = Work;
    type Pass = Pass;

    fn day(&self) -> Option<&Day> {
        Some(&self.day)
    }

    fn requested(&self) -> Requested {
        Requested { cpus: RequestedCpus::Two(self.cpus), real_time_priority: self.realtime }
    }

    fn prepare(run: &mut Run<Self>) -> anyhow::Result<()> {
        let (cpu, cpus) = (run.cpu, run.cpus.clone());
        run.options.day.survey(cpu, &mut run.notes)?;
        run.options.recorder_cpu = cpu.map(|_| cpus.readers[0]);
        if !cpus.are_two() {
            run.notes.push("the plant and its tap or recorder share a processor".to_owned());
        }
        kept::choose_folder(run)
    }

    fn start(
        run: &mut Run<Self>,
        progress: &Progress,
        is_ended: &dyn Fn() -> bool,
    ) -> Result<(), Error> {
        kept::make(run, progress, is_ended)
    }

    fn readers(row: &Row<Self>) -> usize {
        usize::from(row.work == Work::Tap)
    }

    fn data_folder(&self, row: &Row<Self>) -> Option<&Path> {
        (row.work == Work::Recorder).then(|| self.folder())
    }

    fn longest(&self, row: &Row<Self>) -> Duration {
        let moments = if row.work.is_of_moments() { self.moments } else { 0 };
        slowest(self.day.operations()) + Duration::from_secs(10) * moments
    }

    fn work(worker: &mut Worker<Self>) -> Result<Reading, Error> {
        let day = worker.job.options.day.clone();
        match (worker.row.work, worker.job.pass) {
            (_, Pass::Record) => kept::record(worker),
            (Work::Tap, _) if worker.reader().is_some() => publish::tap(worker, &day),
            (Work::Plant | Work::Tap, _) => {
                publish::publish(worker, USUAL, super::Pass::Measure, None)
            }
            (Work::Recorder, _) => {
                let journal = worker.job.data.join("journal");
                kept::recorded(worker, USUAL, worker.path(publish::RING), journal)
            }
            (Work::ReadBack, _) => read::read_back(worker),
            (Work::Heal, _) => read::heal(worker),
            (Work::Snapshot, _) => kept::snapshot(worker),
            (Work::BookAt, _) => book_at::measure(worker, false),
            (Work::BooksAt, _) => book_at::measure(worker, true),
        }
    }

    fn may_lose(_: &Row<Self>) -> bool {
        true
    }

    /// Ns per message of a plant, records a second of a reader, or the median time in ns.
    fn number(row: &Row<Self>, reading: &Reading) -> Option<f64> {
        match row.work {
            Work::Plant | Work::Tap | Work::Recorder => Some(reading.day.processor_ns()),
            Work::ReadBack | Work::Heal | Work::Snapshot => reading.written_per_second(),
            Work::BookAt | Work::BooksAt => reading.p50_ns(),
        }
    }

    fn base(row: &Row<Self>) -> Option<Base> {
        match row.work {
            Work::Plant | Work::BookAt | Work::BooksAt => None,
            Work::Recorder => Some(Base::whole(TAP)),
            Work::Tap | Work::ReadBack | Work::Heal | Work::Snapshot => Some(Base::whole(PLANT)),
        }
    }

    fn conclude(run: &mut Run<Self>, _: &Progress) -> Result<(), Error> {
        if run.measured.iter().any(|row| row.row.work.is_plant()) {
            compare(run, &run.options.day)?;
        }
        Ok(())
    }

    fn heading(run: &Run<Self>) -> String {
        let options = &run.options;
        let heading = heading(run, &options.day);
        let (plant, reader) = (run.cpus.writer, run.cpus.readers[0]);
        let mut text =
            format!("{heading}; plant on processor {plant}, tap or recorder on processor {reader}");
        if let Some(kept) = &options.kept {
            let folder = options.folder();
            text += &format!(
                "\njournals in {} ({}), segments of {} bytes: {} records, {:.1} MB, {} snapshots \
                 of {:.1} MB",
                folder.display(),
                if is_memory(folder) { "in memory" } else { "not in memory" },
                grouped(options.segment_bytes),
                grouped(kept.records),
                kept.bytes as f64 / 1e6,
                grouped(kept.snapshots),
                kept.snapshot_bytes as f64 / 1e6,
            );
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::{super::DayReading, *};
    use crate::engine::{
        Measured, Times, Written,
        test::{measured, run},
    };

    #[test]
    fn goals_are_met_on_one_side_and_missed_on_the_other() {
        let plant = |name: &str, processor_nanos| -> Measured<Replay> {
            let day = DayReading { processor_nanos, operations: 10, ..DayReading::default() };
            let written = Written { messages: 20, nanos: 1_000 };
            measured(name, [Reading { day, written, ..Reading::default() }])
        };
        let reader = |name: &str, messages| {
            let written = Written { messages, nanos: 1_000 };
            measured(name, [Reading { written, ..Reading::default() }])
        };
        let books = |name: &str, p50_ns, max_ns| {
            let times = Some(Times { count: 1, p50_ns, max_ns, ..Times::default() });
            measured(name, [Reading { times, ..Reading::default() }])
        };
        let mut all = run(vec![
            plant(PLANT, 400),
            plant(TAP, 500),
            plant(RECORDER, 550),
            reader("read-back", 25),
            reader("heal", 10),
            reader("snapshot", 10),
            books("book-at", 90_000_000, 300_000_000),
            books("books-at", 1_000_000_000, 1_200_000_000),
        ]);
        all.options.kept = Some(Kept { bytes: 1_000, snapshot_bytes: 120, ..Kept::default() });
        let of_row = |row| Replay::goals(row, &all).into_iter().map(|goal| (row.row.name, goal));
        let found = all.measured.iter().flat_map(of_row);
        let found = found.map(|(row, goal)| (row, goal.of, (goal.share() * 100.0).round()));
        let expected = [
            (RECORDER, "ratio", 10.0),
            ("read-back", "records_per_second", 25.0),
            ("heal", "ratio", 50.0),
            ("snapshot", "snapshot_percent", 20.0),
            ("book-at", "median_ms", 10.0),
            ("book-at", "worst_ms", 20.0),
            ("books-at", "worst_ms", 20.0),
        ];
        assert_eq!(found.collect::<Vec<_>>(), expected);
        let printed = Replay::footing(&all);
        assert!(printed.starts_with("\nGoals: 4 of 7 met\n"), "{printed}");
        assert!(printed.contains("missed at most 1.00 times plant-tap: 1.10, by 10%"), "{printed}");
        assert!(printed.contains("missed at least 1.00 times plant: 0.50, by 50%"), "{printed}");
        let alone = run(vec![plant(RECORDER, 550)]);
        assert_eq!(Replay::footing(&alone), "");
    }
}
