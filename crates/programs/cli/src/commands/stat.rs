//! `nanotape stat`: the activity of a plant, read from its board and its ring.

mod text;

use std::{io::Write as _, path::Path, time::Duration};

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use nanotape_answers::Given;
use nanotape_arguments::{
    figures::with_figures,
    regions::{of_region, of_ring, place},
};
use nanotape_board::health::{Figure, HealthError, PlantHealth, PlantMonitor};
use nanotape_clock::Clock;
use nanotape_console::screen::Screen;

use crate::{
    interrupt,
    output::{FileFormat, Format, Output, OutputArguments},
    record::Record,
    status::Status,
    values::seconds,
};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape stat equities                      two readings, a second apart, for the rates
  nanotape stat equities --watch              a report each second, until Ctrl-C
  nanotape stat equities --interval 0 --format json --tainted
  nanotape stat equities -o /var/lib/node_exporter/equities.prom --force --watch --interval 15
                                              for the textfile collector of node_exporter

Nothing is written to the board or to the ring: the plant and its taps are not affected. Each
number is read atomically; all numbers of a report are from about the same time. The times of
stages are measured for about one message in 250. A recorder of the ring is shown with its journal
and its lag, and so are named followers. A plant that waits shows for what: a paced one until
when, one with --wait-for for which follower. --watch shows the report in place if standard output
is a terminal, otherwise as one line per reading. It continues when the plant ends, with the next
one on this ring.

A .prom file is in the text format of Prometheus, and an .om file is OpenMetrics; both have the same
samples (docs/formats/metrics.md). The file is replaced as a whole, so a collector never reads a
partial file.

`nanotape ring stat NAME` reports the ring alone, also for rings without a plant.

Exit status: 0 success, also if the plant is stopped or dead; 1 the board or the ring is damaged;
2 there is none.")]
pub(crate) struct StatArguments {
    /// Name or path of the plant's ring
    #[arg(value_name = "NAME")]
    name: Given,

    /// Time between two readings; 0: one reading without rates [default: 1; 0 for one report of
    /// metrics]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    interval: Option<Duration>,

    /// Print reports until Ctrl-C: in place on a terminal, otherwise one line each
    #[arg(long)]
    watch: bool,

    /// Print N reports
    #[arg(long, value_name = "N", value_parser = crate::values::count::<u64>(1..))]
    count: Option<u64>,

    /// List the stocks with an unreliable (tainted) book, and their messages that could not be
    /// applied
    #[arg(long)]
    tainted: bool,

    #[command(flatten)]
    output: OutputArguments<StatFormat>,
}

/// How a plant's state is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum StatFormat {
    /// Human-readable
    Text,
    /// One JSON object per report
    Json,
    /// Text format 0.0.4 of Prometheus, also for node_exporter
    Prometheus,
    /// OpenMetrics 1.0 text
    #[value(name = "openmetrics")]
    OpenMetrics,
}

impl StatFormat {
    /// Whether each report is a whole file for a collector.
    fn is_metrics(self) -> bool {
        matches!(self, Self::Prometheus | Self::OpenMetrics)
    }
}

impl FileFormat for StatFormat {
    const SUFFIXES: &str = ".txt, .json, .prom or .om";

    fn of_suffix(suffix: &str) -> Option<Self> {
        match suffix {
            "txt" => Some(Self::Text),
            "json" | "jsonl" | "ndjson" => Some(Self::Json),
            "prom" => Some(Self::Prometheus),
            "om" => Some(Self::OpenMetrics),
            _ => None,
        }
    }
}

pub(crate) fn run(arguments: &StatArguments) -> anyhow::Result<Status> {
    // The handler turns access to a truncated region into an error.
    nanotape_shm::guard_against_truncation().context("cannot install a handler for SIGBUS")?;
    let path = place(&arguments.name)?;
    let format = arguments.output.format_or(StatFormat::Text)?;
    let interrupt = interrupt::install()?;
    let mut reports = Reports::open(arguments, format)?;
    let clock = Clock::monotonic();
    let mut monitor = PlantMonitor::open(&path).map_err(of_health)?;
    let interval = arguments.interval(format);
    let reports_wanted = match arguments.count {
        Some(count) => count,
        None if arguments.watch => u64::MAX,
        None => 1,
    };
    let mut before = monitor.sample(&clock).map_err(of_health)?;
    for number in 0..reports_wanted {
        if !interval.is_zero() {
            interrupt.sleep(interval);
        }
        // Without an interval the first reading is the report.
        let now = match interval.is_zero() && number == 0 {
            true => before.clone(),
            false => monitor.sample(&clock).map_err(of_health)?,
        };
        let figures = now.figures_since(&before, &clock, arguments.tainted);
        let report = Report { path: &path, now: &now, figures };
        reports.write(&report, number == 0)?;
        before = now;
        if interrupt.is_requested() {
            break;
        }
    }
    reports.finish()?;
    Ok(Status::Good)
}

impl StatArguments {
    fn interval(&self, format: StatFormat) -> Duration {
        // A metrics collector computes rates itself.
        let is_scraped = format.is_metrics() && !self.watch && self.count.is_none();
        let usual = if is_scraped { Duration::ZERO } else { Duration::from_secs(1) };
        self.interval.unwrap_or(usual)
    }
}

/// The data of one report.
struct Report<'a> {
    path: &'a Path,
    now: &'a PlantHealth,
    /// Its figures, with rates since the reading before.
    figures: Vec<Figure>,
}

impl Report<'_> {
    /// One flat object; names contain their units.
    fn record(&self) -> Record {
        with_figures(Record::default().with("path", self.path.display().to_string()), &self.figures)
    }
}

/// Damage is bad data; other errors belong to the environment.
fn of_health(error: HealthError) -> anyhow::Error {
    match error {
        HealthError::Region(error) => of_region(&error),
        HealthError::Ring { path, error } => of_ring(&path, &error),
        error => anyhow::anyhow!("{error}; use `nanotape ring stat` for the ring alone"),
    }
}

/// The output of reports.
struct Reports<'a> {
    arguments: &'a StatArguments,
    format: StatFormat,
    /// None if each report is a file of its own.
    output: Option<Output>,
    has_written: bool,
    /// The terminal on which each report replaces the last one, and that report.
    screen: Option<(Screen, String)>,
}

impl<'a> Reports<'a> {
    fn open(arguments: &'a StatArguments, format: StatFormat) -> anyhow::Result<Self> {
        let is_replaced = format.is_metrics();
        let output = if is_replaced { None } else { Some(arguments.output.open()?) };
        Ok(Self { arguments, format, output, has_written: false, screen: None })
    }

    fn write(&mut self, report: &Report<'_>, first: bool) -> anyhow::Result<()> {
        let in_lines = self.arguments.watch || self.arguments.count.is_some();
        if self.is_in_place() {
            return self.refresh(report.text());
        }
        let Some(output) = &mut self.output else { return self.replace(report) };
        match self.format {
            StatFormat::Json => {
                report.record().write(output, Format::Json, first, String::new)?;
            }
            _ if in_lines => output.write_all(report.line(first).as_bytes())?,
            _ => output.write_all(report.text().as_bytes())?,
        }
        output.flush()?;
        Ok(())
    }

    /// Whether each report replaces the last one on the terminal.
    fn is_in_place(&self) -> bool {
        let StatArguments { watch, output, .. } = self.arguments;
        *watch && self.format == StatFormat::Text && output.is_terminal()
    }

    fn refresh(&mut self, text: String) -> anyhow::Result<()> {
        let (screen, last) = match &mut self.screen {
            Some(screen) => screen,
            none => none.insert((Screen::enter()?, String::new())),
        };
        screen.show(&text)?;
        *last = text;
        Ok(())
    }

    /// Replaces the last exposition by a complete new one.
    fn replace(&mut self, report: &Report<'_>) -> anyhow::Result<()> {
        let OutputArguments { output, force, format } = &self.arguments.output;
        // The file of the last report.
        let force = *force || self.has_written && self.arguments.output.has_file();
        let arguments = OutputArguments { output: output.clone(), force, format: *format };
        let mut output = arguments.open()?;
        let StatArguments { name, tainted, .. } = self.arguments;
        let metrics = match self.format {
            StatFormat::OpenMetrics => report.now.to_openmetrics(name, *tainted),
            _ => report.now.to_prometheus(name, *tainted),
        };
        output.write_all(metrics.as_bytes())?;
        output.finish()?;
        self.has_written = true;
        Ok(())
    }

    fn finish(mut self) -> anyhow::Result<()> {
        if let (Some((screen, last)), Some(output)) = (self.screen.take(), &mut self.output) {
            drop(screen);
            // The last report stays on the first screen.
            output.write_all(last.as_bytes())?;
        }
        match self.output {
            Some(output) => Ok(output.finish()?),
            None => Ok(()),
        }
    }
}
