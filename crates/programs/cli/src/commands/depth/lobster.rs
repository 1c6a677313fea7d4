//! `--lobster`: the message and orderbook files of LOBSTER, for each stock.
//!
//! Row k of the message file is the event that changed the book from row k-1 to row k of the
//! orderbook file. An event gets a row if it changes one of the levels that are written; hidden
//! trades, crosses and trading halts always get one. A replace is a deletion and a submission.
//! docs/formats/lobster.md has the columns.

use std::{
    fs,
    io::{self, BufWriter, Write as _},
    mem,
    ops::ControlFlow,
    path::Path,
};

use anyhow::Context as _;
use nanotape_answers::{Opening, OrderChanges, OrderStep, SymbolFilter};
use nanotape_book::{DefaultBook, DefaultBooks, Order, Outcome};
use nanotape_engine::{BookEngine, Observer};
use nanotape_market::{MarketEvent, Position, Trade, TradeKind, TradingAction, What};
use nanotape_plant::TradeDate;
use nanotape_types::{OrderReferenceNumber, Price, PriceScale, Side, StockLocate, Symbol};

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
        changes: OrderChanges::default(),
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
    changes: OrderChanges,
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

    fn order_entered(&mut self, order: &Order) {
        self.changes.entered(order);
    }

    fn order_reduced(&mut self, order: &Order, shares: u32) {
        self.changes.reduced(order, shares);
    }

    fn after(
        &mut self,
        engine: &BookEngine<DefaultBooks>,
        _: Position,
        event: &MarketEvent,
        outcome: Option<Outcome>,
    ) -> ControlFlow<()> {
        let steps = self.changes.take(event);
        let locate = outcome.map_or(event.stock_locate, |outcome| outcome.stock_locate);
        if locate.get() == 0 || !self.filter.accepts(locate, engine.directory()) {
            return ControlFlow::Continue(());
        }
        match self.write(engine, locate, event, steps) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                self.error = Some(error);
                ControlFlow::Break(())
            }
        }
    }
}

impl Lobster {
    fn write(
        &mut self,
        engine: &BookEngine<DefaultBooks>,
        locate: StockLocate,
        event: &MarketEvent,
        steps: [Option<OrderStep>; 2],
    ) -> io::Result<()> {
        let symbol = engine.directory().symbol(locate);
        let Some(pair) = self.pairs.iter_mut().find(|pair| Some(pair.symbol) == symbol) else {
            return Ok(());
        };
        // LOBSTER has no type for a book that is cleared, nor for an order that grows at its place.
        if let [Some(OrderStep::Cleared | OrderStep::Grown(..)), _] = steps {
            self.without_type += 1;
            return Ok(());
        }
        let book = engine.books().book(locate);
        let nanos = event.time.map_or(0, |time| engine.time_of_day_ns(time));
        let scale = book.price_scale();
        // The book between the two halves of a replace lacks the new order.
        let entered = match steps {
            [Some(_), Some(OrderStep::Entered(_, order))] => Some(order),
            _ => None,
        };
        let rows = match event.what {
            What::Status(change) => [pair.halt_row(change.action), None],
            _ => steps.map(|step| step.and_then(|step| row_of(&step, scale))),
        };
        for (without, message) in [entered, None].into_iter().zip(rows) {
            let Some(message) = message else { continue };
            self.row.clear();
            write_levels(&mut self.row, &book, self.levels, without);
            if self.row == pair.last_row && !message.kind.is_always_written() {
                continue;
            }
            message.write(nanos, &mut pair.messages)?;
            pair.books.write_all(&self.row)?;
            pair.last_row.clone_from(&self.row);
        }
        Ok(())
    }
}

impl Pair {
    /// The row of a changed state; none if LOBSTER has the state already.
    fn halt_row(&mut self, action: TradingAction) -> Option<MessageRow> {
        let state = match action {
            TradingAction::Halt | TradingAction::Pause => Some(-1),
            TradingAction::Quoting => Some(0),
            TradingAction::Trading => None,
            _ => return None,
        };
        let price = state.unwrap_or(1);
        let row = MessageRow { kind: Kind::Halt, order: 0, shares: 0, price, direction: -1 };
        (mem::replace(&mut self.halt, state) != state).then_some(row)
    }
}

/// The row of a step, if LOBSTER has a type for it.
fn row_of(step: &OrderStep, scale: PriceScale) -> Option<MessageRow> {
    let units = |price: Price| scale.ten_thousandths(price) as i64;
    let about = |kind, reference: OrderReferenceNumber, order: &Order, shares: u32| MessageRow {
        kind,
        order: reference.get(),
        shares: shares.into(),
        price: units(order.price),
        direction: direction_of(order.side),
    };
    Some(match step {
        OrderStep::Entered(reference, order) => {
            about(Kind::Submission, *reference, order, order.shares.get())
        }
        OrderStep::Cancelled(reference, order, shares) => {
            let is_gone = order.shares.get() <= *shares;
            let kind = if is_gone { Kind::Deletion } else { Kind::Cancellation };
            about(kind, *reference, order, *shares)
        }
        OrderStep::Executed(reference, order, shares, execution) => {
            let row = about(Kind::VisibleExecution, *reference, order, *shares);
            MessageRow { price: execution.price.map_or(row.price, units), ..row }
        }
        OrderStep::Traded(Trade { kind, shares, price, aggressor, .. }) => {
            let (kind, direction) = match kind {
                // The direction is that of the hidden order. The exchange marks every hidden trade
                // as a buy since 2014.
                TradeKind::Hidden => (
                    Kind::HiddenExecution,
                    aggressor.map_or(1, |side| direction_of(side.opposite())),
                ),
                TradeKind::Auction => (Kind::Cross, -1),
                // Its executions have rows.
                TradeKind::Displayed | TradeKind::Unstated => return None,
            };
            MessageRow { kind, order: 0, shares: shares.get(), price: units(*price), direction }
        }
        OrderStep::Cleared | OrderStep::Grown(..) => return None,
    })
}

fn direction_of(side: Side) -> i8 {
    match side {
        Side::Buy => 1,
        Side::Sell => -1,
    }
}

impl MessageRow {
    fn write(&self, nanos: u64, file: &mut impl io::Write) -> io::Result<()> {
        let Self { kind, order, shares, price, direction } = self;
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
