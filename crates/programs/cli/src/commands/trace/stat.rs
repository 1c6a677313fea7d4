//! `nanotape trace stat`: the times of each site, as quantiles or as an interval log.

use std::{collections::BTreeMap, time::Duration};

use anyhow::bail;
use clap::{Args, ValueEnum};
use nanotape_answers::Given;
use nanotape_arguments::spans::{Next, Spans, site_name};
use nanotape_clock::{Clock, UtcNanos};
use nanotape_tape::ShutdownFlag;
use nanotape_trace::{
    Histogram, hlog,
    recording::{Entry, ThreadInfo},
    spans::Span,
};

use crate::{
    interrupt,
    output::{FileFormat, Format, Output, OutputArguments},
    rows::{Column, Kind, Rows},
    status::{BadData, Status},
    values::{nanos, seconds},
};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape trace stat equities                the spans that are there, also those of a killed plant
  nanotape trace stat equities --watch        and those of each second, until Ctrl-C
  nanotape trace stat spans/                  all spans of a recording of `nanotape trace collect`
  nanotape trace stat spans/ --interval 10 -o spans.hlog

`ns` is the time from the end of the stage before to the end of this one. Quantiles are at most 0.1% too
high; the largest value is exact. Sites whose spans have no length are left out. Spans that were
overwritten before they could be read are a row with their number, in `lost`.

An .hlog file is an interval log of HdrHistogram, version 1.3: for each interval of --interval and each
site a histogram of the spans that ended in it, in ns, with the name of the site as tag. Lines are in the order
of time, except for spans that a thread wrote ten intervals before another one.

Exit status: 0 success; 1 the spans are damaged; 2 there are none to read.")]
pub(super) struct StatCommand {
    /// Name or path of a ring, path of a thread's region, number of a process, or folder of a
    /// recording
    #[arg(value_name = "NAME|PID|RECORDING")]
    target: Given,

    /// Print the spans of each interval until Ctrl-C, or until the threads have ended
    #[arg(long)]
    watch: bool,

    /// Time between two reports, and length of an interval of an .hlog file
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = seconds)]
    interval: Duration,

    /// Stop after N reports
    #[arg(long, value_name = "N", requires = "watch", value_parser = crate::values::count::<u64>(1..))]
    count: Option<u64>,

    #[command(flatten)]
    output: OutputArguments<StatFormat>,
}

/// How times are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(super) enum StatFormat {
    /// Human-readable aligned columns
    Text,
    /// Comma-separated values with a header line
    Csv,
    /// One JSON object per line
    Json,
    /// Interval log of HdrHistogram
    Hlog,
}

impl FileFormat for StatFormat {
    const SUFFIXES: &str = ".hlog, .csv, .json or .txt";

    fn of_suffix(suffix: &str) -> Option<Self> {
        match suffix {
            "hlog" => Some(Self::Hlog),
            suffix => Format::of_suffix(suffix).map(|format| match format {
                Format::Text => Self::Text,
                Format::Csv => Self::Csv,
                Format::Json => Self::Json,
            }),
        }
    }
}

/// A pause when no thread has written more.
const PAUSE: Duration = Duration::from_millis(1);

pub(super) fn run(command: &StatCommand) -> anyhow::Result<Status> {
    let format = command.output.format_or(StatFormat::Text)?;
    if command.interval.is_zero() {
        bail!("--interval 0: use a time above 0");
    }
    let interrupt = interrupt::install()?;
    let mut spans = Spans::open(&command.target, command.watch)?;
    let output = command.output.open()?;
    let mut report = Report::new(format, output, nanos(command.interval));
    let mut damaged = None;
    let read = read(command, &mut spans, &mut report, &mut damaged, &interrupt);
    report.finish(&spans)?;
    read?;
    match damaged {
        Some(what) => Err(BadData(what).into()),
        None => Ok(Status::Good),
    }
}

/// Reads to the end; with `--watch` up to the last report.
fn read(
    command: &StatCommand,
    spans: &mut Spans,
    report: &mut Report,
    damaged: &mut Option<String>,
    interrupt: &ShutdownFlag,
) -> anyhow::Result<()> {
    let clock = Clock::monotonic();
    let began = clock.stamp();
    let interval_ns = nanos(command.interval);
    let mut next_ns = if command.watch { interval_ns } else { u64::MAX };
    let mut left = command.count.unwrap_or(u64::MAX);
    while !interrupt.is_requested() {
        // Before the spans: what ended threads have written is read by then.
        let is_alive = spans.is_alive();
        let mut is_read = false;
        // Not longer than to the next report, also if a thread is faster than this.
        for _ in 0..4096 {
            match spans.next_entry()? {
                Next::Entry(entry) => report.add(spans, &entry)?,
                Next::Damaged(what) => _ = damaged.get_or_insert(what),
                Next::Nothing => {
                    is_read = true;
                    break;
                }
            }
        }
        if is_read && (!command.watch || !is_alive) {
            break;
        }
        if clock.nanos_between(began, clock.stamp()) >= next_ns {
            next_ns += interval_ns;
            left -= 1;
            if left == 0 {
                break;
            }
            report.end(spans, clock.utc_ns())?;
        }
        if is_read {
            interrupt.sleep(PAUSE);
        }
    }
    Ok(())
}

enum Report {
    Table(Table),
    Log(Log),
}

impl Report {
    fn new(format: StatFormat, output: Output, interval_ns: u64) -> Self {
        let format = match format {
            StatFormat::Text => Format::Text,
            StatFormat::Csv => Format::Csv,
            StatFormat::Json => Format::Json,
            StatFormat::Hlog => return Self::Log(Log::new(output, interval_ns)),
        };
        let columns = vec![
            Column::new("time", Kind::Text, 30, "When the report was made, in UTC."),
            Column::new("thread", Kind::Text, 20, "Name of the thread."),
            Column::new("site", Kind::Text, 16, "Name of the stage."),
            Column::new("spans", Kind::U64, 10, "Spans since the report before.").of("spans"),
            Column::new("p50", Kind::U64, 10, "50% quantile of their times.").of("ns"),
            Column::new("p99", Kind::U64, 10, "99% quantile of their times.").of("ns"),
            Column::new("p99_9", Kind::U64, 10, "99.9% quantile of their times.").of("ns"),
            Column::new("max", Kind::U64, 10, "Their longest time.").of("ns"),
            Column::new("lost", Kind::U64, 0, "Overwritten before they were read.").of("spans"),
        ];
        let rows = Rows::new(output, format, columns);
        Self::Table(Table { rows, sites: BTreeMap::new(), lost: BTreeMap::new() })
    }

    fn add(&mut self, spans: &Spans, entry: &Entry) -> anyhow::Result<()> {
        match (self, entry) {
            (Self::Table(table), Entry::Span { thread, span, .. }) => {
                let key = (*thread, span.site.index());
                let histogram = table.sites.entry(key).or_insert_with(histogram);
                histogram.record(duration(spans.thread(*thread), span));
            }
            (Self::Table(table), Entry::Lost { thread, count, .. }) => {
                *table.lost.entry(*thread).or_default() += count;
            }
            (Self::Log(log), Entry::Span { thread, span, .. }) => {
                log.add(spans.thread(*thread), span)?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Ends a report.
    fn end(&mut self, spans: &Spans, now_ns: u64) -> anyhow::Result<()> {
        match self {
            Self::Table(table) => table.end(spans, now_ns),
            Self::Log(_) => Ok(()),
        }
    }

    fn finish(mut self, spans: &Spans) -> anyhow::Result<()> {
        self.end(spans, Clock::monotonic().utc_ns())?;
        match self {
            Self::Table(table) => table.rows.finish()?,
            Self::Log(log) => log.finish()?,
        };
        Ok(())
    }
}

/// Rows with the times since the last report.
struct Table {
    rows: Rows,
    /// By thread and site.
    sites: BTreeMap<(usize, usize), Histogram>,
    lost: BTreeMap<usize, u64>,
}

impl Table {
    fn end(&mut self, spans: &Spans, now_ns: u64) -> anyhow::Result<()> {
        // Spans without a length are no times, such as the counts of the kernel.
        let timed = self.sites.iter().filter(|(_, histogram)| histogram.max() > Some(0));
        for (&(thread, site), histogram) in timed {
            let thread = spans.thread(thread);
            self.rows.text(UtcNanos::of_unix_ns(now_ns));
            self.rows.text(thread.name.escape_default());
            self.rows.text(site_name(thread, site));
            self.rows.integer(histogram.count());
            for quantile in [0.5, 0.99, 0.999] {
                self.rows.integer(histogram.quantile(quantile).unwrap_or(0));
            }
            self.rows.integer(histogram.max().unwrap_or(0));
            self.rows.absent();
            self.rows.end_row()?;
        }
        for (&thread, &lost) in &self.lost {
            self.rows.text(UtcNanos::of_unix_ns(now_ns));
            self.rows.text(spans.thread(thread).name.escape_default());
            (0..6).for_each(|_| self.rows.absent());
            self.rows.integer(lost);
            self.rows.end_row()?;
        }
        self.sites.clear();
        self.lost.clear();
        self.rows.flush()?;
        Ok(())
    }
}

/// An interval log. Intervals are kept until ten later ones have begun.
struct Log {
    output: Output,
    interval_ns: u64,
    /// By the number of the interval, and the name of the site.
    intervals: BTreeMap<u64, BTreeMap<String, Histogram>>,
    is_begun: bool,
}

/// Intervals in memory.
const OPEN_INTERVALS: usize = 10;

impl Log {
    fn new(output: Output, interval_ns: u64) -> Self {
        Self { output, interval_ns, intervals: BTreeMap::new(), is_begun: false }
    }

    fn add(&mut self, thread: &ThreadInfo, span: &Span) -> anyhow::Result<()> {
        let interval = thread.timescale.utc_ns(span.to) / self.interval_ns;
        let sites = self.intervals.entry(interval).or_default();
        let site = site_name(thread, span.site.index());
        sites.entry(site).or_insert_with(histogram).record(duration(thread, span));
        if self.intervals.len() > OPEN_INTERVALS {
            self.write_first()?;
        }
        Ok(())
    }

    fn write_first(&mut self) -> anyhow::Result<()> {
        let Some((interval, sites)) = self.intervals.pop_first() else { return Ok(()) };
        let start_ns = interval.saturating_mul(self.interval_ns);
        if !self.is_begun {
            hlog::write_header(&mut self.output, start_ns)?;
            self.is_begun = true;
        }
        for (site, histogram) in &sites {
            let interval = (start_ns, self.interval_ns);
            hlog::write_interval(&mut self.output, site, interval, histogram)?;
        }
        Ok(())
    }

    fn finish(mut self) -> anyhow::Result<()> {
        while !self.intervals.is_empty() {
            self.write_first()?;
        }
        if !self.is_begun {
            hlog::write_header(&mut self.output, Clock::monotonic().utc_ns())?;
        }
        Ok(self.output.finish()?)
    }
}

fn histogram() -> Histogram {
    Histogram::growing(hlog::PRECISION_BITS)
}

/// The time of a span in ns.
fn duration(thread: &ThreadInfo, span: &Span) -> u64 {
    thread.timescale.nanos_between(span.from, span.to).round() as u64
}
