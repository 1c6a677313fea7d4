//! Rows of records: all kinds have the same columns, so that one table contains them all.

use std::fmt::Write as _;

use nanotape_plant::{
    dbn,
    records::{Header, Notice, Record, UNDEF_COUNT},
};
use nanotape_tap::{Delivery, Event, Handover};
use nanotape_types::rows::{Cell, Column, Kind, StockName};

use crate::record_details;

/// The columns, in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RecordColumn {
    /// Sequence number of the record on the ring and in the journal.
    Sequence,
    /// Its kind, or that of a loss.
    Record,
    /// Time of the message at the exchange.
    TsEvent,
    /// When the plant received the message.
    TsRecv,
    /// Time of the message at the exchange, as in other tables.
    TsNs,
    /// Symbol of the stock, or # and its instrument number if no message has named it.
    Symbol,
    /// A add, C cancel, M modify, R clear, T trade, F fill, N none.
    Action,
    /// B bid, A ask, N none.
    Side,
    /// Price of the order, the trade or the reference of an auction.
    Price,
    /// Shares of the order, the trade or the imbalance.
    Size,
    /// The order, of mbo.
    OrderReferenceNumber,
    /// Flags of DBN, as a sum of bits.
    Flags,
    /// Best bid, of bbo. Absent if the side is empty.
    BidPrice,
    /// Displayed shares at the best bid.
    BidSize,
    /// Orders at the best bid.
    BidOrders,
    /// Best offer, of bbo. Absent if the side is empty.
    OfferPrice,
    /// Displayed shares at the best offer.
    OfferSize,
    /// Orders at the best offer.
    OfferOrders,
    /// Number of the message in the input of the plant, from 1.
    Message,
    /// What fits no other column.
    Detail,
    /// First sequence number of a loss.
    LostFrom,
    /// Last sequence number of a loss.
    LostTo,
    /// First sequence number that came from the journal.
    HealedFrom,
    /// Last sequence number that came from the journal.
    HealedTo,
}

/// How many columns there are.
const COLUMNS: usize = 24;

/// Name, kind, unit and meaning of each column.
#[rustfmt::skip]
const DECLARED: [(&str, Kind, &str, &str); COLUMNS] = [
    ("sequence", Kind::U64, "", "Sequence number of the record on the ring and in the journal."),
    ("record", Kind::Text, "",
        "Kind: mbo, bbo, trade, status, definition, imbalance, start, stop, gap, taint, \
         session_gap, suspect, restored, lost, healed or loss."),
    ("ts_event", Kind::UnixTime, "ns since 1970, UTC", "Time of the message at the exchange."),
    ("ts_recv", Kind::UnixTime, "ns since 1970, UTC", "When the plant received the message."),
    ("ts_ns", Kind::Time, "ns since midnight",
        "Time of the message at the exchange, as in other tables."),
    ("symbol", Kind::Text, "",
        "Symbol of the stock, or # and its instrument number if no message has named it."),
    ("action", Kind::Text, "", "A add, C cancel, M modify, R clear, T trade, F fill, N none."),
    ("side", Kind::Text, "", "B bid, A ask, N none."),
    ("price", Kind::Price9, "USD", "Price of the order, the trade or the reference of an auction."),
    ("size", Kind::U64, "shares", "Shares of the order, the trade or the imbalance."),
    ("order_reference_number", Kind::U64, "", "The order, of mbo."),
    ("flags", Kind::U64, "", "Flags of DBN, as a sum of bits."),
    ("bid_price", Kind::Price9, "USD", "Best bid, of bbo. Absent if the side is empty."),
    ("bid_size", Kind::U64, "shares", "Displayed shares at the best bid."),
    ("bid_orders", Kind::U64, "orders", "Orders at the best bid. Absent if the exchange shows no orders."),
    ("ask_price", Kind::Price9, "USD", "Best offer, of bbo. Absent if the side is empty."),
    ("ask_size", Kind::U64, "shares", "Displayed shares at the best offer."),
    ("ask_orders", Kind::U64, "orders", "Orders at the best offer, as bid_orders."),
    ("message", Kind::U64, "", "Number of the message in the input of the plant, from 1."),
    ("detail", Kind::Text, "", "What fits no other column."),
    ("lost_from", Kind::U64, "", "First sequence number of a loss."),
    ("lost_to", Kind::U64, "", "Last sequence number of a loss."),
    ("healed_from", Kind::U64, "", "First sequence number that came from the journal."),
    ("healed_to", Kind::U64, "", "Last sequence number that came from the journal."),
];

/// A record or a loss, as cells.
#[derive(Clone, Copy, Debug)]
pub struct RecordRow<'a>([Cell<'a>; COLUMNS]);

impl<'a> RecordRow<'a> {
    /// The columns.
    pub fn columns() -> Vec<Column> {
        let declared = DECLARED.iter();
        declared
            .map(|(name, kind, unit, doc)| Column::new(*name, *kind, 0, *doc).of(unit))
            .collect()
    }

    /// The columns before them in a table of several sources.
    pub fn source_columns() -> Vec<Column> {
        vec![
            Column::new("source", Kind::Text, 0, "The ring or the file, as it was given."),
            Column::new(
                "publisher",
                Kind::U64,
                0,
                "DBN's number of the feed and its venue. Absent if it is unknown.",
            ),
            Column::new(
                "dataset",
                Kind::Text,
                0,
                "The name of the data set of the publisher, such as XNAS.ITCH. Absent if it is \
                 unknown.",
            ),
        ]
    }

    /// The cells of an event. `detail`: buffer for text.
    #[inline]
    pub fn of(event: &Event<'_>, detail: &'a mut String) -> Self {
        let mut row = Self([Cell::Skipped; COLUMNS]);
        match event {
            Event::Record(delivery) => row.record(delivery, detail),
            Event::Lost(lapped) => {
                row.set(RecordColumn::Record, Cell::Text("lost"));
                row.set(RecordColumn::LostFrom, Cell::U64(lapped.from));
                row.set(RecordColumn::LostTo, Cell::U64(lapped.to));
            }
            Event::Healed(handover) => row.handover(handover, detail),
            Event::Reported { sequence, text } => {
                detail.clear();
                detail.push_str(text);
                row.set(RecordColumn::Sequence, Cell::U64(*sequence));
                row.set(RecordColumn::Record, Cell::Text("loss"));
                row.set(RecordColumn::Detail, Cell::Text(detail));
            }
        }
        row
    }

    #[cold]
    fn handover(&mut self, handover: &Handover, detail: &'a mut String) {
        detail.clear();
        // Writing to a string cannot fail.
        let _ = write!(detail, "{handover}");
        self.set(RecordColumn::Record, Cell::Text("healed"));
        self.set(RecordColumn::Detail, Cell::Text(detail));
        self.set(RecordColumn::HealedFrom, Cell::U64(handover.from));
        self.set(RecordColumn::HealedTo, Cell::U64(handover.to));
    }

    /// The cell of a column.
    #[inline]
    pub fn cell(&self, column: RecordColumn) -> Cell<'a> {
        self.0[column as usize]
    }

    /// All cells, in the order of the columns.
    #[inline]
    pub fn cells(&self) -> &[Cell<'a>] {
        &self.0
    }

    #[inline]
    fn set(&mut self, column: RecordColumn, cell: Cell<'a>) {
        self.0[column as usize] = cell;
    }

    #[inline]
    fn record(&mut self, delivery: &Delivery<'_>, detail: &'a mut String) {
        let Delivery { sequence, symbol, record, bytes, .. } = delivery;
        self.set(RecordColumn::Sequence, Cell::U64(*sequence));
        if let Some(header) = Header::of(bytes) {
            let has_time = header.ts_event != dbn::UNDEF_TIMESTAMP;
            let ts_event = Some(header.ts_event).filter(|_| has_time);
            let ts_ns =
                ts_event.zip(delivery.midnight_ns).and_then(|(at, from)| at.checked_sub(from));
            self.set(RecordColumn::TsEvent, unix_time(ts_event));
            self.set(RecordColumn::TsNs, Cell::time(ts_ns));
            self.set(
                RecordColumn::Symbol,
                match header.instrument_id {
                    0 => Cell::Absent,
                    locate => Cell::Stock(StockName::new(*symbol, locate)),
                },
            );
        }
        match record {
            Record::Mbo(mbo) => {
                self.name("mbo", mbo.ts_recv);
                self.change(mbo.action as u8, mbo.side as u8, mbo.price, mbo.size);
                self.set(
                    RecordColumn::OrderReferenceNumber,
                    match mbo.order_id {
                        0 => Cell::Absent,
                        reference => Cell::U64(reference),
                    },
                );
                self.of_message(mbo.flags.raw(), mbo.sequence);
            }
            Record::Bbo(bbo) => {
                self.name("bbo", bbo.ts_recv);
                self.change(bbo.action as u8, bbo.side as u8, bbo.price, bbo.size);
                let [level] = &bbo.levels;
                self.set(RecordColumn::BidPrice, price(level.bid_px));
                self.set(RecordColumn::OfferPrice, price(level.ask_px));
                let bid = size_of_level(level.bid_px, level.bid_sz, level.bid_ct);
                let offer = size_of_level(level.ask_px, level.ask_sz, level.ask_ct);
                (
                    self.0[RecordColumn::BidSize as usize],
                    self.0[RecordColumn::BidOrders as usize],
                ) = bid;
                (
                    self.0[RecordColumn::OfferSize as usize],
                    self.0[RecordColumn::OfferOrders as usize],
                ) = offer;
                self.of_message(bbo.flags.raw(), bbo.sequence);
            }
            Record::Trade(trade) => {
                self.name("trade", trade.ts_recv);
                self.change(trade.action as u8, trade.side as u8, trade.price, trade.size);
                self.of_message(trade.flags.raw(), trade.sequence);
            }
            rare => self.rare(rare, detail),
        }
    }

    /// Fills in records with text.
    #[cold]
    fn rare(&mut self, record: &Record<'_>, detail: &'a mut String) {
        detail.clear();
        match record {
            Record::Status(status) => {
                self.name("status", status.ts_recv);
                record_details::of_status(status, detail);
            }
            Record::Definition(definition) => {
                self.name("definition", definition.ts_recv);
                record_details::of_definition(definition, detail);
            }
            Record::Imbalance(imbalance) => {
                self.name("imbalance", imbalance.ts_recv);
                self.set(RecordColumn::Side, Cell::Letter(imbalance.side as u8));
                self.set(RecordColumn::Price, price(imbalance.ref_price));
                self.set(RecordColumn::Size, size(imbalance.total_imbalance_qty));
                record_details::of_imbalance(imbalance, detail);
            }
            Record::Notice(notice) => {
                self.notice(notice);
                record_details::of_notice(notice, detail);
            }
            // A kind of the library that this table lacks.
            _ => self.set(RecordColumn::Record, Cell::Text("other")),
        }
        self.set(RecordColumn::Detail, Cell::Text(detail));
    }

    fn notice(&mut self, notice: &Notice) {
        match notice {
            Notice::Gap(gap) => self.name("gap", gap.ts_recv),
            Notice::Taint(taint) => {
                self.name("taint", taint.ts_recv);
                self.set(RecordColumn::Message, Cell::U64(taint.message));
            }
            Notice::SessionGap(gap) => self.name("session_gap", gap.ts_recv),
            Notice::Suspect(suspect) => self.name("suspect", suspect.ts_recv),
            Notice::Restored(restored) => self.name("restored", restored.ts_recv),
            Notice::Start(start) => self.name("start", start.started_ns),
            Notice::Stop(stop) => self.name("stop", stop.stopped_ns),
        }
    }

    #[inline]
    fn name(&mut self, record: &'static str, ts_recv: u64) {
        self.set(RecordColumn::Record, Cell::Text(record));
        self.set(RecordColumn::TsRecv, Cell::UnixTime(ts_recv));
    }

    #[inline]
    fn change(&mut self, action: u8, side: u8, at: i64, shares: u32) {
        self.set(RecordColumn::Action, Cell::Letter(action));
        self.set(RecordColumn::Side, Cell::Letter(side));
        self.set(RecordColumn::Price, price(at));
        self.set(RecordColumn::Size, size(shares));
    }

    #[inline]
    fn of_message(&mut self, flags: u8, message: u32) {
        self.set(RecordColumn::Flags, Cell::U64(flags.into()));
        self.set(RecordColumn::Message, Cell::U64(message.into()));
    }
}

#[inline]
fn unix_time(nanos: Option<u64>) -> Cell<'static> {
    nanos.map_or(Cell::Absent, Cell::UnixTime)
}

#[inline]
fn price(price: i64) -> Cell<'static> {
    if price == dbn::UNDEF_PRICE { Cell::Absent } else { Cell::Price9(price) }
}

#[inline]
fn size(shares: u32) -> Cell<'static> {
    if shares == dbn::UNDEF_ORDER_SIZE { Cell::Absent } else { Cell::U64(shares.into()) }
}

/// Shares and orders of a level; no values for an empty side.
#[inline]
fn size_of_level(price: i64, shares: u32, orders: u32) -> (Cell<'static>, Cell<'static>) {
    match price {
        dbn::UNDEF_PRICE => (Cell::Absent, Cell::Absent),
        _ if orders == UNDEF_COUNT => (size(shares), Cell::Absent),
        _ => (size(shares), Cell::U64(orders.into())),
    }
}
