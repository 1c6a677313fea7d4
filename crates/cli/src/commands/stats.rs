//! `nanotape stats`: rates, volumes, event depth and processing time, per stock and in total.

use clap::Args;
use nanotape_book::{Anomaly, AnomalyCounts, Books, DefaultBooks, OrderStore, PriceLevels};
use nanotape_clock::Clock;
use nanotape_plant::{DayStatistics, StockStatistics};
use nanotape_trace::Histogram;
use nanotape_types::Symbol;

use crate::{
    input::{InputArguments, Session},
    output::{Format, OutputArguments},
    rows::{Column, Rows},
    span::SpanArguments,
    status::Status,
    structures::StructureArguments,
    symbols::{SymbolFilter, symbol_or_locate},
};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape stats day.gz
  nanotape stats day.gz --top 50
  nanotape stats day.gz -o stats.csv            all stocks, all columns
  nanotape stats day.gz --symbols AAPL,MSFT --format json
  nanotape stats tap.dbn.zst --from 09:30 --to 16:00

The first row, with symbol *, is the total of all stocks. Volume follows the specification's rule:
E + C (printable) + P + Q, less B. Rates cover the windows that have a message. Gaps are between
exchange timestamps. Event depth is in ticks of 0.01 from the best price of the order's own side
before the message. Processing time is from a decoded view to an updated book and includes one
clock stamp, whose cost the text format shows. The last columns count, by kind, the messages that
could not be applied to the stock's book, in the whole run; text shows the kinds that occurred. With
--from and --to, all other figures are those of the messages of the span. Records have no match
numbers, so broken trades are not subtracted.")]
pub(crate) struct StatsArguments {
    #[command(flatten)]
    input: InputArguments,

    #[command(flatten)]
    span: SpanArguments,

    /// Only these stocks (and the total)
    #[arg(long, value_name = "A,B", value_delimiter = ',', alias = "symbol")]
    symbols: Vec<Symbol>,

    /// Only the N busiest stocks [default: 20 in text, all otherwise]
    #[arg(long, value_name = "N")]
    top: Option<usize>,

    #[command(flatten)]
    output: OutputArguments,

    #[command(flatten)]
    structures: StructureArguments,
}

/// Default number of stocks in the text format.
const TOP_IN_TEXT: usize = 20;

pub(crate) fn run(arguments: &StatsArguments) -> anyhow::Result<Status> {
    match arguments.structures.chosen(arguments.input.orders()) {
        None => run_with(arguments, DefaultBooks::with_capacity(arguments.input.orders())),
        Some(books) => run_with(arguments, books),
    }
}

fn run_with<L: PriceLevels, S: OrderStore>(
    arguments: &StatsArguments,
    books: Books<L, S>,
) -> anyhow::Result<Status> {
    let format = arguments.output.format_or(Format::Text)?;
    let mut output = arguments.output.open()?;
    let mut statistics = DayStatistics::new(Clock::calibrate());
    // The row of all stocks needs all of them.
    let span = arguments.span.into();
    let session = Session::run(&arguments.input, span, &[], books, &mut statistics)?;
    statistics.finish();

    let mut filter = SymbolFilter::new(&arguments.symbols);
    let (books, directory) = (session.engine.books(), session.engine.directory());
    let mut stocks: Vec<_> =
        statistics.stocks().filter(|(locate, _)| filter.accepts(*locate, directory)).collect();
    stocks.sort_by_key(|(locate, stock)| (std::cmp::Reverse(stock.messages), *locate));
    let all = if format == Format::Text { TOP_IN_TEXT } else { usize::MAX };
    stocks.truncate(arguments.top.unwrap_or(all));

    if format == Format::Text {
        write_day(&mut output, &statistics)?;
    }
    let figures = figures(format == Format::Text);
    let mut columns = vec![Column::word("symbol", 8)];
    columns.extend(figures.iter().map(|figure| Column::number(figure.name, figure.width)));
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
    session.tell_limits_of_records();
    let status = session.conclude(&mut filter)?;
    rows.finish()?;
    Ok(status)
}

/// The lines about the day or the span as a whole, in the text format.
fn write_day(output: &mut impl std::io::Write, statistics: &DayStatistics) -> std::io::Result<()> {
    let total = statistics.total();
    let stocks = statistics.stocks().count();
    let noun = if stocks == 1 { "stock" } else { "stocks" };
    writeln!(output, "{} messages, {stocks} {noun}", total.messages)?;
    let quantile = |histogram: &Histogram, q| histogram.quantile(q).unwrap_or(0);
    for (what, histogram) in [
        ("messages per second", total.per_second.counts()),
        ("messages per millisecond", total.per_millisecond.counts()),
        ("messages per microsecond", total.per_microsecond.counts()),
    ] {
        writeln!(
            output,
            "{what:<26} max {}, p99.9 {}, p99 {}",
            histogram.max().unwrap_or(0),
            quantile(histogram, 0.999),
            quantile(histogram, 0.99),
        )?;
    }
    let clock = statistics.clock();
    writeln!(
        output,
        "processing time in ns      p50 {}, p90 {}, p99 {}, p99.9 {}, p99.99 {}, max {} (each \
         includes one clock stamp of {:.0} ns; {})",
        quantile(&total.processing_nanos, 0.5),
        quantile(&total.processing_nanos, 0.9),
        quantile(&total.processing_nanos, 0.99),
        quantile(&total.processing_nanos, 0.999),
        quantile(&total.processing_nanos, 0.9999),
        total.processing_nanos.max().unwrap_or(0),
        clock.cost_nanos(),
        clock.source(),
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
    width: usize,
    /// Whether the text format shows it; it has room for about a dozen columns.
    in_text: bool,
    value: fn(&StockStatistics) -> Option<i64>,
}

macro_rules! figure {
    ($name:literal, $width:literal, $in_text:literal, $value:expr) => {
        Figure { name: $name, width: $width, in_text: $in_text, value: $value }
    };
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

fn figures(for_text: bool) -> Vec<Figure> {
    let all = vec![
        figure!("messages", 9, true, |s| signed(s.messages)),
        figure!("inside_changes", 9, true, |s| signed(s.inside_changes)),
        figure!("trades", 7, true, |s| Some(s.trades)),
        figure!("volume_shares", 12, true, |s| Some(s.volume_shares)),
        figure!("per_second_max", 7, true, |s| max(s.per_second.counts())),
        figure!("per_second_p999", 7, false, |s| at(s.per_second.counts(), 0.999)),
        figure!("per_second_p99", 7, false, |s| at(s.per_second.counts(), 0.99)),
        figure!("per_ms_max", 7, true, |s| max(s.per_millisecond.counts())),
        figure!("per_ms_p999", 7, false, |s| at(s.per_millisecond.counts(), 0.999)),
        figure!("per_ms_p99", 7, false, |s| at(s.per_millisecond.counts(), 0.99)),
        figure!("per_us_max", 7, true, |s| max(s.per_microsecond.counts())),
        figure!("per_us_p999", 7, false, |s| at(s.per_microsecond.counts(), 0.999)),
        figure!("per_us_p99", 7, false, |s| at(s.per_microsecond.counts(), 0.99)),
        figure!("gap_ns_p1", 9, false, |s| at(&s.gap_nanos, 0.01)),
        figure!("gap_ns_p50", 11, true, |s| at(&s.gap_nanos, 0.5)),
        figure!("gap_ns_p99", 11, false, |s| at(&s.gap_nanos, 0.99)),
        figure!("process_ns_p50", 7, true, |s| at(&s.processing_nanos, 0.5)),
        figure!("process_ns_p90", 7, false, |s| at(&s.processing_nanos, 0.9)),
        figure!("process_ns_p99", 7, true, |s| at(&s.processing_nanos, 0.99)),
        figure!("process_ns_p999", 7, false, |s| at(&s.processing_nanos, 0.999)),
        figure!("process_ns_max", 7, false, |s| max(&s.processing_nanos)),
        figure!("depth_ticks_p25", 7, false, |s| at(&s.event_depth_ticks, 0.25)),
        figure!("depth_ticks_p50", 7, true, |s| at(&s.event_depth_ticks, 0.5)),
        figure!("depth_ticks_p75", 7, false, |s| at(&s.event_depth_ticks, 0.75)),
        figure!("depth_ticks_p90", 7, false, |s| at(&s.event_depth_ticks, 0.9)),
        figure!("depth_ticks_p99", 7, true, |s| at(&s.event_depth_ticks, 0.99)),
        figure!("depth_ticks_p999", 7, false, |s| at(&s.event_depth_ticks, 0.999)),
        figure!("crossed_ns", 9, true, |s| signed(s.crossed_nanos)),
        figure!("locked_ns", 9, true, |s| signed(s.locked_nanos)),
    ];
    all.into_iter().filter(|figure| figure.in_text || !for_text).collect()
}
