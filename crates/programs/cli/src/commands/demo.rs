//! `nanotape demo`, and `nanotape` alone: generates a synthetic day and builds its books.

use std::{
    io::{self, Write},
    ops::ControlFlow,
    sync::Arc,
};

use clap::Args;
use nanotape_answers::symbol_or_locate;
use nanotape_arguments::verdict::conclude;
use nanotape_book::{DefaultBooks, OrderStore as _, Outcome};
use nanotape_clock::{Clock, Stamp};
use nanotape_engine::{BookEngine, DayReport, Observer};
use nanotape_feed::DaySource;
use nanotape_market::{MarketEvent, Position};
use nanotape_synth::Market;
use nanotape_trace::Histogram;
use nanotape_types::{LocateTable, StockLocate};

use crate::{
    commands::synth::{BYTES_PER_MESSAGE, MarketArguments},
    output::{Format, Output, OutputArguments},
    progress::Progress,
    rows::{Column, Kind, Rows},
    status::{BadData, Status},
    values::grouped,
};

#[derive(Args, Debug, Default)]
#[command(after_help = "\
Examples:
  nanotape
  nanotape demo --messages 20M --seed 7
  nanotape demo --format json | jq .

The day is generated in memory from the seed; no file is read or written. It then runs through the
books twice: once without clock stamps, for the rate, and once with a stamp after every message, for
the distribution of the time per message.")]
pub(crate) struct DemoArguments {
    #[command(flatten)]
    market: MarketArguments,

    #[command(flatten)]
    output: OutputArguments,
}

/// Fewest messages of a synthetic day per live order.
const MESSAGES_PER_LIVE_ORDER: u64 = 20;

/// Stocks in the table of the busiest stocks.
const BUSIEST: usize = 10;

pub(crate) fn run(arguments: &DemoArguments) -> anyhow::Result<Status> {
    let format = arguments.output.format_or(Format::Text)?;
    let output = arguments.output.open()?;
    let clock = Clock::calibrate();
    let (day, making_nanos) = timed(&clock, || make_day(arguments.market));
    let made = Made { format, output, clock, day: Arc::new(day?), making_nanos };

    let orders = arguments.market.config().messages / MESSAGES_PER_LIVE_ORDER;
    let orders = usize::try_from(orders)?;
    demonstrate(made, DefaultBooks::with_capacity(orders))
}

/// A day, and the output for its results.
struct Made {
    format: Format,
    output: Output,
    clock: Clock,
    day: Arc<Vec<u8>>,
    making_nanos: u64,
}

fn demonstrate(made: Made, books: DefaultBooks) -> anyhow::Result<Status> {
    let Made { format, output, clock, day, making_nanos } = made;
    let mut plant = BookEngine::new(books);
    let mut tally = Tally::default();
    let mut source = DaySource::memory("the synthetic day", Arc::clone(&day));
    let (report, running_nanos) = timed(&clock, || plant.run(&mut source, &mut tally, |_| ()));
    let report = report?;
    let books_left = left_in_books(&plant);

    // A second run uses the same books: they are empty, and their tables have the size of the day.
    let mut source = DaySource::memory("the synthetic day", Arc::clone(&day));
    let mut latency = Latency { clock, last: clock.stamp_start(), nanos: Histogram::fine() };
    // The day is made here, so it has no damage.
    let _ = plant.run(&mut source, &mut latency, |_| ())?;

    let demonstration = Demonstration {
        bytes: day.len() as u64,
        stocks: plant.directory().iter().count(),
        making_nanos,
        running_nanos,
        books_left,
        report,
        tally,
        latency,
    };
    match format {
        Format::Text => demonstration.write_text(output, &plant)?,
        Format::Csv | Format::Json => demonstration.write_row(output, format)?,
    }
    if books_left > 0 {
        return Err(
            BadData(format!("{books_left} books are not empty at the end of the day")).into()
        );
    }
    Ok(conclude(source.name(), &demonstration.report))
}

fn make_day(arguments: MarketArguments) -> anyhow::Result<Vec<u8>> {
    let mut market = Market::new(arguments.config())?;
    let expected = arguments.config().messages * BYTES_PER_MESSAGE;
    let progress = Progress::with_total(Some(expected));
    let mut day = Vec::with_capacity(usize::try_from(expected)?);
    while market.fill(&mut day) {
        progress.set(day.len() as u64);
    }
    Ok(day)
}

fn timed<T>(clock: &Clock, work: impl FnOnce() -> T) -> (T, u64) {
    let began = clock.stamp();
    let result = work();
    (result, clock.nanos_between(began, clock.stamp()))
}

fn left_in_books(plant: &BookEngine<DefaultBooks>) -> usize {
    StockLocate::all().filter(|&locate| !plant.books().book(locate).is_empty()).count()
}

/// Counters of the untimed run: a few increments per message.
#[derive(Debug)]
struct Tally {
    by_stock: LocateTable<StockTally>,
    most_live_orders: usize,
}

#[derive(Clone, Copy, Debug, Default)]
struct StockTally {
    messages: u64,
    inside_changes: u64,
}

impl Default for Tally {
    fn default() -> Self {
        Self { by_stock: LocateTable::filled(StockTally::default()), most_live_orders: 0 }
    }
}

impl Observer<DefaultBooks> for Tally {
    #[inline]
    fn after(
        &mut self,
        plant: &BookEngine<DefaultBooks>,
        _: Position,
        event: &MarketEvent,
        outcome: Option<Outcome>,
    ) -> ControlFlow<()> {
        let stock = &mut self.by_stock[event.stock_locate];
        stock.messages += 1;
        stock.inside_changes += u64::from(outcome.is_some_and(|outcome| outcome.inside_changed));
        self.most_live_orders = self.most_live_orders.max(plant.books().orders().len());
        ControlFlow::Continue(())
    }
}

/// Stamps after every message. The time between two stamps is the time of one message plus that of
/// an empty pair.
#[derive(Debug)]
struct Latency {
    clock: Clock,
    last: Stamp,
    nanos: Histogram,
}

impl Observer<DefaultBooks> for Latency {
    #[inline]
    fn after(
        &mut self,
        _: &BookEngine<DefaultBooks>,
        _: Position,
        _: &MarketEvent,
        _: Option<Outcome>,
    ) -> ControlFlow<()> {
        let now = self.clock.stamp();
        self.nanos.record(self.clock.nanos_between(self.last, now));
        // The time of the recording belongs to no message.
        self.last = self.clock.stamp_start();
        ControlFlow::Continue(())
    }
}

struct Demonstration {
    bytes: u64,
    stocks: usize,
    making_nanos: u64,
    running_nanos: u64,
    books_left: usize,
    report: DayReport,
    tally: Tally,
    latency: Latency,
}

const QUANTILES: [(&str, f64); 5] =
    [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999), ("p99.99", 0.9999)];

impl Demonstration {
    fn messages(&self) -> u64 {
        self.report.summary.records
    }

    fn nanos_per_message(&self) -> f64 {
        self.running_nanos as f64 / self.messages().max(1) as f64
    }

    fn inside_changes(&self) -> u64 {
        self.tally.by_stock.iter().map(|(_, stock)| stock.inside_changes).sum()
    }

    fn write_text(&self, mut out: Output, plant: &BookEngine<DefaultBooks>) -> io::Result<()> {
        let seconds = |nanos: u64| nanos as f64 / 1e9;
        writeln!(out, "A synthetic Nasdaq ITCH 5.0 day, generated in memory")?;
        writeln!(
            out,
            "  {} messages, {} stocks, {:.1} MB, generated in {:.1} s",
            grouped(self.messages()),
            grouped(self.stocks as u64),
            self.bytes as f64 / 1e6,
            seconds(self.making_nanos),
        )?;
        writeln!(out, "\nThe books of all stocks, on one core")?;
        writeln!(
            out,
            "  {:.2} s: {:.1} million messages a second, {:.0} ns a message",
            seconds(self.running_nanos),
            1e3 / self.nanos_per_message(),
            self.nanos_per_message(),
        )?;
        writeln!(
            out,
            "  {} changes of a best price or size, at most {} live orders",
            grouped(self.inside_changes()),
            grouped(self.tally.most_live_orders as u64),
        )?;
        let nanos = &self.latency.nanos;
        writeln!(
            out,
            "\nTime per message in ns, in a second run with a clock stamp after each message"
        )?;
        write!(out, " ")?;
        for (name, quantile) in QUANTILES {
            write!(out, " {name} {},", grouped(nanos.quantile(quantile).unwrap_or(0)))?;
        }
        writeln!(out, " max {}", grouped(nanos.max().unwrap_or(0)))?;
        writeln!(
            out,
            "  each value includes {:.0} ns for one reading of the clock ({})",
            self.latency.clock.costs().empty_nanos,
            self.latency.clock.source()
        )?;
        self.write_busiest(&mut out, plant)?;
        match self.books_left {
            0 => writeln!(out, "\nEnd of day: all books are empty, as expected")?,
            books => writeln!(out, "\nEnd of day: {books} books are NOT empty")?,
        }
        writeln!(out, "{NEXT}")?;
        out.finish()
    }

    fn write_busiest(
        &self,
        out: &mut impl Write,
        plant: &BookEngine<DefaultBooks>,
    ) -> io::Result<()> {
        let mut stocks: Vec<_> = plant.directory().iter().collect();
        let tally = |locate: StockLocate| self.tally.by_stock[locate];
        stocks.sort_by_key(|&(locate, _)| std::cmp::Reverse(tally(locate).messages));
        writeln!(out, "\nBusiest stocks")?;
        writeln!(
            out,
            "  {:<8} {:>10} {:>7} {:>15}",
            "symbol", "messages", "share", "inside changes"
        )?;
        for (locate, _) in stocks.into_iter().take(BUSIEST) {
            writeln!(
                out,
                "  {:<8} {:>10} {:>6.2}% {:>15}",
                symbol_or_locate(plant.directory(), locate).to_string(),
                grouped(tally(locate).messages),
                100.0 * tally(locate).messages as f64 / self.messages().max(1) as f64,
                grouped(tally(locate).inside_changes),
            )?;
        }
        Ok(())
    }

    fn write_row(&self, output: Output, format: Format) -> io::Result<()> {
        let quantile_name = |name: &str| format!("process_ns_{}", name.replace('.', ""));
        let mut columns = vec![
            Column::new("messages", Kind::U64, 0, "Messages of the day.").of("messages"),
            Column::new("stocks", Kind::U64, 0, "Stocks of the day.").of("stocks"),
            Column::new("bytes", Kind::U64, 0, "Length of the day.").of("bytes"),
            Column::new("make_ns", Kind::U64, 0, "Time to make the day.").of("ns"),
            Column::new("run_ns", Kind::U64, 0, "Time to run it through the books.").of("ns"),
            Column::new("ns_per_message", Kind::F64, 0, "That time for each message.").of("ns"),
            Column::new("inside_changes", Kind::U64, 0, "Changes of the inside.").of("messages"),
            Column::new("most_live_orders", Kind::U64, 0, "Live orders at most.").of("orders"),
            Column::new("books_not_empty", Kind::U64, 0, "Books left with orders.").of("books"),
            Column::new("clock_stamp_ns", Kind::F64, 0, "Cost of a clock stamp.").of("ns"),
        ];
        let process = |name: String, doc| Column::new(name, Kind::U64, 0, doc).of("ns");
        columns.extend(QUANTILES.map(|(name, _)| {
            process(quantile_name(name), format!("{name} of the processing times."))
        }));
        columns.push(process(quantile_name("max"), "Longest processing time.".to_owned()));
        let mut rows = Rows::new(output, format, columns);
        rows.integer(self.messages());
        rows.integer(self.stocks as u64);
        rows.integer(self.bytes);
        rows.integer(self.making_nanos);
        rows.integer(self.running_nanos);
        rows.decimal(self.nanos_per_message());
        rows.integer(self.inside_changes());
        rows.integer(self.tally.most_live_orders as u64);
        rows.integer(self.books_left as u64);
        rows.decimal(self.latency.clock.cost_nanos());
        for (_, quantile) in QUANTILES {
            rows.integer_or_absent(self.latency.nanos.quantile(quantile));
        }
        rows.integer_or_absent(self.latency.nanos.max());
        rows.end_row()?;
        rows.finish()
    }
}

const NEXT: &str = "
Where to go next
  nanotape synth -o day.itch50          write such a day to a file
  nanotape check day.itch50             validate it against the specification
  nanotape stats day.itch50             rates, volumes and latencies per stock
  nanotape inside day.itch50            best prices after every change
  nanotape lab bench                    the hot path, stage by stage, with intervals
  nanotape --help                       all other commands; they read real Nasdaq day files";
