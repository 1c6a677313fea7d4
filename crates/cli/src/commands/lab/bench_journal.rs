//! `nanotape lab bench journal`: the journal, beside the limits of this machine and its disk.

mod record;
mod tables;

use std::path::PathBuf;

use anyhow::{Context as _, bail};
use clap::Args;
use nanotape_bench::journal::{
    self, Cpus, JournalBenchError, Measured, Plan, Settings, offset_between, select,
};
use nanotape_clock::{Source, cross_core::Offset};
use nanotape_journal::{AppenderOptions, MAX_SEGMENT_BYTES, MIN_SEGMENT_BYTES};
use nanotape_lab::{Pin, Placement, Wish, record::Circumstances, text, text::in_full};
use serde_json::json;

use super::bench_ring::{bytes, notes, pair};
use crate::{
    input::Progress,
    interrupt::Interrupt,
    status::{BadData, Status},
};
use nanotape_console::records::{Columns, RecordArguments};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape lab bench journal                                       the table
  nanotape lab bench journal --rounds 9 -o journal.json            more rounds, as one JSON list
  nanotape lab bench journal --folder /var/tmp                     on a disk instead of in memory
  nanotape lab bench journal --only append/73,limit/73             one length, and its limits
  nanotape lab bench journal --only tail,limit/line --seconds 10   from appender to tailer, longer
  nanotape lab bench journal --only sync,limit/fdatasync --disk /data --syncs 10000
  nanotape lab bench journal --segment-bytes 1MiB                  many more rolls
  nanotape lab bench journal --list                                the names

Excerpts of 73 and of 256 bytes, with their checksums. The appender is a process on one processor, a
tailer one on another; the helper thread that prepares segments runs anywhere but beside the appender.
In each round each row is measured once, in an order drawn by lot, in a folder of its own, which is
removed. Every excerpt that is tailed is checked, and none may be missing, or the run ends with status
1. Compare numbers of one run only.

Numbers are medians over rounds, the longest time is that of all rounds. Ratios are taken within a
round, and are the median of those: `0.62 x mapped` appends 0.62 times as many messages as are copied
into as many bytes of a mapped file, `1.2 x line` takes 1.2 times as long as half of what a cache line
takes there and back, `1.1 x fdatasync` 1.1 times as long as a bare write and fdatasync. Times are of
every message behind the first tenth, and nothing is subtracted from them. JSON is one list with an
object for each row.

Exit status: 0 good, whether goals are met or not; 1 a wrong or missing excerpt; 2 wrong usage, or
something cannot be made.")]
pub(super) struct JournalCommand {
    /// Print the names and measure nothing
    #[arg(long)]
    list: bool,

    /// Rounds; in each, every row is measured once
    #[arg(long, value_name = "NUMBER", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    rounds: u32,

    /// Only these rows, and those below these names
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    only: Vec<String>,

    /// Messages of a reading
    #[arg(long, value_name = "NUMBER", default_value_t = 10_000_000, value_parser = clap::value_parser!(u64).range(100..=1 << 36))]
    messages: u64,

    /// How long a reading with a schedule is, if it has no more than --messages
    #[arg(long, value_name = "NUMBER", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=3_600))]
    seconds: u32,

    /// How often a reading waits for the disk
    #[arg(long, value_name = "NUMBER", default_value_t = 2_000, value_parser = clap::value_parser!(u32).range(10..=10_000_000))]
    syncs: u32,

    /// Where journals are made
    #[arg(long, value_name = "FOLDER", default_value = "/dev/shm")]
    folder: PathBuf,

    /// Where the journals are made that wait for the disk [default: the folder for temporary files]
    #[arg(long, value_name = "FOLDER")]
    disk: Option<PathBuf>,

    /// Length of a segment, a multiple of 4096
    #[arg(long, value_name = "BYTES", default_value = "16MiB", value_parser = segment_bytes)]
    segment_bytes: u64,

    /// How far in front of the appender its helper brings pages in [default: as the journal does]
    #[arg(long, value_name = "BYTES", value_parser = ahead_bytes)]
    ahead_bytes: Option<u64>,

    /// Do not ask for large pages for segments in memory
    #[arg(long)]
    small_pages: bool,

    /// Appender and tailer run on these processors [default: the last two that are allowed]
    #[arg(long, value_name = "APPENDER,TAILER", value_parser = pair)]
    cpus: Option<(u32, u32)>,

    #[command(flatten)]
    output: RecordArguments,
}

const COLUMNS: Columns = &[
    ("name", "/name"),
    ("section", "/section"),
    ("written_per_second", "/written_per_second"),
    ("read_per_second", "/read_per_second"),
    ("p50_ns", "/latency/p50_ns"),
    ("p90_ns", "/latency/p90_ns"),
    ("p99_ns", "/latency/p99_ns"),
    ("p99.9_ns", "/latency/p99.9_ns"),
    ("p99.99_ns", "/latency/p99.99_ns"),
    ("max_ns", "/latency/max_ns"),
    ("over_100us", "/latency/over_100us"),
    ("from_due_p50_ns", "/latency/from_due_p50_ns"),
    ("from_due_p99_ns", "/latency/from_due_p99_ns"),
    ("rolls", "/rolls/count"),
    ("rolls_p50_ns", "/rolls/p50_ns"),
    ("rolls_max_ns", "/rolls/max_ns"),
    ("ratio", "/ratio"),
    ("ratio_to", "/ratio_to"),
    ("foreign", "/environment/foreign"),
];

/// Everything that was found out.
struct Results {
    settings: Settings,
    rounds: u32,
    measured: Vec<Measured>,
    circumstances: Circumstances,
    /// Of the clocks of the two processors.
    offset: Option<Offset>,
    notes: Vec<String>,
}

pub(super) fn run(command: &JournalCommand) -> anyhow::Result<Status> {
    let rows = select(&command.only)?;
    let mut output = command.output.records(COLUMNS)?.in_one_list();
    if command.list {
        for row in rows {
            let record = json!({ "name": row.name, "section": row.section.name() });
            output.result(&format!("{}\n", row.name), record)?;
        }
        output.finish()?;
        return Ok(Status::Good);
    }
    let cpus = Cpus::choose(command.cpus)?;
    let placement = Placement::apply(&Wish {
        pin: Pin::To(cpus.writer),
        real_time_priority: None,
        lock_memory: false,
    });
    let circumstances = Circumstances::capture(&placement);
    let mut notes = placement.refused().to_vec();
    placement.release();
    let settings = Settings {
        messages: command.messages,
        seconds: command.seconds,
        syncs: command.syncs,
        folder: real(&command.folder)?,
        disk: real(&command.disk.clone().unwrap_or_else(std::env::temp_dir))?,
        segment_bytes: command.segment_bytes,
        ahead_bytes: command.ahead_bytes.unwrap_or(AppenderOptions::default().ahead_bytes),
        large_pages: !command.small_pages,
        cpus,
        counter: circumstances.clock.source() == Source::TimeStampCounter,
    };
    let plan = Plan { settings, rows, rounds: command.rounds };
    plan.check()?;
    output.heading(&text::circumstances(&circumstances))?;
    let offset = offset_between(&circumstances.clock, &plan.settings.cpus);
    notes.extend(self::notes(plan.settings.counter, &plan.settings.cpus, &offset));
    if plan.rows.iter().any(|row| row.is_on_disk()) && is_memory(&plan.settings.disk) {
        let disk = plan.settings.disk.display();
        notes.push(format!("{disk} is in memory: to sync costs nothing there; give a --disk"));
    }

    let program = std::env::current_exe().context("this program's own path")?;
    let progress = Progress::with_steps("measurements", plan.readings());
    // Else it would leave a journal behind.
    let interrupt = Interrupt::install()?;
    let mut tell = |done, name: &str| progress.set_of(done, plan.readings(), name);
    let measured = journal::measure(&program, &plan, &mut tell, &|| interrupt.is_asked());
    drop(progress);
    let measured = measured.map_err(|error| match interrupt.is_asked() {
        true => JournalBenchError::Ended.into(),
        false => judged(error),
    })?;
    let Plan { settings, rounds, .. } = plan;
    let results = Results { settings, rounds, measured, circumstances, offset, notes };
    tables::write(&results, &mut output)?;
    output.finish()?;
    Ok(Status::Good)
}

/// A wrong answer of a journal is a finding; everything else is an obstacle.
fn judged(error: JournalBenchError) -> anyhow::Error {
    if error.is_finding() { BadData(in_full(&error)).into() } else { error.into() }
}

/// The processes of a row are told of it by its full path.
fn real(folder: &std::path::Path) -> anyhow::Result<PathBuf> {
    let real = folder.canonicalize().with_context(|| format!("{}", folder.display()))?;
    if !real.is_dir() {
        bail!("{}: not a folder", folder.display());
    }
    Ok(real)
}

/// Whether a folder is on a file system without a disk, as far as the kernel says so.
fn is_memory(folder: &std::path::Path) -> bool {
    const TMPFS: i64 = 0x0102_1994;
    const RAMFS: i64 = 0x8584_58f6;
    rustix::fs::statfs(folder).is_ok_and(|said| [TMPFS, RAMFS].contains(&said.f_type))
}

/// A multiple of a page.
fn segment_bytes(text: &str) -> anyhow::Result<u64> {
    match bytes(text)?.map(|bytes| bytes as u64) {
        Some(bytes)
            if bytes % 4096 == 0 && (MIN_SEGMENT_BYTES..=MAX_SEGMENT_BYTES).contains(&bytes) =>
        {
            Ok(bytes)
        }
        _ => bail!("a segment has a multiple of 4096 bytes, from 64KiB to 64GiB"),
    }
}

fn ahead_bytes(text: &str) -> anyhow::Result<u64> {
    bytes(text)?.map(|bytes| bytes as u64).context("more bytes than there can be")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_are_multiples_of_a_page_within_the_format_s_limits() {
        for (text, bytes) in [("64KiB", 1 << 16), ("1MiB", 1 << 20), ("12k", 0), ("64GiB", 1 << 36)]
        {
            match segment_bytes(text) {
                Ok(parsed) => assert_eq!(parsed, bytes, "{text}"),
                Err(_) => assert_eq!(bytes, 0, "{text}"),
            }
        }
        for text in ["", "64KB", "65537", "128GiB", "99999999999999999999"] {
            assert!(segment_bytes(text).is_err(), "{text}");
        }
        assert_eq!(ahead_bytes("3MiB").unwrap(), 3 << 20);
    }
}
