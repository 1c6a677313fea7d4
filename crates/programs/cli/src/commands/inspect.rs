//! `nanotape inspect`: decode a day and print its messages.

mod captured;
mod printer;
mod table;
mod types;

use std::{io, ops::ControlFlow};

use anyhow::bail;
use clap::Args;
use nanotape_answers::{Span, SymbolFilter, symbol_or_locate};
use nanotape_arguments::{
    DayArguments, SpanArguments, SymbolArguments,
    errors::of_input,
    verdict::{conclude, require_symbols},
};
use nanotape_engine::{DamageLog, DayReport};
use nanotape_feed::{
    AnyMessage, Damage, DaySource, Feed, MessageHandler, Position, hidden_in, market_event,
    read_day,
};
use nanotape_market::StockDirectory;
use nanotape_plant::trade_date_of;
use nanotape_types::{NanosSinceMidnight, Symbol, rows::StockName};
use nanotape_wire::itch50::Message;
use printer::{MessagePrinter, ShownMessage};
use types::{GivenType, SelectedTypes};

use crate::{
    output::{Format, OutputArguments},
    progress::Progress,
    status::{Status, note},
    values::count,
};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape inspect day.gz --count 20
  nanotape inspect day.gz --type A,U --symbols AAPL --from 09:30 --until 09:30:01 --format json
  nanotape inspect day.gz --type P,Q -o trades.csv       a column for each field of both types
  nanotape inspect day.gz --offset 71       the message whose record starts at offset 71
  nanotape inspect pitch.pcap --type 0x21,0x23 --symbols MAT

The messages are those of the feed that the content shows: ITCH, or of a capture also IEX DEEP, IEX
DEEP+, IEX TOPS or Cboe PITCH. Types are letters, those of PITCH numbers such as 0x21.

Every line starts with the message's number in the file, from 1, and the offset of its record, which
in a capture is the number again. Lines of IEX and PITCH go on with the time of day and the symbol:
of PITCH, few messages have their stock, and those of orders get the one of the order.
Unknown message types are printed as bytes. A selected type that no message has is reported; one that
the feed does not have either is an error.

CSV has a column for each field of the selected types, under its name in the specification; ts_ns is
the timestamp. symbol is that of the message's stock locate, also for messages without a stock. JSON
has the fields of the message.")]
pub(crate) struct InspectArguments {
    #[command(flatten)]
    input: DayArguments,

    /// Only these message types, by their letter, or number such as 0x21
    #[arg(long = "type", value_name = "A,U", value_delimiter = ',')]
    types: Vec<GivenType>,

    #[command(flatten)]
    symbols: SymbolArguments,

    #[command(flatten)]
    span: SpanArguments,

    /// Only the message whose record starts at this offset
    #[arg(long, value_name = "BYTES", conflicts_with_all = ["types", "symbols", "from", "until"])]
    offset: Option<u64>,

    /// Stop after N messages
    #[arg(long, value_name = "N", alias = "limit", value_parser = count::<u64>(..))]
    count: Option<u64>,

    #[command(flatten)]
    output: OutputArguments,
}

pub(crate) fn run(arguments: &InspectArguments) -> anyhow::Result<Status> {
    let format = arguments.output.format_or(Format::Text)?;
    let mut source = arguments.input.open()?;
    let feed = source.feed()?.unwrap_or(Feed::Itch);
    let types = SelectedTypes::new(feed, &arguments.types)?;
    let date = trade_date_of(&mut source, arguments.input.name().path())?;
    let midnight_ns = match feed {
        Feed::Itch => date.map(|date| date.midnight_ns()),
        _ => date.map(|date| date.begins_ns(feed.venue())),
    };
    let bounds =
        Span::from(arguments.span).bounds(arguments.input.name(), midnight_ns).map_err(of_input)?;
    let printer = MessagePrinter::new(arguments.output.open()?, format, feed, &types);
    if feed == Feed::Itch {
        return inspect_itch(arguments, source, bounds, types, printer);
    }
    source.set_day_begins(midnight_ns.unwrap_or_default());
    captured::inspect(arguments, source, bounds, types, printer)
}

/// Prints messages of ITCH, which need no books.
fn inspect_itch(
    arguments: &InspectArguments,
    mut source: DaySource,
    bounds: (u64, u64),
    types: SelectedTypes,
    printer: MessagePrinter,
) -> anyhow::Result<Status> {
    let symbols = arguments.symbols.list();
    let mut inspection = Inspection {
        arguments,
        bounds,
        types,
        filter: SymbolFilter::new(&symbols),
        symbols,
        directory: StockDirectory::default(),
        printer,
        printed: 0,
        is_past: false,
        last_offset: 0,
        damage: DamageLog::default(),
        last_time: NanosSinceMidnight::default(),
        error: None,
    };
    let progress = Progress::with_total(source.progress().total_bytes);
    let summary = match arguments.count {
        Some(0) => None,
        _ => Some(read_day(&mut source, &mut inspection, |source| {
            progress.set(source.progress().done_bytes)
        })?),
    };
    drop(progress);
    let Inspection { printer, filter, directory, damage, error, printed, last_offset, .. } =
        inspection;
    if let Some(error) = error {
        return Err(error.into());
    }
    if let (Some(offset), 0, Some(_)) = (arguments.offset, printed, &summary) {
        bail!(
            "{}: offset {offset}: no record starts there; the last one before it starts at offset \
             {last_offset}",
            source.name()
        );
    }
    printer.finish()?;
    let Some(summary) = summary else { return Ok(Status::Good) };
    let report = DayReport { summary, damage };
    let found = FoundMessages { printed, is_past: inspection.is_past, types: &inspection.types };
    conclude_inspection(arguments, (source.name(), &report), found, (&filter, &directory))
}

/// What a reading found.
struct FoundMessages<'a> {
    /// Messages printed.
    printed: u64,
    /// Whether a message after the span ended the reading.
    is_past: bool,
    types: &'a SelectedTypes,
}

/// Reports damage, and what no message has of the selection.
fn conclude_inspection(
    arguments: &InspectArguments,
    (name, report): (&str, &DayReport),
    FoundMessages { printed, is_past, types }: FoundMessages<'_>,
    (filter, directory): (&SymbolFilter, &StockDirectory),
) -> anyhow::Result<Status> {
    let stopped = report.summary.end == nanotape_feed::DayEnd::Stopped;
    let status = conclude(name, report);
    if printed == 0 && !stopped {
        require_symbols(name, filter, directory)?;
    }
    if arguments.offset.is_none() && (!stopped || is_past) {
        types.require(name)?;
        if printed == 0 && types.are_all_seen() {
            note(format_args!("{name}: no message is selected by all options"));
        }
    }
    Ok(status)
}

struct Inspection<'a> {
    arguments: &'a InspectArguments,
    /// The first nanosecond since midnight of the span, and the first one after it.
    bounds: (u64, u64),
    types: SelectedTypes,
    symbols: Vec<Symbol>,
    filter: SymbolFilter,
    directory: StockDirectory,
    printer: MessagePrinter,
    printed: u64,
    /// Whether a message after the span ended the reading.
    is_past: bool,
    /// Offset of the last record that starts before the requested one.
    last_offset: u64,
    damage: DamageLog,
    /// Time of the previous message.
    last_time: NanosSinceMidnight,
    error: Option<io::Error>,
}

impl Inspection<'_> {
    /// Records the damage if a message with missing bytes hides a whole record in its body.
    fn check_inside(&mut self, position: Position, message: &Message<'_>) {
        const TEN_MINUTES_NS: u64 = 600_000_000_000;
        let last = self.last_time;
        self.last_time = message.timestamp().unwrap_or(last);
        if let Some((damage, inner)) = hidden_in(message.as_bytes(), position.offset)
            && let Some(later) =
                inner.timestamp().and_then(|time| time.get().checked_sub(last.get()))
            && later <= TEN_MINUTES_NS
        {
            self.damage.record(damage);
        }
    }
}

impl MessageHandler for Inspection<'_> {
    fn message(&mut self, position: Position, message: Message<'_>) -> ControlFlow<()> {
        self.directory.learn(&market_event(&message));
        self.check_inside(position, &message);
        let chosen = self.arguments;
        if chosen.offset.is_some_and(|offset| position.offset > offset) {
            return ControlFlow::Break(());
        }
        self.last_offset = position.offset;
        if let Some(time) = message.timestamp() {
            let (from, until) = self.bounds;
            if time.get() >= until {
                self.is_past = true;
                return ControlFlow::Break(());
            }
            if time.get() < from {
                return ControlFlow::Continue(());
            }
        }
        self.types.see(message.tag());
        let wanted = self.types.selects(message.tag())
            && chosen.offset.is_none_or(|offset| position.offset == offset)
            && (self.symbols.is_empty() || self.about_wanted_stock(&message));
        if !wanted {
            return ControlFlow::Continue(());
        }
        if let Err(error) = self.print(position, message) {
            self.error = Some(error);
            return ControlFlow::Break(());
        }
        self.printed += 1;
        match chosen.count {
            _ if chosen.offset.is_some() => ControlFlow::Break(()),
            Some(count) if self.printed >= count => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    }

    fn damage(&mut self, damage: Damage) {
        self.damage.record(damage);
    }
}

impl Inspection<'_> {
    fn about_wanted_stock(&mut self, message: &Message<'_>) -> bool {
        let by_name = message
            .stock()
            .is_some_and(|stock| self.symbols.iter().any(|wanted| wanted.selects(stock)));
        by_name
            || message.stock_locate().is_some_and(|locate| {
                locate.get() != 0 && self.filter.accepts(locate, &self.directory)
            })
    }

    fn print(&mut self, position: Position, message: Message<'_>) -> io::Result<()> {
        let stock = match (message.stock(), message.stock_locate()) {
            (Some(stock), locate) => {
                Some(StockName::new(Some(stock), locate.map_or(0, |locate| locate.get().into())))
            }
            (None, Some(locate)) if locate.get() != 0 => {
                Some(symbol_or_locate(&self.directory, locate))
            }
            _ => None,
        };
        let ts_ns = message.timestamp().map(|time| time.get());
        self.printer
            .print(position, &ShownMessage { message: AnyMessage::Itch(message), ts_ns, stock })
    }
}
