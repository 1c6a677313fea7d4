//! Prints messages of feeds that only captures have: those of IEX and of Cboe.
//!
//! Few of their messages have their time and their stock as numbers, so the messages run through
//! the books: each comes with its event, and an event of an order has the stock of the order.

use std::{io, ops::ControlFlow};

use anyhow::bail;
use nanotape_answers::{SymbolFilter, symbol_or_locate};
use nanotape_book::{DefaultBooks, Outcome};
use nanotape_engine::{BookEngine, Observer};
use nanotape_feed::{AnyMessage, DaySource, Feed, Position};
use nanotape_market::{MarketEvent, What};
use nanotape_types::StockLocate;

use super::{
    FoundMessages, InspectArguments, conclude_inspection,
    printer::{MessagePrinter, ShownMessage},
    types::SelectedTypes,
};
use crate::{progress::Progress, status::Status};

/// Orders for which the books have room from the beginning.
const ORDERS: usize = 1 << 16;

/// Prints the messages of a capture.
pub(super) fn inspect(
    arguments: &InspectArguments,
    mut source: DaySource,
    bounds: (u64, u64),
    types: SelectedTypes,
    printer: MessagePrinter,
) -> anyhow::Result<Status> {
    let mut inspection = CapturedInspection {
        arguments,
        feed: source.feed()?.unwrap_or(Feed::Itch),
        bounds,
        types,
        filter: SymbolFilter::new(&arguments.symbols.list()),
        printer,
        event: EventOf::default(),
        printed: 0,
        last_printed: 0,
        last: 0,
        is_past: false,
        is_done: false,
        error: None,
    };
    if arguments.count == Some(0) {
        inspection.printer.finish()?;
        return Ok(Status::Good);
    }
    let mut engine = BookEngine::new(DefaultBooks::with_capacity(ORDERS));
    let progress = Progress::with_total(source.progress().total_bytes);
    let report = engine.run(&mut source, &mut inspection, |source| {
        progress.set(source.progress().done_bytes);
    })?;
    drop(progress);
    let CapturedInspection { printer, filter, types, error, printed, last, is_past, .. } =
        inspection;
    if let Some(error) = error {
        return Err(error.into());
    }
    if let (Some(number), 0) = (arguments.offset, printed) {
        bail!(
            "{}: message {number}: not in the capture, or unreadable; the last one before it is \
             message {last}",
            source.name()
        );
    }
    printer.finish()?;
    let found = FoundMessages { printed, is_past, types: &types };
    let stocks = (&filter, engine.directory());
    conclude_inspection(arguments, (source.name(), &report), found, stocks)
}

/// What the event of a message has.
#[derive(Clone, Copy, Default)]
struct EventOf {
    /// The time of day.
    ts_ns: Option<u64>,
    /// The stock; 0 for none.
    stock_locate: StockLocate,
    /// Whether the message has an event for each of several stocks.
    is_of_several: bool,
}

struct CapturedInspection<'a> {
    arguments: &'a InspectArguments,
    feed: Feed,
    /// The first nanosecond of the day of the span, and the first one after it.
    bounds: (u64, u64),
    types: SelectedTypes,
    filter: SymbolFilter,
    printer: MessagePrinter,
    event: EventOf,
    printed: u64,
    /// The number of the message that was printed last; it can have more events.
    last_printed: u64,
    /// The number of the last message.
    last: u64,
    /// Whether a message after the span ended the reading.
    is_past: bool,
    /// Whether the next event ends the reading.
    is_done: bool,
    error: Option<io::Error>,
}

impl Observer<DefaultBooks> for CapturedInspection<'_> {
    const READS_BYTES: bool = true;

    fn admit(&mut self, at: Position, _: &MarketEvent) -> ControlFlow<()> {
        self.is_done |= self.arguments.offset.is_some_and(|number| at.number > number);
        if self.is_done { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn after(
        &mut self,
        engine: &BookEngine<DefaultBooks>,
        _: Position,
        event: &MarketEvent,
        _: Option<Outcome>,
    ) -> ControlFlow<()> {
        self.event = EventOf {
            ts_ns: event.time.map(|time| engine.time_of_day_ns(time)),
            stock_locate: event.stock_locate,
            is_of_several: event.what == What::BookCleared,
        };
        ControlFlow::Continue(())
    }

    fn bytes(
        &mut self,
        engine: &BookEngine<DefaultBooks>,
        at: Position,
        bytes: &[u8],
        _: Option<Outcome>,
    ) {
        // A channel that begins again has events without a message.
        if self.is_done || at.number == self.last_printed || bytes.is_empty() {
            return;
        }
        if let Some(message) = AnyMessage::decode(self.feed, bytes) {
            self.last = at.number;
            self.message(engine, at, message);
        }
    }
}

impl CapturedInspection<'_> {
    fn message(
        &mut self,
        engine: &BookEngine<DefaultBooks>,
        at: Position,
        message: AnyMessage<'_>,
    ) {
        let EventOf { ts_ns, stock_locate, is_of_several } = self.event;
        let (from, until) = self.bounds;
        if ts_ns.is_some_and(|ts_ns| ts_ns < from || ts_ns >= until) {
            let last = until.saturating_add(self.feed.venue().skew_ns);
            self.is_past = ts_ns.is_some_and(|ts_ns| ts_ns >= last);
            self.is_done |= self.is_past;
            return;
        }
        self.types.see(message.tag());
        let chosen = self.arguments;
        let is_wanted = self.types.selects(message.tag())
            && chosen.offset.is_none_or(|number| number == at.number)
            && self.filter.accepts(stock_locate, engine.directory());
        if !is_wanted {
            return;
        }
        let has_stock = stock_locate.get() != 0 && !(is_of_several && message.symbol().is_none());
        let stock = has_stock.then(|| symbol_or_locate(engine.directory(), stock_locate));
        if let Err(error) = self.printer.print(at, &ShownMessage { message, ts_ns, stock }) {
            self.error = Some(error);
            self.is_done = true;
            return;
        }
        self.printed += 1;
        self.last_printed = at.number;
        self.is_done |= chosen.offset.is_some();
        self.is_done |= chosen.count.is_some_and(|count| self.printed >= count);
    }
}
