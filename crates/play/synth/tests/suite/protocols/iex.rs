//! The feeds of IEX, read naively by the rules of their specification.

use nanotape_types::Symbol;
use nanotape_wire::{
    framing::{
        iextp::{IexTp, StreamOffsets},
        numbered::{PacketFraming as _, PacketKind},
    },
    iex_deep, iex_deep_plus, iex_tops,
};

use super::{
    MIDNIGHT_NS, OwnedPacket,
    books::{DayLog, NaiveBooks, key},
    itch::OtherTimes,
};
use nanotape_types::Side::{Buy, Sell};

/// The messages of the packets of a line, in order. Checks numbers, offsets and times.
pub(super) fn messages(packets: &[OwnedPacket], protocol_id: u16) -> Vec<Vec<u8>> {
    let (mut next, mut offsets, mut messages) = (1, StreamOffsets::default(), Vec::new());
    for packet in packets {
        let segment = IexTp::decode(&packet.payload).unwrap();
        assert_eq!((segment.session.message_protocol_id, segment.first), (protocol_id, next));
        assert_eq!(segment.session.channel_id, 1);
        assert_eq!(offsets.check(&segment), Ok(()));
        next = segment.next();
        let send_time = u64::from_le_bytes(packet.payload[32..40].try_into().unwrap());
        assert_eq!(packet.ts_ns - packet.line as u64 * 900, send_time + 2_000);
        if segment.kind == PacketKind::Heartbeat {
            continue;
        }
        let times: Vec<u64> = segment.messages().map(|(_, bytes)| time_of(bytes)).collect();
        assert!(times.is_sorted() && times[times.len() - 1] - times[0] <= 20_000);
        assert_eq!(MIDNIGHT_NS + times[times.len() - 1] + 5_000, send_time);
        messages.extend(segment.messages().map(|(_, bytes)| bytes.to_vec()));
    }
    messages
}

/// The time of a message, since midnight: all types have it at the same place.
fn time_of(message: &[u8]) -> u64 {
    u64::from_le_bytes(message[2..10].try_into().unwrap()) - MIDNIGHT_NS
}

/// A price as ITCH has it.
fn units(price: nanotape_types::Decimal<i64, 4>) -> u32 {
    u32::try_from(price.get()).unwrap()
}

/// What all feeds of IEX share.
struct IexReader {
    books: NaiveBooks,
    others: OtherTimes,
}

impl IexReader {
    fn new() -> Self {
        Self { books: NaiveBooks::default(), others: Vec::new() }
    }

    fn trade(&mut self, time: u64, m: iex_deep::TradeReport<'_>) {
        let row = (time, m.shares().get(), units(m.price()));
        let flags = m.sale_condition_flags();
        assert_eq!(flags.is_odd_lot(), row.1 < 100);
        self.books.print(m.match_number().get(), m.symbol(), row);
    }

    fn broken(&mut self, time: u64, m: iex_deep::TradeBreak<'_>) {
        let trade = self.books.break_trade(time, m.match_number().get());
        assert_eq!(trade, (m.symbol(), m.shares().get(), units(m.price())));
    }

    /// Notes a message that is not about orders and trades, under its type in ITCH.
    fn other(&mut self, message: &[u8]) {
        let tag = match message[0] {
            b'S' => b'S',
            b'D' => b'R',
            b'H' => b'H',
            b'O' => b'h',
            b'P' => b'Y',
            b'E' => b'Q',
            b'A' => b'I',
            b'X' => return,
            tag => panic!("type {}", char::from(tag)),
        };
        self.others.push((tag, time_of(message)));
    }
}

pub(super) fn read_deep(packets: &[OwnedPacket]) -> (DayLog, OtherTimes) {
    use iex_deep::Message;
    let mut reader = IexReader::new();
    // The event that is not complete: nothing but its next update may follow.
    let mut open: Option<(Symbol, u64)> = None;
    for bytes in messages(packets, iex_deep::MESSAGE_PROTOCOL_ID) {
        let time = time_of(&bytes);
        let mut update = |symbol, key, shares, flags: iex_deep::EventFlags| {
            assert!(open.is_none_or(|event| event == (symbol, time)));
            open = (!flags.is_event_complete()).then_some((symbol, time));
            reader.books.set_level(time, symbol, key, shares);
            if flags.is_event_complete() {
                reader.books.end_event();
            }
        };
        match Message::decode(&bytes).unwrap() {
            Message::PriceLevelUpdateBuy(m) => {
                update(m.symbol(), key(Buy, units(m.price())), m.shares().get(), m.event_flags());
            }
            Message::PriceLevelUpdateSell(m) => {
                update(m.symbol(), key(Sell, units(m.price())), m.shares().get(), m.event_flags());
            }
            _ if open.is_some() => panic!("an event is not complete"),
            Message::TradeReport(m) => reader.trade(time, m),
            Message::TradeBreak(m) => reader.broken(time, m),
            _ => reader.other(&bytes),
        }
    }
    (reader.books.finish(), reader.others)
}

pub(super) fn read_deep_plus(packets: &[OwnedPacket]) -> (DayLog, OtherTimes) {
    use iex_deep_plus::{Message, SideIndicator};
    let mut reader = IexReader::new();
    for bytes in messages(packets, iex_deep_plus::MESSAGE_PROTOCOL_ID) {
        let (time, books) = (time_of(&bytes), &mut reader.books);
        match Message::decode(&bytes).unwrap() {
            Message::AddOrder(m) => {
                let side = if m.side_indicator() == SideIndicator::Buy { Buy } else { Sell };
                let id = m.order_reference_number().get();
                assert!(id >> 48 >= 0x60 && id < 1 << 63);
                books.add(time, id, m.symbol(), key(side, units(m.price())), m.shares().get());
            }
            Message::OrderModify(m) => {
                let (id, shares) = (m.order_reference_number().get(), m.shares().get());
                assert_eq!(books.symbol(id), m.symbol());
                let price = units(m.price());
                match m.modify_flags().is_priority_kept() && price == books.price(id) {
                    true => books.set(time, id, shares),
                    false => books.replace(time, (id, id), price, shares),
                }
            }
            Message::OrderDelete(m) => books.remove(time, m.order_reference_number().get()),
            Message::OrderExecuted(m) => {
                let (id, shares) = (m.order_reference_number().get(), m.executed_shares().get());
                let price = units(m.price());
                assert!(price != books.price(id) || books.is_first(id));
                books.print(m.match_number().get(), m.symbol(), (time, shares, price));
                books.reduce(time, id, shares);
            }
            Message::TradeReport(m) => reader.trade(time, m),
            Message::TradeBreak(m) => reader.broken(time, m),
            _ => reader.other(&bytes),
        }
        reader.books.end_event();
    }
    (reader.books.finish(), reader.others)
}

pub(super) fn read_tops(packets: &[OwnedPacket]) -> (DayLog, OtherTimes) {
    use iex_tops::Message;
    let mut reader = IexReader::new();
    for bytes in messages(packets, iex_tops::MESSAGE_PROTOCOL_ID) {
        let (time, books) = (time_of(&bytes), &mut reader.books);
        match Message::decode(&bytes).unwrap() {
            Message::QuoteUpdate(m) => {
                let bid = (units(m.bid_price()), m.bid_shares().get());
                let offer = (units(m.offer_price()), m.offer_shares().get());
                books.set_side(time, m.symbol(), 0, bid);
                books.set_side(time, m.symbol(), 1, offer);
            }
            Message::TradeReport(m) => reader.trade(time, m),
            Message::TradeBreak(m) => reader.broken(time, m),
            _ => reader.other(&bytes),
        }
        reader.books.end_event();
    }
    (reader.books.finish(), reader.others)
}
