//! Encodes messages: framing, the day's numbers, and the messages about orders.
//!
//! Order reference numbers come from several partitions with separate counters, as at an exchange
//! that runs its stocks on several machines: they grow only within a partition.

use nanotape_types::{
    MatchNumber, Maybe, Mpid, NanosSinceMidnight, OrderReferenceNumber, Price4, Shares, Side,
    StockLocate, Symbol, TrackingNumber,
};
use nanotape_wire::itch50::{
    AddOrderFields, AddOrderMpidFields, BrokenTradeFields, BuySellIndicator, OrderCancelFields,
    OrderDeleteFields, OrderExecutedFields, OrderExecutedWithPriceFields, OrderReplaceFields,
    TradeFields, YesNo,
};

/// Number of machines over which the exchange spreads its stocks.
const PARTITIONS: usize = 6;

/// The stock that a message is about.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stock {
    pub(super) locate: StockLocate,
    pub(super) symbol: Symbol,
}

/// Writes one message after another.
#[derive(Debug)]
pub(super) struct Tape {
    /// Framed messages that were not taken yet.
    pub(super) bytes: Vec<u8>,
    written: u64,
    time: NanosSinceMidnight,
    references: [u64; PARTITIONS],
    last_match: u64,
}

impl Tape {
    pub(super) fn new() -> Self {
        Self {
            bytes: Vec::new(),
            written: 0,
            time: NanosSinceMidnight::default(),
            references: [0; PARTITIONS],
            last_match: 0,
        }
    }

    /// Messages written since the start of the day.
    pub(super) fn written(&self) -> u64 {
        self.written
    }

    /// Sets the time of the next messages.
    pub(super) fn set_time(&mut self, nanos: u64) {
        debug_assert!(nanos >= self.time.get());
        self.time = NanosSinceMidnight::new(nanos).unwrap_or(NanosSinceMidnight::MAX);
    }

    pub(super) fn time(&self) -> NanosSinceMidnight {
        self.time
    }

    /// A number without meaning, small and even as on the real feed.
    pub(super) fn tracking(&self) -> TrackingNumber {
        TrackingNumber::new((self.written.wrapping_mul(0x9e37_79b9) >> 16) as u16 & 0x1e)
    }

    #[inline]
    pub(super) fn put<const N: usize>(&mut self, message: [u8; N]) {
        self.bytes.extend_from_slice(&(N as u16).to_be_bytes());
        self.bytes.extend_from_slice(&message);
        self.written += 1;
    }

    fn next_reference(&mut self, locate: StockLocate) -> u64 {
        let partition = locate.index() % PARTITIONS;
        self.references[partition] += 1;
        self.references[partition] * PARTITIONS as u64 + partition as u64
    }

    pub(super) fn next_match(&mut self) -> MatchNumber {
        self.last_match += 1;
        MatchNumber::new(self.last_match)
    }

    /// `A`, or `F` if a participant signs. Returns the order's reference number.
    #[inline]
    pub(super) fn add(
        &mut self,
        stock: Stock,
        (side, price, shares): (Side, u32, u32),
        attribution: Option<Mpid>,
    ) -> u64 {
        let reference = self.next_reference(stock.locate);
        let add = AddOrderFields {
            stock_locate: stock.locate,
            tracking_number: self.tracking(),
            timestamp: self.time,
            order_reference_number: OrderReferenceNumber::new(reference),
            buy_sell_indicator: side.into(),
            shares: Shares::new(shares),
            stock: stock.symbol,
            price: Price4::new(price),
        };
        match attribution {
            None => self.put(add.encode()),
            Some(attribution) => self.put(
                AddOrderMpidFields {
                    stock_locate: add.stock_locate,
                    tracking_number: add.tracking_number,
                    timestamp: add.timestamp,
                    order_reference_number: add.order_reference_number,
                    buy_sell_indicator: add.buy_sell_indicator,
                    shares: add.shares,
                    stock: add.stock,
                    price: add.price,
                    attribution,
                }
                .encode(),
            ),
        }
        reference
    }

    /// `E`.
    pub(super) fn execute(&mut self, stock: Stock, reference: u64, shares: u32) -> MatchNumber {
        let match_number = self.next_match();
        let message = OrderExecutedFields {
            stock_locate: stock.locate,
            tracking_number: self.tracking(),
            timestamp: self.time,
            order_reference_number: OrderReferenceNumber::new(reference),
            executed_shares: Shares::new(shares),
            match_number,
        };
        self.put(message.encode());
        match_number
    }

    /// `C`.
    pub(super) fn execute_with_price(
        &mut self,
        stock: Stock,
        reference: u64,
        (price, shares): (u32, u32),
        printable: YesNo,
    ) -> MatchNumber {
        let match_number = self.next_match();
        let message = OrderExecutedWithPriceFields {
            stock_locate: stock.locate,
            tracking_number: self.tracking(),
            timestamp: self.time,
            order_reference_number: OrderReferenceNumber::new(reference),
            executed_shares: Shares::new(shares),
            match_number,
            printable,
            execution_price: Price4::new(price),
        };
        self.put(message.encode());
        match_number
    }

    /// `X`.
    pub(super) fn cancel(&mut self, stock: Stock, reference: u64, shares: u32) {
        let message = OrderCancelFields {
            stock_locate: stock.locate,
            tracking_number: self.tracking(),
            timestamp: self.time,
            order_reference_number: OrderReferenceNumber::new(reference),
            cancelled_shares: Shares::new(shares),
        };
        self.put(message.encode());
    }

    /// `D`.
    #[inline]
    pub(super) fn delete(&mut self, stock: Stock, reference: u64) {
        let message = OrderDeleteFields {
            stock_locate: stock.locate,
            tracking_number: self.tracking(),
            timestamp: self.time,
            order_reference_number: OrderReferenceNumber::new(reference),
        };
        self.put(message.encode());
    }

    /// `U`. Returns the new order's reference number.
    pub(super) fn replace(
        &mut self,
        stock: Stock,
        original: u64,
        (price, shares): (u32, u32),
    ) -> u64 {
        let reference = self.next_reference(stock.locate);
        let message = OrderReplaceFields {
            stock_locate: stock.locate,
            tracking_number: self.tracking(),
            timestamp: self.time,
            original_order_reference_number: OrderReferenceNumber::new(original),
            new_order_reference_number: OrderReferenceNumber::new(reference),
            shares: Shares::new(shares),
            price: Price4::new(price),
        };
        self.put(message.encode());
        reference
    }

    /// `P`: the hidden order has no reference, and the side is always buy.
    pub(super) fn trade(&mut self, stock: Stock, price: u32, shares: u32) -> MatchNumber {
        let match_number = self.next_match();
        let message = TradeFields {
            stock_locate: stock.locate,
            tracking_number: self.tracking(),
            timestamp: self.time,
            order_reference_number: Maybe::NONE,
            buy_sell_indicator: BuySellIndicator::Buy,
            shares: Shares::new(shares),
            stock: stock.symbol,
            price: Price4::new(price),
            match_number,
        };
        self.put(message.encode());
        match_number
    }

    /// `B`.
    pub(super) fn break_trade(&mut self, stock: Stock, match_number: MatchNumber) {
        let message = BrokenTradeFields {
            stock_locate: stock.locate,
            tracking_number: self.tracking(),
            timestamp: self.time,
            match_number,
        };
        self.put(message.encode());
    }
}
