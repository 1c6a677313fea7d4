//! The records of a plant as structures of C.
//!
//! Layout: that of DBN, which the assertions below compare field by field. All numbers are
//! little-endian, as the processors are that nanotape runs on.

use std::mem::offset_of;

use nanotape_records::{Notice, RecordKind, dbn};

use crate::item::{ItemKind, ReaderItem};

/// Types of the records of a plant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u16)]
pub enum RecordType {
    /// A trade: `nt_trade`.
    Trade = 0x0000,
    /// The best prices of a stock after a change: `nt_bbo`.
    Bbo = 0x0001,
    /// A trading state, or an event of the market.
    Status = 0x0012,
    /// A stock of the day.
    Definition = 0x0013,
    /// An auction before it takes place.
    Imbalance = 0x0014,
    /// An event of an order: `nt_mbo`.
    Mbo = 0x00a0,
    /// A part of the input of the plant is missing or damaged.
    Gap = 0xfff0,
    /// A message did not fit the book of its stock.
    Taint = 0xfff1,
    /// A plant has started: books are empty, and numbers of stocks have new meanings.
    Start = 0xfff2,
    /// A plant has stopped.
    Stop = 0xfff3,
    /// Messages of a session are missing on every line, or what became of them.
    SessionGap = 0xfff4,
    /// Any book may lack messages from now on.
    Suspect = 0xfff5,
    /// A book is that of the exchange again, or all of them.
    Restored = 0xfff6,
}

/// A price that does not exist: a side without orders.
pub const NT_NO_PRICE: i64 = i64::MAX;

/// A time that does not exist.
pub const NT_NO_TIME: u64 = u64::MAX;

/// A number of shares that does not fit into 32 bits.
pub const NT_NO_SIZE: u32 = u32::MAX;

/// A flag: the last record of its kind for a message of the exchange.
pub const NT_F_LAST: u8 = 128;

/// A flag: the record of the best level of a side, which has no other.
pub const NT_F_TOB: u8 = 64;

/// A flag: the record is of a snapshot.
pub const NT_F_SNAPSHOT: u8 = 32;

/// A flag: the record is of a price level, and of no order.
pub const NT_F_MBP: u8 = 16;

/// A flag: the book of the stock may be wrong.
pub const NT_F_MAYBE_BAD_BOOK: u8 = 4;

/// A flag: an order that has more shares, and keeps its place.
pub const NT_F_KEEPS_PLACE: u8 = 2;

/// The header of every record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct RecordHeader {
    /// Length of the record, in units of four bytes.
    pub(crate) length: u8,
    /// The record type; of a notice (0xfff0 and above) its low byte.
    pub(crate) rtype: u8,
    /// The feed and the venue, as DBN numbers them.
    pub(crate) publisher_id: u16,
    /// The number of the stock in this run of the plant: its stock locate.
    pub(crate) instrument_id: u32,
    /// The exchange's time: nanoseconds since 1970.
    pub(crate) ts_event: u64,
}

/// An event of an order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Mbo {
    /// The header.
    pub(crate) hd: RecordHeader,
    /// The order reference number.
    pub(crate) order_id: u64,
    /// Price in units of 1e-9, or NT_NO_PRICE.
    pub(crate) price: i64,
    /// Shares.
    pub(crate) size: u32,
    /// NT_F_... flags.
    pub(crate) flags: u8,
    /// 0.
    pub(crate) channel_id: u8,
    /// 'A' add, 'C' cancel, 'M' modify, 'R' clear, 'T' trade, 'F' fill, 'N' none.
    pub(crate) action: u8,
    /// 'B' to buy, 'A' to sell, 'N' neither.
    pub(crate) side: u8,
    /// Time of receipt: nanoseconds since 1970.
    pub(crate) ts_recv: u64,
    /// 0.
    pub(crate) ts_in_delta: i32,
    /// The number of the exchange's message, modulo 2^32.
    pub(crate) sequence: u32,
}

/// The best prices of a stock after a change, and the change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Bbo {
    /// The header.
    pub(crate) hd: RecordHeader,
    /// Price of the order that caused the change.
    pub(crate) price: i64,
    /// Its shares.
    pub(crate) size: u32,
    /// What it was, as in `nt_mbo`.
    pub(crate) action: u8,
    /// Its side.
    pub(crate) side: u8,
    /// NT_F_... flags.
    pub(crate) flags: u8,
    /// 0.
    pub(crate) depth: u8,
    /// Time of receipt: nanoseconds since 1970.
    pub(crate) ts_recv: u64,
    /// 0.
    pub(crate) ts_in_delta: i32,
    /// The number of the exchange's message, modulo 2^32.
    pub(crate) sequence: u32,
    /// The best bid in units of 1e-9, or NT_NO_PRICE.
    pub(crate) bid_px: i64,
    /// The best offer.
    pub(crate) ask_px: i64,
    /// Shares at the best bid.
    pub(crate) bid_sz: u32,
    /// Shares at the best offer.
    pub(crate) ask_sz: u32,
    /// Orders at the best bid.
    pub(crate) bid_ct: u32,
    /// Orders at the best offer.
    pub(crate) ask_ct: u32,
}

/// A trade.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Trade {
    /// The header.
    pub(crate) hd: RecordHeader,
    /// Price in units of 1e-9, or NT_NO_PRICE.
    pub(crate) price: i64,
    /// Shares.
    pub(crate) size: u32,
    /// 'T'.
    pub(crate) action: u8,
    /// Side of the aggressor.
    pub(crate) side: u8,
    /// NT_F_... flags.
    pub(crate) flags: u8,
    /// 0.
    pub(crate) depth: u8,
    /// Time of receipt: nanoseconds since 1970.
    pub(crate) ts_recv: u64,
    /// 0.
    pub(crate) ts_in_delta: i32,
    /// The number of the exchange's message, modulo 2^32.
    pub(crate) sequence: u32,
}

/// Compares the layouts of two structures.
macro_rules! same_layout {
    ($ours:ty, $theirs:ty, $($field:ident),+) => {
        const _: () = {
            assert!(size_of::<$ours>() == size_of::<$theirs>());
            assert!(align_of::<$ours>() == align_of::<$theirs>());
            $(assert!(offset_of!($ours, $field) == offset_of!($theirs, $field));)+
        };
    };
}

same_layout!(RecordHeader, dbn::RecordHeader, rtype, publisher_id, instrument_id, ts_event);
same_layout!(
    Mbo,
    dbn::MboMsg,
    hd,
    order_id,
    price,
    size,
    flags,
    channel_id,
    action,
    side,
    ts_recv,
    ts_in_delta,
    sequence
);
same_layout!(
    Bbo,
    dbn::Mbp1Msg,
    hd,
    price,
    size,
    action,
    side,
    flags,
    depth,
    ts_recv,
    ts_in_delta,
    sequence
);
same_layout!(
    Trade,
    dbn::TradeMsg,
    hd,
    price,
    size,
    action,
    side,
    flags,
    depth,
    ts_recv,
    ts_in_delta,
    sequence
);

const LEVEL: usize = offset_of!(dbn::Mbp1Msg, levels);
const _: () = {
    assert!(offset_of!(Bbo, bid_px) == LEVEL + offset_of!(dbn::BidAskPair, bid_px));
    assert!(offset_of!(Bbo, ask_px) == LEVEL + offset_of!(dbn::BidAskPair, ask_px));
    assert!(offset_of!(Bbo, bid_sz) == LEVEL + offset_of!(dbn::BidAskPair, bid_sz));
    assert!(offset_of!(Bbo, ask_sz) == LEVEL + offset_of!(dbn::BidAskPair, ask_sz));
    assert!(offset_of!(Bbo, bid_ct) == LEVEL + offset_of!(dbn::BidAskPair, bid_ct));
    assert!(offset_of!(Bbo, ask_ct) == LEVEL + offset_of!(dbn::BidAskPair, ask_ct));
};

const _: () = {
    assert!(RecordType::Trade as u16 == RecordKind::Trades.type_id());
    assert!(RecordType::Bbo as u16 == RecordKind::Bbo.type_id());
    assert!(RecordType::Status as u16 == RecordKind::Status.type_id());
    assert!(RecordType::Definition as u16 == RecordKind::Definitions.type_id());
    assert!(RecordType::Imbalance as u16 == RecordKind::Imbalances.type_id());
    assert!(RecordType::Mbo as u16 == RecordKind::Mbo.type_id());
    assert!(RecordType::Gap as u16 == nanotape_records::FIRST_TYPE_ID);
    assert!(RecordType::Restored as u16 == Notice::LAST_KNOWN_TYPE_ID);
    assert!(NT_NO_PRICE == dbn::UNDEF_PRICE && NT_NO_TIME == dbn::UNDEF_TIMESTAMP);
    assert!(NT_NO_SIZE == dbn::UNDEF_ORDER_SIZE);
    assert!(NT_F_LAST == dbn::flags::LAST && NT_F_TOB == dbn::flags::TOB);
    assert!(NT_F_SNAPSHOT == dbn::flags::SNAPSHOT && NT_F_MBP == dbn::flags::MBP);
    assert!(NT_F_MAYBE_BAD_BOOK == dbn::flags::MAYBE_BAD_BOOK);
    assert!(NT_F_KEEPS_PLACE == dbn::flags::PUBLISHER_SPECIFIC);
    assert!(cfg!(target_endian = "little"));
};

/// A record of C.
pub(crate) trait OfC {
    const TYPE: RecordType;
}

impl OfC for Mbo {
    const TYPE: RecordType = RecordType::Mbo;
}

impl OfC for Bbo {
    const TYPE: RecordType = RecordType::Bbo;
}

impl OfC for Trade {
    const TYPE: RecordType = RecordType::Trade;
}

/// The bytes of an item as a record; NULL if they are not one.
pub(crate) fn record_of<R: OfC>(item: Option<&ReaderItem>) -> *const R {
    let is_one = |item: &&ReaderItem| {
        item.kind == ItemKind::Record as i32
            && item.record_type == R::TYPE as u16
            && item.length == size_of::<R>()
    };
    item.filter(is_one).map_or(std::ptr::null(), |item| item.bytes.cast())
}
