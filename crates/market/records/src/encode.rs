//! Encodes the records of nearly every message directly as words.
//!
//! DBN's own structs have fields of one byte, which a compiler stores one by one. Copying such a
//! struct in words of eight bytes right after that waits until all stores have finished. So these
//! records are built in registers; a test compares them with the structs.

use dbn::{Action, BidAskPair, Side as DbnSide, UNDEF_ORDER_SIZE, UNDEF_PRICE, rtype};
use nanotape_book::{Book, DepthLevel, PriceLevels};
use nanotape_types::{PriceScale, Side};

/// The publisher of files of earlier versions, which do not state it: Nasdaq TotalView-ITCH.
pub const UNSTATED_PUBLISHER_ID: u16 = 2;

/// An instrument of a publisher, as the first word of a header has both.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PublisherInstrument(u64);

impl PublisherInstrument {
    /// No single instrument of DBN's publisher of this number.
    pub const fn none_of(publisher_id: u16) -> Self {
        Self((publisher_id as u64) << 16)
    }

    /// The instrument of this number, if this is [`none_of`](Self::none_of) its publisher.
    #[inline(always)]
    pub const fn numbered(self, instrument_id: u32) -> Self {
        Self(self.0 | (instrument_id as u64) << 32)
    }

    /// The number of the instrument: the stock locate; 0 for no single one.
    #[inline(always)]
    pub const fn id(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// DBN's number of the publisher.
    #[inline(always)]
    pub const fn publisher_id(self) -> u16 {
        (self.0 >> 16) as u16
    }
}

/// The common fields of the records of one message.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Common {
    /// The publisher and the stock locate.
    pub instrument: PublisherInstrument,
    /// The exchange's time, ns since the UNIX epoch.
    pub ts_event: u64,
    /// Receive time of the message, ns since the UNIX epoch.
    pub ts_recv: u64,
    /// The number of the message in its day, modulo 2^32.
    pub sequence: u32,
    /// Flags of each of its records, without `F_LAST`.
    pub flags: u8,
}

/// A change of an order, or a print.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Change {
    /// The kind of change.
    pub action: Action,
    /// The order's side, or the aggressor's.
    pub side: DbnSide,
    /// In units of 1e-9.
    pub price: i64,
    /// Shares.
    pub size: u32,
}

impl Change {
    /// No change.
    pub const NONE: Self =
        Self { action: Action::None, side: DbnSide::None, price: UNDEF_PRICE, size: 0 };
}

/// The flag of the last record of its kind for a message.
pub const LAST: u8 = dbn::flags::LAST;

/// The flag of a modified order that has more shares and keeps its place in the queue.
pub const GROWS_IN_PLACE: u8 = dbn::flags::PUBLISHER_SPECIFIC;

/// The flag of a record of a price level; `is_only`: of the best level, without others on its side.
#[inline(always)]
pub const fn level_flag(is_only: bool) -> u8 {
    if is_only { dbn::flags::TOB } else { dbn::flags::MBP }
}

/// The number of orders of a level whose exchange does not show it.
pub const UNDEF_COUNT: u32 = u32::MAX;

/// A side as DBN names it.
#[inline(always)]
pub fn side_of(side: Side) -> DbnSide {
    match side {
        Side::Buy => DbnSide::Bid,
        Side::Sell => DbnSide::Ask,
    }
}

/// The other side: that of the aggressor when a resting order of this side is executed.
#[inline(always)]
pub fn opposite(side: DbnSide) -> DbnSide {
    match side {
        DbnSide::Bid => DbnSide::Ask,
        DbnSide::Ask => DbnSide::Bid,
        DbnSide::None => DbnSide::None,
    }
}

/// Shares in DBN's width; larger numbers become "undefined".
#[inline(always)]
pub fn size_of_shares(shares: u64) -> u32 {
    u32::try_from(shares).unwrap_or(UNDEF_ORDER_SIZE)
}

/// The first word of a header: length in units of four bytes, record type, publisher, instrument.
#[inline(always)]
pub fn header(words: usize, rtype: u8, instrument: PublisherInstrument) -> u64 {
    (words as u64 * 2) | (rtype as u64) << 8 | instrument.0
}

/// `MboMsg`.
#[inline(always)]
pub fn mbo(common: &Common, last: u8, order_id: u64, change: Change) -> [u64; 7] {
    let Change { action, side, price, size } = change;
    [
        header(7, rtype::MBO, common.instrument),
        common.ts_event,
        order_id,
        price as u64,
        // The channel is 0.
        (size as u64)
            | ((common.flags | last) as u64) << 32
            | (action as u64) << 48
            | (side as u64) << 56,
        common.ts_recv,
        (common.sequence as u64) << 32,
    ]
}

/// `TradeMsg`.
#[inline(always)]
pub fn trade(common: &Common, last: u8, change: Change) -> [u64; 6] {
    priced(6, rtype::MBP_0, common, last, change)
}

/// [`mbp1`] of a book without orders: levels have no counts.
#[inline(never)]
pub fn mbp1_of_levels(common: &Common, last: u8, change: Change, best: BestLevels) -> [u64; 10] {
    let mut words = mbp1(common, last, change, best);
    let count = |level: Option<DepthLevel>| u64::from(level.map_or(0, |_| UNDEF_COUNT));
    words[9] = count(best.bid) | count(best.offer) << 32;
    words
}

/// `Mbp1Msg`; a side without orders has no price, and size and count 0.
#[inline(always)]
pub fn mbp1(common: &Common, last: u8, change: Change, best: BestLevels) -> [u64; 10] {
    let [a, b, c, d, e, f] = priced(10, rtype::MBP_1, common, last, change);
    let ((bid_price, bid_size, bid_count), (offer_price, offer_size, offer_count)) =
        (best.level(best.bid), best.level(best.offer));
    [
        a,
        b,
        c,
        d,
        e,
        f,
        bid_price as u64,
        offer_price as u64,
        bid_size as u64 | (offer_size as u64) << 32,
        bid_count as u64 | (offer_count as u64) << 32,
    ]
}

/// The six words of a trade, which an inside also begins with.
#[inline(always)]
fn priced(words: usize, rtype: u8, common: &Common, last: u8, change: Change) -> [u64; 6] {
    let Change { action, side, price, size } = change;
    [
        header(words, rtype, common.instrument),
        common.ts_event,
        price as u64,
        // The depth is 0: the inside.
        (size as u64)
            | (action as u64) << 32
            | (side as u64) << 40
            | ((common.flags | last) as u64) << 48,
        common.ts_recv,
        (common.sequence as u64) << 32,
    ]
}

/// The best levels of both sides of a book.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct BestLevels {
    /// The highest level to buy.
    pub bid: Option<DepthLevel>,
    /// The lowest level to sell.
    pub offer: Option<DepthLevel>,
    /// The scale of their prices.
    pub scale: PriceScale,
}

impl BestLevels {
    /// Those of a book.
    #[inline(always)]
    pub fn of<L: PriceLevels>(book: &Book<'_, L>) -> Self {
        let [bid, offer] = [book.best_level(Side::Buy), book.best_level(Side::Sell)];
        Self { bid, offer, scale: book.price_scale() }
    }

    /// As a record has them.
    pub fn pair(self) -> BidAskPair {
        let ((bid_px, bid_sz, bid_ct), (ask_px, ask_sz, ask_ct)) =
            (self.level(self.bid), self.level(self.offer));
        BidAskPair { bid_px, ask_px, bid_sz, ask_sz, bid_ct, ask_ct }
    }

    #[inline(always)]
    fn level(self, level: Option<DepthLevel>) -> (i64, u32, u32) {
        match level {
            Some(level) => {
                let price = self.scale.nanos(level.price);
                (price, size_of_shares(level.shares.get()), level.orders.get())
            }
            None => (UNDEF_PRICE, 0, 0),
        }
    }
}

/// The words as bytes, as in a ring and a file.
#[inline(always)]
pub fn bytes<const N: usize>(words: [u64; N]) -> [[u8; 8]; N] {
    words.map(u64::to_le_bytes)
}

#[cfg(test)]
mod tests {
    use core::num::{NonZeroU32, NonZeroU64};

    use dbn::{FlagSet, MboMsg, Mbp1Msg, RecordHeader, TradeMsg};
    use nanotape_types::Price;

    use super::*;

    const COMMON: Common = Common {
        instrument: PublisherInstrument::none_of(0xFEDC).numbered(0x0102_0304),
        ts_event: 1_577_716_200_000_000_001,
        ts_recv: 1_577_716_200_000_000_002,
        sequence: 0xFFFF_FFFE,
        flags: dbn::flags::MAYBE_BAD_BOOK,
    };

    const CHANGE: Change = Change {
        action: Action::Add,
        side: DbnSide::Ask,
        price: 189_950_000_000,
        size: 0xFEDC_BA98,
    };

    fn header_of<R: dbn::HasRType>(rtype: u8) -> RecordHeader {
        RecordHeader::new::<R>(
            rtype,
            COMMON.instrument.publisher_id(),
            COMMON.instrument.id(),
            COMMON.ts_event,
        )
    }

    #[test]
    fn words_are_the_bytes_of_dbn_records() {
        let flags = FlagSet::new(COMMON.flags | LAST);
        let (action, side) = (CHANGE.action as i8 as _, CHANGE.side as i8 as _);
        let expected = MboMsg {
            hd: header_of::<MboMsg>(rtype::MBO),
            order_id: 77,
            price: CHANGE.price,
            size: CHANGE.size,
            flags,
            channel_id: 0,
            action,
            side,
            ts_recv: COMMON.ts_recv,
            ts_in_delta: 0,
            sequence: COMMON.sequence,
        };
        let words = bytes(mbo(&COMMON, LAST, 77, CHANGE));
        assert_eq!(words.as_flattened(), expected.as_ref());

        let trade_expected = TradeMsg {
            hd: header_of::<TradeMsg>(rtype::MBP_0),
            price: CHANGE.price,
            size: CHANGE.size,
            action,
            side,
            flags,
            depth: 0,
            ts_recv: COMMON.ts_recv,
            ts_in_delta: 0,
            sequence: COMMON.sequence,
        };
        let words = bytes(trade(&COMMON, LAST, CHANGE));
        assert_eq!(words.as_flattened(), trade_expected.as_ref());

        let bid = DepthLevel {
            price: Price::new(1_899_400),
            orders: NonZeroU32::new(3).unwrap(),
            shares: NonZeroU64::new(u64::from(u32::MAX) + 5).unwrap(),
        };
        let expected = Mbp1Msg {
            hd: header_of::<Mbp1Msg>(rtype::MBP_1),
            price: CHANGE.price,
            size: CHANGE.size,
            action,
            side,
            flags,
            depth: 0,
            ts_recv: COMMON.ts_recv,
            ts_in_delta: 0,
            sequence: COMMON.sequence,
            levels: [BidAskPair {
                bid_px: 189_940_000_000,
                ask_px: UNDEF_PRICE,
                bid_sz: UNDEF_ORDER_SIZE,
                ask_sz: 0,
                bid_ct: 3,
                ask_ct: 0,
            }],
        };
        let best = BestLevels { bid: Some(bid), ..BestLevels::default() };
        let words = bytes(mbp1(&COMMON, LAST, CHANGE, best));
        assert_eq!(words.as_flattened(), expected.as_ref());
    }
}
