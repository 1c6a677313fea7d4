//! A plant that takes one message at a time, and the records of each message: one line per record,
//! read by the crate `dbn`, not by ours.

use std::{fmt::Write as _, ops::ControlFlow};

use dbn::{
    HasRType, ImbalanceMsg, InstrumentDefMsg, MboMsg, Mbp1Msg, RecordHeader, StatusMsg, TradeMsg,
    VersionUpgradePolicy,
    decode::{DecodeRecord as _, dbn::RecordDecoder},
};
use nanotape_book::DefaultBooks;
use nanotape_engine::BookEngine;
use nanotape_feed::{Position, handle_message, venues::NASDAQ_ITCH};
use nanotape_market::EventHandler as _;
use nanotape_plant::{
    Publisher,
    records::{Notice, RecordKind, RecordKinds},
};
use nanotape_ring::{Publish as _, Read, Start, Subscribe as _, stream};
use nanotape_wire::itch50::Message;

use crate::published::messages::{TIME, directory};

/// The stock that lines leave out.
pub(crate) const STOCK: u16 = 7;

/// Another stock, which lines name.
pub(crate) const OTHER: u16 = 9;

pub(crate) const MIDNIGHT: u64 = 1_577_682_000_000_000_000;

pub(crate) struct Tape {
    pub(crate) plant: BookEngine<DefaultBooks>,
    pub(crate) publisher: Publisher<stream::Writer>,
    reader: stream::Reader,
    number: u64,
}

/// The bytes of a record on the ring.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Raw {
    pub(crate) type_id: u16,
    pub(crate) bytes: Vec<u8>,
}

impl Tape {
    pub(crate) fn new(kinds: RecordKinds) -> Self {
        let publisher = Publisher::on_heap(1 << 16, kinds, MIDNIGHT).unwrap();
        let reader = publisher.writer().reader(Start::Oldest).unwrap();
        let plant = BookEngine::new(DefaultBooks::with_capacity(64));
        let mut tape = Self { plant, publisher, reader, number: 0 };
        let mut plant = tape.plant.live(&mut tape.publisher);
        plant.venue(NASDAQ_ITCH);
        plant.day_begins(MIDNIGHT);
        tape.apply(&directory(STOCK, "AAPL"));
        tape.apply(&directory(OTHER, "MSFT"));
        tape
    }

    /// A plant with records of all kinds.
    pub(crate) fn of_everything() -> Self {
        Self::new(RecordKinds::ALL)
    }

    /// Applies one message; returns its records.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Vec<Raw> {
        self.number += 1;
        let message = Message::decode(bytes).unwrap();
        let position = Position { number: self.number, offset: 100 * self.number };
        let mut live = self.plant.live(&mut self.publisher);
        let flow = handle_message(position, &message, &mut live);
        assert_eq!(flow, ControlFlow::Continue(()));
        let (mut buffer, mut records) = ([0; 1024], Vec::new());
        while let Read::Message(message) = self.reader.try_read(&mut buffer).unwrap() {
            let bytes = buffer[..message.length as usize].to_vec();
            records.push(Raw { type_id: message.type_id, bytes });
        }
        records
    }

    /// Applies one message; returns its records as lines.
    pub(crate) fn apply(&mut self, bytes: &[u8]) -> Vec<String> {
        let records = self.feed(bytes);
        records.iter().map(|record| self.line(record)).collect()
    }

    fn line(&self, record: &Raw) -> String {
        let Some(kind) = RecordKind::of_type_id(record.type_id) else { return notice(record) };
        match kind {
            RecordKind::Mbo => {
                let mbo: MboMsg = decoded(record);
                assert_eq!((mbo.channel_id, mbo.ts_in_delta), (0, 0));
                self.check(&mbo.hd, mbo.ts_recv, Some(mbo.sequence));
                let change = change(mbo.action, mbo.side, mbo.size, mbo.price);
                format!("{}mbo {change} #{} {}", stock(&mbo.hd), mbo.order_id, flags(mbo.flags))
            }
            RecordKind::Trades => {
                let trade: TradeMsg = decoded(record);
                assert_eq!((trade.depth, trade.ts_in_delta), (0, 0));
                self.check(&trade.hd, trade.ts_recv, Some(trade.sequence));
                let change = change(trade.action, trade.side, trade.size, trade.price);
                format!("{}trade {change} {}", stock(&trade.hd), flags(trade.flags))
            }
            RecordKind::Bbo => {
                let bbo: Mbp1Msg = decoded(record);
                assert_eq!((bbo.depth, bbo.ts_in_delta), (0, 0));
                self.check(&bbo.hd, bbo.ts_recv, Some(bbo.sequence));
                let change = change(bbo.action, bbo.side, bbo.size, bbo.price);
                let [inside] = &bbo.levels;
                let bid = level(inside.bid_px, inside.bid_sz, inside.bid_ct);
                let offer = level(inside.ask_px, inside.ask_sz, inside.ask_ct);
                let flags = flags(bbo.flags);
                format!("{}bbo {change} {flags} {bid} / {offer}", stock(&bbo.hd))
            }
            RecordKind::Status => {
                let status: StatusMsg = decoded(record);
                self.check(&status.hd, status.ts_recv, None);
                assert_eq!(status.trading_event, 0);
                let answers =
                    [status.is_trading, status.is_quoting, status.is_short_sell_restricted];
                let answers: String = answers.into_iter().map(letter).collect();
                let (action, reason) = (status.action().unwrap(), status.reason().unwrap());
                format!("{}status {action:?} {reason:?} {answers}", stock(&status.hd))
            }
            RecordKind::Definitions => {
                let definition: InstrumentDefMsg = decoded(record);
                self.check(&definition.hd, definition.ts_recv, None);
                let mut line = format!("{}definition", stock(&definition.hd));
                for text in [
                    definition.raw_symbol().unwrap(),
                    definition.exchange().unwrap(),
                    definition.currency().unwrap(),
                    definition.security_type().unwrap(),
                    definition.secsubtype().unwrap(),
                    definition.group().unwrap(),
                ] {
                    write!(line, " {text}").unwrap();
                }
                let lot = definition.min_lot_size_round_lot;
                write!(line, " {lot} {}", letter(definition.instrument_class)).unwrap();
                line
            }
            RecordKind::Imbalances => {
                let imbalance: ImbalanceMsg = decoded(record);
                self.check(&imbalance.hd, imbalance.ts_recv, None);
                let (side, auction) = (letter(imbalance.side), letter(imbalance.auction_type));
                let prices = [
                    imbalance.ref_price,
                    imbalance.cont_book_clr_price,
                    imbalance.auct_interest_clr_price,
                ];
                let [reference, near, far] = prices.map(price);
                let (paired, left) =
                    (size(imbalance.paired_qty), size(imbalance.total_imbalance_qty));
                format!(
                    "{}imbalance {auction} {side} {paired} {left} at {reference} near {near} far {far}",
                    stock(&imbalance.hd)
                )
            }
        }
    }

    /// Checks the fields that all records have.
    fn check(&self, header: &RecordHeader, ts_recv: u64, sequence: Option<u32>) {
        assert_eq!(header.publisher_id, 2);
        assert_eq!(header.ts_event, MIDNIGHT + TIME.get());
        assert!(ts_recv > 1_600_000_000_000_000_000, "the clock was not read: {ts_recv}");
        assert_eq!(u64::from(sequence.unwrap_or(self.number as u32)), self.number);
    }
}

pub(crate) fn decoded<R: HasRType<Header = RecordHeader> + Clone>(record: &Raw) -> R {
    let bytes = record.bytes.as_slice();
    assert_eq!((bytes.len(), usize::from(bytes[0]) * 4), (size_of::<R>(), bytes.len()));
    let policy = VersionUpgradePolicy::AsIs;
    let mut decoder = RecordDecoder::with_version(bytes, 3, policy, false).unwrap();
    decoder.decode_record::<R>().unwrap().unwrap().clone()
}

fn notice(record: &Raw) -> String {
    match Notice::decode(record.type_id, &record.bytes).unwrap() {
        Notice::Taint(taint) => {
            let (anomaly, stock) = (taint.anomaly.unwrap(), taint.instrument_id);
            format!("taint {anomaly} of stock {stock} by {}", taint.message)
        }
        other => format!("{other:?}"),
    }
}

fn stock(header: &RecordHeader) -> String {
    match header.instrument_id {
        id if id == u32::from(STOCK) => String::new(),
        id => format!("stock {id}: "),
    }
}

fn change(action: core::ffi::c_char, side: core::ffi::c_char, shares: u32, at: i64) -> String {
    format!("{} {} {} at {}", letter(action), letter(side), size(shares), price(at))
}

fn letter(code: core::ffi::c_char) -> char {
    char::from(code as u8)
}

fn size(shares: u32) -> String {
    if shares == dbn::UNDEF_ORDER_SIZE { "?".to_owned() } else { shares.to_string() }
}

fn price(at: i64) -> String {
    if at == dbn::UNDEF_PRICE {
        return "-".to_owned();
    }
    assert_eq!(at % 100_000, 0);
    format!("{}.{:04}", at / 1_000_000_000, at / 100_000 % 10_000)
}

fn level(at: i64, shares: u32, orders: u32) -> String {
    if at == dbn::UNDEF_PRICE {
        assert_eq!((shares, orders), (0, 0));
        return "-".to_owned();
    }
    format!("{}x{orders} at {}", size(shares), price(at))
}

/// `L` for the last of its kind, `B` for a book that may be unreliable.
fn flags(flags: dbn::FlagSet) -> String {
    let known = dbn::flags::LAST | dbn::flags::MAYBE_BAD_BOOK;
    assert_eq!(flags.raw() & !known, 0);
    let (last, bad) = (flags.is_last(), flags.is_maybe_bad_book());
    format!("[{}{}]", if last { "L" } else { "" }, if bad { "B" } else { "" })
}
