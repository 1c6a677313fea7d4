//! `nanotape trace collect`: all spans of a program into a journal.

use std::{path::PathBuf, time::Duration};

use anyhow::bail;
use clap::Args;
use nanotape_answers::Given;
use nanotape_arguments::{errors::of_journal, threads};
use nanotape_clock::{Clock, Timeline};
use nanotape_journal::{Appender, AppenderOptions, JournalError, Tail, Tailer, excerpt_bytes};
use nanotape_ring::Start;
use nanotape_tape::ShutdownFlag;
use nanotape_trace::recording::{
    Collected, Collector, FIRST_TYPE_ID, LAST_TYPE_ID, START, THREAD, start_entry,
};

use crate::{
    interrupt,
    journals::{make_parents, report_recovery},
    output::{Format, OutputArguments},
    rows::{Column, Kind, Rows},
    status::{Status, note, warn},
    values::{bytes, counted, duration_or_seconds, nanos},
};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape trace on equities
  nanotape trace collect equities -o spans            until the plant ends, or Ctrl-C
  nanotape trace collect equities -o spans --for 10s
  nanotape trace dump spans                           the spans of the recording

Copies the spans of all threads of a plant into a journal (docs/formats/spans-journal.md). `trace dump`,
`trace stat` and `trace export` read it, also while it is written. The plant does nothing for it. Threads
that appear meanwhile are collected too, and so is a plant that takes the place of the first.

The journal can be that of an earlier recording, and is then continued. Spans that were overwritten before
they were read are lost: the journal has their numbers, and the table at the end has their count. Use a
larger --trace-spans of the plant, or record one message in N.

Exit status: 0 success; 1 spans of a thread are damaged; 2 it cannot read them, or cannot write.")]
pub(super) struct CollectCommand {
    /// Name or path of a ring, path of a thread's region, or number of a process
    #[arg(value_name = "NAME|PID")]
    target: Given,

    /// Folder of the journal; created if missing
    #[arg(short, long, value_name = "JOURNAL")]
    output: PathBuf,

    /// End after this time
    #[arg(long = "for", value_name = "TIME", value_parser = duration_or_seconds)]
    time: Option<Duration>,

    /// Bytes of a segment of the journal, a multiple of 4096
    #[arg(long, value_name = "BYTES", default_value = "64MiB", value_parser = bytes)]
    segment: usize,

    /// Format of the table at the end
    #[arg(long, value_enum)]
    format: Option<Format>,
}

/// A pause when no thread has written more, far shorter than a ring takes to be overwritten.
const PAUSE: Duration = Duration::from_micros(200);

/// How often to search for threads that appeared, and whether all have ended.
const CHECK_EVERY_NS: u64 = 100_000_000;

/// Entries of each thread that are read after the end was requested: a whole ring of 2^17 spans.
const LAST_ENTRIES: usize = 512;

pub(super) fn run(command: &CollectCommand) -> anyhow::Result<Status> {
    let interrupt = interrupt::install()?;
    let mut collector = Collector::new();
    // Before the journal is created: the target might be wrong.
    add_threads(&command.target, &mut collector)?;
    let mut journal = Journal::open(command)?;
    let threads = counted(collector.stats().count() as u64, "thread");
    note(format_args!("collecting the spans of {threads}"));
    let collected = collect(command, &mut collector, &mut journal, &interrupt);
    let closed = journal.appender.close();
    let is_damaged = report(command, &collector)?;
    collected.and(closed).map_err(of_journal)?;
    Ok(if is_damaged { Status::Bad } else { Status::Good })
}

/// Adds the threads of a target that are not collected yet.
fn add_threads(target: &Given, collector: &mut Collector) -> anyhow::Result<()> {
    for thread in threads::of_target(target)? {
        let reader = thread.open(Start::Oldest)?;
        if !collector.has(&reader) {
            collector.add(&thread.name, reader);
        }
    }
    Ok(())
}

fn collect(
    command: &CollectCommand,
    collector: &mut Collector,
    journal: &mut Journal,
    interrupt: &ShutdownFlag,
) -> Result<(), JournalError> {
    let clock = Clock::monotonic();
    let began = clock.stamp();
    let (end_ns, mut check_ns) = (command.time.map_or(u64::MAX, nanos), CHECK_EVERY_NS);
    loop {
        let now_ns = clock.nanos_between(began, clock.stamp());
        if now_ns >= end_ns || interrupt.is_requested() {
            break;
        }
        // Before the entries: what ended threads have written is read by then.
        let is_over = now_ns >= check_ns && !find_threads(command, collector);
        if now_ns >= check_ns {
            check_ns = now_ns + CHECK_EVERY_NS;
        }
        let written = journal.write_some(collector, LAST_ENTRIES)?;
        if is_over && written < LAST_ENTRIES {
            return Ok(());
        }
        if written == 0 {
            interrupt.sleep(PAUSE);
        }
    }
    let threads = collector.stats().count();
    journal.write_some(collector, threads * LAST_ENTRIES).map(drop)
}

/// Finds threads that appeared; returns whether any thread is alive.
fn find_threads(command: &CollectCommand, collector: &mut Collector) -> bool {
    // A plant that is just starting or ending might have no thread.
    let _ = add_threads(&command.target, collector);
    collector.is_alive()
}

/// The journal of a recording.
struct Journal {
    appender: Appender,
    timeline: Timeline,
    /// Of each thread the segment and the version of its last announcement.
    announced: Vec<(u64, u32)>,
}

impl Journal {
    fn open(command: &CollectCommand) -> anyhow::Result<Self> {
        let path = &command.output;
        make_parents(path);
        let options =
            AppenderOptions { segment_bytes: command.segment as u64, ..AppenderOptions::default() };
        let appender = Appender::open(path, &options).map_err(of_journal)?;
        report_recovery(path, appender.recovery());
        let mut tailer = Tailer::open(path, nanotape_journal::Start::Oldest).map_err(of_journal)?;
        if let Tail::Excerpt(excerpt) = tailer.next().map_err(of_journal)?
            && !(FIRST_TYPE_ID..=LAST_TYPE_ID).contains(&excerpt.type_id())
        {
            let path = path.display();
            bail!("{path}: this journal is not a recording of spans: use another folder");
        }
        let timeline = Timeline::new(Clock::monotonic());
        let mut journal = Self { appender, timeline, announced: Vec::new() };
        let (now_ns, start) = (journal.timeline.now_ns(), start_entry(&command.target));
        journal.appender.append(START, now_ns, &start).map_err(of_journal)?;
        Ok(journal)
    }

    /// Writes up to `most` entries; returns how many there were.
    fn write_some(
        &mut self,
        collector: &mut Collector,
        most: usize,
    ) -> Result<usize, JournalError> {
        for written in 0..most {
            let Some(entry) = collector.next_entry() else { return Ok(written) };
            self.write(&entry)?;
        }
        Ok(most)
    }

    /// Writes an entry, after the announcement of its thread if this segment lacks it.
    fn write(&mut self, entry: &Collected<'_>) -> Result<(), JournalError> {
        let now_ns = self.timeline.now_ns();
        let Collected { type_id, payload, thread, announcement, version } = *entry;
        let bytes = excerpt_bytes(announcement.len()) + excerpt_bytes(payload.len());
        // Room first: it decides about the segment.
        drop(self.appender.batch(now_ns, bytes)?);
        let needed = (self.appender.segment(), version);
        if self.announced.get(thread) == Some(&needed) {
            return self.appender.append(type_id, now_ns, payload).map(drop);
        }
        let mut batch = self.appender.batch(now_ns, bytes)?;
        batch.append(THREAD, now_ns, announcement)?;
        batch.append(type_id, now_ns, payload)?;
        batch.commit()?;
        if self.announced.len() <= thread {
            self.announced.resize(thread + 1, (0, 0));
        }
        self.announced[thread] = needed;
        Ok(())
    }
}

/// Prints what was read of each thread; whether any of it is damaged.
fn report(command: &CollectCommand, collector: &Collector) -> anyhow::Result<bool> {
    let output = OutputArguments { format: command.format, ..OutputArguments::default() };
    let columns = vec![
        Column::new("thread", Kind::Text, 20, "Name of the thread."),
        Column::new("spans", Kind::U64, 12, "Spans that were read.").of("spans"),
        Column::new("lost", Kind::U64, 12, "Spans overwritten before they were read.").of("spans"),
        Column::new("damaged", Kind::U64, 0, "Spans that are invalid.").of("spans"),
    ];
    let mut rows = Rows::new(output.open()?, output.format_or(Format::Text)?, columns);
    let mut is_damaged = false;
    for stat in collector.stats() {
        rows.text(stat.name.escape_default());
        rows.integer(stat.read);
        rows.integer(stat.lost);
        rows.integer(stat.damaged);
        rows.end_row()?;
        is_damaged |= stat.damaged > 0 || stat.failed.is_some();
        if let Some(error) = &stat.failed {
            warn(format_args!("{}: {error}", stat.name.escape_default()));
        }
    }
    rows.finish()?;
    Ok(is_damaged)
}
