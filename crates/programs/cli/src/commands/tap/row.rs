//! The cells of a record. All kinds have the same columns, so that one table contains them all.

use std::fmt::Write as _;

use nanotape_plant::{
    dbn,
    records::{Header, Notice, Record},
};
use nanotape_tap::{Delivery, Event, Handover};
use nanotape_types::Symbol;

use super::details;

/// The columns, in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Column {
    Sequence,
    Record,
    TsEvent,
    TsRecv,
    TsNs,
    Symbol,
    Action,
    Side,
    Price,
    Size,
    OrderReferenceNumber,
    Flags,
    BidPrice,
    BidSize,
    BidOrders,
    AskPrice,
    AskSize,
    AskOrders,
    Message,
    Detail,
    LostFrom,
    LostTo,
    HealedFrom,
    HealedTo,
}

impl Column {
    /// Their names, in the same order.
    pub(super) const NAMES: [&str; 24] = [
        "sequence",
        "record",
        "ts_event",
        "ts_recv",
        "ts_ns",
        "symbol",
        "action",
        "side",
        "price",
        "size",
        "order_reference_number",
        "flags",
        "bid_price",
        "bid_size",
        "bid_orders",
        "ask_price",
        "ask_size",
        "ask_orders",
        "message",
        "detail",
        "lost_from",
        "lost_to",
        "healed_from",
        "healed_to",
    ];
}

/// A value in a column.
#[derive(Clone, Copy, Debug)]
pub(super) enum Cell<'a> {
    /// Records of this kind do not have the column.
    Absent,
    /// This record has no value, or it is unknown: a side without orders has no price.
    Nothing,
    Number(u64),
    /// A price in units of 1e-9.
    Price(i64),
    Letter(u8),
    Text(&'a str),
    /// The symbol, or `#` and the number of a stock that no message has named.
    Stock(Option<Symbol>, u32),
}

/// A record or a loss, as cells.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row<'a>([Cell<'a>; Column::NAMES.len()]);

impl<'a> Row<'a> {
    /// `detail`: buffer for text.
    #[inline]
    pub(super) fn of(event: &Event<'_>, detail: &'a mut String) -> Self {
        let mut row = Self([Cell::Absent; Column::NAMES.len()]);
        match event {
            Event::Record(delivery) => row.record(delivery, detail),
            Event::Lost(lapped) => {
                row.set(Column::Record, Cell::Text("lost"));
                row.set(Column::LostFrom, Cell::Number(lapped.from));
                row.set(Column::LostTo, Cell::Number(lapped.to));
            }
            Event::Healed(handover) => row.handover(handover, detail),
            Event::Reported { sequence, text } => {
                detail.clear();
                detail.push_str(text);
                row.set(Column::Sequence, Cell::Number(*sequence));
                row.set(Column::Record, Cell::Text("loss"));
                row.set(Column::Detail, Cell::Text(detail));
            }
        }
        row
    }

    #[cold]
    fn handover(&mut self, handover: &Handover, detail: &'a mut String) {
        detail.clear();
        // Writing to a string cannot fail.
        let _ = write!(detail, "{handover}");
        self.set(Column::Record, Cell::Text("healed"));
        self.set(Column::Detail, Cell::Text(detail));
        self.set(Column::HealedFrom, Cell::Number(handover.from));
        self.set(Column::HealedTo, Cell::Number(handover.to));
    }

    #[inline]
    pub(super) fn cell(&self, column: Column) -> Cell<'a> {
        self.0[column as usize]
    }

    pub(super) fn cells(&self) -> impl Iterator<Item = Cell<'a>> + '_ {
        self.0.iter().copied()
    }

    #[inline]
    fn set(&mut self, column: Column, cell: Cell<'a>) {
        self.0[column as usize] = cell;
    }

    #[inline]
    fn record(&mut self, delivery: &Delivery<'_>, detail: &'a mut String) {
        let Delivery { sequence, symbol, record, bytes, .. } = delivery;
        self.set(Column::Sequence, Cell::Number(*sequence));
        if let Some(header) = Header::of(bytes) {
            let has_time = header.ts_event != dbn::UNDEF_TIMESTAMP;
            let ts_event = Some(header.ts_event).filter(|_| has_time);
            let ts_ns =
                ts_event.zip(delivery.midnight_ns).and_then(|(at, from)| at.checked_sub(from));
            self.set(Column::TsEvent, number_or_nothing(ts_event));
            self.set(Column::TsNs, number_or_nothing(ts_ns));
            self.set(
                Column::Symbol,
                match header.instrument_id {
                    0 => Cell::Nothing,
                    locate => Cell::Stock(*symbol, locate),
                },
            );
        }
        match record {
            Record::Mbo(mbo) => {
                self.name("mbo", mbo.ts_recv);
                self.change(mbo.action as u8, mbo.side as u8, mbo.price, mbo.size);
                self.set(
                    Column::OrderReferenceNumber,
                    match mbo.order_id {
                        0 => Cell::Nothing,
                        reference => Cell::Number(reference),
                    },
                );
                self.of_message(mbo.flags.raw(), mbo.sequence);
            }
            Record::Bbo(bbo) => {
                self.name("bbo", bbo.ts_recv);
                self.change(bbo.action as u8, bbo.side as u8, bbo.price, bbo.size);
                let [level] = &bbo.levels;
                self.set(Column::BidPrice, price(level.bid_px));
                self.set(Column::AskPrice, price(level.ask_px));
                let bid = size_of_level(level.bid_px, level.bid_sz, level.bid_ct);
                let ask = size_of_level(level.ask_px, level.ask_sz, level.ask_ct);
                (self.0[Column::BidSize as usize], self.0[Column::BidOrders as usize]) = bid;
                (self.0[Column::AskSize as usize], self.0[Column::AskOrders as usize]) = ask;
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
                details::of_status(status, detail);
            }
            Record::Definition(definition) => {
                self.name("definition", definition.ts_recv);
                details::of_definition(definition, detail);
            }
            Record::Imbalance(imbalance) => {
                self.name("imbalance", imbalance.ts_recv);
                self.set(Column::Side, Cell::Letter(imbalance.side as u8));
                self.set(Column::Price, price(imbalance.ref_price));
                self.set(Column::Size, size(imbalance.total_imbalance_qty));
                details::of_imbalance(imbalance, detail);
            }
            Record::Notice(notice) => {
                self.notice(notice);
                details::of_notice(notice, detail);
            }
            // A kind of the library that this table lacks.
            _ => self.set(Column::Record, Cell::Text("other")),
        }
        self.set(Column::Detail, Cell::Text(detail));
    }

    fn notice(&mut self, notice: &Notice) {
        match notice {
            Notice::Gap(gap) => self.name("gap", gap.ts_recv),
            Notice::Taint(taint) => {
                self.name("taint", taint.ts_recv);
                self.set(Column::Message, Cell::Number(taint.message));
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
        self.set(Column::Record, Cell::Text(record));
        self.set(Column::TsRecv, Cell::Number(ts_recv));
    }

    #[inline]
    fn change(&mut self, action: u8, side: u8, at: i64, shares: u32) {
        self.set(Column::Action, Cell::Letter(action));
        self.set(Column::Side, Cell::Letter(side));
        self.set(Column::Price, price(at));
        self.set(Column::Size, size(shares));
    }

    #[inline]
    fn of_message(&mut self, flags: u8, message: u32) {
        self.set(Column::Flags, Cell::Number(flags.into()));
        self.set(Column::Message, Cell::Number(message.into()));
    }
}

#[inline]
fn number_or_nothing(number: Option<u64>) -> Cell<'static> {
    number.map_or(Cell::Nothing, Cell::Number)
}

#[inline]
fn price(price: i64) -> Cell<'static> {
    if price == dbn::UNDEF_PRICE { Cell::Nothing } else { Cell::Price(price) }
}

#[inline]
fn size(shares: u32) -> Cell<'static> {
    if shares == dbn::UNDEF_ORDER_SIZE { Cell::Nothing } else { Cell::Number(shares.into()) }
}

/// Shares and orders of a level; no values for an empty side.
#[inline]
fn size_of_level(price: i64, shares: u32, orders: u32) -> (Cell<'static>, Cell<'static>) {
    match price {
        dbn::UNDEF_PRICE => (Cell::Nothing, Cell::Nothing),
        _ => (size(shares), Cell::Number(orders.into())),
    }
}
