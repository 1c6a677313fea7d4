//! `nanotape stats`: rates, volumes, event depth and processing time, per stock and in total; or
//! one page that draws the day.

mod page;

use std::io::Write as _;

use anyhow::bail;
use clap::{Args, ValueEnum};
use nanotape_answers::{DayPicture, Opening, SymbolFilter, stats_columns, stats_rows};
use nanotape_arguments::{
    InputArguments, SpanArguments, SymbolArguments, input::breaks_of,
    verdict::report_limits_of_records,
};
use nanotape_clock::Clock;
use nanotape_console::status::kept;
use nanotape_engine::{DayFigures, DayStatistics};
use nanotape_trace::Histogram;
use nanotape_types::rows::{Cell, Sink as _};

use self::page::About;
use crate::{
    output::{FileFormat, Format, Output, OutputArguments},
    rows::Rows,
    status::Status,
};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape stats day.gz
  nanotape stats day.gz --top 50
  nanotape stats day.gz -o stats.csv            all stocks, all columns
  nanotape stats day.gz -o day.html             one page that draws the day
  nanotape stats day.gz --symbols AAPL,MSFT --format json
  nanotape stats tap.dbn.zst --from 09:30 --until 16:00

A page (.html) is one file that needs no network. It has the activity of the busiest stocks and how
it is concentrated, peak rates against totals, the level of the book at which events act, messages
in time at four scales (the day, its busiest minute, second and 10 ms), and changes of the inside by
themselves. It is of the selected stocks, and its head lists what the input lacks.

The first row, with symbol *, is the total of all stocks. Volume follows the specification's rule,
E + C (printable) + P + Q less B. Rates cover the windows that have a message. Gaps are between
exchange timestamps. Event depth is in ticks of 0.01 from the best price of the order's own side
before the message. Processing time is from a decoded view to an updated book and includes one
clock stamp, whose cost the text format shows.

Columns that begin with inside_ are the same figures of the messages that changed the inside (price
or shares of the best bid or offer), as if there were no others. bid_levels and ask_levels are the
price levels of a side after each message about the book (A, F, E, C, X, D, U); in the total, those
of the stock of the message.

A quantile is a value that occurred: p99 is not exceeded by 99% of the values. Quantiles of gaps,
processing times and depths are at most 1.6% too high, and exact below 128. Quantiles of rates and
levels are exact up to 4,095, and at most 0.05% too high above. Counts and maxima are exact.

The last columns count, by kind, the messages that could not be applied to the stock's book, in the
whole run; text shows the kinds that occurred. With --from and --until, all other figures are those of
the messages of the span. Trades of the span that are broken at any time of the day do not count; a
pipe is read only once, so its later breaks are not known. A break voids every trade with its match
number, a cross too. Records have no match numbers, so broken trades are not subtracted.")]
pub(crate) struct StatsArguments {
    #[command(flatten)]
    input: InputArguments,

    #[command(flatten)]
    symbols: SymbolArguments,

    #[command(flatten)]
    span: SpanArguments,

    /// Only rows of the N busiest stocks [default: 20 in text, all otherwise]
    #[arg(long, value_name = "N", value_parser = crate::values::count::<usize>(..))]
    top: Option<usize>,

    #[command(flatten)]
    output: OutputArguments<StatsFormat>,
}

/// How statistics are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum StatsFormat {
    /// Human-readable aligned columns
    Text,
    /// Comma-separated values with a header line
    Csv,
    /// One JSON object per line
    Json,
    /// One page that draws the day, for a browser
    Html,
}

impl FileFormat for StatsFormat {
    const SUFFIXES: &str = ".html, .csv, .json or .txt";

    fn of_suffix(suffix: &str) -> Option<Self> {
        match suffix {
            "html" | "htm" => Some(Self::Html),
            suffix => Format::of_suffix(suffix).map(|format| match format {
                Format::Text => Self::Text,
                Format::Csv => Self::Csv,
                Format::Json => Self::Json,
            }),
        }
    }
}

/// Default number of stocks in the text format.
const TOP_IN_TEXT: usize = 20;

/// The figures of the text format, which has room for few.
const IN_TEXT: [&str; 18] = [
    "symbol",
    "messages",
    "inside_changes",
    "trades",
    "volume_shares",
    "per_second_max",
    "per_ms_max",
    "per_us_max",
    "gap_ns_p50",
    "process_ns_p50",
    "process_ns_p99",
    "depth_ticks_p50",
    "depth_ticks_p99",
    "crossed_ns",
    "locked_ns",
    "inside_per_ms_max",
    "bid_levels_p50",
    "ask_levels_p50",
];

pub(crate) fn run(arguments: &StatsArguments) -> anyhow::Result<Status> {
    let format = match arguments.output.format_or(StatsFormat::Text)? {
        StatsFormat::Text => Format::Text,
        StatsFormat::Csv => Format::Csv,
        StatsFormat::Json => Format::Json,
        StatsFormat::Html => return draw(arguments),
    };
    let mut output = arguments.output.open()?;
    let (opening, mut statistics) = open(arguments)?;
    let session = arguments.input.read(opening, &mut statistics)?;
    let statistics = statistics.finish();

    let mut filter = SymbolFilter::new(&arguments.symbols.list());
    let all = if format == Format::Text { TOP_IN_TEXT } else { usize::MAX };
    let columns = stats_columns().into_iter().enumerate();
    let anomalies = session.engine.books().anomalies();
    let is_shown = |name: &str| {
        let mut occurred = anomalies.iter().map(|(kind, _)| kind.name());
        format != Format::Text || IN_TEXT.contains(&name) || occurred.any(|kind| kind == name)
    };
    let (shown, columns): (Vec<_>, _) =
        columns.filter(|(_, column)| is_shown(&column.name)).unzip();
    if format == Format::Text {
        write_day(&mut output, &statistics)?;
    }
    let mut rows = Rows::new(output, format, columns);
    let top = arguments.top.unwrap_or(all);
    let mut row = |cells: &[Cell<'_>]| {
        rows.row(&shown.iter().map(|&column| cells[column]).collect::<Vec<_>>())
    };
    // An error of the rows is the next line's.
    let _ = stats_rows(&session.engine, &statistics, &mut filter, top, &mut row);
    rows.require_written()?;
    report_limits_of_records(&session.name, &session.report);
    let status = arguments.input.conclude(&session, &mut filter)?;
    rows.finish()?;
    Ok(status)
}

/// Opens the input. The row of all stocks needs all of them.
fn open(arguments: &StatsArguments) -> anyhow::Result<(Opening, DayStatistics)> {
    let mut statistics = DayStatistics::new(Clock::calibrate());
    let opening = arguments.input.open(arguments.span.into(), &[])?;
    if arguments.span.moments() != (None, None)
        && let Some(breaks) = breaks_of(&opening)?
    {
        // A trade of the span might be broken after it.
        statistics = statistics.without(breaks.iter());
    }
    Ok((opening, statistics))
}

/// Writes the page of the day.
fn draw(arguments: &StatsArguments) -> anyhow::Result<Status> {
    if arguments.top.is_some() {
        bail!("--top chooses rows, and a page has all stocks: use --symbols, or another format");
    }
    let mut output: Output = arguments.output.open()?;
    // Opening notes earlier runs of a journal, which the page does not have.
    let (opened, mut lines) = kept(|| open(arguments));
    let (opening, statistics) = opened?;
    let (kind, midnight_ns, bounds) = (opening.kind(), opening.midnight_ns, opening.bounds);
    let symbols = arguments.symbols.list();
    let mut picture = DayPicture::new(statistics, &symbols);
    let session = arguments.input.read(opening, &mut picture)?;
    let mut picture = picture.finish();
    let (status, later) = kept(|| {
        report_limits_of_records(&session.name, &session.report);
        arguments.input.conclude(&session, &mut picture.filter)
    });
    let status = status?;
    lines.extend(later);
    let about = About { kind, midnight_ns, bounds, symbols: &symbols, lines: &lines };
    let record = page::record(&session, &mut picture, &about);
    output.write_all(nanotape_report::day(&record).as_bytes())?;
    output.finish()?;
    Ok(status)
}

/// The lines about the day or the span as a whole, in the text format.
fn write_day(output: &mut impl std::io::Write, statistics: &DayFigures) -> std::io::Result<()> {
    let total = statistics.total();
    let stocks = statistics.stocks().count();
    let noun = if stocks == 1 { "stock" } else { "stocks" };
    writeln!(output, "{} messages, {stocks} {noun}", total.messages.count())?;
    let quantile = |histogram: &Histogram, q| histogram.quantile(q).unwrap_or(0);
    let activities = [("messages", &total.messages), ("inside changes", &total.inside_changes)];
    for (what, activity) in activities {
        for (width, rate) in [
            ("second", activity.per_second()),
            ("millisecond", activity.per_millisecond()),
            ("microsecond", activity.per_microsecond()),
        ] {
            writeln!(
                output,
                "{:<32} max {}, p99.9 {}, p99 {}",
                format!("{what} per {width}"),
                rate.max().unwrap_or(0),
                quantile(rate, 0.999),
                quantile(rate, 0.99),
            )?;
        }
    }
    for (what, activity) in activities {
        let nanos = activity.processing_nanos();
        writeln!(
            output,
            "{:<32} p50 {}, p90 {}, p99 {}, p99.9 {}, p99.99 {}, max {}",
            format!("processing ns of {what}"),
            quantile(nanos, 0.5),
            quantile(nanos, 0.9),
            quantile(nanos, 0.99),
            quantile(nanos, 0.999),
            quantile(nanos, 0.9999),
            nanos.max().unwrap_or(0),
        )?;
    }
    let clock = statistics.clock();
    writeln!(
        output,
        "each processing time includes one clock stamp of {:.0} ns ({}); quantiles of gaps, \
         processing times and depths are at most {:.1}% too high",
        clock.cost_nanos(),
        clock.source(),
        100.0 * total.messages.gap_nanos().largest_error(),
    )?;
    writeln!(output)
}
