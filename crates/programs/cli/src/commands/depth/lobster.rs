//! `--lobster`: the message and orderbook files of LOBSTER, for each stock.
//!
//! Row k of the message file is the event that changed the book from row k-1 to row k of the
//! orderbook file. An event gets a row if it changes one of the levels that are written; hidden
//! trades, crosses and trading halts always get one. A replace is a deletion and a submission.
//! docs/formats/lobster.md has the columns.

use std::{
    fs,
    io::{self, BufWriter, Write as _},
    ops::ControlFlow,
    path::Path,
};

use anyhow::Context as _;
use nanotape_answers::{Opening, SymbolFilter};
use nanotape_book::{DefaultBook, DefaultBooks, Order, Outcome};
use nanotape_engine::{BookEngine, Observer};
use nanotape_market::{
    Execution, MarketEvent, Modified, Position, Priority, TradeKind, TradingAction, What,
};
use nanotape_plant::TradeDate;
use nanotape_types::{BookEvent, Price, PriceScale, Side, StockLocate, Symbol};

use super::DepthArguments;
use crate::{
    book_rows::require_orders,
    output::Output,
    status::{Status, warn},
    values::counted,
};

/// Price of a level without orders; negative for a bid.
const NO_PRICE: i64 = 9_999_999_999;

const NS_PER_MS: u64 = 1_000_000;
const NS_PER_DAY: u64 = 86_400_000_000_000;

pub(super) fn run(
    arguments: &DepthArguments,
    folder: &Path,
    opening: Opening,
) -> anyhow::Result<Status> {
    let name = arguments.input.name();
    let date = opening.midnight_ns.and_then(TradeDate::of_time).with_context(|| {
        format!(
            "{name}: --lobster needs the trade date, which the file name lacks: give it, as in \
             --date 2019-12-30"
        )
    })?;
    let symbols = arguments.symbols.list_without_patterns("depth --lobster")?;
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let (from, to) = opening.bounds;
    let (from_ms, to_ms) = (from / NS_PER_MS, to.min(NS_PER_DAY) / NS_PER_MS);
    let levels = arguments.levels;
    let create = |symbol: &Symbol| {
        let file = |kind: &str| {
            // A slash in a symbol would be a folder.
            let symbol = symbol.to_string().replace('/', "_");
            let file = format!("{symbol}_{date}_{from_ms}_{to_ms}_{kind}_{levels}.csv");
            Output::create(&folder.join(file), arguments.output.force).map(BufWriter::new)
        };
        let (messages, books) = (file("message")?, file("orderbook")?);
        anyhow::Ok(Pair { symbol: *symbol, messages, books, last_row: Vec::new(), halt: None })
    };
    let mut lobster = Lobster {
        filter: SymbolFilter::new(&symbols),
        pairs: symbols.iter().map(create).collect::<Result<_, _>>()?,
        levels: levels as usize,
        reduced: None,
        entered: None,
        row: Vec::new(),
        without_type: 0,
        error: None,
    };
    let session = arguments.input.read(opening, &mut lobster)?;
    if let Some(error) = lobster.error {
        return Err(error.into());
    }
    require_orders(&session, "--lobster")?;
    let status = arguments.input.conclude(&session, &mut lobster.filter)?;
    if lobster.without_type > 0 {
        let events = counted(lobster.without_type, "event");
        warn(format_args!(
            "{name}: {events} cleared a book or changed an order in place, which LOBSTER has no type \
             for: the next row of the stock has the book after it"
        ));
    }
    for Pair { messages, books, .. } in lobster.pairs {
        for file in [messages, books] {
            file.into_inner().map_err(io::IntoInnerError::into_error)?.finish()?;
        }
    }
    Ok(status)
}

/// Writes the pairs of files, as an observer.
struct Lobster {
    filter: SymbolFilter,
    pairs: Vec<Pair>,
    levels: usize,
    /// The order that the current message reduced or removed, and the shares that left.
    reduced: Option<(Order, u32)>,
    entered: Option<Order>,
    /// A row of an orderbook file; a member to reuse its memory.
    row: Vec<u8>,
    /// Events of records that have no type here.
    without_type: u64,
    error: Option<io::Error>,
}

/// The files of one stock.
struct Pair {
    symbol: Symbol,
    messages: BufWriter<Output>,
    books: BufWriter<Output>,
    /// The last row of the orderbook file.
    last_row: Vec<u8>,
    /// The halt that the last row of type 7 has; None while the stock trades.
    halt: Option<i64>,
}

/// A row of a message file.
struct MessageRow {
    nanos: u64,
    kind: Kind,
    /// The order reference number; 0 for an event without one.
    order: u64,
    shares: u64,
    price: i64,
    direction: i8,
}

/// LOBSTER's event types.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Submission = 1,
    Cancellation = 2,
    Deletion = 3,
    VisibleExecution = 4,
    HiddenExecution = 5,
    Cross = 6,
    Halt = 7,
}

impl Kind {
    /// Whether it has a row although the levels are as before.
    fn is_always_written(self) -> bool {
        matches!(self, Self::HiddenExecution | Self::Cross | Self::Halt)
    }
}

impl Observer<DefaultBooks> for Lobster {
    fn begin(&mut self, engine: &BookEngine<DefaultBooks>, _: u64) {
        // The levels before the span: an event beyond them has no row.
        for pair in &mut self.pairs {
            if let Some(locate) = engine.directory().locate(pair.symbol) {
                let book = engine.books().book(locate);
                write_levels(&mut pair.last_row, &book, self.levels, None);
            }
        }
    }

    fn before(&mut self, _: &BookEngine<DefaultBooks>, _: Position, _: &MarketEvent) {
        (self.reduced, self.entered) = (None, None);
    }

    fn order_entered(&mut self, order: &Order) {
        self.entered = Some(*order);
    }

    fn order_reduced(&mut self, order: &Order, shares: u32) {
        self.reduced = Some((*order, shares));
    }

    fn after(
        &mut self,
        engine: &BookEngine<DefaultBooks>,
        _: Position,
        event: &MarketEvent,
        outcome: Option<Outcome>,
    ) -> ControlFlow<()> {
        let locate = outcome.map_or(event.stock_locate, |outcome| outcome.stock_locate);
        if locate.get() == 0 || !self.filter.accepts(locate, engine.directory()) {
            return ControlFlow::Continue(());
        }
        match self.write(engine, locate, event) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                self.error = Some(error);
                ControlFlow::Break(())
            }
        }
    }
}

impl Lobster {
    /// Whether LOBSTER has no type for an event: a book that is cleared, and an order that grows at
    /// its place in the queue.
    fn is_without_type(&self, event: &MarketEvent) -> bool {
        match (event.what, self.reduced, self.entered) {
            (What::BookCleared, ..) => true,
            (What::OrderModified(modified), Some((before, _)), Some(after)) => {
                modified.priority == Priority::Kept && before.price == after.price
            }
            _ => false,
        }
    }

    fn write(
        &mut self,
        engine: &BookEngine<DefaultBooks>,
        locate: StockLocate,
        event: &MarketEvent,
    ) -> io::Result<()> {
        let is_without_type = self.is_without_type(event);
        let symbol = engine.directory().symbol(locate);
        let Some(pair) = self.pairs.iter_mut().find(|pair| Some(pair.symbol) == symbol) else {
            return Ok(());
        };
        if is_without_type {
            self.without_type += 1;
            return Ok(());
        }
        let book = engine.books().book(locate);
        let nanos = event.time.map_or(0, |time| engine.time_of_day_ns(time));
        let scale = book.price_scale();
        let changed = (self.reduced, self.entered);
        let (first, second) = rows_of((event, nanos, scale), changed, &mut pair.halt);
        for (message, is_last) in first.iter().map(|row| (row, second.is_none())).chain(
            // The book between the two halves of a replace lacks the new order.
            second.iter().map(|row| (row, true)),
        ) {
            let without = self.entered.filter(|_| !is_last);
            self.row.clear();
            write_levels(&mut self.row, &book, self.levels, without);
            if self.row == pair.last_row && !message.kind.is_always_written() {
                continue;
            }
            message.write(&mut pair.messages)?;
            pair.books.write_all(&self.row)?;
            pair.last_row.clone_from(&self.row);
        }
        Ok(())
    }
}

/// The rows of an event: none, one, or the two of a replace.
fn rows_of(
    (event, nanos, scale): (&MarketEvent, u64, PriceScale),
    (reduced, entered): (Option<(Order, u32)>, Option<Order>),
    halt: &mut Option<i64>,
) -> (Option<MessageRow>, Option<MessageRow>) {
    let units = |price: Price| scale.ten_thousandths(price) as i64;
    let about = |kind: Kind, reference: u64, order: Order, shares: u32| MessageRow {
        nanos,
        kind,
        order: reference,
        shares: shares.into(),
        price: units(order.price),
        direction: direction_of(order.side),
    };
    let without_order = |kind, shares, price: i64, direction| {
        Some(MessageRow { nanos, kind, order: 0, shares, price, direction })
    };
    let left = |kind, reference: u64| {
        reduced.map(|(order, shares)| {
            let is_gone = kind == Kind::Cancellation && order.shares.get() <= shares;
            about(if is_gone { Kind::Deletion } else { kind }, reference, order, shares)
        })
    };
    let came = |reference: u64| {
        entered.map(|order| about(Kind::Submission, reference, order, order.shares.get()))
    };
    match event.what {
        What::Order(BookEvent::Add { reference, .. }) => (came(reference.get()), None),
        What::Order(BookEvent::Cancel { reference, .. }) => {
            (left(Kind::Cancellation, reference.get()), None)
        }
        What::Order(BookEvent::Delete { reference, .. }) => {
            (left(Kind::Deletion, reference.get()), None)
        }
        What::Order(BookEvent::Replace { original, replacement, .. }) => {
            (left(Kind::Deletion, original.get()), came(replacement.get()))
        }
        What::OrderModified(Modified { reference, .. }) => match entered {
            Some(_) => (left(Kind::Deletion, reference.get()), came(reference.get())),
            None => (left(Kind::Cancellation, reference.get()), None),
        },
        What::PriceOutOfRange(Some(reference)) => (left(Kind::Deletion, reference.get()), None),
        What::Execution(Execution { reference, price, .. }) => {
            let row = left(Kind::VisibleExecution, reference.get());
            (row.map(|row| MessageRow { price: price.map_or(row.price, units), ..row }), None)
        }
        What::Trade(trade) => {
            let (shares, price) = (trade.shares.get(), units(trade.price));
            match trade.kind {
                // The direction is that of the hidden order. The exchange marks every hidden trade
                // as a buy since 2014.
                TradeKind::Hidden => {
                    let direction = trade.aggressor.map_or(1, |side| direction_of(side.opposite()));
                    (without_order(Kind::HiddenExecution, shares, price, direction), None)
                }
                // Its executions have rows.
                TradeKind::Displayed | TradeKind::Unstated => (None, None),
                TradeKind::Auction if shares == 0 => (None, None),
                TradeKind::Auction => (without_order(Kind::Cross, shares, price, -1), None),
            }
        }
        What::Status(change) => {
            let state = match change.action {
                TradingAction::Halt | TradingAction::Pause => Some(-1),
                TradingAction::Quoting => Some(0),
                TradingAction::Trading => None,
                _ => return (None, None),
            };
            if std::mem::replace(halt, state) == state {
                return (None, None);
            }
            (without_order(Kind::Halt, 0, state.unwrap_or(1), -1), None)
        }
        _ => (None, None),
    }
}

fn direction_of(side: Side) -> i8 {
    match side {
        Side::Buy => 1,
        Side::Sell => -1,
    }
}

impl MessageRow {
    fn write(&self, file: &mut impl io::Write) -> io::Result<()> {
        let Self { nanos, kind, order, shares, price, direction } = self;
        let (seconds, nanos) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
        let kind = *kind as u8;
        writeln!(file, "{seconds}.{nanos:09},{kind},{order},{shares},{price},{direction}")
    }
}

/// Appends a row of the first levels: ask price, ask size, bid price, bid size of each. `without`:
/// an order whose shares are left out.
fn write_levels(row: &mut Vec<u8>, book: &DefaultBook<'_>, levels: usize, without: Option<Order>) {
    let scale = book.price_scale();
    let of = |side| {
        book.depth(side).filter_map(move |level| {
            let own = without.filter(|order| order.side == side && order.price == level.price);
            let own = own.map_or(0, |order| u64::from(order.shares.get()));
            let shares = level.shares.get().saturating_sub(own);
            (shares > 0).then_some((scale.ten_thousandths(level.price) as i64, shares))
        })
    };
    let (mut offers, mut bids) = (of(Side::Sell), of(Side::Buy));
    for level in 0..levels {
        let (offer, offer_shares) = offers.next().unwrap_or((NO_PRICE, 0));
        let (bid, bid_shares) = bids.next().unwrap_or((-NO_PRICE, 0));
        let comma = if level == 0 { "" } else { "," };
        // Writing to memory cannot fail.
        let _ = write!(row, "{comma}{offer},{offer_shares},{bid},{bid_shares}");
    }
    row.push(b'\n');
}
