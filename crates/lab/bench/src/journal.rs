//! `nanotape lab bench journal`: the journal between two processes, compared with the limits of the
//! machine and the disk.
//!
//! ```text
//! appender, on one processor == journal in a folder ==> tailer, on another
//!    '-- its pretoucher thread, on any other processor
//! or a writer of plain words, or of synced bytes: the limits
//! ```
//!
//! A missing excerpt, or one with a wrong payload, is a finding and ends the run.
//! To add a row, add a line to [`ROWS`].

mod append;
mod limits;
mod pruned;
mod rows;
mod tail;
mod work;

use std::{
    fs::File,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::bail;
use clap::Args;
use nanotape_console::values::bytes;
use nanotape_console::{records::Columns, values::grouped};
use nanotape_journal::{
    AppenderOptions, MAX_SEGMENT_BYTES, MIN_SEGMENT_BYTES, RollCycle, SyncPolicy, excerpt_bytes,
};
use nanotape_shm::free_bytes;
use serde::{Deserialize, Serialize};

use self::rows::{FDATASYNC, FDATASYNC_32, FIGURES, LINE, ROWS, What, Work};
pub(crate) use self::{append::paced, work::open_off};
use crate::{
    engine::{
        Base, Benchmark, Figures, Reading, Requested, RequestedCpus, Row, Run, Wanted, Worker,
        columns, command::slowest, goals, is_memory, message::USUAL_BYTES, real, table,
    },
    error::Error,
};

/// The journal: what is appended, and where.
#[derive(Args, Clone, Debug, Serialize, Deserialize)]
#[command(after_help = "\
Examples:
  nanotape lab bench journal                                       the table
  nanotape lab bench journal --rounds 9 -o journal.json            more rounds, as one JSON list
  nanotape lab bench journal --folder /var/tmp                     on a disk instead of in memory
  nanotape lab bench journal --only append/73,limit/73             one length, and its limits
  nanotape lab bench journal --only tail,limit/line --seconds 10   from appender to tailer, longer
  nanotape lab bench journal --only sync,limit/fdatasync --disk /data --syncs 10000
  nanotape lab bench journal --segment 1MiB                  many more rolls
  nanotape lab bench journal --list                                the names

Measures excerpts of 73 and of 256 bytes, with their checksums. The appender is a process on one
processor, a tailer one on another; the pretoucher thread, which prepares segments, runs on any
processor but the appender's. In each round each row is measured once, in a random order, in a
folder of its own, which is removed. Every tailed excerpt is checked; a wrong or missing one ends
the run with status 1. Compare numbers of one run only.

Numbers are medians over rounds, the longest time is that of all rounds. Ratios are taken within a
round, and are the medians of those: `0.62 x mapped` appends 0.62 times as many messages as are
copied into as many bytes of a mapped file, `1.2 x line` takes 1.2 times as long as half of a
round trip of a cache line, `1.1 x fdatasync` 1.1 times as long as a bare write and fdatasync.
Times are of every message after the first tenth, and nothing is subtracted from them. JSON is one
list with an object for each row.

Exit status: 0 success, even if goals are missed; 1 a wrong or missing excerpt; 2 wrong usage, or
a file or process that cannot be created.")]
pub(crate) struct Journal {
    /// Messages of a reading
    #[arg(long, value_name = "N", default_value_t = 10_000_000, value_parser = nanotape_console::values::count::<u64>(100..=1 << 36))]
    messages: u64,

    /// Most seconds of a reading with a schedule, which ends after --messages at the latest
    #[arg(long, value_name = "SECONDS", default_value_t = 3, value_parser = nanotape_console::values::whole::<u32>(1_000_000_000, 1..=3_600))]
    seconds: u32,

    /// Number of syncs of a reading that waits for the disk
    #[arg(long, value_name = "N", default_value_t = 2_000, value_parser = nanotape_console::values::count::<u32>(10..=10_000_000))]
    syncs: u32,

    /// Folder for journals
    #[arg(long, value_name = "FOLDER", default_value = "/dev/shm")]
    folder: PathBuf,

    /// Folder for journals that wait for the disk [default: the folder for temporary files]
    #[arg(long, value_name = "FOLDER")]
    disk: Option<PathBuf>,

    /// Length of a segment, a multiple of 4096
    #[arg(long = "segment", alias = "segment-bytes", value_name = "BYTES", default_value = "16MiB", value_parser = segment_bytes)]
    segment_bytes: u64,

    /// Bytes ahead of the appender to bring into memory [default: that of the journal]
    #[arg(long = "ahead", alias = "ahead-bytes", value_name = "BYTES", value_parser = bytes)]
    ahead_bytes: Option<usize>,

    /// Do not use huge pages for segments in memory
    #[arg(long)]
    small_pages: bool,

    /// Run appender and tailer on these processors [default: the last two allowed ones]
    #[arg(long, value_name = "APPENDER,TAILER", value_parser = nanotape_console::values::two_cpus)]
    cpus: Option<(u32, u32)>,
}

/// Parses a length in bytes that is a multiple of a page.
pub(crate) fn segment_bytes(text: &str) -> Result<u64, String> {
    let range = MIN_SEGMENT_BYTES..=MAX_SEGMENT_BYTES;
    let bytes = bytes(text).ok().map(|bytes| bytes as u64);
    bytes
        .filter(|bytes| bytes.is_multiple_of(4096) && range.contains(bytes))
        .ok_or_else(|| "expected a multiple of 4096 bytes, from 64KiB to 64GiB".to_owned())
}

impl Journal {
    /// Number of messages or syncs in a reading of this row.
    fn amount(&self, row: &Row<Self>) -> u64 {
        match row.work.what {
            What::Tail { rate } => self.messages.min(u64::from(self.seconds) * u64::from(rate)),
            What::Sync { .. } | What::Fdatasync { .. } => self.syncs.into(),
            What::Line => self.messages.min(1_000_000),
            What::Append { .. } | What::Pruned { .. } | What::Burst | What::Copy { .. } => {
                self.messages
            }
        }
    }

    /// Folder of the journals that wait for the disk.
    fn disk(&self) -> &Path {
        self.disk.as_deref().unwrap_or(Path::new("/tmp"))
    }

    /// Folder in which a reading of this row writes.
    fn folder_of(&self, row: &Row<Self>) -> &Path {
        if row.work.is_on_disk() { self.disk() } else { &self.folder }
    }

    fn ahead_bytes(&self) -> u64 {
        self.ahead_bytes.map_or(AppenderOptions::default().ahead_bytes, |bytes| bytes as u64)
    }

    /// Most bytes that a reading of this row occupies there.
    fn needed_bytes(&self, row: &Row<Self>) -> u64 {
        let segment = self.segment_bytes.max(1);
        let excerpts = match row.work.what {
            What::Line => return 0,
            What::Sync { batch } | What::Fdatasync { batch } => self.amount(row) * u64::from(batch),
            _ => self.amount(row),
        };
        let bytes = (excerpts + 16) * excerpt_bytes(row.work.length) as u64;
        if !row.work.is_of_journal() {
            return bytes;
        }
        // Adds the last segment, a prepared one, and room for headers and indexes.
        let bytes = match row.work.what {
            What::Pruned { .. } => bytes + 2 * pruned::KEPT_SEGMENTS * segment,
            _ => bytes,
        };
        let ahead = self.ahead_bytes().max(if row.work.what == What::Burst { bytes } else { 0 });
        bytes + bytes / 16 + (2 + ahead / segment) * segment
    }

    /// Bytes that must be in memory in front of the appender before a burst begins.
    fn burst_bytes(&self, row: &Row<Self>) -> u64 {
        let bytes = (self.amount(row) + 16) * excerpt_bytes(row.work.length) as u64;
        bytes + bytes / 16
    }

    /// Options of the appender.
    fn appender(&self, row: &Row<Self>) -> AppenderOptions {
        let is_synced = matches!(row.work.what, What::Sync { .. });
        AppenderOptions {
            segment_bytes: self.segment_bytes,
            // In this benchmark the time of a message is its number.
            roll_cycle: RollCycle::Size,
            sync: if is_synced { SyncPolicy::Batch } else { SyncPolicy::Never },
            ahead_bytes: match row.work.what {
                What::Burst => self.burst_bytes(row).max(self.ahead_bytes()),
                _ => self.ahead_bytes(),
            },
            large_pages: !self.small_pages,
            // It would write the next segment to the disk while syncs are timed.
            has_pretoucher: !is_synced,
            ..AppenderOptions::default()
        }
    }
}

impl Benchmark for Journal {
    const NAME: &'static str = "journal";
    const ROWS: &'static [Row<Self>] = ROWS;
    const NAME_WIDTH: usize = 28;
    const FIGURES: Figures<Self> = FIGURES;
    const COLUMNS: Columns = columns! {
        "name", "section", "written_per_second", "read_per_second", "p50_ns" = "latency/p50_ns",
        "p90_ns" = "latency/p90_ns", "p99_ns" = "latency/p99_ns", "p99.9_ns" = "latency/p99.9_ns",
        "p99.99_ns" = "latency/p99.99_ns", "max_ns" = "latency/max_ns",
        "over_100us" = "latency/over_100us", "from_due_p50_ns" = "latency/from_due_p50_ns",
        "from_due_p99_ns" = "latency/from_due_p99_ns", "rolls" = "rolls/count",
        "rolls_p50_ns" = "rolls/p50_ns", "rolls_max_ns" = "rolls/max_ns", "ratio", "ratio_to",
        "foreign" = "environment/foreign",
    };
    const GOALS: &'static [Wanted] = goals! {
        "append" => "messages/s" = "written_per_second", AtLeast 20e6,
            1e-6 "million messages a second" 2;
        "append call" => "p50_ns" = "latency/p50_ns", AtMost 40.0, 1.0 "ns p50" 0;
        "append call" => "p99_ns" = "latency/p99_ns", AtMost 250.0, 1.0 "ns p99" 0;
        "write to read" => "p50_ns" = "latency/p50_ns", AtMost 230.0, 1.0 "ns p50" 0;
        "sync" => "ratio" = "ratio", AtMost 1.3, 1.0 "times fdatasync" 2;
    };

    type Work = Work;
    type Pass = ();

    fn requested(&self) -> Requested {
        Requested { cpus: RequestedCpus::Two(self.cpus), real_time_priority: None }
    }

    fn prepare(run: &mut Run<Self>) -> anyhow::Result<()> {
        let options = &mut run.options;
        options.folder = real(&options.folder)?;
        options.disk = Some(real(&options.disk.take().unwrap_or_else(std::env::temp_dir))?);
        for row in &run.rows {
            let (folder, needed_bytes) = (options.folder_of(row), options.needed_bytes(row));
            let file = File::open(folder).map_err(Error::system("open the folder"))?;
            let free_bytes = free_bytes(&file);
            if needed_bytes > free_bytes {
                bail!(
                    "{} has {free_bytes} bytes free, but a reading takes {needed_bytes}: use fewer \
                     --messages or another folder",
                    folder.display()
                );
            }
        }
        if run.rows.iter().any(|row| row.work.is_on_disk()) && is_memory(options.disk()) {
            let disk = options.disk().display();
            run.notes.push(format!(
                "{disk} is in memory, where a sync is free; use --disk to select a \
                               folder on a disk"
            ));
        }
        Ok(())
    }

    fn readers(row: &Row<Self>) -> usize {
        usize::from(row.work.is_read())
    }

    fn data_folder(&self, row: &Row<Self>) -> Option<&Path> {
        Some(self.folder_of(row))
    }

    fn longest(&self, row: &Row<Self>) -> Duration {
        match row.work.is_on_disk() {
            // The slowest expected pace of a disk.
            true => Duration::from_millis(100 * self.amount(row)),
            false => slowest(self.amount(row)),
        }
    }

    fn work(worker: &mut Worker<Self>) -> Result<Reading, Error> {
        work::work(worker)
    }

    /// The median time if calls or messages are timed, else the rate of the writer.
    fn number(row: &Row<Self>, reading: &Reading) -> Option<f64> {
        if row.section.is_timed { reading.p50_ns() } else { reading.written_per_second() }
    }

    fn base(row: &Row<Self>) -> Option<Base> {
        let of_length = |usual, larger| {
            Base::whole(if row.work.length == USUAL_BYTES { usual } else { larger })
        };
        let copy = of_length("limit/73/mapped", "limit/256/mapped");
        let call = of_length("limit/73/mapped-call", "limit/256/mapped-call");
        let base = match row.work.what {
            What::Append { timed: false, .. }
            | What::Pruned { timed: false }
            | What::Burst
            | What::Copy { timed: false, .. } => copy,
            What::Append { timed: true, .. }
            | What::Pruned { timed: true }
            | What::Copy { timed: true, .. } => call,
            What::Tail { .. } => Base::half(LINE),
            What::Sync { batch: 1 } => Base::whole(FDATASYNC),
            What::Sync { .. } => Base::whole(FDATASYNC_32),
            What::Line | What::Fdatasync { .. } => return None,
        };
        (base.row != row.name).then_some(base)
    }

    fn heading(run: &Run<Self>) -> String {
        let options = &run.options;
        format!(
            "segments of {} bytes, {} brought in ahead, {} pages; {} of {} messages, {} s or {} \
             syncs; \
             appender on processor {}, tailer on processor {}\n\
             journals in {}, those that wait for the disk in {}",
            grouped(options.segment_bytes),
            grouped(options.ahead_bytes()),
            if options.small_pages { "small" } else { "large" },
            table::rounds(run),
            grouped(options.messages),
            options.seconds,
            grouped(options.syncs.into()),
            run.cpus.writer,
            run.cpus.readers[0],
            options.folder.display(),
            options.disk().display(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{
        Times, Written,
        row::find,
        test::{measured, run},
    };

    fn timed(p50_ns: u64, p99_ns: u64) -> Reading {
        let times = Some(Times { count: 1, p50_ns, p99_ns, ..Times::default() });
        Reading { times, ..Reading::default() }
    }

    fn rate(messages: u64, nanos: u64) -> Reading {
        Reading { written: Written { messages, nanos }, ..Reading::default() }
    }

    #[test]
    fn goals_are_met_on_one_side_and_missed_on_the_other() {
        let all = run::<Journal>(vec![
            measured("append/73/throughput", [rate(25_000, 1_000_000)]),
            measured("append/256/throughput", [rate(15_000, 1_000_000)]),
            measured("append/73/call", [timed(30, 500)]),
            measured("sync/73/each", [timed(130, 300)]),
            measured("limit/fdatasync", [timed(100, 200)]),
        ]);
        let of_row = |row| Journal::goals(row, &all).into_iter().map(|goal| (row.row.name, goal));
        let found = all
            .measured
            .iter()
            .flat_map(of_row)
            .map(|(row, goal)| (row, goal.of, goal.is_met(), (goal.share() * 100.0).round()));
        let expected = [
            ("append/73/throughput", "messages/s", true, 25.0),
            ("append/256/throughput", "messages/s", false, 25.0),
            ("append/73/call", "p50_ns", true, 25.0),
            ("append/73/call", "p99_ns", false, 100.0),
            ("sync/73/each", "ratio", true, 0.0),
        ];
        assert_eq!(found.collect::<Vec<_>>(), expected);
        let without = run(all.measured[..4].to_vec());
        assert!(Journal::goals(&without.measured[3], &without).is_empty(), "without its limit");
    }

    #[test]
    fn every_row_but_the_limits_has_a_limit_of_its_kind() {
        for row in ROWS {
            let Some(to) = Journal::base(row) else {
                assert!(row.name.starts_with("limit/"), "{}", row.name);
                continue;
            };
            let limit = find::<Journal>(to.row).unwrap();
            assert_eq!(limit.section.is_timed, row.section.is_timed, "{}", row.name);
            assert!(to.row == LINE || limit.work.length == row.work.length, "{}", row.name);
        }
    }

    #[test]
    fn a_way_is_held_against_half_a_round_trip_and_a_rate_against_a_rate() {
        let all = run::<Journal>(vec![
            measured("tail/73/100000", [timed(220, 0), timed(180, 0)]),
            measured(LINE, [timed(200, 0), timed(240, 0)]),
            measured("append/256/throughput", [rate(10, 1_000)]),
            measured("limit/256/mapped", [rate(20, 1_000)]),
        ]);
        let ratio = all.measured[0].ratio(&all).unwrap();
        assert_eq!((ratio.value, ratio.to), ((2.2 + 1.5) / 2.0, Base::half(LINE)));
        assert_eq!(all.measured[2].ratio(&all).unwrap().value, 0.5);
        assert_eq!(all.measured[2].written_per_second().unwrap().median, 1e7);
        assert_eq!(all.measured[2].ratio(&run(all.measured[..3].to_vec())), None);
    }

    #[test]
    fn a_schedule_ends_with_its_time_or_with_the_messages() {
        let options = run::<Journal>(Vec::new()).options;
        let options = Journal {
            messages: 1_000_000,
            syncs: 100,
            segment_bytes: 1 << 20,
            ahead_bytes: Some(2 << 20),
            ..options
        };
        let of = |name| {
            let row = find(name).unwrap();
            (options.amount(row), options.needed_bytes(row))
        };
        assert_eq!(of("tail/73/100000").0, 300_000);
        assert_eq!(of("tail/73/1000000").0, 1_000_000);
        assert_eq!(of("sync/73/batch-32").0, 100);
        assert_eq!(of("limit/73/mapped"), (1_000_000, 104 * 1_000_016));
        assert!(of("append/73/throughput").1 > 104_000_000 + (4 << 20));
    }

    #[test]
    fn segments_are_multiples_of_a_page_within_the_format_s_limits() {
        for (text, bytes) in [("64KiB", 1 << 16), ("1MiB", 1 << 20), ("12k", 0), ("64GiB", 1 << 36)]
        {
            match segment_bytes(text) {
                Ok(parsed) => assert_eq!(parsed, bytes, "{text}"),
                Err(_) => assert_eq!(bytes, 0, "{text}"),
            }
        }
        for text in ["", "65537", "128GiB", "99999999999999999999"] {
            assert!(segment_bytes(text).is_err(), "{text}");
        }
    }
}
