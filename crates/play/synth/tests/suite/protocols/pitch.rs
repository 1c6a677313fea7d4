//! PITCH, read naively by the rules of its specification: each unit with its own clock.

use std::collections::{BTreeMap, HashSet};

use nanotape_types::{Decimal, Side, Symbol};
use nanotape_wire::{
    framing::{
        numbered::{PacketFraming as _, PacketKind},
        pitch::Pitch,
    },
    pitch::{Message, SideIndicator, symbol_of},
};

use super::{
    MIDNIGHT_NS, OwnedPacket,
    books::{DayLog, NaiveBooks, key},
    itch::OtherTimes,
};

/// What a PITCH day shows.
pub(super) struct PitchDay {
    pub(super) log: DayLog,
    /// Trading Status as `H`, Auction Update as `I`, Auction Summary as `Q`.
    pub(super) others: OtherTimes,
    /// Messages by type.
    pub(super) types: BTreeMap<u8, u64>,
    /// Cancels that keep the priority of an order and are a Modify.
    pub(super) kept: u64,
    /// Orders under the number of an order that has left.
    pub(super) reused: u64,
}

/// A unit of a line.
#[derive(Default)]
struct UnitReader {
    next: u64,
    second: Option<u64>,
    has_begun: bool,
    has_ended: bool,
}

pub(super) fn read(packets: &[OwnedPacket], units: usize) -> PitchDay {
    let mut readers: Vec<UnitReader> = (0..units).map(|_| UnitReader::default()).collect();
    let mut day = PitchReader::default();
    for packet in packets {
        let block = Pitch::decode(&packet.payload).unwrap();
        assert_eq!(usize::from(block.session.0), packet.stream + 1);
        let reader = &mut readers[packet.stream];
        assert_eq!(block.first, reader.next + 1, "numbers of a unit go on");
        reader.next = block.next() - 1;
        if block.kind == PacketKind::Heartbeat {
            continue;
        }
        let mut times = Vec::new();
        for (_, bytes) in block.messages() {
            assert!(!reader.has_ended);
            if let Some(time) = reader.message(bytes) {
                times.push(time);
                day.message(time, packet.stream, bytes);
                day.books.end_event();
            }
            *day.types.entry(bytes[1]).or_default() += 1;
        }
        assert!(times.is_sorted() && times[times.len() - 1] - times[0] <= 20_000);
        let last = MIDNIGHT_NS + times[times.len() - 1] + 7_000;
        assert_eq!(packet.ts_ns - packet.line as u64 * 900, last);
    }
    assert!(readers.iter().all(|reader| reader.has_begun && reader.has_ended));
    let PitchReader { books, others, types, kept, reused, .. } = day;
    PitchDay { log: books.finish(), others, types, kept, reused }
}

impl UnitReader {
    /// The time of a message since midnight; `None` for Time itself.
    fn message(&mut self, bytes: &[u8]) -> Option<u64> {
        let message = Message::decode(bytes).unwrap();
        if let Message::Time(m) = message {
            let second = m.time().get().into();
            assert!(self.second.is_none_or(|before| before < second));
            assert_eq!(bytes.len(), 6);
            self.second = Some(second);
            return None;
        }
        let is_clear = matches!(message, Message::UnitClear(_));
        assert_eq!(is_clear, !self.has_begun, "a unit begins with Unit Clear");
        self.has_begun = true;
        self.has_ended = matches!(message, Message::EndOfSession(_));
        let offset = u64::from(message.time_offset().unwrap().get());
        assert!(offset < 1_000_000_000);
        Some(self.second.unwrap() * 1_000_000_000 + offset)
    }
}

#[derive(Default)]
struct PitchReader {
    books: NaiveBooks,
    units: BTreeMap<Symbol, usize>,
    others: OtherTimes,
    types: BTreeMap<u8, u64>,
    kept: u64,
    /// Numbers of all orders so far.
    known: HashSet<u64>,
    reused: u64,
}

/// Whether a short message could say it.
fn is_short(symbol: Symbol, shares: u32, price: u32) -> bool {
    let fits = symbol.as_bytes()[6..] == *b"  ";
    fits && shares <= 65_535 && price.is_multiple_of(100) && price <= 6_553_500
}

fn units_of<T: Copy + Into<i128>, const P: u8>(price: Decimal<T, P>) -> u32 {
    u32::try_from(price.in_units(4).unwrap()).unwrap()
}

impl PitchReader {
    /// A symbol belongs to one unit.
    fn of_unit(&mut self, symbol: Symbol, unit: usize) -> Symbol {
        assert_eq!(*self.units.entry(symbol).or_insert(unit), unit, "{symbol}");
        symbol
    }

    fn add(&mut self, time: u64, id: u64, (side, price): (SideIndicator, u32), of: (Symbol, u32)) {
        let side = if side == SideIndicator::Buy { Side::Buy } else { Side::Sell };
        assert!(id > 1 << 40);
        self.reused += u64::from(!self.known.insert(id));
        self.books.add(time, id, of.0, key(side, price), of.1);
    }

    fn modify(&mut self, time: u64, id: u64, of: (u32, u32), is_kept: bool) {
        let (price, shares) = of;
        if is_kept {
            self.kept += 1;
            assert!(price == self.books.price(id) && shares < self.books.shares(id));
            return self.books.set(time, id, shares);
        }
        self.books.replace(time, (id, id), price, shares);
    }

    fn message(&mut self, time: u64, unit: usize, bytes: &[u8]) {
        match Message::decode(bytes).unwrap() {
            Message::AddOrderLong(m) => {
                let symbol = self.of_unit(symbol_of(m.symbol()), unit);
                let (price, shares) = (units_of(m.price()), m.shares().get());
                assert!(!is_short(symbol, shares, price));
                let level = (m.side_indicator(), price);
                self.add(time, m.order_reference_number().get(), level, (symbol, shares));
            }
            Message::AddOrderShort(m) => {
                let symbol = self.of_unit(symbol_of(m.symbol()), unit);
                let level = (m.side_indicator(), units_of(m.price()));
                let of = (symbol, m.shares().into());
                self.add(time, m.order_reference_number().get(), level, of);
            }
            Message::AddOrderExpanded(m) => {
                let symbol = self.of_unit(m.symbol(), unit);
                let is_signed = m.participant_id().trimmed() != b"";
                assert!(is_signed || symbol.as_bytes()[6..] != *b"  ");
                let level = (m.side_indicator(), units_of(m.price()));
                let of = (symbol, m.shares().get());
                self.add(time, m.order_reference_number().get(), level, of);
            }
            Message::OrderExecuted(m) => {
                let (id, shares) = (m.order_reference_number().get(), m.executed_shares().get());
                assert!(self.books.is_first(id));
                let (symbol, price) = (self.books.symbol(id), self.books.price(id));
                self.books.print(m.match_number().get(), symbol, (time, shares, price));
                self.books.reduce(time, id, shares);
            }
            Message::OrderExecutedAtPriceSize(m) => {
                let (id, shares) = (m.order_reference_number().get(), m.executed_shares().get());
                let row = (time, shares, units_of(m.price()));
                self.books.print(m.match_number().get(), self.books.symbol(id), row);
                assert_eq!(self.books.shares(id), shares + m.remaining_shares().get());
                self.books.set(time, id, m.remaining_shares().get());
            }
            Message::ReduceSizeLong(m) => {
                assert!(m.cancelled_shares().get() > 65_535);
                let id = m.order_reference_number().get();
                self.books.reduce(time, id, m.cancelled_shares().get());
            }
            Message::ReduceSizeShort(m) => {
                let id = m.order_reference_number().get();
                self.books.reduce(time, id, m.cancelled_shares().into());
            }
            Message::ModifyOrderLong(m) => {
                let of = (units_of(m.price()), m.shares().get());
                let is_kept = m.modify_flags().is_priority_kept();
                self.modify(time, m.order_reference_number().get(), of, is_kept);
            }
            Message::ModifyOrderShort(m) => {
                let of = (units_of(m.price()), m.shares().into());
                let is_kept = m.modify_flags().is_priority_kept();
                self.modify(time, m.order_reference_number().get(), of, is_kept);
            }
            Message::DeleteOrder(m) => self.books.remove(time, m.order_reference_number().get()),
            Message::TradeLong(m) => {
                let symbol = self.of_unit(symbol_of(m.symbol()), unit);
                let row = (time, m.shares().get(), units_of(m.price()));
                assert!(!is_short(symbol, row.1, row.2));
                self.books.print(m.match_number().get(), symbol, row);
            }
            Message::TradeShort(m) => {
                let symbol = self.of_unit(symbol_of(m.symbol()), unit);
                let row = (time, m.shares().into(), units_of(m.price()));
                self.books.print(m.match_number().get(), symbol, row);
            }
            Message::TradeExpanded(m) => {
                let symbol = self.of_unit(m.symbol(), unit);
                let row = (time, m.shares().get(), units_of(m.price()));
                self.books.print(m.match_number().get(), symbol, row);
            }
            Message::TradeBreak(m) => {
                self.books.break_trade(time, m.match_number().get());
            }
            Message::TradingStatus(m) => {
                self.of_unit(m.symbol(), unit);
                self.others.push((b'H', time));
            }
            Message::AuctionUpdate(m) => {
                self.of_unit(m.symbol(), unit);
                self.others.push((b'I', time));
            }
            Message::AuctionSummary(m) => {
                self.of_unit(m.symbol(), unit);
                self.others.push((b'Q', time));
            }
            Message::UnitClear(_) | Message::EndOfSession(_) => {}
            other => panic!("{other:?}"),
        }
    }
}
