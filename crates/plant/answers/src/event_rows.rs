//! Rows of what is about no order: trading states, the instruments of the day, and auctions before
//! they take place. Codes and names are those of the members of records.

use std::{fmt::Write as _, ops::ControlFlow};

use nanotape_book::{DefaultBooks, Outcome};
use nanotape_engine::{BookEngine, Observer};
use nanotape_market::{
    AuctionImbalance, Definition, MarketEvent, Position, StatusChange, StatusReason, What,
};
use nanotape_types::{
    Maybe, Price, Side, Symbol,
    rows::{Cell, Column, Kind, Sink},
};

use crate::{
    Doubts, SymbolFilter,
    book_tables::{message_column, receipt_column, symbol_column, time_column},
    doubts::keep_doubts,
    record_details::Words,
    symbol_or_locate,
};

/// A table of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EventTable {
    /// Changes of trading states.
    Status,
    /// The instruments of the day.
    Definitions,
    /// Auctions before they take place.
    Imbalance,
}

/// Gives a row for each event of a table to a sink, as an observer.
#[derive(Debug)]
pub struct EventRows<S> {
    /// The selected stocks.
    pub filter: SymbolFilter,
    /// Takes the rows.
    pub sink: S,
    /// The table.
    pub table: EventTable,
    doubts: Doubts,
    has_receipt: bool,
    is_of_records: bool,
}

impl<S> EventRows<S> {
    /// Rows of these stocks; of all if there are none. `has_receipt`: whether rows have the time of
    /// receipt. `is_of_records`: the events are those of records, which have no number.
    pub fn new(
        table: EventTable,
        symbols: &[Symbol],
        sink: S,
        (has_receipt, is_of_records): (bool, bool),
    ) -> Self {
        let (filter, doubts) = (SymbolFilter::new(symbols), Doubts::default());
        Self { filter, sink, table, doubts, has_receipt, is_of_records }
    }

    /// The columns.
    pub fn columns(table: EventTable, has_receipt: bool) -> Vec<Column> {
        let text = |name, doc| Column::new(name, Kind::Text, 8, doc);
        let flag = |name, doc| Column::new(name, Kind::Flag, 6, doc);
        let price = |name, doc| Column::new(name, Kind::Price, 11, doc).of("USD");
        let shares = |name, doc| Column::new(name, Kind::U64, 8, doc).of("shares");
        let mut columns = vec![message_column(), time_column()];
        columns.extend(has_receipt.then(receipt_column));
        columns.push(symbol_column());
        columns.extend(match table {
            EventTable::Status => vec![
                text("action", "The change, in the words of DBN, such as halt."),
                text("reason", "The reason for it, in the words of DBN. Absent without a reason."),
                flag("is_trading", "Whether the stock trades from now on. Absent if not reported."),
                flag("is_quoting", "Whether quotes are accepted from now on. Absent if not reported."),
                flag(
                    "is_short_sell_restricted",
                    "Whether short sales are restricted from now on. Absent if not reported.",
                ),
            ],
            EventTable::Definitions => vec![
                Column::new("instrument_id", Kind::U64, 6, "The stock's number of the day."),
                text("exchange", "Market of the listing (ISO 10383). Absent if not reported."),
                text("group", "Code of the market segment, the exchange's own."),
                text("security_type", "Code of the kind of issue, the exchange's own."),
                text("secsubtype", "Code of the kind in more detail, the exchange's own."),
                shares("min_lot_size_round_lot", "Shares of a round lot."),
            ],
            EventTable::Imbalance => vec![
                text("auction_type", "The exchange's code of the auction."),
                text("side", "The side with more shares: B bid, A ask, N neither or not reported."),
                price("price", "The price at which the shares are counted."),
                shares("size", "Shares without a counterpart."),
                shares("paired_qty", "Shares that would trade."),
                price(
                    "cont_book_clr_price",
                    "The price that clears the auction with the orders of the book. Absent if not \
                     reported.",
                ),
                price(
                    "auct_interest_clr_price",
                    "The price that clears the orders for the auction alone. Absent if not reported.",
                ),
                text(
                    "significant_imbalance",
                    "The exchange's code of how far the near price is from the reference.",
                ),
            ],
        });
        columns
    }
}

impl<S: Sink> Observer<DefaultBooks> for EventRows<S> {
    #[inline]
    fn after(
        &mut self,
        engine: &BookEngine<DefaultBooks>,
        at: Position,
        event: &MarketEvent,
        _: Option<Outcome>,
    ) -> ControlFlow<()> {
        let is_of_table = matches!(
            (self.table, &event.what),
            (EventTable::Status, What::Status(_))
                | (EventTable::Definitions, What::Definition(_))
                | (EventTable::Imbalance, What::AuctionImbalance(_))
        );
        if !is_of_table { ControlFlow::Continue(()) } else { self.event(engine, at, event) }
    }

    keep_doubts!();
}

impl<S: Sink> EventRows<S> {
    #[cold]
    fn event(
        &mut self,
        engine: &BookEngine<DefaultBooks>,
        at: Position,
        event: &MarketEvent,
    ) -> ControlFlow<()> {
        // A change of the whole market concerns every selection.
        let is_of_market = event.stock_locate.get() == 0;
        if !is_of_market && !self.filter.accepts(event.stock_locate, engine.directory()) {
            return ControlFlow::Continue(());
        }
        let stock = match is_of_market {
            true => Cell::Absent,
            false => Cell::Stock(symbol_or_locate(engine.directory(), event.stock_locate)),
        };
        let ts_ns = event.time.map(|time| engine.time_of_day_ns(time));
        // Records of these kinds have no number of their message.
        let number = Cell::u64(Some(at.number).filter(|_| !self.is_of_records));
        let mut cells = vec![number, Cell::time(ts_ns)];
        cells.extend(self.has_receipt.then(|| self.doubts.receipt()));
        cells.push(stock);
        let scale = engine.books().price_scale();
        let price = |price: Price| Cell::Price(scale.ten_thousandths(price));
        let price_if = |of: Maybe<Price>| of.get().map_or(Cell::Absent, price);
        let flag = |state: Option<bool>| state.map_or(Cell::Absent, Cell::Flag);
        match event.what {
            What::Status(StatusChange {
                action,
                reason,
                is_trading,
                is_quoting,
                is_short_sell_restricted,
            }) => {
                let (mut words, mut cause) = (String::new(), String::new());
                // Writing to a string cannot fail.
                let _ = write!(Words(&mut words), "{action:?}");
                let _ = write!(Words(&mut cause), "{reason:?}");
                let has_reason = reason != StatusReason::None;
                cells.extend([
                    Cell::Text(&words),
                    if has_reason { Cell::Text(&cause) } else { Cell::Absent },
                    flag(is_trading),
                    flag(is_quoting),
                    flag(is_short_sell_restricted),
                ]);
                self.sink.row(&cells)
            }
            What::Definition(Definition {
                round_lot_shares,
                listing_venue,
                issue_class,
                issue_sub_type,
                segment,
            }) => {
                let (venue, sub_type) =
                    (text_of(listing_venue.trimmed()), text_of(issue_sub_type.trimmed()));
                let text_if =
                    |text| if str::is_empty(text) { Cell::Absent } else { Cell::Text(text) };
                cells.extend([
                    Cell::U64(event.stock_locate.get().into()),
                    text_if(&venue),
                    code(segment),
                    code(issue_class),
                    text_if(&sub_type),
                    Cell::U64(round_lot_shares.into()),
                ]);
                self.sink.row(&cells)
            }
            What::AuctionImbalance(AuctionImbalance {
                side,
                reference_price,
                near_price,
                far_price,
                paired_shares,
                imbalance_shares,
                auction,
                significance,
            }) => {
                let side = side.map_or(b'N', |side| if side == Side::Buy { b'B' } else { b'A' });
                cells.extend([
                    code(auction),
                    Cell::Letter(side),
                    price(reference_price),
                    Cell::U64(imbalance_shares.get()),
                    Cell::U64(paired_shares.get()),
                    price_if(near_price),
                    price_if(far_price),
                    code(significance),
                ]);
                self.sink.row(&cells)
            }
            _ => ControlFlow::Continue(()),
        }
    }
}

/// A letter of the exchange; blanks and zeros are no letters.
fn code(letter: u8) -> Cell<'static> {
    if matches!(letter, 0 | b' ') { Cell::Absent } else { Cell::Letter(letter) }
}

/// Bytes of an input, without any that could control a terminal.
fn text_of(bytes: &[u8]) -> String {
    bytes.iter().map(|&byte| char::from(nanotape_types::rows::printable_letter(byte))).collect()
}
