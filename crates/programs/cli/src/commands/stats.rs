//! `nanotape stats`: rates, volumes, event depth and processing time, per stock and in total.

use clap::Args;
use nanotape_answers::{SymbolFilter, symbol_or_locate};
use nanotape_arguments::{
    InputArguments, SpanArguments, SymbolArguments, input::breaks_of,
    verdict::tell_limits_of_records,
};
use nanotape_book::{Anomaly, AnomalyCounts};
use nanotape_clock::Clock;
use nanotape_engine::{DayFigures, DayStatistics, StockStatistics};
use nanotape_trace::Histogram;
use nanotape_types::Side;

use crate::{
    output::{Format, OutputArguments},
    rows::{Column, Rows},
    status::Status,
};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape stats day.gz
  nanotape stats day.gz --top 50
  nanotape stats day.gz -o stats.csv            all stocks, all columns
  nanotape stats day.gz --symbols AAPL,MSFT --format json
  nanotape stats tap.dbn.zst --from 09:30 --until 16:00

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

    /// Only the N busiest stocks [default: 20 in text, all otherwise]
    #[arg(long, value_name = "N", value_parser = crate::values::count::<usize>(..))]
    top: Option<usize>,

    #[command(flatten)]
    output: OutputArguments,
}

/// Default number of stocks in the text format.
const TOP_IN_TEXT: usize = 20;

pub(crate) fn run(arguments: &StatsArguments) -> anyhow::Result<Status> {
    let format = arguments.output.format_or(Format::Text)?;
    let mut output = arguments.output.open()?;
    let mut statistics = DayStatistics::new(Clock::calibrate());
    // The row of all stocks needs all of them.
    let opening = arguments.input.open(arguments.span.into(), &[])?;
    if arguments.span.moments() != (None, None)
        && let Some(breaks) = breaks_of(&opening)?
    {
        // A trade of the span might be broken after it.
        statistics = statistics.without(breaks.iter());
    }
    let session = arguments.input.read(opening, &mut statistics)?;
    let statistics = statistics.finish();

    let mut filter = SymbolFilter::new(&arguments.symbols.list());
    let (books, directory) = (session.engine.books(), session.engine.directory());
    let mut stocks: Vec<_> =
        statistics.stocks().filter(|(locate, _)| filter.accepts(*locate, directory)).collect();
    stocks.sort_by_key(|(locate, stock)| (std::cmp::Reverse(stock.messages.count()), *locate));
    let all = if format == Format::Text { TOP_IN_TEXT } else { usize::MAX };
    stocks.truncate(arguments.top.unwrap_or(all));

    if format == Format::Text {
        write_day(&mut output, &statistics)?;
    }
    let mut figures = figures();
    let mut columns = vec![Column::word("symbol", 8)];
    if format == Format::Text {
        figures.retain(|figure| IN_TEXT.iter().any(|(name, _)| *name == figure.name));
    }
    columns.extend(figures.iter().map(|figure| {
        let shown = IN_TEXT.iter().find(|(name, _)| *name == figure.name);
        Column::number(figure.name, shown.map_or(0, |(_, width)| *width))
    }));
    let kinds: Vec<_> = Anomaly::ALL
        .into_iter()
        .filter(|&k| format != Format::Text || books.anomalies().of(k) > 0)
        .collect();
    columns.extend(kinds.iter().map(|kind| Column::number(kind.name(), 0)));
    let mut rows = Rows::new(output, format, columns);
    let total = (statistics.total(), books.anomalies());
    write_row(&mut rows, "*", total, &figures, &kinds)?;
    for (locate, stock) in stocks {
        let stock = (stock, books.book(locate).anomalies());
        write_row(&mut rows, symbol_or_locate(directory, locate), stock, &figures, &kinds)?;
    }
    tell_limits_of_records(&session.name, &session.report);
    let status = arguments.input.conclude(&session, &mut filter)?;
    rows.finish()?;
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

fn write_row(
    rows: &mut Rows,
    symbol: impl std::fmt::Display,
    (stock, anomalies): (&StockStatistics, AnomalyCounts),
    figures: &[Figure],
    kinds: &[Anomaly],
) -> std::io::Result<()> {
    rows.text(symbol);
    for figure in figures {
        match (figure.value)(stock) {
            Some(value) => rows.signed(value),
            None => rows.absent(),
        }
    }
    for &kind in kinds {
        rows.integer(u64::from(anomalies.of(kind)));
    }
    rows.end_row()
}

/// A column of the table.
struct Figure {
    name: &'static str,
    value: fn(&StockStatistics) -> Option<i64>,
}

/// The columns of the text format, which has room for few, and their widths.
const IN_TEXT: [(&str, usize); 17] = [
    ("messages", 9),
    ("inside_changes", 9),
    ("trades", 7),
    ("volume_shares", 12),
    ("per_second_max", 7),
    ("per_ms_max", 7),
    ("per_us_max", 7),
    ("gap_ns_p50", 11),
    ("process_ns_p50", 7),
    ("process_ns_p99", 7),
    ("depth_ticks_p50", 7),
    ("depth_ticks_p99", 7),
    ("crossed_ns", 9),
    ("locked_ns", 9),
    ("inside_per_ms_max", 7),
    ("bid_levels_p50", 7),
    ("ask_levels_p50", 7),
];

/// Figures from names and functions of a [`StockStatistics`].
macro_rules! figures {
    ($($name:expr => $value:expr,)*) => {
        [$(Figure { name: $name, value: $value },)*]
    };
}

/// The figures of an [`Activity`](nanotape_engine::Activity), each with a prefix.
macro_rules! activity {
    ($prefix:literal, $of:ident) => {
        figures! {
            concat!($prefix, "per_second_max") => |s| max(s.$of.per_second()),
            concat!($prefix, "per_second_p999") => |s| at(s.$of.per_second(), 0.999),
            concat!($prefix, "per_second_p99") => |s| at(s.$of.per_second(), 0.99),
            concat!($prefix, "per_ms_max") => |s| max(s.$of.per_millisecond()),
            concat!($prefix, "per_ms_p999") => |s| at(s.$of.per_millisecond(), 0.999),
            concat!($prefix, "per_ms_p99") => |s| at(s.$of.per_millisecond(), 0.99),
            concat!($prefix, "per_us_max") => |s| max(s.$of.per_microsecond()),
            concat!($prefix, "per_us_p999") => |s| at(s.$of.per_microsecond(), 0.999),
            concat!($prefix, "per_us_p99") => |s| at(s.$of.per_microsecond(), 0.99),
            concat!($prefix, "gap_ns_p1") => |s| at(s.$of.gap_nanos(), 0.01),
            concat!($prefix, "gap_ns_p50") => |s| at(s.$of.gap_nanos(), 0.5),
            concat!($prefix, "gap_ns_p99") => |s| at(s.$of.gap_nanos(), 0.99),
            concat!($prefix, "process_ns_p50") => |s| at(s.$of.processing_nanos(), 0.5),
            concat!($prefix, "process_ns_p90") => |s| at(s.$of.processing_nanos(), 0.9),
            concat!($prefix, "process_ns_p99") => |s| at(s.$of.processing_nanos(), 0.99),
            concat!($prefix, "process_ns_p999") => |s| at(s.$of.processing_nanos(), 0.999),
            concat!($prefix, "process_ns_max") => |s| max(s.$of.processing_nanos()),
        }
    };
}

/// All figures, in the order of the columns.
fn figures() -> Vec<Figure> {
    let mut all = Vec::new();
    all.extend(figures! {
        "messages" => |s| signed(s.messages.count()),
        "inside_changes" => |s| signed(s.inside_changes.count()),
        "trades" => |s| Some(s.trades),
        "volume_shares" => |s| Some(s.volume_shares),
    });
    all.extend(activity!("", messages));
    all.extend(figures! {
        "depth_ticks_p25" => |s| at(&s.event_depth_ticks, 0.25),
        "depth_ticks_p50" => |s| at(&s.event_depth_ticks, 0.5),
        "depth_ticks_p75" => |s| at(&s.event_depth_ticks, 0.75),
        "depth_ticks_p90" => |s| at(&s.event_depth_ticks, 0.9),
        "depth_ticks_p99" => |s| at(&s.event_depth_ticks, 0.99),
        "depth_ticks_p999" => |s| at(&s.event_depth_ticks, 0.999),
        "crossed_ns" => |s| signed(s.crossed_nanos),
        "locked_ns" => |s| signed(s.locked_nanos),
    });
    all.extend(activity!("inside_", inside_changes));
    all.extend(figures! {
        "bid_levels_max" => |s| max(s.levels.of(Side::Buy)),
        "bid_levels_p99" => |s| at(s.levels.of(Side::Buy), 0.99),
        "bid_levels_p50" => |s| at(s.levels.of(Side::Buy), 0.5),
        "ask_levels_max" => |s| max(s.levels.of(Side::Sell)),
        "ask_levels_p99" => |s| at(s.levels.of(Side::Sell), 0.99),
        "ask_levels_p50" => |s| at(s.levels.of(Side::Sell), 0.5),
    });
    all
}

fn signed(value: u64) -> Option<i64> {
    Some(i64::try_from(value).unwrap_or(i64::MAX))
}

fn at(histogram: &Histogram, quantile: f64) -> Option<i64> {
    histogram.quantile(quantile).and_then(signed)
}

fn max(histogram: &Histogram) -> Option<i64> {
    histogram.max().and_then(signed)
}
